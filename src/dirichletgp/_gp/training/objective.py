"""The bound as a function of hyperparameters: two passes over the rows per evaluation, M-sized algebra between.

The first pass sums the class statistics, the second contracts the derivative of every row's kernel
vector with the derivative of the kernel. The kernel values are computed again rather than kept, so
memory does not grow with the rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.bound import BoundDerivatives, bound_and_derivatives
from ..core.kernels import Kernel, KernelGradient
from ..core.labels import LabelTransform
from ..core.linalg import cholesky
from ..core.posterior import points_covariance
from ..core.statistics import RowStatistics
from ..core.threads import Workers
from ..rows.in_memory import ArrayRows, Run, block_size
from .kernel_search import State

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DirichletObjective:
    """The collapsed bound of labelled rows.

    Attributes
    ----------
    rows : ArrayRows
    transform : LabelTransform
    prior : ndarray of shape (C,)
    jitter : float
        Relative to the kernel's variance.
    workers : Workers
    """

    rows: ArrayRows
    transform: LabelTransform
    prior: Array
    jitter: float
    workers: Workers

    def evaluate(self, state: State) -> tuple[float, KernelGradient, float]:
        """The bound and its gradient; there is no noise to learn."""
        return *self.value_and_gradient(state.kernel, state.points), 0.0

    def value_and_gradient(self, kernel: Kernel, points: Array) -> tuple[float, KernelGradient]:
        """The bound and its gradient with respect to log lengthscales, log variance and points."""
        covariance = points_covariance(kernel, points, self.jitter)
        factor = cholesky(covariance)
        statistics = self.statistics(kernel, points)
        bound = bound_and_derivatives(
            statistics, factor, kernel.variance, self.transform, self.prior, self.workers
        )
        gradient = self.gradient(bound, kernel, points)
        return bound.value, gradient.plus(
            gradient_of_points(bound.points, bound.variance, kernel, points, covariance)
        )

    def statistics(self, kernel: Kernel, points: Array) -> RowStatistics:
        """The first pass over the rows."""
        return RowStatistics.accumulate(
            self.rows, lambda block: kernel.values(block, points), len(points), self.workers
        )

    def gradient(self, bound: BoundDerivatives, kernel: Kernel, points: Array) -> KernelGradient:
        """The second pass over the rows."""
        return gradient_of_rows(bound, self.rows, kernel, points, self.workers)


def gradient_of_rows(
    bound: BoundDerivatives, rows: ArrayRows, kernel: Kernel, points: Array, workers: Workers
) -> KernelGradient:
    """The part of the gradient that goes through the kernel vectors of the rows: the second pass over them."""
    size = block_size(len(points))

    def of_run(run: Run) -> KernelGradient:
        gradient = KernelGradient(np.zeros(points.shape[1]), 0.0, np.zeros(points.shape))
        for place, block, weights in rows.blocks(run, size):
            values = kernel.values(block, points)
            derivative = values @ bound.matrices.get(run.code, bound.shared)
            derivative += bound.vectors[run.code]
            if weights is not None:
                derivative *= weights[:, None]
            if run.code in bound.row_terms:
                terms = bound.row_terms[run.code][run.start + place.start : run.start + place.stop]
                derivative += terms if weights is None else np.sqrt(weights)[:, None] * terms
            gradient = gradient.plus(kernel.pull_back(block, points, values, derivative))
        return gradient

    total = KernelGradient(np.zeros(points.shape[1]), 0.0, np.zeros(points.shape))
    for gradient in workers.map(of_run, rows.runs()):
        total = total.plus(gradient)
    return total


def gradient_of_points(
    by_covariance: Array, by_variance: float, kernel: Kernel, points: Array, covariance: Array
) -> KernelGradient:
    """The part of the gradient that goes through K_mm + jitter (M, M), and through s2 by itself."""
    through = kernel.pull_back(points, points, kernel.values(points, points), by_covariance.copy())
    return KernelGradient(
        through.log_lengthscale,
        # jitter and diagonal scale with the variance too: all of K_mm + jitter does
        float(np.vdot(by_covariance, covariance)) + kernel.variance * by_variance,
        # K_mm depends on a point through its row and its column alike
        2.0 * through.points,
    )
