"""Scaler, kernel and posterior as operators: from raw rows to latent means and variances."""

from typing import Any

import numpy as np

from .._gp.core.low_rank import SharedPosterior
from .._gp.core.predictor import TwoClassPredictor
from .._gp.rows.scaling import scaled_on
from .._gp.training.compact import CompactModel
from .._gp.training.fitted import Fitted
from .._gp.training.regional import RegionalModel
from .graph_arrays import GraphArray, GraphOperations
from .regional import add_regional_latent


def add_latent(graph: Any, rows: str, fitted: Fitted) -> tuple[str, str]:
    """Latent means and variances, each (n, C), of raw rows (n, D)."""
    on: Any = GraphOperations(graph)
    model = fitted.model
    scaled = scaled_on(fitted.encoder.scaler, GraphArray(graph, rows), on)
    if scaled is None:
        raise TypeError(
            f"scaler={fitted.encoder.scaler!r} cannot be exported; "
            "use 'quantile', 'standard', 'minmax' or None"
        )
    if isinstance(model, RegionalModel):
        mean, variance = add_regional_latent(graph, scaled, model)
        return mean.name, variance.name
    basis = model.basis
    values = basis.kernel.values(scaled, basis.points, on)
    if isinstance(model, CompactModel):
        predictor = model.predictor(1)
        if isinstance(predictor, TwoClassPredictor):
            return _difference(values, predictor, on)
    vectors = values @ basis.inverse.T
    posterior: Any = model.posterior
    mean_width = len(posterior.offsets)
    mean = vectors @ posterior.coefficients.T + posterior.offsets
    squares = on.sum(vectors * vectors, axis=1, keepdims=True)
    unexplained = on.maximum(posterior.variance - squares, 0.0)
    if isinstance(posterior, SharedPosterior):
        explained = _corrected(vectors @ posterior.root.T, posterior, on)
    else:
        halves = [vectors @ root.T for root in posterior.roots]
        explained = [on.sum(half * half, axis=1, keepdims=True) for half in halves]
        explained *= mean_width // len(explained)  # one for all classes if the noises are equal
    variance = on.columns(tuple(explained)) + unexplained
    return mean.name, variance.name


def _difference(values: Any, predictor: TwoClassPredictor, on: Any) -> tuple[str, str]:
    """Half of the difference of two classes for each."""
    halves = np.outer(predictor.coefficients, [-0.5, 0.5])
    mean = values @ halves + predictor.offset * np.array([-0.5, 0.5])
    explained = values @ predictor.triangle.T
    squares = on.sum(explained * explained, axis=1, keepdims=True)
    half = on.maximum(0.5 * (predictor.variance - squares), 0.0)
    return mean.name, on.columns((half, half)).name


def _corrected(half: Any, posterior: SharedPosterior, on: Any) -> list[Any]:
    """U' B_c^-1 u (n, 1) of every class, as corrections of one."""
    squares = on.sum(half * half, axis=1, keepdims=True)
    explained = []
    for own in posterior.corrections:
        parts = half @ own.matrix
        parts = parts * parts
        correction = on.sum(parts, axis=1, keepdims=True)
        if own.rest > 0:
            beyond = on.maximum(squares - parts @ (1.0 / own.eigenvalues)[:, None], 0.0)
            correction = correction + own.rest * beyond
        explained.append(on.maximum(squares - posterior.sign * correction, 0.0))
    return explained
