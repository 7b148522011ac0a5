"""Class statistics of a file: sums that rows can have."""

from collections.abc import Sequence

import numpy as np

from .._gp.core.arrays import Array
from .._gp.core.fields import SUMS, Numbers, Sizes, check_arrays, expect, faded
from .._gp.core.parallel import Workers, cholesky
from .._gp.core.regressions import LabelTransform, plus_identity
from .._gp.core.statistics import ClassStatistics
from .._gp.training.fitted import unpacked_grams
from .values import Arrays

# T is the size of a lower triangle.
_FIELDS = {
    "counts": Numbers("C", (0.0, SUMS[1])),
    "sums": Numbers("C M", SUMS),
    "grams": Numbers("G T", SUMS),
}


def statistics_restored(
    arrays: Arrays, sizes: Sizes, transforms: Sequence[LabelTransform]
) -> ClassStatistics:
    """The statistics of C classes and M points, with which regressions can be solved.

    Grams of rows are positive semi-definite, to rounding. With B_c = I + u0 (G^ - G^_c) + u1 G^_c,
    no eigenvalue of a Gram below -1 / 2 (u1 + (C - 1) u0) means none of any B_c below a half: then
    every regression has a solution, and variances are at most twice as large as they can be.
    """
    n_classes, n_points = sizes["C"], sizes["M"]
    given = {"C": n_classes, "M": n_points, "T": n_points * (n_points + 1) // 2}
    n_grams = check_arrays(_FIELDS, arrays, given)["G"]
    # One Gram for all classes does if all regressions weigh rows alike.
    pooled = n_grams == 1 and all(transform.is_even for transform in transforms)
    expect(n_grams == n_classes or pooled, "number of Grams")
    grams = unpacked_grams(arrays["grams"], n_points)
    precision = max(t.precision_in + (n_classes - 1) * t.precision_out for t in transforms)
    _check_definite(grams, 0.5 / precision)
    return ClassStatistics(faded(arrays["counts"]), arrays["sums"], grams)


def _check_definite(grams: Array, slack: float) -> None:
    """`ValueError` if a matrix (C, M, M) has an eigenvalue below minus the slack."""

    def factored(gram: Array) -> None:
        cholesky(plus_identity(gram.copy(), slack), overwrite=True)

    try:
        with Workers() as workers:
            for _ in workers.map(factored, grams):
                pass
    except np.linalg.LinAlgError as error:
        raise ValueError("the statistics are not those of any rows") from error
