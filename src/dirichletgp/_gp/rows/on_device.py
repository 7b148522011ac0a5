"""The block functions on arrays of another library (PyTorch, on whatever device), through the array API standard.

Rows stay where they are. What has the size of the rows is computed there, in float64 and in large
blocks: kernel vectors, their sums, the pull-back of a derivative, latent means and variances. What
has the size of the inducing points comes back to the host, where everything else takes place.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ..core.bound import BoundDerivatives
from ..core.kernels import Kernel, KernelGradient
from ..core.model import Model
from ..core.posterior import Basis
from ..core.statistics import ClassStatistics, RowStatistics
from ..core.threads import row_slices
from ..training.objective import DirichletObjective
from .device import Device, Tensor
from .in_memory import ArrayRows

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

_BLOCK_ROWS = 8_192


@dataclass(frozen=True)
class TensorRows:
    """Labelled rows on a device.

    Attributes
    ----------
    device : Device
    X : tensor of shape (n, D)
        Raw, or scaled if `scaler` is None.
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
    n_classes : int
    scaler : transformer or None
    """

    device: Device
    X: Tensor
    codes: Integers
    weights: Array | None
    n_classes: int
    scaler: Any = None

    @cached_property
    def _of_class(self) -> list[Integers]:
        return [np.flatnonzero(self.codes == k) for k in range(self.n_classes)]

    def blocks(self, code: int) -> Any:
        """Places among the rows of a class, scaled rows, and weights as a column or None."""
        positions = self._of_class[code]
        for place in row_slices(len(positions), _BLOCK_ROWS):
            rows = self.device.xp.take(self.X, self.device.indices(positions[place]), axis=0)
            rows = (
                self.device.floats(rows)
                if self.scaler is None
                else self.device.scaled_rows(self.scaler, rows)
            )
            weights = None
            if self.weights is not None:
                weights = self.device.there(self.weights[positions[place]])[:, None]
            yield place, rows, weights

    def statistics(self, basis: Basis) -> ClassStatistics:
        """`ClassStatistics.accumulate` on the device."""
        xp, n_points = self.device.xp, len(basis.points)
        total = ClassStatistics.empty(self.n_classes, n_points)
        points, whiten = (
            self.device.there(basis.points),
            self.device.there(inverse_factor(basis.factor).T),
        )
        for k in range(self.n_classes):
            for _, rows, weights in self.blocks(k):
                vectors = self.device.kernel_values(basis.kernel, rows, points) @ whiten
                weighted = vectors if weights is None else weights * vectors
                total.counts[k] += len(rows) if weights is None else float(xp.sum(weights))
                total.sums[k] += self.device.back(xp.sum(weighted, axis=0))
                gram = self.device.back(weighted.T @ vectors)
                total.grams[k] += 0.5 * (gram + gram.T)
        return total

    def row_statistics(self, kernel: Kernel, host_points: Array) -> RowStatistics:
        """`RowStatistics.accumulate` on the device."""
        xp, n_points = self.device.xp, len(host_points)
        points, sizes = (
            self.device.there(host_points),
            [len(positions) for positions in self._of_class],
        )
        kept = {k: np.empty((size, n_points)) for k, size in enumerate(sizes) if size < n_points}
        counts, sums, pooled = (
            np.zeros(self.n_classes),
            np.zeros((self.n_classes, n_points)),
            np.zeros((n_points,) * 2),
        )
        grams: dict[int, Array] = {
            k: np.zeros((n_points,) * 2) for k in range(self.n_classes) if k not in kept
        }
        for k in range(self.n_classes):
            for place, rows, weights in self.blocks(k):
                values = self.device.kernel_values(kernel, rows, points)
                weighted = values if weights is None else weights * values
                counts[k] += len(rows) if weights is None else float(xp.sum(weights))
                sums[k] += self.device.back(xp.sum(weighted, axis=0))
                gram = self.device.back(weighted.T @ values)
                grams.get(k, pooled)[:] += 0.5 * (gram + gram.T)
                if k in kept:
                    kept[k][place] = self.device.back(
                        values if weights is None else xp.sqrt(weights) * values
                    )
        return RowStatistics(counts, sums, grams, kept, pooled)

    def gradient(
        self, bound: BoundDerivatives, kernel: Kernel, host_points: Array
    ) -> KernelGradient:
        """`gradient_of_rows` on the device."""
        points = self.device.there(host_points)
        total = KernelGradient(np.zeros(points.shape[1]), 0.0, np.zeros(points.shape))
        for k in range(self.n_classes):
            if not len(self._of_class[k]):
                continue
            matrix = self.device.there(bound.matrices.get(k, bound.shared))
            vector = self.device.there(bound.vectors[k])
            for place, rows, weights in self.blocks(k):
                values = self.device.kernel_values(kernel, rows, points)
                derivative = values @ matrix + vector
                derivative = derivative if weights is None else weights * derivative
                if k in bound.row_terms:
                    terms = self.device.there(bound.row_terms[k][place])
                    derivative = derivative + (
                        terms if weights is None else self.device.xp.sqrt(weights) * terms
                    )
                total = total.plus(self.device.pull_back(kernel, rows, points, values, derivative))
        return total


@dataclass(frozen=True)
class TensorObjective(DirichletObjective):
    """The collapsed bound, its passes over the rows on a device."""

    device: Device

    @cached_property
    def _there(self) -> TensorRows:
        rows: ArrayRows = self.rows
        return TensorRows(
            self.device, self.device.there(rows.X), rows.codes, rows.weights, rows.n_classes
        )

    def statistics(self, kernel: Kernel, points: Array) -> RowStatistics:
        """The first pass."""
        return self._there.row_statistics(kernel, points)

    def gradient(self, bound: BoundDerivatives, kernel: Kernel, points: Array) -> KernelGradient:
        """The second pass."""
        return self._there.gradient(bound, kernel, points)


def inverse_factor(factor: Array) -> Array:
    """Inverse of a lower triangle: products with it take the place of the solves that the array API does not have."""
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True))


def latent_blocks(device: Device, model: Model, scaler: Any, X: Tensor) -> Any:
    """Latent mean and variance (m, C), on the host, of blocks of raw rows on a device."""
    xp, posterior, basis = device.xp, model.posterior, model.basis
    points, whiten = device.there(basis.points), device.there(inverse_factor(basis.factor).T)
    coefficients = device.there(posterior.coefficients.T)
    solvers = [device.there(inverse_factor(factor).T) for factor in posterior.factors]
    for place in row_slices(X.shape[0], _BLOCK_ROWS):
        vectors = (
            device.kernel_values(basis.kernel, device.scaled_rows(scaler, X[place, :]), points)
            @ whiten
        )
        explained = xp.stack(
            [xp.sum((vectors @ solver) ** 2, axis=1) for solver in solvers], axis=1
        )
        unexplained = xp.clip(posterior.variance - xp.sum(vectors * vectors, axis=1), 0.0, None)
        mean = device.back(vectors @ coefficients) + posterior.offsets
        yield mean, device.back(unexplained[:, None] + explained)
