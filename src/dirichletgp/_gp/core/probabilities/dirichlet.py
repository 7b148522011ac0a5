"""Dirichlet distributions of class probabilities: intervals, entropies, draws.

Every function takes parameters alpha of shape (n, C), one distribution a row: its mean is alpha /
nu, and its concentration nu = sum_c alpha_c the number of labels that it is worth.
"""

import numpy as np
from scipy.special import betaincinv, digamma, entr

from ..arrays import Array

_SMALLEST = float(np.finfo(np.float64).tiny)
# Probabilities that are worth more labels than this are known to more digits than can be inverted.
_MOST_LABELS = 1e15


def dirichlet_interval(alpha: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Equal-tailed intervals of the class probabilities, which have beta distributions.

    Where a distribution is so skewed that its mean lies beyond a quantile, the interval reaches to
    the mean: it always contains it.

    Parameters
    ----------
    alpha : ndarray of shape (n, C)
    level : float, default=0.95
        Probability that each interval holds.

    Returns
    -------
    lower, upper : ndarray of shape (n, C)
    """
    labels = alpha.sum(axis=1, keepdims=True)
    alpha = np.maximum(alpha * np.minimum(1.0, _MOST_LABELS / labels), _SMALLEST)
    n_classes = alpha.shape[1]
    others = alpha @ (1.0 - np.eye(n_classes))
    mean = alpha / (alpha + others)
    lower = betaincinv(alpha, others, 0.5 - level / 2)
    upper = betaincinv(alpha, others, 0.5 + level / 2)
    return np.minimum(lower, mean), np.maximum(upper, mean)


def dirichlet_uncertainty(alpha: Array) -> tuple[Array, Array, Array]:
    """Entropy of the mean, and how much of it would remain were the probabilities known, in nats.

    Parameters
    ----------
    alpha : ndarray of shape (n, C)

    Returns
    -------
    total : ndarray of shape (n,)
        Entropy of the mean.
    aleatoric : ndarray of shape (n,)
        Expected entropy.
    epistemic : ndarray of shape (n,)
        Their difference: not negative.
    """
    nu = alpha.sum(axis=1, keepdims=True)
    mean = alpha / nu
    total = entr(mean).sum(axis=1)
    aleatoric = (mean * (digamma(nu + 1.0) - digamma(alpha + 1.0))).sum(axis=1)
    aleatoric = np.clip(aleatoric, 0.0, total)
    return total, aleatoric, total - aleatoric


def dirichlet_draws(alpha: Array, n_samples: int, rng: np.random.Generator) -> Array:
    """Draws of the class probabilities, of shape (n_samples, n, C)."""
    alpha = np.maximum(alpha, _SMALLEST)
    shape = n_samples, *alpha.shape
    # Gamma(a) is Gamma(a + 1) U^(1/a); in logarithms it does not underflow where a is small.
    logs = np.log(rng.standard_gamma(alpha + 1.0, shape))
    with np.errstate(over="ignore"):
        logs += np.maximum(np.log1p(-rng.random(shape)) / alpha, -1e300)
    logs -= logs.max(axis=2, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=2, keepdims=True)
    return logs
