"""Class statistics, everything that training ever needs from the rows, and the passes over rows.

For each class k, over its rows with weights w_i and vectors k_i (kernel vectors k(Z, x_i), whitened
or not: who sums them says which):

    n_k = sum w_i        S_k = sum w_i k_i        G_k = sum w_i k_i k_i'

They are additive, so rows can be added and taken away in any grouping. Once kernel and inducing
points are fixed, vectors are whitened (k_i becomes L^-1 k_i with L L' = K_mm + jitter) before they
are summed, into `ClassStatistics`: whitening a finished Gram loses positive definiteness once
n / jitter nears 1 / eps. During training the kernel changes with every evaluation, the row counts
are moderate, and the cheaper order is taken: `BoundStatistics` hold sums that are not whitened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from .arrays import Array, Integers
from .kernels import Kernel, KernelGradient
from .parallel import Workers, add_gram, block_size, symmetrise

VectorsOf = Callable[[Array], Array]

_POOLED = -1
# Small classes are put together until they are this many rows, a unit of work.
_ROWS_OF_A_UNIT = 1_024
# Kernel values that are kept between two passes: 64 MB.
_MOST_KEPT = 2**23


class Span(NamedTuple):
    """Rows of one class that a thread takes at once.

    Attributes
    ----------
    code : int
        Of their class.
    positions : ndarray of shape (n,)
        Where the rows stand among all.
    start : int
        How many rows of the class come before them.
    """

    code: int
    positions: Integers
    start: int


class Block(NamedTuple):
    """Rows of one class that fit into cache: place within the class, scaled rows, weights."""

    place: slice
    rows: Array
    weights: Array | None


class BlockedRows(Protocol):
    """Labelled rows that can be gone through class by class, block by block."""

    n_classes: int

    @property
    def class_sizes(self) -> Integers:
        """Number of rows of each class, of shape (C,)."""

    def spans(self) -> Iterator[Span]:
        """All rows, class after class."""

    def blocks(self, span: Span, size: int) -> Iterator[Block]:
        """A span in blocks of at most `size` rows."""


@dataclass(frozen=True)
class ClassStatistics:
    """The sums n (C,), S (C, M) and G (C, M, M) of rows' vectors; G may be pooled over classes."""

    counts: Array
    sums: Array
    grams: Array

    @classmethod
    def empty(cls, n_classes: int, n_points: int, n_grams: int | None = None) -> "ClassStatistics":
        """The statistics of no rows."""
        n_grams = n_classes if n_grams is None else n_grams
        return cls(
            np.zeros(n_classes),
            np.zeros((n_classes, n_points)),
            np.zeros((n_grams, n_points, n_points)),
        )

    @property
    def is_pooled(self) -> bool:
        """Whether the rows of all classes have one Gram."""
        return len(self.grams) == 1 < len(self.counts)

    @property
    def total(self) -> Array:
        """The Gram (M, M) of the rows of all classes."""
        return np.asarray(self.grams.sum(axis=0))

    def __add__(self, other: "ClassStatistics") -> "ClassStatistics":
        return ClassStatistics(
            self.counts + other.counts, self.sums + other.sums, self.grams + other.grams
        )

    def __sub__(self, other: "ClassStatistics") -> "ClassStatistics":
        return ClassStatistics(
            self.counts - other.counts, self.sums - other.sums, self.grams - other.grams
        )

    def times(self, factor: float) -> "ClassStatistics":
        """The statistics with the weight of every row multiplied."""
        return ClassStatistics(factor * self.counts, factor * self.sums, factor * self.grams)

    def among(self, n_classes: int, places: Sequence[int]) -> "ClassStatistics":
        """The same classes at given places among more, the others without rows."""
        wider = self.empty(n_classes, self.sums.shape[1], 1 if self.is_pooled else None)
        wider.counts[places] = self.counts
        wider.sums[places] = self.sums
        wider.grams[0 if self.is_pooled else places] = self.grams
        return wider

    def copy(self) -> "ClassStatistics":
        """The same sums in arrays of their own."""
        return ClassStatistics(self.counts.copy(), self.sums.copy(), self.grams.copy())

    def add_rows(
        self,
        rows: BlockedRows,
        features: VectorsOf,
        workers: Workers,
        gram_of: Sequence[int] | None = None,
    ) -> "ClassStatistics":
        """Add rows, in place and by one pass; `features` maps scaled rows to vectors (m, M).

        `gram_of` names the Gram that each class adds to; by default every class has its own, or
        all have one.
        """
        if gram_of is None and self.is_pooled:
            return self._add_pooled_rows(rows, features, workers)
        gram_of = range(rows.n_classes) if gram_of is None else gram_of
        n_points = self.sums.shape[1]
        size = block_size(n_points)

        def of_span(span: Span) -> tuple[int, float, Array, Array]:
            weight = 0.0
            total = np.zeros(n_points)
            gram = np.zeros((n_points, n_points))
            for block in workers.go_on(rows.blocks(span, size)):
                vectors = features(block.rows)
                weight += add_block(vectors, block.weights, total)
                add_gram(weighted_by_roots(vectors, block.weights), gram)
            return span.code, weight, total, symmetrise(gram)

        for code, weight, total, gram in workers.map(of_span, rows.spans()):
            self.counts[code] += weight
            self.sums[code] += total
            self.grams[gram_of[code]] += gram
        return self

    def _add_pooled_rows(
        self, rows: BlockedRows, features: VectorsOf, workers: Workers
    ) -> "ClassStatistics":
        """Add rows to one Gram, small classes together."""
        sums = _PooledSums(rows, features, self.sums.shape[1])
        for parts, gram in workers.map(sums.of_unit, _units(rows, ())):
            for code, weight, total in parts:
                self.counts[code] += weight
                self.sums[code] += total
            self.grams[0] += gram
        return self


