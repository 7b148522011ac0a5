"""Scores of the labels that are called and of the order of rows: precision, recall, F1, AUC."""

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import confusion_matrix

from .._gp.core.arrays import AnyArray, Array, Integers

MOST_CLASSES = 50
_Z = 1.96


def area_under_curve(prob: Array, codes: Integers) -> tuple[float, float, float]:
    """The area under the ROC curve, and its 95 % interval by DeLong's variance.

    Of the second of two classes; of more, the mean over the classes that rows have, each against
    the rest. Ties count half.
    """
    n, n_classes = prob.shape
    present = np.unique(codes) if n_classes > 2 else [1]
    areas = []
    influence = np.zeros(n)
    for c in present:
        event = codes == c
        wins = _share_of_wins(prob[:, c], event)
        area = wins[event].mean()
        areas.append(area)
        share = np.where(event, event.mean(), 1.0 - event.mean())
        influence += (wins - area) / (share * len(present))
    mean = float(np.mean(areas))
    reach = _Z * float(np.sqrt(np.mean(influence**2) / n))
    return mean, max(0.0, mean - reach), min(1.0, mean + reach)


def _share_of_wins(score: Array, event: AnyArray) -> Array:
    """For each row (n,), the share of rows of the other kind that it is on the right side of."""
    among_all = rankdata(score)
    wins = np.empty(len(score))
    for own in (event, ~event):
        below = among_all[own] - rankdata(score[own])
        wins[own] = below / (~own).sum()
    wins[~event] = 1.0 - wins[~event]
    return wins


def label_scores(
    prob: Array, codes: Integers, n_bootstrap: int, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of the likeliest class, each with its 95 % bootstrap interval.

    Of the second of two classes; of more, the mean over the classes that rows have. Rows drawn
    again are a confusion matrix drawn again, and nothing else of them matters here.
    """
    n, n_classes = prob.shape
    counts = confusion_matrix(codes, prob.argmax(axis=1), labels=range(n_classes))
    drawn = rng.multinomial(n, counts.ravel() / n, size=max(2, n_bootstrap))
    drawn = drawn.reshape(-1, n_classes, n_classes)
    classes = np.unique(codes) if n_classes > 2 else np.array([1])
    values = _of_confusion(counts[None], classes)[:, 0]
    edges = np.quantile(_of_confusion(drawn, classes), [0.025, 0.975], axis=1)
    names = ("precision", "recall", "f1")
    return {
        name: (float(values[k]), float(edges[0, k]), float(edges[1, k]))
        for k, name in enumerate(names)
    }


def _of_confusion(counts: AnyArray, classes: Integers) -> Array:
    """Precision, recall and F1 (3, draws) of confusion matrices (draws, C, C)."""
    right = np.einsum("dcc->dc", counts)[:, classes].astype(np.float64)
    called = counts.sum(axis=1)[:, classes]
    there = counts.sum(axis=2)[:, classes]
    precision = right / np.maximum(called, 1)
    recall = right / np.maximum(there, 1)
    f1 = 2.0 * right / np.maximum(called + there, 1)
    return np.stack([precision, recall, f1]).mean(axis=2)
