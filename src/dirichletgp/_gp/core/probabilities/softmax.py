"""From latent means and variances to class probabilities, by integrals.

Every function takes independent Gaussian latents f_c ~ N(mean_c, variance_c), arrays of shape
(n, C), and speaks about pi = softmax(f). Expectations are integrals, never samples; a row's result
depends on that row alone, to the last bit.

Two classes need f_1 - f_0 only: one integral over a Gaussian. Many classes are a race: with
standard Gumbel noise added to every latent, the largest is c with probability pi_c. Let
kappa_c(s) = -log P(f_c + noise <= s) (`table.py`) and E = sum_c kappa_c, so that F = exp(-E) is the
distribution function of the level T that wins. Then, by parts,

    E[pi_i] = integral of -kappa_i' exp(-E) ds = integral of kappa_i F' ds = E[kappa_i(T)].

The last form needs the derivative of log E only, which finite differences give, and decays twice as
fast as the first. The trapezoidal rule converges exponentially in s.
"""

from collections.abc import Iterator
from math import factorial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, Integers
from ..parallel import grouped
from .condensed import MANY, condensed
from .table import STEP, log_intensity

NUMBERS_IN_CACHE = 2**16  # numbers in the largest temporary array: a block of rows stays in cache
_LARGEST_SIGMA = 500.0  # beyond this a softmax is an argmax, to 2e-6
_FARTHEST_BEHIND = 3e4  # probabilities end at 1e-308; their logarithms end here
_MOST_LEVELS = 2**15
_COARSELY = 1e-3  # tolerance of probabilities that compare candidates


class Accuracy(NamedTuple):
    """How far and how finely a race is integrated."""

    depth: float  # from where the winning level lies below with probability exp(-depth)
    height: float  # to where every intensity has fallen by exp(-height)
    stride: int  # spacing of the levels, in units of STEP
    degree: int  # of the interpolation in the table
    tails: bool  # whether tiny probabilities must be right in relative terms


PLAIN = Accuracy(depth=25.0, height=10.5, stride=1, degree=3, tails=False)
TAILS = Accuracy(depth=28.0, height=11.5, stride=1, degree=3, tails=True)
MOMENTS = PLAIN._replace(height=24.0)  # F' alone decays half as fast as kappa F'
FITTING = Accuracy(depth=20.0, height=17.0, stride=1, degree=2, tails=False)
COARSE = Accuracy(depth=14.0, height=6.0, stride=2, degree=2, tails=True)


def class_probabilities(mean: Array, variance: Array) -> Array:
    """Expected class probabilities E[softmax(f)].

    Parameters
    ----------
    mean, variance : ndarray of shape (n, C)
        Of the independent Gaussian latents.

    Returns
    -------
    ndarray of shape (n, C)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> class_probabilities(np.array([[0.0, 2.0]]), np.array([[0.5, 0.5]])).round(6)
    array([[0.155463, 0.844537]])
    """
    mean, variance = standard_form(mean, variance)
    if mean.shape[1] == 2:
        return np.exp(two_class_logs(mean, variance))
    out = np.empty_like(mean)
    for rows, integral in level_integrals(mean, variance, PLAIN):
        p = np.multiply(integral.kappa, integral.density[:, None, :], out=integral.kappa).sum(
            axis=2
        )
        out[rows] = p / p.sum(axis=1, keepdims=True)
    return out


def log_class_probabilities(mean: Array, variance: Array) -> Array:
    """Logarithms of the expected class probabilities, accurate however small the probability.

    Parameters
    ----------
    mean, variance : ndarray of shape (n, C)
        Of the independent Gaussian latents.

    Returns
    -------
    ndarray of shape (n, C)
    """
    mean, variance = standard_form(mean, variance)
    if mean.shape[1] == 2:
        return two_class_logs(mean, variance)
    out = np.empty_like(mean)
    for rows, integral in level_integrals(mean, variance, TAILS):
        out[rows] = integral.log_expectation(integral.log_kappa)
    return out


