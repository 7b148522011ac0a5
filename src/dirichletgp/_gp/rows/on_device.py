"""Rows on another device (PyTorch tensors, wherever they live), through the array API standard.

Rows stay where they are. What has the size of the rows is computed there, in float64 and in large
blocks: kernel vectors, their sums, the pull-back of a derivative, latent means and variances. What
has the size of the inducing points comes back to the host, where everything else takes place.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import Array, Integers
from ..core.kernels import Kernel, KernelGradient
from ..core.parallel import Workers, row_slices
from ..core.regional import RegionalBasis
from ..core.regressions import Basis, Posterior
from ..core.statistics import (
    BoundStatistics,
    ClassStatistics,
    RowDerivatives,
    sum_of_gradients,
)
from .categorical import refuse_categories
from .chunks import chunks, summary_of
from .columns import Columns
from .device import Device, Tensor, checked_device
from .device_posterior import BasisOnDevice, PosteriorOnDevice, sums_there, symmetric
from .in_memory import Chunk, Encoder, InMemoryRows, Summary
from .regions_on_device import regional_statistics
from .sources import ArrayReader

if TYPE_CHECKING:
    from .door import Given, PassObserver, SampleSize

_BLOCK_ROWS = 8_192


class TensorRows:
    """Tensors as a user gives them: only a sample of the rows comes to the host."""

    def __init__(self, given: "Given"):
        if given.in_pieces:
            raise ValueError(
                "checkpoint is for rows read from files or host arrays; leave it out with tensors."
            )
        refuse_categories(given.categorical, "tensors")
        self.device = checked_device(given.X)
        self.X = given.X
        self.columns = Columns(int(self.X.shape[1]))
        # Positions stand for rows, so that the rows themselves need not be read.
        positions = np.arange(self.X.shape[0], dtype=np.float64)[:, None]
        self._reader = ArrayReader(positions, self._host(given.y), self._host(given.sample_weight))

    def _host(self, values: Any) -> Any:
        return self.device.host(values) if hasattr(values, "device") else values

    def summary(self, size: "SampleSize", seed: int) -> Summary:
        """One pass over the labels."""
        xp = self.device.xp
        found = summary_of(chunks(self._reader), size.rows(self.X.shape[1]), seed)
        sampled = self.device.indices(found.sample.X[:, 0].astype(np.intp))
        rows = self.device.floats(xp.take(self.X, sampled, axis=0))
        missing = self.device.host(xp.any(xp.isnan(self.X), axis=0))
        sample = found.sample._replace(X=self.device.host(rows))
        return replace(found, sample=sample, missing=missing if np.any(missing) else None)

    def labelled(self, encoder: Encoder, summary: Summary, sample: InMemoryRows) -> "DeviceRows":
        """All rows, where they are."""
        labels = Chunk(np.empty((self.X.shape[0], 0)), self._reader.labels, self._reader.weights)
        rows = encoder.rows(labels)
        return DeviceRows(self.device, self.X, rows, encoder.scaler)


@dataclass(frozen=True)
class DeviceRows:
    """Labelled rows on a device.

    Attributes
    ----------
    device : Device
    X : tensor of shape (n, D)
        Raw, or scaled if `scaler` is None.
    labels : InMemoryRows
        Codes and weights of the rows; what else it holds is not read.
    scaler : transformer or None
    """

    device: Device
    X: Tensor
    labels: InMemoryRows
    scaler: Any = None

    @property
    def class_weights(self) -> Array:
        """Sum of the weights of each class, of shape (C,)."""
        return self.labels.class_weights

    @cached_property
    def _of_class(self) -> list[Integers]:
        codes = self.labels.codes
        return [np.flatnonzero(codes == k) for k in range(self.labels.n_classes)]

    def blocks(
        self, code: int, size: int = _BLOCK_ROWS
    ) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
        """Places among the rows of a class, scaled rows, and weights as a column or None."""
        positions = self._of_class[code]
        for place in row_slices(len(positions), size):
            rows = self.device.xp.take(self.X, self.device.indices(positions[place]), axis=0)
            if self.scaler is None:
                rows = self.device.floats(rows)
            else:
                rows = self.device.scaled_rows(self.scaler, rows, of_training_rows=True)
            weights = None
            if self.labels.weights is not None:
                weights = self.device.array(self.labels.weights[positions[place]])[:, None]
            yield place, rows, weights

    def class_statistics(
        self,
        basis: Basis | RegionalBasis,
        workers: Workers,
        observer: "PassObserver",
        pooled: bool = False,
    ) -> Any:
        """Sums of the whitened vectors of all rows."""
        if isinstance(basis, RegionalBasis):
            return regional_statistics(self, basis)
        n_grams = 1 if pooled else None
        total = ClassStatistics.empty(self.labels.n_classes, len(basis.points), n_grams)
        there = BasisOnDevice(self.device, basis)
        for k in range(self.labels.n_classes):
            for _, rows, weights in self.blocks(k):
                weight, sums, gram = self._sums(there.vectors(rows), weights)
                total.counts[k] += weight
                total.sums[k] += sums
                total.grams[0 if pooled else k] += gram
        return total

    def bound_rows(self, sample: InMemoryRows, wanted: int) -> "DeviceRows":
        """The sample, moved to the device."""
        return DeviceRows(self.device, self.device.array(sample.X), sample)

    def bound_statistics(
        self, kernel: Kernel, points: Array, workers: Workers, pooled: bool = False
    ) -> BoundStatistics:
        """The first pass of an evaluation of the bound."""
        n_points, n_classes = len(points), self.labels.n_classes
        points_on_device = self.device.array(points)
        sizes = [len(positions) for positions in self._of_class]
        kept = {k: np.empty((n, n_points)) for k, n in enumerate(sizes) if n < n_points}
        large = [k for k in range(n_classes) if k not in kept]
        if pooled:
            kept, large = {}, []
        grams = {k: np.zeros((n_points, n_points)) for k in large}
        pooled_gram = np.zeros((n_points, n_points))
        counts = np.zeros(n_classes)
        all_sums = np.zeros((n_classes, n_points))
        for k in range(n_classes):
            for place, rows, weights in self.blocks(k):
                values = kernel.values(rows, points_on_device, self.device)
                weight, sums, gram = self._sums(values, weights)
                counts[k] += weight
                all_sums[k] += sums
                grams.get(k, pooled_gram)[:] += gram
                if k in kept:
                    kept[k][place] = self.device.host(self._by_roots(values, weights))
        return BoundStatistics(counts, all_sums, grams, kept, pooled_gram)

    def pull_back(
        self, by_row: RowDerivatives, kernel: Kernel, points: Array, workers: Workers
    ) -> KernelGradient:
        """The second pass of an evaluation of the bound."""
        return sum_of_gradients(self._gradients(by_row, kernel, points))

    def _gradients(
        self, by_row: RowDerivatives, kernel: Kernel, points: Array
    ) -> Iterator[KernelGradient]:
        points_on_device = self.device.array(points)
        for k, positions in enumerate(self._of_class):
            if not len(positions):
                continue
            matrix = self.device.array(by_row.matrices.get(k, by_row.shared))
            vector = self.device.array(by_row.vectors[k])
            for place, rows, weights in self.blocks(k):
                values = kernel.values(rows, points_on_device, self.device)
                derivative = values @ matrix + vector
                if weights is not None:
                    derivative *= weights
                if k in by_row.row_terms:
                    terms = self.device.array(by_row.row_terms[k][place])
                    derivative += self._by_roots(terms, weights)
                yield kernel.pull_back(rows, points_on_device, values, derivative, self.device)

    def _sums(self, vectors: Tensor, weights: Tensor | None) -> tuple[float, Array, Array]:
        """Weight, sum (M,) and Gram (M, M) of a block of vectors, on the host."""
        weight, sums, gram = sums_there(self.device, vectors, weights)
        return weight, self.device.host(sums), symmetric(self.device.host(gram))

    def _by_roots(self, vectors: Tensor, weights: Tensor | None) -> Tensor:
        return vectors if weights is None else self.device.sqrt(weights) * vectors


def latent_blocks(
    device: Device, basis: Basis, posterior: Posterior, scaler: Any, X: Tensor
) -> Iterator[tuple[Array, Array]]:
    """Latent mean and variance (m, C), on the host, of blocks of raw rows on a device."""
    there = PosteriorOnDevice(BasisOnDevice(device, basis), posterior)
    for place in row_slices(X.shape[0], _BLOCK_ROWS):
        yield there.latent(device.scaled_rows(scaler, X[place, :]))
