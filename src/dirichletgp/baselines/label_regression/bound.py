"""The collapsed bound of regression on labels: one noise, one Gram for all classes.

Targets are the indicators of the classes less their frequencies p_c. With u = 1 / noise, whitened
statistics (hats) and t_c = S^_c - p_c S^,

    B = I + u G^        b_c = u t_c        beta_c = B^-1 b_c

    bound = sum_c -1/2 [ n log(2 pi / u) + u (n_c (1 - p_c)^2 + (n - n_c) p_c^2)
                         + log|B| - b_c' beta_c + u (n s2 - tr G^) ]

This is the bound of `dirichletgp._gp.core.bound` with equal noises in and out of the class, so its
derivatives are the same with d = 0, and B is shared by all classes. New is the derivative with
respect to u.
"""

from dataclasses import dataclass

import numpy as np

from ..._gp.core.arrays import Array
from ..._gp.core.bound import BoundDerivatives
from ..._gp.core.kernels import KernelGradient
from ..._gp.core.parallel import (
    Workers,
    cholesky,
    inverse_from_cholesky,
    inverse_triangle,
    log_determinant,
    multiply_rows,
    multiply_rows_transposed,
    pulled_back_in_parallel,
    whitened_in_parallel,
)
from ..._gp.core.regressions import plus_identity, points_covariance
from ..._gp.core.statistics import ClassStatistics, RowDerivatives, VectorsOf, sum_of_gradients
from ..._gp.rows.in_memory import InMemoryRows
from ..._gp.training.kernel_search import State, gradient_of_points


def pooled_statistics(
    rows: InMemoryRows, features: VectorsOf, n_points: int, workers: Workers
) -> ClassStatistics:
    """Class statistics with one Gram for all classes."""
    empty = ClassStatistics.empty(rows.n_classes, n_points, n_grams=1)
    return empty.add_rows(rows, features, workers, gram_of=[0] * rows.n_classes)


def label_bound(
    statistics: ClassStatistics,
    factor: Array,
    variance: float,
    noise: float,
    frequencies: Array,
    workers: Workers,
) -> tuple[BoundDerivatives, float]:
    """The bound with its derivatives, and that with respect to log noise.

    Parameters
    ----------
    statistics : ClassStatistics
        Pooled over classes, not whitened.
    factor : ndarray of shape (M, M)
        L, the Cholesky factor of K_mm + jitter.
    variance, noise : float
    frequencies : ndarray of shape (C,)
        p_c, which are taken off the targets.
    workers : Workers
    """
    counts = statistics.counts
    n = float(counts.sum())
    u = 1.0 / noise
    n_classes, n_points = statistics.sums.shape
    whitening = inverse_triangle(factor)
    gram = whitened_in_parallel(whitening, statistics.grams[0], workers.map)
    sums = multiply_rows(whitening, statistics.sums.copy())
    targets = sums - frequencies[:, None] * sums.sum(axis=0)

    lower = cholesky(plus_identity(u * gram))
    inverse = inverse_from_cholesky(lower)
    beta = u * targets @ inverse
    squares = float(counts @ (1.0 - frequencies) ** 2 + (n - counts) @ frequencies**2)
    fit = u * float(np.vdot(targets, beta))
    unexplained = n * variance - float(np.trace(gram))
    value = -0.5 * (
        n_classes * (n * np.log(2 * np.pi * noise) + log_determinant(lower) + u * unexplained)
        + u * squares
        - fit
    )

    p_sum = plus_identity(-n_classes * inverse - beta.T @ beta, n_classes)
    p_sum *= 0.5
    through_kernel = p_sum - 0.5 * n_classes * u * gram
    raw_beta = multiply_rows_transposed(whitening, beta.copy())
    by_row = RowDerivatives(
        matrices={},
        shared=pulled_back_in_parallel(whitening, 2.0 * u * p_sum, workers.map),
        vectors=u * (raw_beta - frequencies @ raw_beta),
        row_terms={},
    )
    derivatives = BoundDerivatives(
        value=value,
        by_row=by_row,
        points=pulled_back_in_parallel(whitening, through_kernel, workers.map),
        variance=-0.5 * n_classes * n * u,
    )
    # d/du, with tr(B^-1 G^) = (M - tr B^-1) / u and beta' G^ beta = (b' beta - |beta|^2) / u
    traces = (n_points - float(np.trace(inverse))) / u
    spread = (fit - float(np.vdot(beta, beta))) / u
    by_u = -0.5 * (n_classes * (-n / u + traces + unexplained) + squares - 2.0 * fit / u + spread)
    return derivatives, -u * by_u


@dataclass(frozen=True)
class LabelObjective:
    """The bound of labelled rows as a function of kernel, points and noise."""

    rows: InMemoryRows
    frequencies: Array
    jitter: float
    workers: Workers

    def evaluate(self, state: State) -> tuple[float, KernelGradient, float]:
        """The bound, its gradient by kernel and points, and its derivative by log noise."""
        kernel, points = state.kernel, state.points
        noise = float(state.noise or 0.0)
        covariance = points_covariance(kernel, points, self.jitter)
        factor = cholesky(covariance)

        def features(block: Array) -> Array:
            values: Array = kernel.values(block, points)
            return values

        statistics = pooled_statistics(self.rows, features, len(points), self.workers)
        bound, by_log_noise = label_bound(
            statistics, factor, kernel.variance, noise, self.frequencies, self.workers
        )
        by_rows = self.rows.pull_back(bound.by_row, kernel, points, self.workers)
        by_points = gradient_of_points(bound.points, bound.variance, kernel, points, covariance)
        return bound.value, sum_of_gradients([by_rows, by_points]), by_log_noise