def log_probability_of(
    codes: Integers, mean: Array, variance: Array, coarse: bool = False
) -> Array:
    """Logarithm of the expected probability of one given class per row.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each row.
    mean, variance : ndarray of shape (n, C)
        Of the independent Gaussian latents.
    coarse : bool, default=False
        Right to about 1e-4 in a fraction of the time, for comparing candidates.

    Returns
    -------
    ndarray of shape (n,)
    """
    mean, variance = standard_form(mean, variance)
    if mean.shape[1] == 2:
        logs = two_class_logs(mean, variance, coarse)
        return np.take_along_axis(logs, codes[:, None], axis=1)[:, 0]
    out = np.empty(len(mean))
    if coarse and mean.shape[1] > MANY:
        for part in condensed(mean, variance, _COARSELY, own=codes):
            first = np.zeros(len(part.rows), dtype=np.intp)
            out[part.rows] = _integrated_log(first, part.mean, part.variance, COARSE)
        return out
    return _integrated_log(codes, mean, variance, COARSE if coarse else TAILS)


def _integrated_log(codes: Integers, mean: Array, variance: Array, accuracy: "Accuracy") -> Array:
    out = np.empty(len(mean))
    for rows, integral in level_integrals(mean, variance, accuracy):
        own = integral.log_kappa[np.arange(len(rows)), codes[rows]]
        out[rows] = integral.log_expectation(own[:, None, :])[:, 0]
    return out


def checked_tolerance(value: Any) -> float:
    """The parameter `tolerance`: a number from 0 on and below 1."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= float(value) < 1:
        raise ValueError(
            f"tolerance={value!r} is not valid; pass a number from 0 on and below 1, such as 1e-4: "
            "how far a probability may be off. 0 computes everything exactly."
        )
    return float(value)


def standard_form(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Latents with the largest mean at zero, and none so wide that the integrals would not end."""
    mean = np.asarray(mean, dtype=np.float64)
    variance = np.maximum(np.asarray(variance, dtype=np.float64), 0.0)
    mean = mean - mean.max(axis=1, keepdims=True)
    if variance.max(initial=0.0) > _LARGEST_SIGMA**2:
        sigma = np.sqrt(variance)
        shrink = _LARGEST_SIGMA / np.maximum(sigma.max(axis=1, keepdims=True), _LARGEST_SIGMA)
        shrink = np.where(sigma * shrink > 1, shrink, 1.0)
        mean, variance = mean * shrink, variance * shrink**2
    return np.maximum(mean, -_FARTHEST_BEHIND), variance


def two_class_logs(mean: Array, variance: Array, coarse: bool = False) -> Array:
    """Logarithms of the expected probabilities (n, 2) of two classes."""
    gap = mean[:, 1] - mean[:, 0]
    lesser = _log_expected_sigmoid(-np.abs(gap), variance.sum(axis=1), coarse)
    larger = np.log1p(-np.exp(lesser))
    first_is_lesser = (gap > 0)[:, None]
    logs = np.stack([lesser, larger], axis=1)
    return np.where(first_is_lesser, logs, logs[:, ::-1])


def _log_expected_sigmoid(mean: Array, variance: Array, coarse: bool = False) -> Array:
    """Logarithm of E[sigmoid(x)], x ~ N(mean, variance), for mean <= 0.

    The sigmoid tilts the Gaussian, by up to v to the right. Nodes are centred on the tilted mass,
    to within one standard deviation.
    """
    sigma = np.sqrt(variance)
    tilt = np.minimum(variance, -mean) / np.maximum(sigma, 1e-150)
    centre = np.minimum(mean + variance, 0.0)
    out = np.empty_like(mean)
    for rows, y, weight in gaussian_nodes(sigma, coarse):
        x = centre[rows, None] + sigma[rows, None] * y
        log_term = np.minimum(x, 0.0) - centre[rows, None] - tilt[rows, None] * y - 0.5 * y * y
        terms = np.exp(log_term) / (1.0 + np.exp(-np.abs(x)))
        out[rows] = centre[rows] - 0.5 * tilt[rows] ** 2 + np.log(weight * terms.sum(axis=1))
    return out


def gaussian_nodes(sigma: Array, coarse: bool = False) -> Iterator[tuple[Integers, Array, float]]:
    """Rows, and the nodes and weight of a trapezoidal rule in the standardised variable.

    The poles of the sigmoid are pi / sigma off the real axis: the number of nodes grows with sigma.
    """
    reach, fewest, per_sigma = (5.5, 12, 8.0) if coarse else (8.5, 28, 22.0)
    # half-octaves, so that few node sets serve all rows
    size = np.ceil(2 * np.log2(np.maximum(sigma * per_sigma / fewest, 1.0)))
    count = np.ceil(fewest * 2 ** (size / 2)).astype(np.intp)
    for rows in grouped(count, count, NUMBERS_IN_CACHE):
        y = np.linspace(-reach, reach, int(count[rows[0]]))
        yield rows, y, float((y[1] - y[0]) / np.sqrt(2 * np.pi))


