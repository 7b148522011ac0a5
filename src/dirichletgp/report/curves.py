"""Reliability curves as the page draws them: bins with intervals, and the edges of the band."""

import numpy as np

from .._gp.core.arrays import Array, Booleans, Integers
from ..metrics import ReliabilityCurve, reliability_curve
from ..plotting.quantile_band import quantile_curves
from .bootstrap import N_BINS
from .examined_rows import ExaminedRows
from .numbers import Curve


def headline_curve(rows: ExaminedRows, labels: list[str]) -> Curve:
    """Of the second of two classes, or of the predicted class of many."""
    if len(labels) == 2:
        return class_curve(rows, 1, labels)
    predicted = rows.prob.argmax(axis=1)
    return _curve("", rows, rows.prob.max(axis=1), rows.correct, predicted)


def class_curve(rows: ExaminedRows, c: int, labels: list[str]) -> Curve:
    """Of class c against the rest."""
    column = np.full(len(rows.codes), c)
    return _curve(labels[c], rows, rows.prob[:, c], rows.codes == c, column)


def _curve(
    label: str, rows: ExaminedRows, score: Array, event: Booleans, column: Integers
) -> Curve:
    """The curve of a score (n,) for an event (n,); `column` says whose quantiles bound the band."""
    curve = reliability_curve(
        event, np.clip(score, 0.0, 1.0), n_bins=N_BINS, pos_label=True, labels=[False, True]
    )
    lower, upper = _edges_of_the_band(rows, curve, score, column)
    counts = np.rint(curve.mass * len(score)).astype(int)
    bins = []
    for b in np.flatnonzero(counts):
        low, high = _wilson_interval(curve.accuracy[b], counts[b])
        entry = {
            "confidence": curve.confidence[b],
            "accuracy": curve.accuracy[b],
            "rows": counts[b],
            "low": low,
            "high": high,
        }
        if lower is not None and upper is not None:
            entry["lower"] = lower.confidence[b]
            entry["upper"] = upper.confidence[b]
        bins.append({key: float(value) for key, value in entry.items()})
    return Curve(label, curve.calibration_error, int(event.sum()), bins, curve.mass.tolist())


def _edges_of_the_band(
    rows: ExaminedRows, curve: ReliabilityCurve, score: Array, column: Integers
) -> list[ReliabilityCurve | None]:
    if rows.lower is None or rows.upper is None:
        return [None, None]
    own = (np.arange(len(column)), column)
    return quantile_curves(
        curve,
        score,
        {"lower": rows.lower[own], "upper": rows.upper[own]},
        pos_label=True,
        classes=np.array([False, True]),
        sample_weight=None,
    )


def _wilson_interval(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion (Wilson's)."""
    widening = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / widening
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / widening
    return max(0.0, centre - reach), min(1.0, centre + reach)