def add_block(vectors: Array, weights: Array | None, total: Array) -> float:
    """Add the vectors of a block of one class to their sum (M,); returns the block's weight."""
    if weights is None:
        total += vectors.sum(axis=0)
        return float(len(vectors))
    total += weights @ vectors
    return float(weights.sum())


def weighted_by_roots(vectors: Array, weights: Array | None) -> Array:
    """sqrt(w_i) k_i, whose Gram is the weighted one; the vectors themselves without weights."""
    return vectors if weights is None else vectors * np.sqrt(weights)[:, None]


@dataclass(frozen=True)
class _PooledSums:
    """Sums of vectors of classes that have one Gram."""

    rows: BlockedRows
    features: VectorsOf
    n_points: int

    def of_unit(self, unit: "_Unit") -> tuple[list[tuple[int, float, Array]], Array]:
        """Code, weight and sum (M,) of each block of a unit of work, and the Gram of all."""
        parts = []
        gram = np.zeros((self.n_points, self.n_points))
        for group, _ in _placed_groups(self.rows, unit, block_size(self.n_points)):
            vectors = self.features(_rows_of(group))
            for code, block, place in group:
                total = np.zeros(self.n_points)
                parts.append((code, add_block(vectors[place], block.weights, total), total))
                if block.weights is not None:
                    vectors[place] *= np.sqrt(block.weights)[:, None]
            add_gram(vectors, gram)
        return parts, symmetrise(gram)


class KeptValues:
    """Kernel values of rows, from the first pass of an evaluation of the bound for the second.

    Their array is made once for a search; it is for one evaluation at a time. Of many rows nothing
    is kept, and values are computed in both passes.
    """

    def __init__(self) -> None:
        self._array = np.empty((0, 0))
        self._of: tuple[Kernel, Array, frozenset[int]] | None = None

    def room(
        self, n_rows: int, kernel: Kernel, points: Array, alone: Iterable[int]
    ) -> Array | None:
        """Where the first pass is to write the values (n, M); None if they are too many.

        Rows are in the order of the units of work, which the classes that are `alone` decide.
        """
        shape = (n_rows, len(points))
        if self._array.shape != shape:
            self._array = np.empty((0, 0))  # before there is another one
            self._of = None
        if n_rows * len(points) > _MOST_KEPT:
            return None
        if self._array.shape != shape:
            self._array = np.empty(shape)
        self._of = kernel, points, frozenset(alone)
        return self._array

    def found(self, kernel: Kernel, points: Array, alone: Iterable[int]) -> Array | None:
        """What the first pass has written, if it was of this very kernel, in the same order."""
        if self._of is None or self._of[0] is not kernel or self._of[1] is not points:
            return None
        return self._array if self._of[2] == frozenset(alone) else None


