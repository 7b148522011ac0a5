"""Scores of the labels that are called and of the order of rows: precision, recall, F1, AUC.

None of their intervals is taken from rows drawn again: where every row is right, all that is drawn
is right as well, and an interval of no width would claim what so many rows cannot tell.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import rankdata
from sklearn.metrics import confusion_matrix

from .._gp.core.arrays import AnyArray, Array, Integers
from .proportions import interval_of_the_mean, mean_of_shares

MOST_CLASSES = 50
_Z = 1.96


def area_under_curve(prob: Array, codes: Integers) -> tuple[float, float, float]:
    """The area under the ROC curve, and its 95 % interval.

    Of the second of two classes; of more, the mean over the classes that rows have, each against
    the rest. Ties count half. Intervals are by DeLong's variance, and nowhere narrower than those
    of `_interval_of_an_area`: that variance is none where all rows are in order.
    """
    n, n_classes = prob.shape
    present = np.unique(codes) if n_classes > 2 else np.array([1])
    areas, low, high = np.zeros((3, len(present)))
    influence = np.zeros((len(present), n))
    for k, c in enumerate(present):
        event = codes == c
        wins = _share_of_wins(prob[:, c], event)
        areas[k] = wins[event].mean()
        influence[k] = (wins - areas[k]) / np.where(event, event.mean(), 1.0 - event.mean())
        reach = _Z * np.sqrt(np.mean(influence[k] ** 2) / n)
        ends = _interval_of_an_area(areas[k], int(event.sum()), int((~event).sum()))
        low[k] = min(ends[0], areas[k] - reach)
        high[k] = max(ends[1], areas[k] + reach)
    return float(areas.mean()), *interval_of_the_mean(areas, low, high, _correlation(influence))


def _interval_of_an_area(area: float, n_event: int, n_other: int) -> tuple[float, float]:
    """95 % interval of an area of so many rows of either kind (Newcombe's, of 2006).

    It holds the areas that are not further off than Hanley and McNeil's variance allows for, if
    they are the true ones: as Wilson's of a share does, it has a width where all rows are in order.

    Examples
    --------
    >>> low, high = _interval_of_an_area(1.0, 20, 20)
    >>> round(low, 3), high
    (0.899, 1.0)
    """

    def excess(true: float, seen: float) -> float:
        more = (n_event + n_other) / 2 - 1
        spread = 1 + more * ((1 - true) / (2 - true) + true / (1 + true))
        return seen - true - _Z * np.sqrt(true * (1 - true) * spread / (n_event * n_other))

    def lower(seen: float) -> float:
        return brentq(excess, 0.0, seen * (1 - 1e-12), args=(seen,)) if seen > 0 else 0.0

    return lower(area), 1.0 - lower(1.0 - area)


def _correlation(influence: Array) -> Array:
    """Of areas (C, C), by what each row adds to them (C, n); full where rows cannot tell."""
    size = np.sqrt(np.sum(influence**2, axis=1))
    products = np.outer(size, size)
    unknown = products == 0.0
    found = (influence @ influence.T) / np.where(unknown, 1.0, products)
    return np.where(unknown, 1.0, found)


def _share_of_wins(score: Array, event: AnyArray) -> Array:
    """For each row (n,), the share of rows of the other kind that it is on the right side of."""
    among_all = rankdata(score)
    wins = np.empty(len(score))
    for own in (event, ~event):
        below = among_all[own] - rankdata(score[own])
        wins[own] = below / (~own).sum()
    wins[~event] = 1.0 - wins[~event]
    return wins


def label_scores(prob: Array, codes: Integers) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of the likeliest class, each with its 95 % interval.

    Of the second of two classes; of more, the mean over the classes that rows have.

    Precision is a share of the rows called so, recall of those that are so. F1 is 2 J / (1 + J)
    for the share J that is both among the rows that are either, so by the delta method it varies
    as a share of (1 + J)**2 / 2 times as many. Rows that one class is called are not those that
    another is, but a mistake is in the J of two classes, and mistakes are a part J of the variance
    of an F1: that of a mean is at most 1 + J times what it would be without rows in common.
    """
    n_classes = prob.shape[1]
    counts = confusion_matrix(codes, prob.argmax(axis=1), labels=range(n_classes))
    classes = np.unique(codes) if n_classes > 2 else np.array([1])
    right = counts.diagonal()[classes]
    called = counts.sum(axis=0)[classes]
    there = counts.sum(axis=1)[classes]
    either = called + there - right
    twice = 1.0 + right / either
    in_common = twice if len(classes) > 1 else 1.0
    return {
        "precision": mean_of_shares(right / np.maximum(called, 1), called),
        "recall": mean_of_shares(right / there, there),
        "f1": mean_of_shares(2.0 * right / (called + there), either * twice**2 / 2.0 / in_common),
    }
