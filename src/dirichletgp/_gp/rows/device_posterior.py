"""A basis and a posterior whose matrices are on a device, for rows that are there."""

import numpy as np

from ..core.arrays import Array
from ..core.regressions import Basis, Posterior
from .device import Device, Tensor


class BasisOnDevice:
    """Points, and the triangle that whitens kernel vectors."""

    def __init__(self, device: Device, basis: Basis):
        self.device = device
        self._kernel = basis.kernel
        self._points = device.array(basis.points)
        self._whiten = device.array(basis.inverse.T)

    def vectors(self, rows: Tensor) -> Tensor:
        """Whitened kernel vectors (m, M) of scaled rows (m, D)."""
        return self._kernel.values(rows, self._points, self.device) @ self._whiten


class PosteriorOnDevice:
    """The solved regressions."""

    def __init__(self, basis: BasisOnDevice, posterior: Posterior):
        self._basis = basis
        self._posterior = posterior
        array = basis.device.array
        self._coefficients = array(posterior.coefficients.T)
        self._solvers = [array(root.T) for root in posterior.roots]

    def latent(self, rows: Tensor) -> tuple[Array, Array]:
        """Latent mean and variance (m, C), on the host, of scaled rows (m, D)."""
        device, posterior = self._basis.device, self._posterior
        xp = device.xp
        vectors = self._basis.vectors(rows)
        halves = [xp.sum((vectors @ solver) ** 2, axis=1) for solver in self._solvers]
        explained = xp.stack(halves, axis=1)  # one column for all classes if the noises are equal
        unexplained = device.maximum(posterior.variance - xp.sum(vectors * vectors, axis=1), 0.0)
        mean = device.host(vectors @ self._coefficients) + posterior.offsets
        variance = device.host(unexplained[:, None] + explained)
        return mean, np.broadcast_to(variance, mean.shape)


def sums_there(
    device: Device, vectors: Tensor, weights: Tensor | None
) -> tuple[float, Tensor, Tensor]:
    """Weight, sum (M,) and Gram (M, M), nearly symmetric, of vectors (m, M), on the device."""
    weighted = vectors if weights is None else weights * vectors
    weight = len(vectors) if weights is None else float(device.xp.sum(weights))
    return weight, device.sum(weighted, axis=0), weighted.T @ vectors


def symmetric(gram: Array) -> Array:
    """A Gram without what rounding left of asymmetry."""
    return 0.5 * (gram + gram.T)
