"""Regions: a tree of cuts, and which regions a row belongs to, with which weights.

Every cut is a plane in the space of the scaled features. A row beside it belongs to the region on
its side; a row within the border zone about it belongs to both, and its weight passes smoothly from
one to the other across the zone: with t the distance from the plane in half widths of the zone,

    weight of the far side = s^2 (3 - 2 s)        s = (t + 1) / 2, between 0 and 1

Weights multiply along the path through the tree, so those of a row sum to one. A row's regions
follow from the row alone, whatever rows come with it.

The tree is grown where the rows are: always the region with most rows is cut next, at the median of
its first principal direction in the metric of the kernel.
"""

import heapq
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .arrays import Array, Integers
from .operations import Operations

# Numbers below this stand for missing values: such rows are in the middle of that feature.
_MISSING = -1e100
# Rows of a region that say where it is cut.
_ROWS_OF_A_CUT = 4_000
# The part of the rows of a region that lies in the border zone of a cut.
_ZONE = 0.1
# Directions that a cut may be across, and how they are found among many columns.
_DIRECTIONS, _FEW_COLUMNS, _STEPS = 3, 64, 10
# A zone is no thinner than this part of the spread of the rows, so that weights change slowly.
_THINNEST = 0.01
# Zones end at rows. Made narrower by this, no row is at the very edge, where rounding would decide:
# wherever a row is routed, here or on a device, it is in the same regions.
_WITHIN = 1.0 - 1e-6
# A cut leaves this part of the rows on either side, at least.
_SMALLEST_SIDE = 0.1


class Places(NamedTuple):
    """Which rows are in which regions, region after region.

    Attributes
    ----------
    regions : ndarray of shape (p,)
        Numbers of regions, increasing.
    rows : ndarray of shape (p,)
        Positions of rows, increasing within a region.
    weights : ndarray of shape (p,)
        Positive; those of a row sum to one.
    """

    regions: Integers
    rows: Integers
    weights: Array

    def by_region(self) -> "list[tuple[int, Integers, Array]]":
        """Number, rows and their weights of each region that has rows."""
        numbers, starts = np.unique(self.regions, return_index=True)
        ends = np.append(starts[1:], len(self.regions))
        parts = zip(numbers.tolist(), starts.tolist(), ends.tolist(), strict=True)
        return [(k, self.rows[i:j], self.weights[i:j]) for k, i, j in parts]