@dataclass(frozen=True)
class BoundStatistics:
    """What an evaluation of the bound needs: sums that are not whitened, small classes as rows.

    A class with fewer rows than there are inducing points has a Gram of low rank; its rows are
    kept instead (never more than C M rows in all) and the Grams of all such classes are pooled.
    Regressions that weigh all rows alike need no more than the pooled Gram and the sums.

    Attributes
    ----------
    counts : ndarray of shape (C,)
    sums : ndarray of shape (C, M)
    grams : dict from class code to ndarray of shape (M, M)
        Of the classes with many rows.
    rows : dict from class code to ndarray of shape (n_k, M)
        sqrt(w_i) k_i of the classes with few rows.
    pooled : ndarray of shape (M, M)
        Sum of the Grams of the classes that have none of their own.
    """

    counts: Array
    sums: Array
    grams: dict[int, Array]
    rows: dict[int, Array]
    pooled: Array

    @classmethod
    def of_rows(
        cls,
        rows: BlockedRows,
        kernel: Kernel,
        points: Array,
        workers: Workers,
        kept_values: KeptValues | None = None,
    ) -> "BoundStatistics":
        """One pass over the rows."""
        n_points = len(points)
        size = block_size(n_points)
        at = kernel.at(points)
        kept = {k: np.empty((n, n_points)) for k, n in enumerate(rows.class_sizes) if n < n_points}
        counts = np.zeros(rows.n_classes)
        sums = np.zeros((rows.n_classes, n_points))
        grams: dict[int, Array] = {}
        alone = [k for k in range(rows.n_classes) if k not in kept]
        room = None
        if kept_values is not None:
            n_rows = int(rows.class_sizes.sum())
            room = kept_values.room(n_rows, kernel, points, alone)

        def of_unit(unit: _Unit) -> tuple[list[tuple[int, float, Array]], int, Array]:
            parts = []
            gram = np.zeros((n_points, n_points))
            for group, place in _placed_groups(rows, unit, size):
                values = at.values(_rows_of(group), None if room is None else room[place])
                for code, block, member in group:
                    own = values[member]
                    total = np.zeros(n_points)
                    parts.append((code, add_block(own, block.weights, total), total))
                    own = weighted_by_roots(own, block.weights)
                    add_gram(own, gram)
                    if code in kept:
                        kept[code][block.place] = own
            return parts, unit.spans[0].code, symmetrise(gram)

        for parts, code, gram in workers.map(of_unit, _units(rows, alone)):
            for k, weight, total in parts:
                counts[k] += weight
                sums[k] += total
            key = _POOLED if code in kept else code
            if key in grams:
                grams[key] += gram
            else:
                grams[key] = gram
        pooled = grams.pop(_POOLED, np.zeros((n_points, n_points)))
        return cls(counts, sums, grams, kept, pooled)

    @classmethod
    def pooled_of_rows(
        cls, rows: BlockedRows, kernel: Kernel, points: Array, workers: Workers
    ) -> "BoundStatistics":
        """One pass over the rows, for regressions that weigh all rows alike."""
        empty = ClassStatistics.empty(rows.n_classes, len(points), n_grams=1)
        return cls.pooled_from(empty.add_rows(rows, kernel.at(points).values, workers))

    @classmethod
    def pooled_from(cls, statistics: ClassStatistics) -> "BoundStatistics":
        """The same from sums of kernel vectors."""
        return cls(statistics.counts, statistics.sums, {}, {}, statistics.total)


class _Member(NamedTuple):
    """A block among blocks that are computed together: its class, itself, and its place there."""

    code: int
    block: Block
    place: slice


class _Unit(NamedTuple):
    """A unit of work: spans, and how many rows the units before it have."""

    spans: list[Span]
    start: int


def _placed_groups(
    rows: BlockedRows, unit: _Unit, size: int
) -> Iterator[tuple[list[_Member], slice]]:
    """The groups of a unit, and their places among the rows of all units."""
    start = unit.start
    for group in _groups(rows, unit.spans, size):
        stop = start + group[-1].place.stop
        yield group, slice(start, stop)
        start = stop


