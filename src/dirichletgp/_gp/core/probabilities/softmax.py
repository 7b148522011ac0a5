"""From latent means and variances to class probabilities: quadrature, quantiles, entropies.

Every function takes independent Gaussian latents f_c ~ N(mean_c, variance_c), arrays of shape
(n, C), and speaks about pi = softmax(f). Expectations are integrals, never samples; a row's result
depends on that row alone, to the last bit.

Two classes need f_1 - f_0 only: one integral over a Gaussian. Many classes are a race
(`integral.py`).
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import entr, expit, ndtri

from ..arrays import Array, Integers
from ..threads import grouped
from .integral import (
    COARSE,
    FITTING,
    MOMENTS,
    NUMBERS_IN_CACHE,
    PLAIN,
    TAILS,
    level_integrals,
)

_LARGEST_SIGMA = 500.0  # beyond this a softmax is an argmax, to 2e-6
_INTERVAL_SEED = 20180527


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
    mean, variance = _standard_form(mean, variance)
    if mean.shape[1] == 2:
        return _two_class_logs(mean, variance)
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
    mean, variance = _standard_form(mean, variance)
    if mean.shape[1] == 2:
        logs = _two_class_logs(mean, variance, coarse)
        return np.take_along_axis(logs, codes[:, None], axis=1)[:, 0]
    out = np.empty(len(mean))
    for rows, integral in level_integrals(mean, variance, COARSE if coarse else TAILS):
        own = integral.log_kappa[np.arange(len(rows)), codes[rows]]
        out[rows] = integral.log_expectation(own[:, None, :])[:, 0]
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
    step = max(1, 2 * NUMBERS_IN_CACHE // draws.size)
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
        for rows, integral in level_integrals(mean, variance, MOMENTS):
            log_total, p[rows], spread = integral.moments()
            # E[logsumexp(f)] - sum_i E[pi_i f_i]; by Stein's lemma E[pi_i f_i] = m_i E[pi_i] + v_i
            # E[pi_i (1 - pi_i)]
            aleatoric[rows] = log_total - (mean[rows] * p[rows] + variance[rows] * spread).sum(
                axis=1
            )
    total = entr(p).sum(axis=1)
    aleatoric = np.clip(aleatoric, 0.0, total)
    return total, aleatoric, total - aleatoric


def expected_log_softmax(
    codes: Integers, mean: Array, variance: Array
) -> tuple[Array, Array, Array]:
    """E[log softmax(f)] of one given class per row, and its derivatives, right to about 1e-6.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each row.
    mean, variance : ndarray of shape (n, C)
        Of the independent Gaussian latents.

    Returns
    -------
    value : ndarray of shape (n,)
    by_mean, by_variance : ndarray of shape (n, C)
        With respect to means and variances: 1{i = class} - E[pi_i], and -E[pi_i (1 - pi_i)] / 2.
    """
    log_total, by_mean, by_variance = np.empty(len(mean)), np.empty_like(mean), np.empty_like(mean)
    for rows, integral in level_integrals(mean, variance, FITTING):
        log_total[rows], by_mean[rows], by_variance[rows] = integral.moments()
    own = np.arange(len(mean)), codes
    np.negative(by_mean, out=by_mean)
    by_mean[own] += 1.0
    by_variance *= -0.5
    return mean[own] - log_total, by_mean, by_variance


def sample_probabilities(
    mean: Array, variance: Array, n_samples: int, rng: np.random.Generator
) -> Array:
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
    for rows in grouped(count, count, NUMBERS_IN_CACHE):
        y = np.linspace(-reach, reach, int(count[rows[0]]))
        yield rows, y, float((y[1] - y[0]) / np.sqrt(2 * np.pi))
