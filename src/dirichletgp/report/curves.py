"""Reliability curves as the page draws them: bins, intervals, a band, and what these say."""

import numpy as np
from scipy.stats import binom

from .._gp.core.arrays import Array, Booleans, Integers
from ..metrics import ReliabilityCurve, reliability_curve
from ..plotting.quantile_band import quantile_curves
from .calibration import N_BINS, error_by_chance
from .examined_rows import ExaminedRows
from .numbers import Curve
from .proportions import wilson_interval

# A band that covers more than this share of the axis includes the diagonal whatever comes true.
_TELLS_NOTHING = 0.5
# What is this unlikely, on either side of a band of 95 %, is not put down to chance.
_BY_CHANCE = 0.025


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
        low, high = wilson_interval(curve.accuracy[b], counts[b])
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
    return Curve(
        label=label,
        error=curve.calibration_error,
        by_chance=error_by_chance(score),
        rows=int(event.sum()),
        bins=bins,
        histogram=curve.mass.tolist(),
        words=_words(bins),
    )


def _words(bins: list[dict[str, float]]) -> list[str]:
    """Where intervals and band miss the diagonal, and whether they could have."""
    missed = [b for b in bins if not b["low"] <= b["confidence"] <= b["high"]]
    said = [_misses_of_the_intervals(missed, len(bins))]
    if "lower" not in bins[0]:
        return said
    fewer = [b for b in bins if _is_below_the_band(b)]
    more = [b for b in bins if _is_above_the_band(b)]
    said.append(_misses_of_the_band(fewer, more, len(bins)))
    outside = fewer + more
    wide = [b for b in bins if b["upper"] - b["lower"] > _TELLS_NOTHING and b not in outside]
    if wide:
        said.append(
            f"{_points('At', wide, len(bins))} the band is so wide that it includes the "
            "diagonal nearly whatever comes true: there it is no evidence."
        )
    return said


def _is_below_the_band(point: dict[str, float]) -> bool:
    """Whether so few come true by chance once in 40 times at most, if the lower end is right."""
    came_true = round(point["accuracy"] * point["rows"])
    return bool(binom.cdf(came_true, point["rows"], point["lower"]) < _BY_CHANCE)


def _is_above_the_band(point: dict[str, float]) -> bool:
    """Whether so many come true by chance once in 40 times at most, if the upper end is right."""
    came_true = round(point["accuracy"] * point["rows"])
    return bool(binom.sf(came_true - 1, point["rows"], point["upper"]) < _BY_CHANCE)


def _misses_of_the_intervals(missed: list[dict[str, float]], n_points: int) -> str:
    if n_points == 1 and not missed:
        return "The one interval includes the diagonal; by chance 19 in 20 do."
    several = f"{len(missed) or 'None'} of {n_points} intervals"
    subject = "The one interval" if n_points == 1 else several
    verb = "misses" if len(missed) == 1 else "miss"
    return f"{subject} {verb} the diagonal{_places(missed)}; by chance about one in twenty does."


def _misses_of_the_band(
    fewer: list[dict[str, float]], more: list[dict[str, float]], n_points: int
) -> str:
    """Where the band is too narrow, and on which side: that is not where the model is off."""
    if not fewer and not more:
        return "The band, allowing for chance in so many rows, misses it nowhere."
    sides = []
    if fewer:
        sides.append(f"fewer came true than its lower end allows for{_places(fewer)}")
    if more:
        sides.append(f"more came true than its upper end allows for{_places(more)}")
    points = _points("at", fewer + more, n_points)
    return (
        f"The band misses it {points} by more than chance, where it is too narrow: "
        f"{', '.join(sides)}."
    )


def _points(preposition: str, some: list[dict[str, float]], n_points: int) -> str:
    which = "the one point" if n_points == 1 else f"{len(some)} of {n_points} points"
    return f"{preposition} {which}"


def _places(bins: list[dict[str, float]]) -> str:
    named = ", ".join(f"{100 * b['confidence']:.0f}\u00a0%" for b in bins[:4])
    more = " and elsewhere" if len(bins) > 4 else ""
    return f" (at {named}{more})" if bins else ""


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
