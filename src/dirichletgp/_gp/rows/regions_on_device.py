"""Regions of rows on a device: they are routed and predicted there, region by region.

The weights of rows in all regions are computed on the device (`Regions.weights_on`), and which
rows are in which regions comes back to the host. What a region does with its rows is what a model
without regions does with all.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import Array
from ..core.counted import CountedPosterior
from ..core.parallel import row_slices
from ..core.regional import RegionalBasis, RegionalStatistics, rows_at_once
from ..core.regions import Places, Regions
from ..core.regressions import Basis, Posterior
from .device import Device, Tensor
from .device_posterior import BasisOnDevice, PosteriorOnDevice, sums_there, symmetric

if TYPE_CHECKING:
    from .on_device import DeviceRows

# Weights of rows in all regions that are there at once.
_WEIGHTS_AT_ONCE = 2**24


def places_on(device: Device, regions: Regions, rows: Tensor) -> Places:
    """The regions of scaled rows (n, D) on a device."""
    size = max(1, _WEIGHTS_AT_ONCE // regions.number)
    found: list[tuple[Array, ...]] = []
    for place in row_slices(int(rows.shape[0]), size):
        weights = regions.weights_on(rows[place, :], device)
        # Turned, so that pairs come region after region.
        region, row = device.xp.nonzero(weights.T > 0.0)
        flat = device.xp.reshape(weights, (-1,))
        own = device.xp.take(flat, row * regions.number + region)
        found.append((device.host(region), place.start + device.host(row), device.host(own)))
    region, row, weight = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(region, kind="stable")
    return Places(region[order], row[order], weight[order])


def regional_statistics(rows: "DeviceRows", basis: RegionalBasis) -> RegionalStatistics:
    """Class statistics of every region: sums stay on the device until all rows are in them."""
    device, n_classes = rows.device, rows.labels.n_classes
    total = basis.no_statistics(n_classes)
    total.counts[:] = rows.class_weights
    there: dict[int, BasisOnDevice] = {}
    for k in range(n_classes):
        sums: dict[int, Any] = {}
        for _, X, weights in rows.blocks(k, rows_at_once(int(rows.X.shape[1]))):
            for region, positions, _ in places_on(device, basis.regions, X).by_region():
                chosen = device.indices(positions)
                own = None if weights is None else device.xp.take(weights, chosen, axis=0)
                if len(basis.bases[region].points) == 0:
                    more = len(positions) if own is None else float(device.xp.sum(own))
                    total.parts[region].counts[k] += more
                    continue
                if region not in there:
                    there[region] = BasisOnDevice(device, basis.bases[region])
                vectors = there[region].vectors(device.xp.take(X, chosen, axis=0))
                found = sums_there(device, vectors, own)
                before = sums.get(region, (0.0, 0.0, 0.0))
                sums[region] = tuple(a + b for a, b in zip(before, found, strict=True))
        for region, (weight, sum_, gram) in sums.items():
            part = total.parts[region]
            part.counts[k] = weight
            part.sums[k] = device.host(sum_)
            part.grams[k] = symmetric(device.host(gram))
    return total


def regional_latent_blocks(
    device: Device,
    regions: Regions,
    solved: Callable[[int], tuple[Basis, Posterior]],
    scaler: Any,
    X: Tensor,
) -> Iterator[tuple[Array, Array]]:
    """Averaged latent mean and variance (m, C), on the host, of blocks of raw rows on a device.

    `solved` gives the basis and the posterior of a region.
    """
    for place in row_slices(int(X.shape[0]), rows_at_once(int(X.shape[1]))):
        rows = device.scaled_rows(scaler, X[place, :])
        total: Array | None = None
        for region, positions, share in places_on(device, regions, rows).by_region():
            own = device.xp.take(rows, device.indices(positions), axis=0)
            latent = np.stack(_latent(device, *solved(region), own))
            if total is None:
                total = np.zeros((2, int(rows.shape[0]), latent.shape[2]))
            total[:, positions] += share[:, None] * latent
        assert total is not None
        yield total[0], total[1]


def _latent(
    device: Device, basis: Basis, posterior: Posterior, rows: Tensor
) -> tuple[Array, Array]:
    """Latent mean and variance (m, C) of scaled rows under the posterior of a region."""
    if isinstance(posterior, CountedPosterior):
        return posterior.latent(np.empty((int(rows.shape[0]), 0)))
    return PosteriorOnDevice(BasisOnDevice(device, basis), posterior).latent(rows)
