"""What to do with probabilities, on the rows of a report: labels to check, costs, thresholds."""

from typing import Any

import numpy as np
from scipy.stats import poisson

from .._gp.core.arrays import Array, Integers
from .._gp.decisions.costs import cheapest
from .._gp.decisions.label_issues import UNLIKELY
from .._gp.decisions.thresholds import PRECISION, RECALL, Reached, threshold_for

_MOST_LISTED = 8
# How many false alarms a row of the second class that is missed may cost.
_RATIOS = (1.0, 2.0, 5.0, 10.0, 20.0, 0.5, 0.2)
_MOST_POINTS = 101
_TARGETS = (0.8, 0.9, 0.95, 0.99)
_MOST_CLASSES = 30
_LEVEL = 0.95


def labels_to_check(
    prob: Array, codes: Integers, labels: list[str], numbers: Integers
) -> dict[str, Any]:
    """Rows whose label is unlikely, and how many there would be if the model were right.

    Parameters
    ----------
    prob : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Columns of the given classes.
    labels : list of str
    numbers : ndarray of shape (n,)
        What the rows are called.
    """
    own = prob[np.arange(len(codes)), codes]
    unlikely = np.flatnonzero(own < UNLIKELY)
    listed = unlikely[np.argsort(own[unlikely], kind="stable")][:_MOST_LISTED]
    best = prob.argmax(axis=1)
    expected = float(np.where(prob < UNLIKELY, prob, 0.0).sum())
    return {
        "below": UNLIKELY,
        "found": len(unlikely),
        "expected": expected,
        "at_most": int(poisson.ppf(_LEVEL, expected)),
        "rows": [
            {
                "row": int(numbers[i]),
                "given": labels[codes[i]],
                "probability": float(own[i]),
                "suggested": labels[best[i]],
                "suggested_probability": float(prob[i, best[i]]),
            }
            for i in listed
        ],
    }


def cost_curves(prob: Array, codes: Integers, labels: list[str]) -> list[dict[str, Any]]:
    """Mean cost of mistakes against the share of rows declined, those of most doubt first.

    With two classes, one curve for each of several prices of a missed row of the second class, in
    false alarms. With more, every mistake costs 1.
    """
    n_classes = len(labels)
    ratios = _RATIOS if n_classes == 2 else (1.0,)
    curves = []
    for ratio in ratios:
        costs = 1.0 - np.eye(n_classes)
        if n_classes == 2:
            costs[1, 0] = ratio
        decision = cheapest(prob, np.arange(n_classes), costs, None)
        real = costs[codes, decision.labels]
        order = np.argsort(-decision.cost, kind="stable")
        # Cost that is left, as a mean over all rows, after the first k were declined.
        left = np.append(real[order][::-1].cumsum()[::-1], 0.0) / len(codes)
        places = np.unique(np.linspace(0, len(codes), _MOST_POINTS).astype(int))
        points = [[float(k / len(codes)), float(left[k])] for k in places.tolist()]
        curves.append({"ratio": ratio, "points": points})
    return curves


def thresholds_table(prob: Array, codes: Integers, labels: list[str]) -> list[dict[str, Any]]:
    """Thresholds for targets of precision and recall: of the second of two classes, or of each."""
    two = len(labels) == 2
    places = [1] if two else list(range(min(len(labels), _MOST_CLASSES)))
    table = []
    for c in places:
        event = codes == c
        if not event.any():
            continue
        reached = Reached.of(prob[:, c], event, None)
        for target in (PRECISION, RECALL):
            for wanted in _TARGETS if two else _TARGETS[1:2]:
                found = threshold_for(reached, target, wanted, _LEVEL)
                possible = bool(np.isfinite(found.value))
                table.append(
                    {
                        "label": labels[c],
                        "target": target,
                        "wanted": wanted,
                        "possible": possible,
                        "value": found.value if possible else None,
                        "interval": [
                            edge if np.isfinite(edge) else None for edge in found.value_interval
                        ],
                        "precision": found.precision,
                        "precision_interval": list(found.precision_interval),
                        "recall": found.recall,
                        "recall_interval": list(found.recall_interval),
                    }
                )
    return table
