"""Accuracy of what is left when rows are declined, with intervals, while enough are left."""

import numpy as np

from .._gp.core.arrays import Array, Integers
from ..plotting import rejection_curve
from .proportions import wilson_interval

FEWEST_LEFT = 50
"""Of fewer rows an accuracy says little: 50 that are all right may be 93 %."""
_MOST_POINTS = 200


def rejection_points(codes: Integers, prob: Array) -> list[dict[str, float]]:
    """Points of the curve, from no row declined to where few are left; the first is always there.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Columns of the true classes.
    prob : ndarray of shape (n, C)
    """
    n = len(codes)
    curve = rejection_curve(codes, prob, labels=np.arange(prob.shape[1]))
    left = np.rint((1.0 - curve.rejected) * n).astype(int)
    useful = np.flatnonzero((left >= FEWEST_LEFT) | (left == n))
    evenly = np.linspace(0, len(useful) - 1, _MOST_POINTS).astype(int)
    points = []
    for place in useful[np.unique(evenly)].tolist():
        low, high = wilson_interval(float(curve.accuracy[place]), int(left[place]))
        points.append(
            {
                "rejected": float(curve.rejected[place]),
                "accuracy": float(curve.accuracy[place]),
                "low": float(low),
                "high": float(high),
                "left": int(left[place]),
                "threshold": float(curve.threshold[place]),
            }
        )
    return points
