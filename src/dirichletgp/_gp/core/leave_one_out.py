"""Leave-one-out predictions in closed form.

A training row enters regression c as the rank-one term w u k^ k^' with target r (u = u1, r = r1_c
in its own class; u0, r0_c elsewhere), so Sherman-Morrison removes it. With q = k^' B_c^-1 k^ and h
= w u q,

    mean without the row = (k^' beta_c - h r) / (1 - h) + mu_c        variance = s2 - k^'k^ + q / (1 - h)
"""

import numpy as np
from numpy.typing import NDArray

from .posterior import Posterior

Array = NDArray[np.float64]
Integers = NDArray[np.intp]


def leverage(precision: Array, quadratic: Array, prior_variance: float) -> Array:
    """H = w u q of each row in each regression, for precisions w u and quadratic forms q, all of shape (n, C).

    Exactly, h <= w u s2 / (1 + w u s2) < 1; rounding must not push it past.
    """
    limit = precision * prior_variance
    return np.minimum(precision * quadratic, limit / (1.0 + limit))


def mean_without_row(mean: Array, target: Array, h: Array) -> Array:
    """k^' beta_c without the row's own contribution; means, targets and leverages of shape (n, C)."""
    return (mean - h * target) / (1.0 - h)


def leave_one_out_latent(
    posterior: Posterior, vectors: Array, codes: Integers, weights: Array | None
) -> tuple[Array, Array]:
    """Latent mean and variance (n, C) of training rows, each without its own contribution.

    Parameters
    ----------
    posterior : Posterior
        Must include the rows, with these weights.
    vectors : ndarray of shape (n, M)
        Whitened kernel vectors of the rows.
    codes : ndarray of shape (n,)
        Their classes.
    weights : ndarray of shape (n,) or None
    """
    transform = posterior.transform
    r1, r0 = transform.residuals(posterior.prior)
    inside = codes[:, None] == np.arange(len(posterior.prior))
    precision = np.where(inside, 1.0 / transform.noise_in, 1.0 / transform.noise_out)
    if weights is not None:
        precision = precision * weights[:, None]
    target = np.where(inside, r1, r0)

    quadratic = posterior.explained(vectors)
    h = leverage(precision, quadratic, posterior.variance)
    mean = mean_without_row(vectors @ posterior.coefficients.T, target, h) + posterior.offsets
    return mean, posterior.unexplained(vectors)[:, None] + quadratic / (1.0 - h)
