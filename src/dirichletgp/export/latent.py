"""Kernel and posterior as operators: from scaled rows to latent means and variances."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._gp.core.kernels import Kernel
from .._gp.core.model import Model


def add_latent(graph: Any, rows: str, model: Model) -> tuple[str, str]:
    """Latent means and variances, each (n, C), of scaled rows (n, D)."""
    posterior = model.posterior
    identity = np.eye(len(model.points))
    whitening = solve_triangular(model.basis.factor, identity, lower=True).T
    vectors = graph.add("MatMul", _add_kernel(graph, rows, model.kernel, model.points), whitening)
    mean = graph.add(
        "Add", graph.add("MatMul", vectors, posterior.coefficients.T), posterior.offsets
    )

    squares = graph.sum(graph.add("Mul", vectors, vectors), 1, keep=True)
    unexplained = graph.add("Max", graph.add("Sub", model.kernel.variance, squares), 0.0)
    explained = []
    for factor in posterior.factors:
        half = graph.add("MatMul", vectors, solve_triangular(factor, identity, lower=True).T)
        explained.append(graph.sum(graph.add("Mul", half, half), 1, keep=True))
    return mean, str(graph.add("Add", graph.add("Concat", *explained, axis=1), unexplained))


def _add_kernel(graph: Any, rows: str, kernel: Kernel, points: Any) -> str:
    """Kernel values (n, M) between scaled rows and the inducing points."""
    centre = points.mean(axis=0)
    z = (points - centre) / kernel.lengthscale
    x = graph.add("Div", graph.add("Sub", rows, centre), kernel.lengthscale)
    x2 = graph.sum(graph.add("Mul", x, x), 1, keep=True)
    r2 = graph.add(
        "Add", graph.add("MatMul", x, -2.0 * z.T), graph.add("Add", x2, np.square(z).sum(axis=1))
    )
    r2 = graph.add("Max", r2, 0.0)
    if kernel.family == "rbf":
        return str(graph.add("Mul", graph.add("Exp", graph.add("Mul", r2, -0.5)), kernel.variance))
    r = graph.add(
        "Sqrt",
        graph.add("Mul", r2, {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}[kernel.family]),
    )
    values = graph.add("Mul", graph.add("Exp", graph.add("Neg", r)), kernel.variance)
    if kernel.family == "matern12":
        return str(values)
    polynomial = graph.add("Add", r, 1.0)
    if kernel.family == "matern52":
        polynomial = graph.add("Add", polynomial, graph.add("Div", graph.add("Mul", r, r), 3.0))
    return str(graph.add("Mul", values, polynomial))
