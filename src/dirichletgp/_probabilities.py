"""From latent means and variances to class probabilities: quadrature, quantiles, entropies.

Every function takes independent Gaussian latents f_c ~ N(mean_c, variance_c), arrays of shape
(n, C), and speaks about pi = softmax(f). Expectations are integrals, never samples; a row's result
depends on that row alone, to the last bit.

Two classes need f_1 - f_0 only: one integral over a Gaussian. Many classes run a race: with
standard Gumbel noise added to every latent, the largest is c with probability pi_c. Let
kappa_c(s) = -log P(f_c + noise <= s) (`_gumbel.py`) and E = sum_c kappa_c, so that F = exp(-E) is
the distribution function of the winning level T. Then, by parts,

    E[pi_i] = integral of -kappa_i' exp(-E) ds = integral of kappa_i F' ds = E[kappa_i(T)].

The last form needs the derivative of log E only, which finite differences give, and decays twice as
fast as the first. The trapezoidal rule converges exponentially in s.
"""

from collections.abc import Iterator
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, ndtri

from dirichletgp._gumbel import STEP, log_intensity

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

_BLOCK = 2**16  # numbers in the largest temporary array: a block of rows stays in cache
_MOST_LEVELS = 2**15
_LARGEST_SIGMA = 500.0  # beyond this a softmax is an argmax, to 2e-6
_INTERVAL_SEED = 20180527


class _Accuracy(NamedTuple):
    """How far and how finely a race is integrated."""

    depth: float  # from where the winning level lies below with probability exp(-depth)
    height: float  # to where every intensity has fallen by exp(-height)
    stride: int  # spacing of the levels, in units of STEP
    degree: int  # of the interpolation in the table
    tails: bool  # whether tiny probabilities must be right in relative terms


_PLAIN = _Accuracy(depth=25.0, height=10.5, stride=1, degree=3, tails=False)
_TAILS = _Accuracy(depth=28.0, height=11.5, stride=1, degree=3, tails=True)
_MOMENTS = _PLAIN._replace(height=24.0)  # F' alone decays half as fast as kappa F'
_COARSE = _Accuracy(depth=14.0, height=6.0, stride=2, degree=2, tails=True)


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
    mean, variance = _standard_form(mean, variance)
    if mean.shape[1] == 2:
        return np.exp(_two_class_logs(mean, variance))
    out = np.empty_like(mean)
    for rows, race in _races(mean, variance, _PLAIN):
        p = np.multiply(race.kappa, race.density[:, None, :], out=race.kappa).sum(axis=2)
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
    mean, variance = _standard_form(mean, variance)
    if mean.shape[1] == 2:
        return _two_class_logs(mean, variance)
    out = np.empty_like(mean)
    for rows, race in _races(mean, variance, _TAILS):
        out[rows] = race.log_expectation(race.log_kappa)
    return out


def log_probability_of(codes: Integers, mean: Array, variance: Array, coarse: bool = False) -> Array:
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
    mean, variance = _standard_form(mean, variance)
    if mean.shape[1] == 2:
        logs = _two_class_logs(mean, variance, coarse)
        return np.take_along_axis(logs, codes[:, None], axis=1)[:, 0]
    out = np.empty(len(mean))
    for rows, race in _races(mean, variance, _COARSE if coarse else _TAILS):
        own = race.log_kappa[np.arange(len(rows)), codes[rows]]
        out[rows] = race.log_expectation(own[:, None, :])[:, 0]
    return out


