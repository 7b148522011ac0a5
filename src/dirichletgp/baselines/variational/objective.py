"""The variational bound as a function of kernel and inducing points, with the belief at its best.

At the best belief the bound's derivative through the belief is zero, so what remains is the
derivative at a fixed belief over whitened values. With B*_c = I + sum_i -2 d u u', a_c = sum_i g u
and X = sum_i (d bound / d u_i) u_i',

    X = sum_c m_c a_c' + (S_c - I)(I - B*_c)        (symmetric at the best belief)
    d bound / d k_i = sum_c g L^-T m_c + 2 d L^-T (S_c - I) u_i
    d bound / d K_mm = -1/2 L^-T X L^-1
"""

import numpy as np

from ..._gp.core.arrays import Array, Integers
from ..._gp.core.kernels import Kernel, KernelGradient
from ..._gp.core.parallel import (
    Workers,
    cholesky,
    inverse_triangle,
    multiply_rows,
    multiply_rows_transposed,
    pulled_back,
    row_slices,
    symmetrise,
)
from ..._gp.core.regressions import points_covariance
from ..._gp.core.statistics import sum_of_gradients
from ..._gp.rows.in_memory import InMemoryRows
from ..._gp.training.kernel_search import State, gradient_of_points
from .belief import Belief
from .inference import Fit, Inference, WhitenedRows
from .likelihoods import Likelihood

_SLICE = 512


class VariationalObjective:
    """The bound of rows that are kept in memory, scaled.

    Each evaluation starts from the belief of the last: over whitened values it changes little with
    the kernel.

    Parameters
    ----------
    rows : InMemoryRows
    likelihood : Likelihood
    jitter : float
        Relative to the kernel's variance.
    tolerance : float
        The belief is at its best when a step would raise the bound by less than this.
    workers : Workers
    """

    def __init__(
        self,
        rows: InMemoryRows,
        likelihood: Likelihood,
        jitter: float,
        tolerance: float,
        workers: Workers,
    ):
        self.rows = rows
        self.likelihood = likelihood
        self.jitter = jitter
        self.tolerance = tolerance
        self.workers = workers
        self.belief: Belief | None = None

    def evaluate(self, state: State) -> tuple[float, KernelGradient, float]:
        """The bound and its gradient by kernel and points; there is no noise to learn."""
        view = KernelView(state.kernel, state.points, self.jitter, self.workers)
        rows = view.whitened(self.rows.X, self.rows.codes, self.rows.weights)
        inference = Inference([rows], self.likelihood, state.kernel.variance, self.workers)
        belief = self.belief or Belief.prior(self.likelihood.n_latents, len(state.points))
        fit, _ = inference.settle(belief, self.tolerance)
        self.belief = fit.belief
        return fit.bound, view.gradient(fit, self.rows.X), 0.0


class KernelView:
    """Rows as a kernel and inducing points see them, and the way back for derivatives.

    Parameters
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
    jitter : float
    workers : Workers
    """

    def __init__(self, kernel: Kernel, points: Array, jitter: float, workers: Workers):
        self.kernel = kernel
        self.points = points
        self.workers = workers
        self.covariance = points_covariance(kernel, points, jitter)
        self.inverse = inverse_triangle(cholesky(self.covariance))

    def whitened(self, rows: Array, codes: Integers, weights: Array | None) -> WhitenedRows:
        """Scaled rows (n, D) in the whitened basis."""
        vectors = np.empty((len(rows), len(self.points)))

        def fill(place: slice) -> None:
            values = self.kernel.values(rows[place], self.points)
            vectors[place] = multiply_rows(self.inverse, values)

        list(self.workers.map(fill, row_slices(len(rows), _SLICE)))
        return WhitenedRows(vectors, codes, weights)

    def gradient(self, fit: Fit, rows: Array) -> KernelGradient:
        """Derivatives of the bound of a fit to `rows` (n, D), at a fixed belief."""
        by_covariance = derivative_by_covariance(fit, self.inverse)
        by_points = gradient_of_points(
            by_covariance, fit.by_variance, self.kernel, self.points, self.covariance
        )
        raw_mean = multiply_rows_transposed(self.inverse, fit.belief.mean.copy())
        matrices = [
            multiply_rows_transposed(self.inverse, _less_identity(S)) for S in fit.belief.covariance
        ]
        (sites,) = fit.sites

        at = self.kernel.at(self.points)

        def of_slice(place: slice) -> Array:
            derivative = sites.by_mean[place] @ raw_mean
            for c, matrix in enumerate(matrices):
                term = sites.vectors[place] @ matrix
                term *= sites.precision[place, c, None]
                derivative -= term
            block = rows[place]
            total = at.no_derivatives()
            at.add_derivatives(block, at.values(block), derivative, total)
            return total

        total = at.no_derivatives()
        for part in self.workers.map(of_slice, row_slices(len(rows), _SLICE)):
            total += part
        return sum_of_gradients([by_points, at.gradient(total)])


def derivative_by_covariance(fit: Fit, inverse: Array) -> Array:
    """Derivative of the bound with respect to K_mm + jitter = L L', of shape (M, M), from L^-1.

    Before the best belief X is not symmetric; with a Cholesky factor as root its lower triangle
    stands for both.
    """
    X = np.zeros_like(inverse)
    for c, mean in enumerate(fit.belief.mean):
        X += np.outer(mean, fit.by_mean[c] + mean)
        X -= _less_identity(fit.belief.covariance[c]) @ _less_identity(fit.precision[c])
    return -0.5 * pulled_back(inverse, symmetrise(X))


def _less_identity(matrix: Array) -> Array:
    out = matrix.copy()
    out.flat[:: len(out) + 1] -= 1.0
    return out