class Levels(NamedTuple):
    """Equally spaced levels of rows: the lowest (n,), spacing in units of STEP, and number."""

    lowest: Array
    stride: int
    number: int


class LevelIntegral:
    """Intensities of a block of rows on equally spaced levels.

    Attributes
    ----------
    kappa, log_kappa : ndarray of shape (n, C, K)
        Intensity of each class at each level.
    density : ndarray of shape (n, K)
        F' times the spacing: weights of the winning level.
    """

    def __init__(self, mean: Array, variance: Array, levels: Levels, degree: int) -> None:
        first = (levels.lowest[:, None] - mean).ravel()
        flat = log_intensity(first, variance.ravel(), levels.stride, levels.number, degree)
        self.step = STEP * levels.stride
        self.lowest = levels.lowest
        self.log_kappa = flat.reshape(*mean.shape, levels.number)
        self.kappa = np.exp(self.log_kappa)
        self.total = self.kappa.sum(axis=1)
        log_total = np.log(self.total)
        # F' = -E' exp(-E) with E' = E (log E)'
        steepness = np.log(_steepness(log_total, self.step))
        self.log_density = steepness + log_total - self.total + np.log(self.step)

    @property
    def density(self) -> Array:
        """F' times the spacing, of shape (n, K)."""
        return np.exp(self.log_density)

    def log_expectation(self, log_kappa: Array) -> Array:
        """Logarithm of E[kappa_i(T)] for classes given as (n, c, K); all classes sum to one."""
        everything = (self.total * self.density).sum(axis=1)
        log_terms = log_kappa + self.log_density[:, None, :]
        largest = log_terms.max(axis=2, keepdims=True)
        log_sum = np.log(np.exp(log_terms - largest).sum(axis=2)) + largest[:, :, 0]
        result: Array = log_sum - np.log(everything)[:, None]
        return result

    def moments(self) -> tuple[Array, Array, Array]:
        """E[logsumexp(f)] of shape (n,), E[pi_i] and E[pi_i (1 - pi_i)] of shape (n, C).

        T is logsumexp(f) plus Gumbel noise, so E[logsumexp(f)] = E[T] - gamma. Differentiating
        E[pi_i] by m_i shows that E[pi_i (1 - pi_i)] is the integral of kappa_i' (E' - kappa_i')
        exp(-E).
        """
        density = self.density
        levels = self.lowest[:, None] + self.step * np.arange(density.shape[1])
        winning_level = (levels * density).sum(axis=1) / density.sum(axis=1)
        p = (self.kappa * density[:, None, :]).sum(axis=2)
        p /= p.sum(axis=1, keepdims=True)
        falling = self.kappa * _steepness(self.log_kappa, self.step)
        others = falling.sum(axis=1, keepdims=True) - falling
        survival = self.step * np.exp(-self.total)
        spread = (falling * others * survival[:, None, :]).sum(axis=2)
        return winning_level - np.euler_gamma, p, spread