def probability_interval(
    mean: Array, variance: Array, level: float = 0.95, n_samples: int = 1_000
) -> tuple[Array, Array]:
    """Equal-tailed credible intervals of the class probabilities softmax(f).

    Two classes in closed form; many by Latin hypercube draws, the same for every row and call.

    Parameters
    ----------
    mean, variance : ndarray of shape (n, C)
        Of the independent Gaussian latents.
    level : float, default=0.95
        Posterior probability of the interval.
    n_samples : int, default=1000
        Number of draws for more than two classes.

    Returns
    -------
    lower, upper : ndarray of shape (n, C)
    """
    mean, variance = _standard_form(mean, variance)
    sigma = np.sqrt(variance)
    n, n_classes = mean.shape
    lower, upper = np.empty_like(mean), np.empty_like(mean)
    if n_classes == 2:
        centre = mean[:, 1] - mean[:, 0]
        reach = ndtri(0.5 + level / 2) * np.hypot(sigma[:, 0], sigma[:, 1])
        lower[:, 1], upper[:, 1] = expit(centre - reach), expit(centre + reach)
        lower[:, 0], upper[:, 0] = expit(-centre - reach), expit(-centre + reach)
        return lower, upper
    scores = np.tile(ndtri((np.arange(n_samples) + 0.5) / n_samples), (n_classes, 1))
    draws = np.random.default_rng(_INTERVAL_SEED).permuted(scores, axis=1)
    step = max(1, 2 * _BLOCK // draws.size)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        pi = _softmax(mean[rows, :, None] + sigma[rows, :, None] * draws, axis=1)
        tails = [0.5 - level / 2, 0.5 + level / 2]
        lower[rows], upper[rows] = np.quantile(pi, tails, axis=2, overwrite_input=True)
    return lower, upper


def uncertainty(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Entropy of the prediction, and how much of it would remain were the latents known.

    Parameters
    ----------
    mean, variance : ndarray of shape (n, C)
        Of the independent Gaussian latents.

    Returns
    -------
    total : ndarray of shape (n,)
        Entropy of E[softmax(f)], in nats.
    aleatoric : ndarray of shape (n,)
        Expected entropy of softmax(f).
    epistemic : ndarray of shape (n,)
        Their difference, the mutual information of label and latents: not negative.
    """
    mean, variance = _standard_form(mean, variance)
    if mean.shape[1] == 2:
        p = np.exp(_two_class_logs(mean, variance))
        aleatoric = _expected_binary_entropy(mean[:, 1] - mean[:, 0], variance.sum(axis=1))
    else:
        p, aleatoric = np.empty_like(mean), np.empty(len(mean))
        for rows, race in _races(mean, variance, _MOMENTS):
            p[rows], aleatoric[rows] = race.expected_entropy(mean[rows], variance[rows])
    total = entr(p).sum(axis=1)
    aleatoric = np.clip(aleatoric, 0.0, total)
    return total, aleatoric, total - aleatoric


def sample_probabilities(mean: Array, variance: Array, n_samples: int, rng: np.random.Generator) -> Array:
    """Draws of the class probabilities softmax(f).

    Parameters
    ----------
    mean, variance : ndarray of shape (n, C)
        Of the independent Gaussian latents.
    n_samples : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n, C)
    """
    f = rng.standard_normal((n_samples, *np.shape(mean)))
    f *= np.sqrt(variance)
    f += mean
    return _softmax(f, axis=2)


def _softmax(f: Array, axis: int) -> Array:
    """Softmax in place."""
    f -= f.max(axis=axis, keepdims=True)
    np.exp(f, out=f)
    f /= f.sum(axis=axis, keepdims=True)
    return f


def _standard_form(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Latents with the largest mean at zero, and none so wide that the integrals would not end."""
    mean = np.asarray(mean, dtype=np.float64)
    variance = np.maximum(np.asarray(variance, dtype=np.float64), 0.0)
    mean = mean - mean.max(axis=1, keepdims=True)
    if variance.max(initial=0.0) > _LARGEST_SIGMA**2:
        sigma = np.sqrt(variance)
        shrink = _LARGEST_SIGMA / np.maximum(sigma.max(axis=1, keepdims=True), _LARGEST_SIGMA)
        shrink = np.where(sigma * shrink > 1, shrink, 1.0)
        mean, variance = mean * shrink, variance * shrink**2
    return mean, variance


def _grouped(key: Integers, width: Integers) -> Iterator[Integers]:
    """Rows with equal keys together, in blocks of about _BLOCK numbers, `width` per row."""
    order = np.argsort(key, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        if len(group):
            step = max(1, _BLOCK // int(width[group[0]]))
            yield from (group[i : i + step] for i in range(0, len(group), step))


# --- Two classes ---------------------------------------------------------------------------------


def _two_class_logs(mean: Array, variance: Array, coarse: bool = False) -> Array:
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
    for rows, y, weight in _gaussian_nodes(sigma, coarse):
        x = centre[rows, None] + sigma[rows, None] * y
        log_term = np.minimum(x, 0.0) - centre[rows, None] - tilt[rows, None] * y - 0.5 * y * y
        terms = np.exp(log_term) / (1.0 + np.exp(-np.abs(x)))
        out[rows] = centre[rows] - 0.5 * tilt[rows] ** 2 + np.log(weight * terms.sum(axis=1))
    return out


def _expected_binary_entropy(mean: Array, variance: Array) -> Array:
    """Expected entropy of a label with log-odds x ~ N(mean, variance)."""
    sigma = np.sqrt(variance)
    out = np.empty_like(mean)
    for rows, y, weight in _gaussian_nodes(sigma):
        x = np.abs(mean[rows, None] + sigma[rows, None] * y)
        odds = np.exp(-x)
        entropy = np.log1p(odds) + x * odds / (1.0 + odds)
        out[rows] = weight * (entropy * np.exp(-0.5 * y * y)).sum(axis=1)
    return out


def _gaussian_nodes(sigma: Array, coarse: bool = False) -> Iterator[tuple[Integers, Array, float]]:
    """Rows, and the nodes and weight of a trapezoidal rule in the standardised variable.

    The poles of the sigmoid are pi / sigma off the real axis: the number of nodes grows with sigma.
    """
    reach, fewest, per_sigma = (5.5, 12, 8.0) if coarse else (8.5, 28, 22.0)
    # half-octaves, so that few node sets serve all rows
    size = np.ceil(2 * np.log2(np.maximum(sigma * per_sigma / fewest, 1.0)))
    count = np.ceil(fewest * 2 ** (size / 2)).astype(np.intp)
    for rows in _grouped(count, count):
        y = np.linspace(-reach, reach, int(count[rows[0]]))
        yield rows, y, float((y[1] - y[0]) / np.sqrt(2 * np.pi))


# --- Many classes --------------------------------------------------------------------------------


class _Race:
    """Intensities of a block of rows on equally spaced levels.

    Attributes
    ----------
    kappa, log_kappa : ndarray of shape (n, C, K)
        Intensity of each class at each level.
    density : ndarray of shape (n, K)
        F' times the spacing: weights of the winning level.
    """

    def __init__(self, mean: Array, variance: Array, lowest: Array, stride: int, count: int, degree: int) -> None:
        first = (lowest[:, None] - mean).ravel()
        flat = log_intensity(first, variance.ravel(), stride, count, degree)
        self.step = STEP * stride
        self.lowest = lowest
        self.log_kappa = flat.reshape(*mean.shape, count)
        self.kappa = np.exp(self.log_kappa)
        self.total = self.kappa.sum(axis=1)
        log_total = np.log(self.total)
        # F' = -E' exp(-E) with E' = E (log E)'
        steepness = np.log(_steepness(log_total, self.step))
        self.log_density = steepness + log_total - self.total + np.log(self.step)

    @property
    def density(self) -> Array:
        return np.exp(self.log_density)

    def log_expectation(self, log_kappa: Array) -> Array:
        """Logarithm of E[kappa_i(T)] for classes given as (n, c, K); all classes sum to one."""
        everything = (self.total * self.density).sum(axis=1)
        log_terms = log_kappa + self.log_density[:, None, :]
        largest = log_terms.max(axis=2, keepdims=True)
        log_sum = np.log(np.exp(log_terms - largest).sum(axis=2)) + largest[:, :, 0]
        result: Array = log_sum - np.log(everything)[:, None]
        return result

    def expected_entropy(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """E[pi], and the expected entropy E[logsumexp(f)] - sum_i E[pi_i f_i].

        T is logsumexp(f) plus Gumbel noise, so E[logsumexp(f)] = E[T] - gamma. By Stein's lemma
        E[pi_i f_i] = m_i E[pi_i] + v_i E[pi_i (1 - pi_i)], and differentiating E[pi_i] by m_i shows
        that the last expectation is the integral of kappa_i' (E' - kappa_i') exp(-E).
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
        return p, winning_level - np.euler_gamma - (mean * p + variance * spread).sum(axis=1)


def _races(mean: Array, variance: Array, accuracy: _Accuracy) -> Iterator[tuple[Integers, _Race]]:
    """All rows, in blocks that share stride and number of levels."""
    slab = max(1, 8 * _BLOCK // mean.shape[1])
    for start in range(0, len(mean), slab):
        m, v = mean[start : start + slab], variance[start : start + slab]
        lowest, stride, count = _levels(m, v, accuracy)
        for rows in _grouped(2 * _MOST_LEVELS * stride + count, count * m.shape[1]):
            grid = lowest[rows], int(stride[rows[0]]), int(count[rows[0]])
            yield start + rows, _Race(m[rows], v[rows], *grid, accuracy.degree)


def _levels(mean: Array, variance: Array, accuracy: _Accuracy) -> tuple[Array, Integers, Integers]:
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
    return np.minimum(by_mean, (mean + _tail_distance(np.log(mean.shape[1]) + 1, variance)).max(axis=1))


def _tail_cost(z: Array, variance: Array) -> Array:
    """About -log kappa(z, v) for z >= 0: a Gaussian tail up to z = v, exponential beyond."""
    gaussian = 0.5 * z * z / np.maximum(np.maximum(variance, z), 1e-300)
    return np.where(z < variance, gaussian, z - 0.5 * variance)


def _tail_distance(cost: Array | float, variance: Array) -> Array:
    """The z of a given tail cost."""
    return np.where(2 * cost < variance, np.sqrt(2 * variance * cost), cost + 0.5 * variance)


def _level_of(u: Array, mean: Array, variance: Array) -> Array:
    """The highest level at which, for some class, kappa = u + v u^2/2 (see `_gumbel._left`)."""
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
