"""The variational bound of rows in a fixed basis, and the best belief for it.

    bound = sum_i w_i E[log p(y_i | f_i)] - sum_c KL(q(v_c) || N(0, I))

With g and d the derivatives of w_i E[log p] by latent mean and variance, every row acts like a
Gaussian observation (a site) of precision -2 d, and the bound is stationary where

    B_c = I + sum_i -2 d u u'        r_c = sum_i g u - m_c = 0.

A natural-gradient step moves B_c to that sum and m_c by B_c^-1 r_c. It is Newton's step for a
single latent: some ten steps where plain gradients of (m, S) take hundreds. For many classes it
ignores that likelihoods couple the latents (a softmax does not notice what all of them share) and
creeps. So the means move by Newton's step with that coupling, solved by conjugate gradients at a
fraction of the price of a pass.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..._gp.core.arrays import Array, Integers
from ..._gp.core.parallel import Workers, row_slices
from .belief import Belief, add_weighted_grams, identities, solved
from .likelihoods import Curvature, Likelihood

_SLICE = 512  # rows that a thread takes at once
_SHORTEST_STEP = 1e-4
_SHORTEST_ADVICE = 0.25  # far from the best belief the bound is no parabola
_MOST_PASSES = 200
_CG_ACCURACY, _CG_STEPS = 0.03, 50


class WhitenedRows(NamedTuple):
    """Rows in the whitened basis: vectors (n, M), class codes (n,), weights (n,) or None."""

    vectors: Array
    codes: Integers
    weights: Array | None


class Sites(NamedTuple):
    """What rows say at a belief: g (n, L) and site precisions -2 d (n, L).

    Beside them stand the vectors (n, M) and codes (n,) of the rows.

    The rows may be a part of all; each then stands for `copies`.
    """

    vectors: Array
    codes: Integers
    by_mean: Array
    precision: Array
    copies: int


class Fit(NamedTuple):
    """A belief, measured against rows.

    Attributes
    ----------
    belief : Belief
    bound : float
    by_mean : ndarray of shape (L, M)
        r_c, the derivative of the bound by the means.
    precision : ndarray of shape (L, M, M)
        I + sum_i -2 d u u', where a natural-gradient step takes the precisions.
    by_variance : float
        Sum of d over rows and latents: the derivative by s2 where that stands by itself.
    sites : list of Sites
    """

    belief: Belief
    bound: float
    by_mean: Array
    precision: Array
    by_variance: float
    sites: list[Sites]


class Step(NamedTuple):
    """Where to go from a belief: direction of means, target of precisions, and the gain."""

    mean: Array
    target: Belief
    gain: float


class Share(NamedTuple):
    """Which part of the rows is seen, and which part of that is kept.

    Attributes
    ----------
    stride : int
        One row in so many is kept with a fit; more than one if all would take too much memory.
    scale : float
        How many rows each row stands for: more than one for a batch of a larger whole.
    """

    stride: int = 1
    scale: float = 1.0


class Inference:
    """The bound as a function of the belief.

    Parameters
    ----------
    chunks : re-iterable of WhitenedRows
    likelihood : Likelihood
    variance : float
        s2, the prior variance of every latent function.
    workers : Workers
    share : Share
        By default all rows are seen and kept.
    """

    def __init__(
        self,
        chunks: Iterable[WhitenedRows],
        likelihood: Likelihood,
        variance: float,
        workers: Workers,
        share: Share = Share(),  # noqa: B008 (a constant)
    ):
        self.chunks = chunks
        self.likelihood = likelihood
        self.variance = variance
        self.workers = workers
        self.stride = share.stride
        self.scale = share.scale

    def measure(self, belief: Belief) -> Fit:
        """One pass over the rows."""
        belief.prepare(self.workers)
        value = -belief.divergence()
        by_mean = -belief.mean
        precision = identities(*belief.mean.shape)
        by_variance = 0.0
        sites = []
        for chunk in self.chunks:
            chunk_value, chunk_by_mean, chunk_precision = self._of_chunk(belief, chunk)
            value += chunk_value
            by_mean += chunk_by_mean.T @ chunk.vectors
            by_variance -= 0.5 * float(chunk_precision.sum())
            add_weighted_grams(precision, chunk.vectors, chunk_precision, self.workers)
            kept = slice(None, None, self.stride)
            sites.append(
                Sites(
                    np.ascontiguousarray(chunk.vectors[kept]),
                    chunk.codes[kept],
                    chunk_by_mean[kept],
                    chunk_precision[kept],
                    self.stride,
                )
            )
        return Fit(belief, value, by_mean, precision, by_variance, sites)

    def _of_chunk(self, belief: Belief, chunk: WhitenedRows) -> tuple[float, Array, Array]:
        """Sum of w E[log p]; for each row its derivatives by means, and site precisions (n, L)."""

        def of_slice(place: slice) -> tuple[float, Array, Array]:
            mean, variance = belief.marginals(chunk.vectors[place], self.variance)
            value, by_mean, by_variance = self.likelihood.expected_log(
                mean, variance, chunk.codes[place]
            )
            weights = np.full(len(value), self.scale)
            if chunk.weights is not None:
                weights *= chunk.weights[place]
            return (
                float(weights @ value),
                weights[:, None] * by_mean,
                -2.0 * weights[:, None] * by_variance,
            )

        parts = list(self.workers.map(of_slice, row_slices(len(chunk.codes), _SLICE)))
        values, by_mean, precision = zip(*parts, strict=True)
        return sum(values), np.concatenate(by_mean), np.concatenate(precision)

    def settle(self, belief: Belief, tolerance: float) -> tuple[Fit, int]:
        """Steps until the next would gain less than `tolerance`; the fit, and the passes made.

        A step that lowers the bound, or leaves no positive definite precision, is shortened. How
        long the next one is the last one says: where rows are all but separable, sites answer to
        the variances so strongly that full steps swing about the best belief, and half of each goes
        straight there.
        """
        fit = self.measure(belief)
        length = 1.0
        passes = 1
        while passes < _MOST_PASSES and (step := self.step_from(fit)).gain > tolerance:
            while length > _SHORTEST_STEP:
                trial = self._measure_if_valid(moved(fit.belief, step, length))
                passes += trial is not None
                if trial is not None and trial.bound > fit.bound:
                    break
                length *= 0.5
            else:
                break
            advised = best_length(step.gain, length, trial.bound - fit.bound)
            length = min(2.0 * length, max(advised, _SHORTEST_ADVICE))
            fit = trial
        return fit, passes

    def _measure_if_valid(self, belief: Belief) -> Fit | None:
        try:
            return self.measure(belief)
        except np.linalg.LinAlgError:
            return None

    def step_from(self, fit: Fit) -> Step:
        """The next step: natural gradient for the precisions, Newton's step for the means."""
        target = Belief(fit.belief.mean, fit.precision)
        try:
            target.prepare(self.workers)
            # Half of Jeffreys' divergence of two Gaussians that share their mean.
            change = target.precision - fit.belief.precision
            gain = 0.25 * float(np.vdot(change, fit.belief.covariance - target.covariance))
        except np.linalg.LinAlgError:
            # Sites of a likelihood that is not log-concave: without those of negative precision it
            # is a belief.
            target, gain = Belief(fit.belief.mean, self._clipped_precision(fit)), np.inf
            target.prepare(self.workers)
        curvatures = [
            self.likelihood.curvature(s.codes, np.maximum(s.precision, 0.0)) for s in fit.sites
        ]
        direction = newton_direction(fit, curvatures, target.factors)
        return Step(direction, target, gain + 0.5 * float(np.vdot(fit.by_mean, direction)))

    def _clipped_precision(self, fit: Fit) -> Array:
        precision = identities(*fit.belief.mean.shape)
        for sites in fit.sites:
            add_weighted_grams(
                precision,
                sites.vectors,
                sites.copies * np.maximum(sites.precision, 0.0),
                self.workers,
            )
        return precision


