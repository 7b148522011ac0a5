"""What is known of a share of which n rows are the only evidence."""

import numpy as np

from .._gp.core.arrays import AnyArray, Array


def wilson_interval(share: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion (Wilson's); of no rows, all there is.

    Examples
    --------
    >>> low, high = wilson_interval(1.0, 50)
    >>> round(low, 3), high
    (0.929, 1.0)
    """
    if n == 0:
        return 0.0, 1.0
    widening = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / widening
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / widening
    # An interval contains its share, whatever the last bit of its ends.
    return min(share, max(0.0, float(centre - reach))), max(share, min(1.0, float(centre + reach)))


def interval_of_the_mean(
    values: Array, low: Array, high: Array, correlation: Array
) -> tuple[float, float]:
    """The interval of a mean of numbers (C,) that have intervals, which may be lopsided.

    What the intervals tell of the variance at each end is added up, with the correlation (C, C) of
    the numbers (Zou and Donner's "variance estimates recovery").

    Examples
    --------
    >>> ends = np.array([0.2, 0.4]), np.array([0.6, 0.8])
    >>> low, high = interval_of_the_mean(np.array([0.4, 0.6]), *ends, np.eye(2))
    >>> round(low, 3), round(high, 3)
    (0.359, 0.641)
    """
    below = values - low
    above = high - values
    mean = float(values.mean())
    reach = [float(np.sqrt(side @ correlation @ side)) / len(values) for side in (below, above)]
    return max(0.0, mean - reach[0]), min(1.0, mean + reach[1])


def mean_of_shares(share: Array, rows: AnyArray) -> tuple[float, float, float]:
    """The mean of shares (C,) of so many different rows (C,) each, and its 95 % interval.

    The wider, at either end, of two: from the intervals of the shares, which are too sure of those
    that are 0 or 1 by chance, and as if all shares were the same, which they need not be. A single
    share has its own.

    Examples
    --------
    >>> mean, low, high = mean_of_shares(np.array([1.0, 1.0]), np.array([25, 25]))
    >>> mean, round(low, 3), high
    (1.0, 0.906, 1.0)
    """
    mean = float(share.mean())
    ends = [wilson_interval(float(p), float(n)) for p, n in zip(share, rows, strict=True)]
    low, high = np.transpose(ends)
    own = interval_of_the_mean(share, low, high, np.eye(len(share)))
    as_one = wilson_interval(mean, len(share) ** 2 / float(np.sum(1.0 / np.maximum(rows, 1.0))))
    return mean, min(own[0], as_one[0]), max(own[1], as_one[1])