def _groups(rows: BlockedRows, spans: list[Span], size: int) -> Iterator[list[_Member]]:
    """The blocks of some spans, several small ones together: a kernel likes many rows at once."""
    group: list[_Member] = []
    n = 0
    for span in spans:
        for block in rows.blocks(span, size):
            if n + len(block.rows) > size and group:
                yield group
                group, n = [], 0
            group.append(_Member(span.code, block, slice(n, n + len(block.rows))))
            n += len(block.rows)
    if group:
        yield group


def _rows_of(group: list[_Member]) -> Array:
    """The rows of blocks that are computed together."""
    if len(group) == 1:
        return group[0].block.rows
    return np.concatenate([member.block.rows for member in group])


def _units(rows: BlockedRows, alone: Iterable[int]) -> Iterator[_Unit]:
    """Units of work: a span of a class that is alone, or several that share the pooled Gram."""
    alone = frozenset(alone)
    pooled: list[Span] = []
    start = n = 0
    for span in rows.spans():
        if span.code in alone:
            yield _Unit([span], start)
            start += len(span.positions)
            continue
        pooled.append(span)
        n += len(span.positions)
        if n >= _ROWS_OF_A_UNIT:
            yield _Unit(pooled, start)
            start += n
            pooled, n = [], 0
    if pooled:
        yield _Unit(pooled, start)


@dataclass(frozen=True)
class RowDerivatives:
    """What a second pass over the rows needs: derivatives of a scalar by their kernel vectors.

    By the vector of a row of class k it is ``w_i (2 W_k k_i + v_k)``. A class kept as rows shares
    its W_k with all others but for a low-rank term, which `row_terms` holds row by row.

    Attributes
    ----------
    matrices : dict from class code to ndarray of shape (M, M)
        2 W_k of the classes with a Gram of their own.
    shared : ndarray of shape (M, M)
        2 W_k without its low-rank term, if it has one, of all other classes.
    vectors : ndarray of shape (C, M)
        v_k.
    row_terms : dict from class code to ndarray of shape (n_k, M)
    """

    matrices: dict[int, Array]
    shared: Array
    vectors: Array
    row_terms: dict[int, Array]


def pull_back(
    rows: BlockedRows,
    by_row: RowDerivatives,
    kernel: Kernel,
    points: Array,
    workers: Workers,
    kept_values: KeptValues | None = None,
) -> KernelGradient:
    """The gradient through the kernel vectors of the rows: the second pass over them."""
    at = kernel.at(points)
    size = at.rows_at_once or block_size(len(points))
    kept = None
    if kept_values is not None:
        kept = kept_values.found(kernel, points, by_row.matrices)

    def finish(code: int, block: Block, derivative: Array) -> None:
        derivative += by_row.vectors[code]
        if block.weights is not None:
            derivative *= block.weights[:, None]
        if code in by_row.row_terms:
            terms = by_row.row_terms[code][block.place]
            derivative += weighted_by_roots(terms, block.weights)

    def of_unit(unit: _Unit) -> Array:
        total = at.no_derivatives()
        for group, place in _placed_groups(rows, unit, size):
            together = _rows_of(group)
            values = at.values(together) if kept is None else kept[place]
            # The classes of a group have one matrix: their own, or the shared one.
            derivative = values @ by_row.matrices.get(group[0].code, by_row.shared)
            for code, block, own in group:
                finish(code, block, derivative[own])
            at.add_derivatives(together, values, derivative, total)
        return total

    total = at.no_derivatives()
    for part in workers.map(of_unit, _units(rows, by_row.matrices)):
        total += part
    return at.gradient(total, workers.map)


def sum_of_gradients(gradients: Iterable[KernelGradient]) -> KernelGradient:
    """The gradient of a sum, of one term at least."""
    left = iter(gradients)
    first = next(left)
    parameters = first.parameters.copy()
    log_variance = first.log_variance
    points = first.points.copy()
    for gradient in left:
        parameters += gradient.parameters
        log_variance += gradient.log_variance
        points += gradient.points
    return KernelGradient(parameters, log_variance, points)