@dataclass(frozen=True)
class Regions:
    """A tree of cuts.

    Attributes
    ----------
    directions : ndarray of shape (K, D)
        Normals of the planes, in the space of the scaled features.
    thresholds : ndarray of shape (K,)
        Where along its direction a plane is.
    widths : ndarray of shape (K,)
        Half widths of the border zones, in the units of the thresholds.
    children : ndarray of shape (K, 2)
        What is on either side: another cut, or region k, written as -1 - k. The first cut is 0.
    """

    directions: Array
    thresholds: Array
    widths: Array
    children: Integers

    @property
    def number(self) -> int:
        """How many regions there are."""
        return len(self.thresholds) + 1

    def places(self, rows: Array) -> Places:
        """The regions of scaled rows (n, D)."""
        found: list[tuple[int, Integers, Array]] = []
        everything = np.arange(len(rows))
        left = [(0, everything, np.ones(len(rows)))]
        known = without_holes(rows)
        while left:
            node, positions, weights = left.pop()
            if node < 0:
                found.append((-1 - node, positions, weights))
                continue
            near, far = self._sides(node, known[positions])
            for child, share in zip(self.children[node].tolist(), (near, far), strict=True):
                there = np.flatnonzero(share)
                if len(there):
                    left.append((child, positions[there], weights[there] * share[there]))
        found.sort(key=lambda part: part[0])
        return Places(
            np.repeat([part[0] for part in found], [len(part[1]) for part in found]),
            np.concatenate([part[1] for part in found]),
            np.concatenate([part[2] for part in found]),
        )

    def _sides(self, node: int, rows: Array) -> tuple[Array, Array]:
        """The weights of rows (n, D) on the near and the far side of a cut, (n,) each."""
        along = projected(rows, self.directions[node])
        far = passed(along, float(self.thresholds[node]), float(self.widths[node]))
        return 1.0 - far, far

    def weights_on(self, rows: Any, on: Operations) -> Any:
        """The weights (n, R) of scaled rows (n, D) in all regions, in the words of `on`.

        `places` is for few of many regions; this is for arrays that are not NumPy's.
        """
        known = on.where(rows > _MISSING, rows, 0.0)
        along = known @ on.array(self.directions.T)
        s = 0.5 + 0.5 * (along - on.array(self.thresholds)) / on.array(self.widths)
        s = on.minimum(on.maximum(s, 0.0), 1.0)
        far = s * s * (3.0 - 2.0 * s)
        certain = on.take(far, np.zeros(1, dtype=np.intp)) * 0.0 + 1.0
        sides = on.columns((1.0 - far, far, certain))
        paths = self._paths()
        weights = on.take(sides, paths[0])
        for step in paths[1:]:
            weights = weights * on.take(sides, step)
        return weights

    def _paths(self) -> Integers:
        """The ways to all regions (steps, R): the near side of cut k is k, the far side K + k.

        Where a way is shorter than others, 2 K follows.
        """
        n_cuts = len(self.thresholds)
        found: dict[int, list[int]] = {}
        left: list[tuple[int, list[int]]] = [(0, [])]
        while left:
            node, way = left.pop()
            if node < 0:
                found[-1 - node] = way
                continue
            near, far = self.children[node].tolist()
            left += [(near, [*way, node]), (far, [*way, n_cuts + node])]
        longest = max(len(way) for way in found.values())
        paths = np.full((longest, self.number), 2 * n_cuts, dtype=np.intp)
        for region, way in found.items():
            paths[: len(way), region] = way
        return paths

    def same(self, other: "Regions") -> bool:
        """Whether two trees put every row into the same regions, to the last bit."""
        mine, theirs = vars(self).values(), vars(other).values()
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def without_holes(rows: Array) -> Array:
    """Rows with zeros in the place of missing numbers."""
    holes = rows < _MISSING
    return np.where(holes, 0.0, rows) if holes.any() else rows


def projected(rows: Array, direction: Array) -> Array:
    """Products of rows (n, D) with a direction (D,), whose bits do not depend on other rows."""
    return np.einsum("nd,d->n", rows, direction)


def passed(along: Array, threshold: float, width: float) -> Array:
    """Weights of the far side (n,) of rows at given places along the direction of a cut."""
    s = np.clip(0.5 + 0.5 * (along - threshold) / width, 0.0, 1.0)
    return np.asarray(s * s * (3.0 - 2.0 * s))


def grown(
    rows: Array, codes: Integers, metric: Array, n_regions: int, fewest: int = 2
) -> Regions | None:
    """A tree of at most `n_regions` regions for scaled rows (n, D); None if nothing can be cut.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    codes : ndarray of shape (n,)
        Classes of the rows: a region of one class is not cut again.
    metric : ndarray of shape (D,)
        How far apart a unit of each feature puts rows.
    n_regions : int
    fewest : int, default=2
        No region of fewer rows is cut.
    """
    tree = _GrowingTree(without_holes(rows) * metric, codes)
    tree.grow(n_regions, max(fewest, 2))
    return tree.regions(metric)


class _Cut(NamedTuple):
    """A plane with its border zone."""

    direction: Array
    threshold: float
    width: float


