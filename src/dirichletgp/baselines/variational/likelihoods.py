"""Likelihoods of labels given latent functions: expectations and their derivatives.

Variational inference needs, for every row, E[log p(y | f)] with f ~ N(mean, variance), independent
over latents, and its derivatives with respect to mean and variance. One-dimensional expectations
are Gauss-Hermite sums, and the derivatives are those of the sum itself, so that bound and gradient
agree to rounding. The softmax, for which other libraries draw samples or bound the bound, is an
exact integral (`uncertainty.py`).
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.polynomial.hermite import hermgauss
from scipy.special import erfcx, expit, log_ndtr, ndtr, ndtri

from ..._gp.core.arrays import Array, Integers
from ..._gp.core.probabilities.softmax import class_probabilities
from ..._gp.core.probabilities.uncertainty import expected_log_softmax, probability_interval

Curvature = Callable[[Array], Array]

# 32 nodes: E[log p] is right to 2e-7 at a latent variance of 4, to 2e-4 at 16, to 0.02 at 100 and
# to 0.15 (less than one percent of it) at 400. So wide are latents far from all rows only, or those
# of rows told apart with ease.
_NODES, _WEIGHTS = hermgauss(32)
_NODES, _WEIGHTS = np.sqrt(2.0) * _NODES, _WEIGHTS / np.sqrt(np.pi)
_SMALLEST_VARIANCE = 1e-12
_SCALING_STEPS, _LEAST_OTHERS = 8, 0.1


class Expectation(NamedTuple):
    """E[log p(y | f)] of each row (n,), and its derivatives by means and variances (n, L)."""

    value: Array
    by_mean: Array
    by_variance: Array


class Likelihood(Protocol):
    """How labels come about, given `n_latents` latent functions."""

    @property
    def n_latents(self) -> int:
        """How many latent functions there are."""

    def expected_log(self, mean: Array, variance: Array, codes: Integers) -> Expectation:
        """E[log p(y | f)] for latents (n, L) and class codes (n,)."""

    def curvature(self, codes: Integers, precision: Array) -> Curvature:
        """How latents hang together in -E[log p]: a product of (n, L) with positive matrices.

        Their diagonals are about the site precisions (n, L), none of which is negative.
        """

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """Class probabilities (n, C), averaged over the latents."""

    def interval(self, mean: Array, variance: Array, level: float) -> tuple[Array, Array]:
        """Equal-tailed credible interval (n, C) of the class probabilities."""


class Bernoulli:
    """Two classes and one latent: p(second class) = link(f), with a logistic or a Gaussian link.

    Parameters
    ----------
    link : {"logit", "probit"}
    """

    n_latents = 1

    def __init__(self, link: str):
        self.link = link

    def expected_log(self, mean: Array, variance: Array, codes: Integers) -> Expectation:
        """E[log p] and its derivatives."""
        sign = np.where(codes == 1, 1.0, -1.0)[:, None]
        sigma = np.sqrt(np.maximum(variance, _SMALLEST_VARIANCE))
        f = (
            sign * mean + sigma * _NODES
        )  # the nodes are symmetric, so the sign of the noise does not matter
        if self.link == "logit":
            tail = np.exp(-np.abs(f))
            log_p = np.minimum(f, 0.0) - np.log1p(tail)
            slope = np.where(f > 0, tail, 1.0) / (1.0 + tail)
        else:
            log_p = log_ndtr(f)
            slope = _slope_of_log_ndtr(f)
        by_sigma = slope @ (_WEIGHTS * _NODES)
        return Expectation(
            log_p @ _WEIGHTS, sign * (slope @ _WEIGHTS)[:, None], by_sigma[:, None] / (2.0 * sigma)
        )

    def curvature(self, codes: Integers, precision: Array) -> Curvature:
        """How the latents hang together."""
        return lambda f: precision * f

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """Class probabilities (n, C)."""
        if self.link == "logit":
            return class_probabilities(_beside_zero(mean), _beside_zero(variance))
        z = mean / np.sqrt(1.0 + variance)
        return np.asarray(ndtr(np.column_stack([-z, z])))

    def interval(self, mean: Array, variance: Array, level: float) -> tuple[Array, Array]:
        """Equal-tailed credible intervals of the class probabilities."""
        reach = ndtri(0.5 + level / 2) * np.sqrt(variance)
        link = expit if self.link == "logit" else ndtr
        low, high = mean - reach, mean + reach
        return link(np.column_stack([-high, low])), link(np.column_stack([-low, high]))


class Softmax:
    """One latent per class: p(c) = softmax(f)_c."""

    def __init__(self, n_classes: int):
        self.n_latents = n_classes

    def expected_log(self, mean: Array, variance: Array, codes: Integers) -> Expectation:
        """E[log p] and its derivatives."""
        return Expectation(*expected_log_softmax(codes, mean, variance))

    def curvature(self, codes: Integers, precision: Array) -> Curvature:
        """How the latents hang together."""
        # The matrix is E[diag(pi) - pi pi']: zero along (1, ..., 1), E[pi_i (1 - pi_i)] on the
        # diagonal. Stand-in with both: a_i (a_1 + ... + a_C - a_i) on the diagonal, -a_i a_j
        # elsewhere. Two classes make it exact.
        a = root = np.sqrt(precision)
        # No latent varies without another, but where precisions vanish rounding may say so.
        least = np.maximum(_LEAST_OTHERS * root, 1e-300)
        for _ in range(_SCALING_STEPS):
            others = a.sum(axis=1, keepdims=True) - a
            a = 0.5 * (a + precision / np.maximum(others, least))
        total = a.sum(axis=1, keepdims=True)
        return lambda f: a * (total * f - (a * f).sum(axis=1, keepdims=True))

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """Class probabilities (n, C)."""
        return class_probabilities(mean, variance)

    def interval(self, mean: Array, variance: Array, level: float) -> tuple[Array, Array]:
        """Equal-tailed credible intervals of the class probabilities."""
        return probability_interval(mean, variance, level)


class RobustMax:
    """One latent per class: the largest names the label, save for a share `epsilon` of labels.

    This is the likelihood of the paper's experiments. E[log p] needs the probability that a latent
    is the largest, the mean over f_y of prod_{j != y} Phi((f_y - m_j) / sqrt(v_j)).
    """

    def __init__(self, n_classes: int, epsilon: float = 1e-3):
        self.n_latents, self.epsilon = n_classes, epsilon
        self._others = epsilon / (n_classes - 1)

    def expected_log(self, mean: Array, variance: Array, codes: Integers) -> Expectation:
        """E[log p] and its derivatives."""
        value, by_mean, by_variance = _probability_of_largest(mean, variance, codes)
        gain = np.log1p(-self.epsilon) - np.log(self._others)
        return Expectation(np.log(self._others) + gain * value, gain * by_mean, gain * by_variance)

    def curvature(self, codes: Integers, precision: Array) -> Curvature:
        """How the latents hang together."""
        # What matters is how far f_y is above each of the others: springs between it and them.
        own = np.arange(len(codes)), codes
        springs = precision.copy()
        springs[own] = 0.0

        def times(f: Array) -> Array:
            out = springs * (f - f[own][:, None])
            out[own] = -out.sum(axis=1)
            return np.asarray(out)

        return times

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """Class probabilities (n, C)."""
        largest = self._largest(mean, variance)
        return self._others + (1.0 - self.epsilon - self._others) * largest

    def interval(self, mean: Array, variance: Array, level: float) -> tuple[Array, Array]:
        """Equal-tailed credible intervals of the class probabilities."""
        # Given f, a class has probability 1 - epsilon or epsilon / (C - 1): quantiles of two
        # values.
        largest = self._largest(mean, variance)
        low, high = largest >= 0.5 + level / 2, largest > 0.5 - level / 2
        return np.where(low, 1.0 - self.epsilon, self._others), np.where(
            high, 1.0 - self.epsilon, self._others
        )

    def _largest(self, mean: Array, variance: Array) -> Array:
        columns = [
            _probability_of_largest(mean, variance, np.full(len(mean), c)).value
            for c in range(mean.shape[1])
        ]
        largest = np.column_stack(columns)
        return np.asarray(largest / largest.sum(axis=1, keepdims=True))


def _probability_of_largest(mean: Array, variance: Array, codes: Integers) -> Expectation:
    """P(f_y > all others), and its derivatives; f_y by Gauss-Hermite, the others in closed form."""
    own = np.arange(len(mean)), codes
    sigma = np.sqrt(np.maximum(variance, _SMALLEST_VARIANCE))
    f = mean[own][:, None] + sigma[own][:, None] * _NODES
    z = (f[:, None, :] - mean[:, :, None]) / sigma[:, :, None]
    log_below = log_ndtr(z)
    ratio = _slope_of_log_ndtr(z)
    log_below[own] = 0.0
    ratio[own] = 0.0
    weighted = _WEIGHTS * np.exp(log_below.sum(axis=1))
    ratio /= sigma[:, :, None]
    slope = ratio.sum(axis=1)
    by_mean = -np.einsum("nk,nck->nc", weighted, ratio)
    z *= ratio
    by_variance = -np.einsum("nk,nck->nc", weighted, z) / (2.0 * sigma)
    by_mean[own] = (weighted * slope).sum(axis=1)
    by_variance[own] = (weighted * slope) @ _NODES / (2.0 * sigma[own])
    return Expectation(weighted.sum(axis=1), by_mean, by_variance)


def _slope_of_log_ndtr(z: Array) -> Array:
    """Derivative of log Phi: phi / Phi, not by a difference of logarithms, huge far left."""
    return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(-np.sqrt(0.5) * z))


def _beside_zero(latent: Array) -> Array:
    """A single latent as the second of two, of which the first is zero."""
    return np.column_stack([np.zeros(len(latent)), latent])