def best_length(gain: float, length: float, change: float) -> float:
    """Where the parabola 2 gain t - b t^2 through the change at `length` has its top, at most one.

    `gain` is what a step of length one gains if the bound is the parabola that the step was made
    for.
    """
    missing = 2.0 * gain * length - change
    return min(1.0, gain * length**2 / missing) if missing > 0.0 and np.isfinite(gain) else 1.0


def moved(belief: Belief, step: Step, length: float) -> Belief:
    """The belief after a step of some length."""
    mean = belief.mean + length * step.mean
    if length == 1.0:
        return step.target.with_mean(mean)
    return Belief(mean, (1.0 - length) * belief.precision + length * step.target.precision)


def newton_direction(fit: Fit, curvatures: list[Curvature], factors: Array) -> Array:
    """Solve (I + sum_i D_i (x) u u') x = r for means (L, M), by conjugate gradients.

    D_i (L, L) is the curvature of row i, positive semi-definite. `factors` are Cholesky factors of
    the preconditioner, the precisions of the latents one by one; it is exact for a single latent.
    """

    def times(x: Array) -> Array:
        out = x.copy()
        for sites, curvature in zip(fit.sites, curvatures, strict=True):
            out += sites.copies * (curvature(sites.vectors @ x.T).T @ sites.vectors)
        return out

    solution, residual = np.zeros_like(fit.by_mean), fit.by_mean
    if len(residual) == 1:
        return solved(factors, residual)
    preconditioned = solved(factors, residual)
    direction, size = preconditioned, float(np.vdot(residual, preconditioned))
    enough = _CG_ACCURACY**2 * size
    for _ in range(_CG_STEPS):
        if size <= enough:
            break
        image = times(direction)
        length = size / float(np.vdot(direction, image))
        solution, residual = solution + length * direction, residual - length * image
        preconditioned = solved(factors, residual)
        last, size = size, float(np.vdot(residual, preconditioned))
        direction = preconditioned + (size / last) * direction
    return solution
