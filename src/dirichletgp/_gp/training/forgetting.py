"""Class statistics without some of their rows, if these can have been among them.

A model does not know its rows. It does know that what is left over must be the statistics of some
rows: weights are not negative, and the Gram matrix of the rows, each with a one before its vector,
is positive semi-definite.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.linalg import cholesky
from ..core.statistics import ClassStatistics

# Rounding of sums: less than this part of a class is nothing, and as much below zero is not yet
# negative.
_NOTHING = 1e-10


def without(
    before: ClassStatistics, taken: ClassStatistics, variance: float, classes: NDArray[Any]
) -> ClassStatistics:
    """The statistics without some rows; `ValueError` if they cannot be statistics of any rows."""
    after = before - taken
    for k in np.flatnonzero(taken.counts).tolist():
        have, want = before.counts[k], taken.counts[k]
        if want > have * (1 + _NOTHING) or not _possible(before, after, k, variance):
            raise ValueError(
                f"forget: rows of class {classes.tolist()[k]!r} were never added, or not with these weights: the "
                f"model has a weight of {have:g} in that class, {want:g} should be taken away. The model is as it was."
            )
        if after.counts[k] <= _NOTHING * have:
            # The last row of a class leaves rounding behind, which would not be nothing to a
            # solver.
            after.counts[k] = after.sums[k] = after.grams[k] = 0.0
    return after


def _possible(before: ClassStatistics, after: ClassStatistics, k: int, variance: float) -> bool:
    """Whether a class can have these sums: the Gram of its rows, each with a one before its vector, is not negative."""
    n_points = len(after.sums[k])
    gram = np.empty((n_points + 1, n_points + 1))
    gram[0, 0] = variance * after.counts[k]
    gram[1:, 0] = gram[0, 1:] = np.sqrt(variance) * after.sums[k]
    gram[1:, 1:] = after.grams[k]
    slack = _NOTHING * (variance * before.counts[k] + np.trace(before.grams[k]))
    gram.flat[:: n_points + 2] += slack
    try:
        cholesky(gram, overwrite=True)
    except np.linalg.LinAlgError:
        return False
    return True
