"""Scaler, kernel and posterior as operators: from raw rows to latent means and variances."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._gp.rows.scaling import scaled_on
from .._gp.training.fitted import Fitted
from .graph_arrays import GraphArray, GraphOperations


def add_latent(graph: Any, rows: str, fitted: Fitted) -> tuple[str, str]:
    """Latent means and variances, each (n, C), of raw rows (n, D)."""
    on: Any = GraphOperations(graph)
    model = fitted.undivided("for which there is no graph")
    basis, posterior = model.basis, model.posterior
    scaled = scaled_on(fitted.encoder.scaler, GraphArray(graph, rows), on)
    if scaled is None:
        raise TypeError(
            f"scaler={fitted.encoder.scaler!r} cannot be exported; "
            "use 'quantile', 'standard', 'minmax' or None"
        )
    identity = np.eye(len(basis.points))
    whiten = solve_triangular(basis.factor, identity, lower=True).T
    vectors = basis.kernel.values(scaled, basis.points, on) @ whiten
    mean = vectors @ posterior.coefficients.T + posterior.offsets

    squares = on.sum(vectors * vectors, axis=1, keepdims=True)
    unexplained = on.maximum(posterior.variance - squares, 0.0)
    explained = []
    for factor in posterior.factors:
        half = vectors @ solve_triangular(factor, identity, lower=True).T
        explained.append(on.sum(half * half, axis=1, keepdims=True))
    variance = on.columns(tuple(explained)) + unexplained
    return mean.name, variance.name
