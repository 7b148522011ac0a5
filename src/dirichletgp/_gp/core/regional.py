"""A basis per region, and class statistics per region: sums as before, one set for each.

A row in several regions counts in each of them, whole. What adds up over rows adds up region by
region, so rows can be added and taken away, and parts of them put together, exactly.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .arrays import Array, Integers
from .kernels import Kernel
from .parallel import Workers
from .regions import Regions
from .regressions import Basis, make_basis
from .statistics import Block, ClassStatistics, Span

# Rows that are put into their regions at once, in numbers.
_NUMBERS_AT_ONCE = 2**23
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 4_096, 2**18
_SCALED_AT_ONCE = 2_048


class RowsInOrder(Protocol):
    """Labelled rows that can be gone through in their own order."""

    def __len__(self) -> int: ...

    def scaled(self, start: int, stop: int) -> tuple[Array, Integers, Array | None]:
        """Rows that follow each other: scaled rows, codes and weights."""

    @property
    def class_weights(self) -> Array:
        """Sum of the weights of each class, of shape (C,)."""

    @property
    def n_features(self) -> int:
        """Number of columns before scaling."""


@dataclass(frozen=True)
class RegionalStatistics:
    """Class statistics of every region.

    Attributes
    ----------
    counts : ndarray of shape (C,)
        Weight of the rows of each class, every row once.
    parts : tuple of ClassStatistics
        Of each region.
    """

    counts: Array
    parts: tuple[ClassStatistics, ...]

    def __add__(self, other: "RegionalStatistics") -> "RegionalStatistics":
        pairs = zip(self.parts, other.parts, strict=True)
        return RegionalStatistics(self.counts + other.counts, tuple(a + b for a, b in pairs))

    def times(self, factor: float) -> "RegionalStatistics":
        """The statistics with the weight of every row multiplied."""
        return self._with(factor * self.counts, lambda part: part.times(factor))

    def among(self, n_classes: int, places: Sequence[int]) -> "RegionalStatistics":
        """The same classes at given places among more, the others without rows."""
        counts = np.zeros(n_classes)
        counts[places] = self.counts
        return self._with(counts, lambda part: part.among(n_classes, places))

    def copy(self) -> "RegionalStatistics":
        """The same sums in arrays of their own."""
        return self._with(self.counts.copy(), lambda part: part.copy())

    def _with(
        self, counts: Array, of_part: Callable[[ClassStatistics], ClassStatistics]
    ) -> "RegionalStatistics":
        return RegionalStatistics(counts, tuple(of_part(part) for part in self.parts))


@dataclass(frozen=True)
class RegionalBasis:
    """A basis for each region; one without points where rows are only counted.

    Attributes
    ----------
    regions : Regions
    bases : tuple of Basis
        With one kernel for all.
    jitters : tuple of float
        What was added to the diagonals of their covariances.
    """

    regions: Regions
    bases: tuple[Basis, ...]
    jitters: tuple[float, ...]

    @property
    def kernel(self) -> Kernel:
        """The kernel of all regions."""
        return self.bases[0].kernel

    @property
    def points(self) -> Array:
        """The points of all regions, one after the other."""
        return np.concatenate([basis.points for basis in self.bases])

    def no_statistics(self, n_classes: int, pooled: bool = False) -> RegionalStatistics:
        """The statistics of no rows."""
        parts = tuple(basis.no_statistics(n_classes, pooled) for basis in self.bases)
        return RegionalStatistics(np.zeros(n_classes), parts)

    def add_rows(self, statistics: RegionalStatistics, rows: RowsInOrder, workers: Workers) -> None:
        """Add the statistics of rows, in place: many rows at a time, region by region."""
        statistics.counts[:] += rows.class_weights
        for X, codes, weights in _many_at_a_time(rows, workers):

            def add(
                place: tuple[int, Integers, Array],
                rows: tuple[Array, Integers, Array | None] = (X, codes, weights),
            ) -> None:
                region, positions, _ = place
                part = statistics.parts[region]
                add_rows_of_region(part, self.bases[region], *rows, positions)

            for _ in workers.map(add, self.regions.places(X).by_region()):
                pass

    def __getstate__(self) -> dict[str, Any]:
        """Without the factors, which follow from the points."""
        points = [basis.points for basis in self.bases]
        return {"made_of": (self.regions, self.kernel, points, self.jitters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        regions, kernel, points, jitters = state["made_of"]
        with Workers(1):
            pairs = zip(points, jitters, strict=True)
            bases = tuple(make_basis(kernel, z, jitter) for z, jitter in pairs)
        vars(self).update(regions=regions, bases=bases, jitters=jitters)


def apart(basis: Basis) -> Basis:
    """The same basis for one thread: what its kernel prepares for its points is not shared."""
    return replace(basis, kernel=copy(basis.kernel))


def add_rows_of_region(
    statistics: ClassStatistics,
    basis: Basis,
    X: Array,
    codes: Integers,
    weights: Array | None,
    positions: Integers,
) -> None:
    """Add some of scaled rows (n, D) to the statistics of the region that holds them, in place."""
    own = _taken(X, codes, weights, positions, statistics.counts)
    statistics.add_rows(own, apart(basis).vectors, Workers(1))


def rows_at_once(n_features: int) -> int:
    """How many rows are put into their regions at once."""
    return int(np.clip(_NUMBERS_AT_ONCE // n_features, _FEWEST_AT_ONCE, _MOST_AT_ONCE))


@dataclass
class _Taken:
    """Scaled rows of one region, class after class."""

    X: Array
    weights: Array | None
    of_class: list[Integers]
    n_classes: int

    @property
    def class_sizes(self) -> Integers:
        return np.array([len(positions) for positions in self.of_class], dtype=np.intp)

    def spans(self) -> Iterator[Span]:
        for code, positions in enumerate(self.of_class):
            if len(positions):
                yield Span(code, positions, 0)

    def blocks(self, span: Span, size: int) -> Iterator[Block]:
        for start in range(0, len(span.positions), size):
            chosen = span.positions[start : start + size]
            weights = None if self.weights is None else self.weights[chosen]
            yield Block(slice(start, start + len(chosen)), self.X[chosen], weights)


def _taken(
    X: Array, codes: Integers, weights: Array | None, positions: Integers, counts: Array
) -> _Taken:
    """Rows at some positions as they are added to statistics of classes like `counts`."""
    own = codes[positions]
    order = np.argsort(own, kind="stable")
    ends = np.cumsum(np.bincount(own, minlength=len(counts)))
    of_class = np.split(positions[order], ends[:-1])
    return _Taken(X, weights, of_class, len(counts))


def _many_at_a_time(
    rows: RowsInOrder, workers: Workers
) -> Iterator[tuple[Array, Integers, Array | None]]:
    """Scaled rows, codes and weights, as many at a time as a few hundred regions need."""
    size = rows_at_once(rows.n_features)
    for start in range(0, len(rows), size):
        stop = min(start + size, len(rows))
        starts = range(start, stop, _SCALED_AT_ONCE)
        parts = list(
            workers.map(lambda i: rows.scaled(i, min(i + _SCALED_AT_ONCE, stop)), starts)  # noqa: B023
        )
        X = np.concatenate([part[0] for part in parts])
        codes = np.concatenate([part[1] for part in parts])
        weights = None
        if parts[0][2] is not None:
            weights = np.concatenate([part[2] for part in parts])
        yield X, codes, weights
