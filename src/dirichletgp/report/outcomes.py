"""What calling rows by a threshold leads to: the numbers behind the slider of a report."""

from typing import Any

import numpy as np

from .._gp.core.arrays import Array, Integers

_MOST_CLASSES = 30
# Percent by percent, and finer where rare classes need it.
_FINE = (0.0005, 0.001, 0.002, 0.005)
THRESHOLDS = np.array([*_FINE, *np.arange(1, 100) / 100, *(1.0 - x for x in _FINE[::-1])])


def outcomes_by_threshold(prob: Array, codes: Integers, labels: list[str]) -> dict[str, Any]:
    """For classes, how many rows have at least a probability, and how many of them rightly.

    Parameters
    ----------
    prob : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Columns of the true classes.
    labels : list of str

    Returns
    -------
    dict
        "thresholds" (T,), and "classes": a list of dicts with the "label", its "rows", and
        "taken" and "right" (T,). It is the second of two classes, or each of those with the most
        rows, the one with the most mistakes at 50 % first.
    """
    counts = np.bincount(codes, minlength=len(labels))
    often = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
    places = [1] if len(labels) == 2 else sorted(often.tolist())
    classes = []
    for c in places:
        if counts[c] == 0:
            continue
        of_all = np.sort(prob[:, c])
        of_class = np.sort(prob[codes == c, c])
        classes.append(
            {
                "label": labels[c],
                "rows": int(counts[c]),
                "taken": (len(of_all) - np.searchsorted(of_all, THRESHOLDS)).tolist(),
                "right": (len(of_class) - np.searchsorted(of_class, THRESHOLDS)).tolist(),
            }
        )
    classes.sort(key=lambda entry: -_mistakes(entry))
    return {"thresholds": THRESHOLDS.tolist(), "classes": classes}


def _mistakes(entry: dict[str, Any]) -> int:
    half = len(THRESHOLDS) // 2
    return int(entry["rows"] + entry["taken"][half] - 2 * entry["right"][half])
