"""Prediction sets: classes that hold the label with a stated probability."""

import numpy as np

from ..core.arrays import Array, Booleans
from ..core.warning import warn_caller
from ..training.remembered import SetScores


def scores_that_hold(scores: SetScores | None) -> SetScores:
    """The scores of a fitted model; a warning or an error if they do not promise anything."""
    if scores is None:
        raise ValueError(
            "the model was saved by an earlier version and has no scores of left-out rows, which "
            "sets need; fit it again."
        )
    if not scores.holds:
        warn_caller(
            "predict_set cannot promise its coverage: it stands on left-out predictions of the "
            "rows that the model was last trained on, and the model has been given or has lost "
            "rows since, or is a stream of few rows; `fit` or `refresh` makes the promise again.",
            UserWarning,
        )
    return scores


def prediction_sets(
    probabilities: Array, scores: SetScores, coverage: float, by_class: bool, allow_empty: bool
) -> Booleans:
    """Which classes are in the set of each row, (n, C), for class probabilities (n, C)."""
    least: float | Array
    if by_class:
        least = scores.least_probability_by_class(coverage)
    else:
        least = scores.least_probability(coverage)
    inside: Booleans = np.asarray(probabilities >= least)
    if not allow_empty:
        inside[np.arange(len(inside)), probabilities.argmax(axis=1)] = True
    return inside
