"""The band of a reliability diagram, bounded by the classifiers that answer with quantiles."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import Array
from ..metrics import ReliabilityCurve
from ..metrics.curve import bin_of_rows, mean_of_bins
from .canvas import BAND_COLOUR


def occupied_points(curve: ReliabilityCurve) -> Array:
    """Confidence and accuracy of the occupied bins, of shape (B, 2)."""
    occupied = curve.mass > 0
    return np.column_stack([curve.confidence[occupied], curve.accuracy[occupied]])


def draw_band(ax: Any, lower: ReliabilityCurve, upper: ReliabilityCurve, label: str) -> Any:
    """The area between two curves with the same bins, as a PathPatch.

    None with fewer than two occupied bins.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    # One quadrangle per pair of neighbouring bins, all turning the same way. A single outline would
    # cross itself, and leave holes, wherever the accuracy of few rows falls from one bin to the
    # next.
    left = occupied_points(lower)
    right = occupied_points(upper)
    corners = [left[:-1], left[1:], right[1:], right[:-1]]
    pieces = [
        Path(_anticlockwise(np.array(piece)), closed=False) for piece in zip(*corners, strict=True)
    ]
    if not pieces:
        return None
    path = Path.make_compound_path(*pieces)
    return ax.add_patch(PathPatch(path, color=BAND_COLOUR, linewidth=0, label=label, zorder=1))


def _anticlockwise(corners: Array) -> Array:
    x, y = corners.T
    area = x @ np.roll(y, -1) - y @ np.roll(x, -1)
    return corners if area >= 0 else corners[::-1]


def quantile_curves(
    curve: ReliabilityCurve,
    score: Array,
    quantiles: dict[str, ArrayLike | None],
    pos_label: Any,
    classes: Any,
    sample_weight: ArrayLike | None,
) -> list[ReliabilityCurve | None]:
    """The curve with the mean lower, and the mean upper, quantile of each bin as its confidence."""
    missing = [name for name, quantile in quantiles.items() if quantile is None]
    if len(missing) == len(quantiles):
        return [None, None]
    if missing:
        raise ValueError("lower and upper bound the band together; pass both or neither")
    if pos_label is None:
        raise ValueError(
            "lower and upper make a band for one class only; choose it with pos_label, "
            f"one of {classes.tolist()}"
        )
    weight = np.ones(len(score))
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
    bins = bin_of_rows(score, curve.bin_edges)
    curves: list[ReliabilityCurve | None] = []
    for name, quantile in quantiles.items():
        value = _quantile_of_class(name, np.asarray(quantile), pos_label, classes, len(score))
        mean = mean_of_bins(value, bins, weight, len(curve.mass))
        curves.append(replace(curve, confidence=mean))
    return curves


def _quantile_of_class(name: str, quantile: Array, pos_label: Any, classes: Any, n: int) -> Array:
    if quantile.ndim == 2 and quantile.shape[1] == len(classes):
        quantile = quantile[:, classes.tolist().index(pos_label)]
    elif quantile.ndim != 1:
        raise ValueError(
            f"{name} has shape {quantile.shape}, expected (n, {len(classes)}), "
            f"or (n,) for class {pos_label!r} alone"
        )
    if len(quantile) != n:
        raise ValueError(f"{name} has {len(quantile)} rows but y_true has {n}; they must match")
    outside = ~((quantile >= 0) & (quantile <= 1))
    if outside.any():
        raise ValueError(
            f"{name}: must hold probabilities between 0 and 1, found {quantile[outside][0]}"
        )
    return quantile