@dataclass
class _GrowingTree:
    """Cuts so far, and the regions that may still be cut, the one with most rows first."""

    rows: Array
    codes: Integers
    cuts: list[_Cut] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)

    def grow(self, n_regions: int, fewest: int) -> None:
        self._open: list[tuple[int, int, Integers, tuple[int, int] | None]] = []
        self._add(np.arange(len(self.rows)), None, 0)
        n_found, ticket = 1, 1
        while self._open and n_found < n_regions:
            _, _, positions, above = heapq.heappop(self._open)
            if len(positions) < fewest or np.ptp(self.codes[positions]) == 0:
                continue
            cut = _best_cut(self.rows[positions])
            if cut is None:
                continue
            node = len(self.cuts)
            self.cuts.append(cut)
            self.children.append([0, 0])
            if above is not None:
                self.children[above[0]][above[1]] = node
            far = passed(projected(self.rows[positions], cut.direction), cut.threshold, cut.width)
            self._add(positions[far < 1.0], (node, 0), ticket)
            self._add(positions[far > 0.0], (node, 1), ticket + 1)
            n_found, ticket = n_found + 1, ticket + 2

    def _add(self, positions: Integers, above: tuple[int, int] | None, ticket: int) -> None:
        heapq.heappush(self._open, (-len(positions), ticket, positions, above))

    def regions(self, metric: Array) -> Regions | None:
        """The tree, its regions numbered from left to right."""
        if not self.cuts:
            return None
        children = np.array(self.children, dtype=np.intp)
        number, left = 0, [(0, 1), (0, 0)]
        while left:
            node, side = left.pop()
            child = int(children[node, side])
            if child > 0:
                left += [(child, 1), (child, 0)]
            else:
                children[node, side] = -1 - number
                number += 1
        directions = np.array([cut.direction for cut in self.cuts]) * metric
        thresholds = np.array([cut.threshold for cut in self.cuts])
        return Regions(directions, thresholds, np.array([c.width for c in self.cuts]), children)


def _best_cut(rows: Array) -> _Cut | None:
    """A cut of rows (n, E) in two, across the direction in which they vary most.

    Where that direction has next to no places to cut (columns of few values), the next one is
    tried.
    """
    step = -(-len(rows) // _ROWS_OF_A_CUT)
    some = rows[::step]
    for direction in _main_directions(some - some.mean(axis=0)):
        direction = direction * np.sign(direction[np.abs(direction).argmax()])
        place = _border(projected(rows, direction))
        if place is not None:
            threshold, width = place
            return _Cut(direction, threshold, _WITHIN * width)
    return None


def _main_directions(centred: Array) -> Array:
    """The directions (3, E) in which centred rows (n, E) vary most, the first one most.

    Of many columns by a few steps of subspace iteration: any direction about as good will do.
    """
    n_columns = centred.shape[1]
    if n_columns <= _FEW_COLUMNS:
        return np.asarray(np.linalg.eigh(centred.T @ centred)[1].T[::-1][:_DIRECTIONS])
    basis = np.random.RandomState(0).normal(size=(n_columns, 2 * _DIRECTIONS))
    for _ in range(_STEPS):
        basis = np.linalg.qr(centred.T @ (centred @ basis))[0]
    turned = np.linalg.svd(centred @ basis, full_matrices=False)[2]
    return np.asarray((basis @ turned.T).T[:_DIRECTIONS])


def _border(along: Array) -> tuple[float, float] | None:
    """Threshold and half width of the zone, for rows at given places (n,) along a direction.

    The median, with a tenth of the rows about it, or a gap beside it; where many rows share a
    value, the widest gap.
    """
    places = np.sort(along)
    n = len(places)
    thinnest = _THINNEST * float(places.std())
    middle = float(places[n // 2])
    first, last = int(n * (0.5 - _ZONE / 2)), int(n * (0.5 + _ZONE / 2))
    low, high = places[first], places[last]
    gap = _widest_gap(places, first, last)
    if gap is not None and gap[1] > 0.25 * (high - low):
        return gap[0], max(gap[1], thinnest)
    width = max(float(min(middle - low, high - middle)), thinnest)
    in_zone = np.searchsorted(places, [middle - width, middle + width])
    if width > 0 and np.diff(in_zone)[0] <= 1.5 * _ZONE * n + 1:
        return middle, width
    gap = _widest_gap(places, int(n * _SMALLEST_SIDE), int(n * (1.0 - _SMALLEST_SIDE)))
    return gap if gap is not None and gap[1] > thinnest else None


def _widest_gap(places: Array, first: int, last: int) -> tuple[float, float] | None:
    """Middle and half width of a gap between sorted places, wide and not far from the median."""
    gaps = np.diff(places[first : last + 1])
    if len(gaps) == 0 or gaps.max() <= 0:
        return None
    share = np.arange(first + 1, first + 1 + len(gaps)) / len(places)
    best = first + int(np.argmax(gaps * np.minimum(share, 1.0 - share)))
    low, high = float(places[best]), float(places[best + 1])
    return 0.5 * (low + high), 0.5 * (high - low)