def level_integrals(
    mean: Array, variance: Array, accuracy: Accuracy
) -> Iterator[tuple[Integers, LevelIntegral]]:
    """All rows, in blocks that share stride and number of levels."""
    slab = max(1, 8 * NUMBERS_IN_CACHE // mean.shape[1])
    for start in range(0, len(mean), slab):
        m, v = mean[start : start + slab], variance[start : start + slab]
        lowest, stride, count = _levels(m, v, accuracy)
        key = 2 * _MOST_LEVELS * stride + count
        for rows in grouped(key, count * m.shape[1], NUMBERS_IN_CACHE):
            levels = Levels(lowest[rows], int(stride[rows[0]]), int(count[rows[0]]))
            yield start + rows, LevelIntegral(m[rows], v[rows], levels, accuracy.degree)


def _levels(mean: Array, variance: Array, accuracy: Accuracy) -> tuple[Array, Integers, Integers]:
    """Where each row's race begins, the spacing of its levels (times STEP), and their number."""
    middle = _middle_level(mean, variance)
    distance = np.maximum(middle[:, None] - mean, 0.0)
    cost = _tail_cost(distance, variance)
    top = (mean + _tail_distance(cost + accuracy.height, variance)).max(axis=1)
    # kappa_i F' <= E^2 exp(-E): the race begins where one kappa_j alone has reached `depth`; for
    # relative accuracy, `depth` - log pi_i ...
    extra = cost.max(axis=1, keepdims=True) if accuracy.tails else np.zeros((len(mean), 1))
    depth = accuracy.depth + extra
    u = 2 * depth / (1 + np.sqrt(1 + 2 * variance * depth))
    lowest = _level_of(u, mean, variance)
    if accuracy.tails:
        # ... or, as kappa_i grows no faster than exp(-s), `depth` + the distance from the middle.
        depth = accuracy.depth + distance
        depth = depth + np.log1p(depth)
        tilt = variance - 1
        u = 2 * depth / (np.sqrt(tilt**2 + 2 * variance * depth) - tilt)
        lowest = np.maximum(lowest, _level_of(u, mean, variance))
    return lowest, *_spacing(top - lowest, variance.min(axis=1), accuracy.stride)


def _spacing(span: Array, narrowest: Array, stride: int) -> tuple[Integers, Integers]:
    """Stride and number of levels: coarser if all latents are wide, or the race would not end."""
    doublings = np.maximum(
        np.floor(0.5 * np.log2(np.maximum(narrowest, 1.0))),
        np.ceil(np.log2(np.maximum(span / (STEP * stride * _MOST_LEVELS), 1.0))),
    )
    strides = stride * 2 ** doublings.astype(np.intp)
    count = np.ceil(span / (STEP * strides)) + 1
    # Rounded up by an eighth or less, so that few sizes serve all rows
    unit = np.maximum(2.0 ** np.floor(np.log2(count) - 3), 4.0)
    return strides, (unit * np.ceil(count / unit)).astype(np.intp)


def _middle_level(mean: Array, variance: Array) -> Array:
    """A level near or above the median of T: where E is about one, from two bounds on kappa."""
    heavy = mean + 0.5 * variance  # kappa <= exp(v/2 - z)
    highest = heavy.max(axis=1)
    by_mean = highest + np.log(np.exp(heavy - highest[:, None]).sum(axis=1))
    return np.minimum(
        by_mean, (mean + _tail_distance(np.log(mean.shape[1]) + 1, variance)).max(axis=1)
    )


def _tail_cost(z: Array, variance: Array) -> Array:
    """About -log kappa(z, v) for z >= 0: a Gaussian tail up to z = v, exponential beyond."""
    gaussian = 0.5 * z * z / np.maximum(np.maximum(variance, z), 1e-300)
    return np.where(z < variance, gaussian, z - 0.5 * variance)


def _tail_distance(cost: Array | float, variance: Array) -> Array:
    """The z of a given tail cost."""
    return np.where(2 * cost < variance, np.sqrt(2 * variance * cost), cost + 0.5 * variance)


def _level_of(u: Array, mean: Array, variance: Array) -> Array:
    """The highest level at which, for some class, kappa = u + v u^2/2 (see `table._left`)."""
    return (mean - np.log(u) - variance * u).max(axis=1)


def _steepness(log_values: Array, step: float) -> Array:
    """Minus the derivative along the last axis, by central differences of order 10.

    Straight lines continue the values beyond the ends: crude, but integrands are negligible there.
    """
    reach = len(_DIFFERENCE)
    ramp = np.arange(1, reach + 1)
    left = log_values[..., :1] - log_values[..., 1:2]
    right = log_values[..., -1:] - log_values[..., -2:-1]
    padded = np.concatenate(
        [log_values[..., :1] + left * ramp[::-1], log_values, log_values[..., -1:] + right * ramp],
        axis=-1,
    )
    n = log_values.shape[-1]
    out = np.zeros_like(log_values)
    for k, weight in enumerate(_DIFFERENCE, start=1):
        back, ahead = padded[..., reach - k :][..., :n], padded[..., reach + k :][..., :n]
        out += (weight / step) * (back - ahead)
    return np.maximum(out, 1e-300)


def _difference_weights(reach: int) -> list[float]:
    """Weights of f(k) - f(-k), k = 1, ..., reach, in the central difference of order 2 reach."""
    return [
        (-1) ** (k + 1) * factorial(reach) ** 2 / (k * factorial(reach - k) * factorial(reach + k))
        for k in range(1, reach + 1)
    ]


_DIFFERENCE = _difference_weights(5)
