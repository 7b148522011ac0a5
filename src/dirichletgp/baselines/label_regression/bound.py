"""The collapsed bound of regression on labels: one noise, one Gram for all classes.

Targets are the indicators of the classes less their frequencies p_c. With u = 1 / noise, whitened
statistics (hats) and t_c = S^_c - p_c S^,

    B = I + u G^        b_c = u t_c        beta_c = B^-1 b_c

    bound = sum_c -1/2 [ n log(2 pi / u) + u (n_c (1 - p_c)^2 + (n - n_c) p_c^2) + log|B| - b_c'
    beta_c
                         + u (n s2 - tr G^) ]

This is the bound of `dirichletgp._gp.core.bound` with equal noises in and out of the class, so its
derivatives are the same with d = 0, and B is shared by all classes. New is the derivative with
respect to u.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._gp.core.bound import BoundDerivatives
from ..._gp.core.kernels import KernelGradient
from ..._gp.core.linalg import (
    cholesky,
    inverse_from_cholesky,
    log_determinant,
    pulled_back_in_parallel,
    solve_rows,
    solve_rows_transposed,
    whitened_in_parallel,
)
from ..._gp.core.posterior import points_covariance
from ..._gp.core.statistics import ClassStatistics
from ..._gp.core.threads import Workers
from ..._gp.rows.in_memory import ArrayRows
from ..._gp.training.kernel_search import State
from ..._gp.training.objective import gradient_of_points, gradient_of_rows

Array = NDArray[np.float64]


def label_bound(
    statistics: ClassStatistics,
    factor: Array,
    variance: float,
    noise: float,
    frequencies: Array,
    workers: Workers,
) -> tuple[BoundDerivatives, float]:
    """The bound with what a second pass over the rows needs, and its derivative with respect to log noise.

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
    counts, n, u = statistics.counts, float(statistics.counts.sum()), 1.0 / noise
    n_classes, n_points = statistics.sums.shape
    gram = whitened_in_parallel(factor, statistics.grams[0], workers.map)
    sums = solve_rows(factor, statistics.sums.copy())
    targets = sums - frequencies[:, None] * sums.sum(axis=0)

    B = u * gram
    B.flat[:: n_points + 1] += 1.0
    lower = cholesky(B)
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

    p_sum = -n_classes * inverse - beta.T @ beta
    p_sum.flat[:: n_points + 1] += n_classes
    p_sum *= 0.5
    through_kernel = pulled_back_in_parallel(
        factor, p_sum - 0.5 * n_classes * u * gram, workers.map
    )
    raw_beta = solve_rows_transposed(factor, beta.copy())
    derivatives = BoundDerivatives(
        value=value,
        matrices={},
        shared=pulled_back_in_parallel(factor, 2.0 * u * p_sum, workers.map),
        vectors=u * (raw_beta - frequencies @ raw_beta),
        row_terms={},
        points=through_kernel,
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

    rows: ArrayRows
    frequencies: Array
    jitter: float
    workers: Workers

    def evaluate(self, state: State) -> tuple[float, KernelGradient, float]:
        """The bound, its gradient with respect to the kernel and points, and with respect to log noise."""
        kernel, points, noise = state.kernel, state.points, float(state.noise or 0.0)
        covariance = points_covariance(kernel, points, self.jitter)
        statistics = ClassStatistics.accumulate(
            self.rows,
            lambda block: kernel.values(block, points),
            len(points),
            self.workers,
            [0] * self.rows.n_classes,
        )
        bound, by_log_noise = label_bound(
            statistics, cholesky(covariance), kernel.variance, noise, self.frequencies, self.workers
        )
        gradient = gradient_of_rows(bound, self.rows, kernel, points, self.workers)
        return (
            bound.value,
            gradient.plus(
                gradient_of_points(bound.points, bound.variance, kernel, points, covariance)
            ),
            by_log_noise,
        )
