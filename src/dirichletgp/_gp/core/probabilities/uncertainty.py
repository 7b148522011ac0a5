"""How sure the class probabilities are: intervals, entropies, draws, moments.

Like those of `softmax.py`, every function takes independent Gaussian latents f_c ~ N(mean_c,
variance_c), arrays of shape (n, C), and speaks about pi = softmax(f).
"""

import numpy as np
from scipy.special import entr, expit, ndtri

from ..arrays import Array, Integers
from .softmax import (
    FITTING,
    MOMENTS,
    NUMBERS_IN_CACHE,
    gaussian_nodes,
    level_integrals,
    standard_form,
    two_class_logs,
)

_INTERVAL_SEED = 20180527


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
    mean, variance = standard_form(mean, variance)
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
    mean, variance = standard_form(mean, variance)
    if mean.shape[1] == 2:
        p = np.exp(two_class_logs(mean, variance))
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


def _expected_binary_entropy(mean: Array, variance: Array) -> Array:
    """Expected entropy of a label with log-odds x ~ N(mean, variance)."""
    sigma = np.sqrt(variance)
    out = np.empty_like(mean)
    for rows, y, weight in gaussian_nodes(sigma):
        x = np.abs(mean[rows, None] + sigma[rows, None] * y)
        odds = np.exp(-x)
        entropy = np.log1p(odds) + x * odds / (1.0 + odds)
        out[rows] = weight * (entropy * np.exp(-0.5 * y * y)).sum(axis=1)
    return out


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
