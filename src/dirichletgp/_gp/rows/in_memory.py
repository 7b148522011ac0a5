"""Labelled rows in memory, and how rows as users give them become such.

The class statistics are kept per class, so a span holds rows of a single class and costs one
symmetric product.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.multiclass import check_classification_targets

from ..core.arrays import AnyArray, Array, Booleans, Integers
from ..core.kernels import Kernel, KernelGradient
from ..core.parallel import Workers
from ..core.regressions import Basis
from ..core.statistics import (
    Block,
    BoundStatistics,
    ClassStatistics,
    KeptValues,
    RowDerivatives,
    Span,
    pull_back,
)
from .mixed import MixedScaler
from .scaling import fit_scaler, is_identity, scaling_function, tied_columns
from .target_codes import ScalerWithTargetCodes, TargetCodes, WeighedLabels
from .weights import class_factors

if TYPE_CHECKING:
    from .columns import Columns
    from .door import PassObserver

# Spans are the unit of work of a thread. Their size depends on the data alone, never on the number
# of threads.
_SMALLEST_SPAN, _LARGEST_SPAN, _SPANS = 1_024, 16_384, 32
_ROWS_OF_A_CLASS = 5  # that a sample to learn from has, if classes are many
_COMPARED_ROWS = 100_000
_ALONE = 1 / 3
_HASHED_ROWS, _RARE_COPIES = 65_536, 0.99
FOLDS = 5
"""How many folds rows are dealt into where nothing else decides."""
_FOLD_BITS = np.uint64(17)  # so many bits of a row's key are passed by
# Rows that the scaling of columns of several kinds is learned from.
_SCALED_ROWS = 100_000
# Rows that tell how columns are spread, and lines that keep it.
_SPREAD_ROWS, _BACKGROUND = 20_000, 256

Keys = NDArray[np.uint64]


class Chunk(NamedTuple):
    """Rows (m, D), labels (m,) and sample weights (m,), or None where every row counts once."""

    X: AnyArray
    labels: AnyArray
    weights: Array | None

    def part(self, rows: Any) -> "Chunk":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Chunk(self.X[rows], self.labels[rows], weights)

    def of_positive_weight(self) -> "Chunk":
        """The rows that count."""
        if self.weights is None or np.all(self.weights > 0):
            return self
        return self.part(np.flatnonzero(self.weights))

    def fingerprint(self) -> bytes:
        """A few bytes that other rows, labels or weights do not have."""
        digest = hashlib.sha256()
        labels, codes = np.unique(self.labels, return_inverse=True)
        digest.update(repr((self.X.shape, self.X.dtype.str, labels.tolist())).encode())
        weights = np.ones(len(codes)) if self.weights is None else self.weights
        for array in (self.X, codes, weights):
            digest.update(np.ascontiguousarray(array).data)
        return digest.digest()


@dataclass(frozen=True)
class Summary:
    """What is known of rows after reading them once.

    Attributes
    ----------
    n_rows : int
    labels : ndarray of shape (C,)
        The different labels, in order and in the type they came in.
    class_totals : ndarray of shape (C,)
        Weight of the rows of each.
    sample : Chunk
        Rows in the order of the source, all of them if there are few.
    priorities : ndarray of shape (n,)
        The random numbers of the sampled rows; empty where nothing was drawn.
    missing : ndarray of shape (D,) of bool, or None
        In which columns values were found to be missing; None: in none.
    fingerprint : bytes
        Of all rows, labels and weights in their order; empty where nobody asked for it.
    """

    n_rows: int
    labels: AnyArray
    class_totals: Array
    sample: Chunk
    priorities: Array
    missing: Booleans | None = None
    fingerprint: bytes = b""

    @cached_property
    def classes(self) -> AnyArray:
        """All labels in order, at least two."""
        check_classification_targets(self.sample.labels)
        if len(self.labels) < 2:
            raise ValueError(
                f"y has one class only ({self.labels.tolist()[0]!r}, among rows with a positive "
                "weight); pass rows of at least two classes."
            )
        return self.labels

    @property
    def totals(self) -> dict[Any, float]:
        """Weight of the rows of each label."""
        return dict(zip(self.labels.tolist(), self.class_totals.tolist(), strict=True))


class InMemoryRows:
    """Labelled rows in memory, scaled as they are read.

    Parameters
    ----------
    X : ndarray of shape (n, D)
    codes : ndarray of shape (n,)
        Class codes 0 to n_classes - 1.
    weights : ndarray of shape (n,) or None
        None means that every row counts once.
    n_classes : int
    scale : callable or None
        Maps raw rows (m, D) to scaled rows; None when X is scaled already.
    """

    def __init__(
        self,
        X: AnyArray,
        codes: Integers,
        weights: Array | None,
        n_classes: int,
        scale: Callable[[Array], Array] | None = None,
    ):
        self.X = X
        self.codes = codes
        self.weights = weights
        self.n_classes = n_classes
        self.scale = scale
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=n_classes))
        self._of_class = np.split(order, ends[:-1])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def class_sizes(self) -> Integers:
        """Number of rows of each class, whatever their weights, of shape (C,)."""
        return np.array([len(positions) for positions in self._of_class], dtype=np.intp)

    @property
    def class_weights(self) -> Array:
        """Sum of the weights of each class, of shape (C,)."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def spans(self) -> Iterator[Span]:
        """All rows, class after class, in spans of bounded size."""
        size = int(np.clip(len(self) // _SPANS, _SMALLEST_SPAN, _LARGEST_SPAN))
        for code, positions in enumerate(self._of_class):
            for start in range(0, len(positions), size):
                yield Span(code, positions[start : start + size], start)

    def blocks(self, span: Span, size: int) -> Iterator[Block]:
        """Cache-sized pieces of a span: their place within the class, scaled rows and weights."""
        n = len(span.positions)
        step = -(-n // -(-n // size))  # pieces of equal size, none larger than asked for
        for start in range(0, n, step):
            stop = min(start + step, n)
            positions = span.positions[start:stop]
            place = slice(span.start + start, span.start + stop)
            yield Block(place, self._scaled(positions), self._weights(positions))

    def in_order(self, size: int) -> Iterator[tuple[Array, Integers, Array | None]]:
        """All rows in their own order, `size` at a time: scaled rows, codes and weights."""
        for start in range(0, len(self), size):
            positions = np.arange(start, min(start + size, len(self)))
            yield self._scaled(positions), self.codes[positions], self._weights(positions)

    def scaled(self, start: int, stop: int) -> tuple[Array, Integers, Array | None]:
        """Rows that follow each other: scaled rows, codes and weights."""
        positions = np.arange(start, stop)
        return self._scaled(positions), self.codes[positions], self._weights(positions)

    @property
    def n_features(self) -> int:
        """Number of columns before scaling."""
        return int(self.X.shape[1])

    def _scaled(self, positions: Integers) -> Array:
        rows = np.asarray(self.X[positions], dtype=np.float64)
        return rows if self.scale is None else self.scale(rows)

    def _weights(self, positions: Any) -> Array | None:
        return None if self.weights is None else self.weights[positions]

    def part(self, positions: Integers) -> "InMemoryRows":
        """The rows at some positions, not scaled yet."""
        weights = self._weights(positions)
        codes = self.codes[positions]
        return InMemoryRows(self.X[positions], codes, weights, self.n_classes, self.scale)

    def take(self, positions: Integers) -> "InMemoryRows":
        """The rows at some positions, scaled now and kept in memory."""
        weights = self._weights(positions)
        return InMemoryRows(self._scaled(positions), self.codes[positions], weights, self.n_classes)

    def merged(self) -> "InMemoryRows":
        """Identical rows of a class as one row with their total weight, in a canonical order.

        The likelihood is the same either way; leaving one out is not. A copy of a row left in would
        give its label away, and a weight must mean the same as a repetition.
        """
        keys = np.column_stack([self.codes, self.X])
        distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
        weights = np.bincount(inverse.ravel(), self.weights).astype(np.float64)
        codes = distinct[:, 0].astype(np.intp)
        own = None if np.all(weights == 1.0) else weights
        X = np.ascontiguousarray(distinct[:, 1:])
        return InMemoryRows(X, codes, own, self.n_classes)

    @cached_property
    def places(self) -> Integers:
        """A number for each row (n,) in memory, the same for identical ones whatever their class.

        A place is called by the first row that is there.
        """
        keys = fingerprints(self.X, np.zeros(len(self), dtype=np.intp))
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return np.asarray(first[inverse.ravel()], dtype=np.intp)

    def votes(self, positions: Any = slice(None)) -> Array:
        """Weights (n, C) by class of all rows that are identical to those at some positions.

        They are left out together: where labels contradict each other, those that stay would speak
        against the one that is left out.
        """
        wanted, row = np.unique(self.places[positions], return_inverse=True)
        there = np.flatnonzero(np.isin(self.places, wanted))
        votes = np.zeros((len(wanted), self.n_classes))
        own = 1.0 if self.weights is None else self.weights[there]
        np.add.at(votes, (np.searchsorted(wanted, self.places[there]), self.codes[there]), own)
        found: Array = votes[row.ravel()]
        return found

    @property
    def repetition(self) -> float:
        """How often each row is there, as far as weights tell; see `repetition_of`."""
        return 1.0 if self.weights is None else repetition_of(self.weights, self.codes)

    def each_once(self) -> "InMemoryRows":
        """The same rows, each counted once if all of them are there several times.

        A hundred copies of every row say no more about the kernel than one: taken at their word
        they would have it follow the noise of their labels.
        """
        repetition = self.repetition
        if self.weights is None or repetition == 1.0:
            return self
        weights = self.weights / repetition
        return InMemoryRows(self.X, self.codes, weights, self.n_classes, self.scale)

    def identities(self) -> Integers:
        """A number for each row, the same for identical rows of a class, in the order of `merged`.

        With very many rows every row has its own: comparing them would take memory that grows with
        the rows.
        """
        if len(self) > _COMPARED_ROWS:
            return np.arange(len(self))
        keys = np.column_stack([self.codes, self.X])
        inverse = np.unique(keys, axis=0, return_inverse=True)[1]
        return np.asarray(inverse.ravel(), dtype=np.intp)

    def stratified_sample(self, size: int, rng: np.random.RandomState) -> Integers:
        """Sorted positions of a random sample with the class proportions of all rows.

        At least one row of each class is among them.
        """
        if size >= len(self):
            return np.arange(len(self))
        chosen = []
        for positions in self._of_class:
            share = round(len(positions) * size / len(self))
            wanted = min(len(positions), max(1, share))
            chosen.append(rng.choice(positions, wanted, replace=False))
        return np.sort(np.concatenate(chosen))

    def sample_of_classes(self, size: int, rng: np.random.RandomState) -> Integers:
        """Sorted positions of a sample that a kernel is learned from, of many classes of some.

        What the rows of a class have in common is not seen in one row of each. Where a stratified
        sample would have fewer than a few of most, some classes at random have as many as that.
        """
        sizes = self.class_sizes
        if size >= len(self) or size >= _ROWS_OF_A_CLASS * np.sum(sizes > 0):
            return self.stratified_sample(size, rng)
        chosen: list[Integers] = []
        n = 0
        for code in rng.permutation(np.flatnonzero(sizes)).tolist():
            wanted = min(int(sizes[code]), 2 * _ROWS_OF_A_CLASS)
            chosen.append(rng.choice(self._of_class[code], wanted, replace=False))
            n += wanted
            if n >= size:
                break
        return np.sort(np.concatenate(chosen))

    def sample(self, size: int, rng: np.random.RandomState) -> Integers:
        """Sorted positions of a random sample, stratified unless there are as many classes."""
        if size >= len(self) or size > self.n_classes:
            return self.stratified_sample(size, rng)
        return np.sort(rng.choice(len(self), size, replace=False))

    def background(self, origin: Integers) -> Array:
        """How columns are spread, each by itself, in at most a few hundred lines (B, D).

        Scaled columns that come from one column of X (`origin`, (D,)) stay together; otherwise a
        line is not a row: every column is in an order of its own. Where rows are few and count
        alike, each value is there as often as in the rows.
        """
        some = np.unique(np.linspace(0, len(self) - 1, _SPREAD_ROWS).astype(np.intp))
        rows = self._scaled(some)
        weights = self._weights(some)
        if weights is None:
            weights = np.ones(len(rows))
        size = min(len(rows), _BACKGROUND)
        steps = (np.arange(size) + 0.5) / size
        background = np.empty((size, rows.shape[1]))
        for j in np.unique(origin).tolist():
            together = np.flatnonzero(origin == j)
            order = np.lexsort(rows[:, together].T)
            reached = np.cumsum(weights[order])
            chosen = np.searchsorted(reached, steps * reached[-1])
            background[:, together] = rows[order[chosen]][:, together]
        return background

    # What training asks of rows (`door.py`): all of them are here.

    def class_statistics(
        self,
        basis: Basis,
        workers: Workers,
        observer: "PassObserver | None" = None,
        pooled: bool = False,
    ) -> ClassStatistics:
        """Sums of the whitened vectors of all rows, with one Gram for all classes if pooled."""
        total = basis.no_statistics(self.n_classes, pooled)
        basis.add_rows(total, self, workers)
        return total

    def bound_rows(self, sample: "InMemoryRows", wanted: int) -> "InMemoryRows":
        """The sample itself."""
        return sample

    def bound_statistics(
        self, kernel: Kernel, points: Array, workers: Workers, pooled: bool = False
    ) -> BoundStatistics:
        """The first pass of an evaluation of the bound."""
        if pooled:
            return BoundStatistics.pooled_of_rows(self, kernel, points, workers)
        return BoundStatistics.of_rows(self, kernel, points, workers, self._kept_values)

    @cached_property
    def _kept_values(self) -> KeptValues:
        return KeptValues()

    def pull_back(
        self, by_row: RowDerivatives, kernel: Kernel, points: Array, workers: Workers
    ) -> KernelGradient:
        """The second pass of an evaluation of the bound."""
        return pull_back(self, by_row, kernel, points, workers, self._kept_values)


def repetition_of(weights: Array, codes: Integers) -> float:
    """How often rows of weights (n,) are there: the typical weight in the class where it is least.

    So many copies of all rows have it, and class weights, which make some classes heavier than
    others, do not. It is 1 if it would be less.
    """
    typical = [np.median(weights[codes == code]) for code in np.unique(codes)]
    return max(1.0, float(np.min(typical, initial=np.inf))) if typical else 1.0


def are_mostly_alone(class_sizes: Integers) -> bool:
    """Whether a third of the rows, or more, are the only one of their class.

    Left out, such a row has nobody who could speak for its class.
    """
    return int(np.sum(class_sizes == 1)) >= _ALONE * class_sizes.sum()


def fingerprints(rows: Array, codes: Integers) -> Keys:
    """A number for each row and its class (n,), the same wherever the row stands."""
    content = np.ascontiguousarray(np.column_stack([codes, rows + 0.0]))  # + 0.0: no minus zero
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in content]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def row_keys(rows: AnyArray) -> Keys:
    """A number for each row (n, D), the same for rows that single precision cannot tell apart."""
    odd = 2 * np.random.RandomState(0).randint(2**62, size=rows.shape[1], dtype=np.uint64) + 1
    keys = np.empty(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for start in range(0, len(rows), _HASHED_ROWS):
            part = np.asarray(rows[start : start + _HASHED_ROWS], dtype=np.float32) + np.float32(0)
            part[np.isnan(part)] = np.nan  # of many bit patterns one
            bits = np.ascontiguousarray(part).view(np.uint32).astype(np.uint64)
            keys[start : start + len(part)] = _mixed(_mixed(bits * odd + odd).sum(axis=1))
    return keys


def folds_of(rows: AnyArray) -> Integers:
    """A fold for each row (n, D), by what it holds: rows that are the same are in the same one."""
    return ((row_keys(rows) >> _FOLD_BITS) % np.uint64(FOLDS)).astype(np.intp)


def _mixed(bits: Keys) -> Keys:
    """Numbers whose every bit depends on every bit (the last steps of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def are_often_copies(rows: AnyArray) -> bool:
    """Whether at least one row in a hundred (n, D) is a copy of another one before it."""
    return len(np.unique(row_keys(rows))) <= _RARE_COPIES * len(rows)


@dataclass(frozen=True)
class Encoder:
    """How raw rows become rows that the statistics can take.

    Attributes
    ----------
    classes : ndarray of shape (C,)
    class_factors : ndarray of shape (C,) or None
        Class weights.
    scaler : transformer
        Fitted.
    """

    classes: AnyArray
    class_factors: Array | None
    scaler: Any

    @classmethod
    def learned(
        cls,
        classes: AnyArray,
        totals: Array,
        sample: Chunk,
        estimator: Any,
        rng: np.random.RandomState,
        columns: "Columns | None" = None,
        as_codes: bool = False,
    ) -> "Encoder":
        """For classes, the weight of all rows of each, and a sample of rows of positive weight.

        The estimator says how features are scaled and classes weighted; columns say which of them
        are categories, none if there are no columns; `as_codes` that the kernel is one for tables:
        it takes categories as codes, and columns of many values with their class frequencies.
        """
        class_weight = getattr(estimator, "class_weight", None)
        factors = None
        if class_weight is not None:
            factors = class_factors(class_weight, classes, totals)
        unscaled = cls(classes, factors, None)
        codes = np.searchsorted(classes, sample.labels)
        weights = unscaled.whole_weights(codes, sample.weights)
        plain = columns is None or columns.is_plain
        tied: Integers = np.empty(0, dtype=np.intp)
        own_scaler = estimator.scaler is None or isinstance(estimator.scaler, str)
        if as_codes and own_scaler and np.ndim(estimator.lengthscale) == 0:
            tied = tied_columns(sample.X[:_SCALED_ROWS], len(classes))
        if plain and len(tied) == 0:
            scaler = fit_scaler(estimator.scaler, sample.X, sample.labels, weights, rng)
            return cls(classes, factors, scaler)
        if len(codes) > _SCALED_ROWS:
            # Enough to learn the scaling from, in memory that does not grow with the rows.
            some = np.linspace(0, len(codes) - 1, _SCALED_ROWS).astype(np.intp)
            sample, codes = sample.part(some), codes[some]
            weights = None if weights is None else weights[some]
        rows = np.asarray(sample.X, dtype=np.float64)
        levels = np.zeros(rows.shape[1], dtype=np.intp)
        if columns is not None and not plain:
            levels = columns.levels
        labels = WeighedLabels(codes, weights, len(classes))
        found = TargetCodes.learned(rows, tied, levels, labels)
        if len(found.columns) == 0:
            mixed = MixedScaler(estimator.scaler, levels, as_codes)
            return cls(classes, factors, mixed.fit(rows, sample.labels, weights, rng))
        levels = np.concatenate([levels, np.zeros(len(found.origin), dtype=np.intp)])
        rows = np.column_stack([rows, found.of_training_rows(rows)])
        mixed = MixedScaler(estimator.scaler, levels, as_codes)
        mixed.fit(rows, sample.labels, weights, rng)
        return cls(classes, factors, ScalerWithTargetCodes(found, mixed))

    @property
    def categories(self) -> Integers | None:
        """How many categories each scaled column has, 0 for numbers; None: all are numbers."""
        found: Integers | None = getattr(self.scaler, "categories_", None)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, without the function that follows from the scaler."""
        return {name: value for name, value in vars(self).items() if name != "scale"}

    @cached_property
    def scale(self) -> Callable[[Array], Array]:
        """From raw rows that are trained on to scaled ones."""
        return scaling_function(self.scaler, of_training_rows=True)

    def rows(self, chunk: Chunk) -> InMemoryRows:
        """A chunk as labelled rows, scaled as they are read."""
        codes = np.minimum(np.searchsorted(self.classes, chunk.labels), len(self.classes) - 1)
        if not np.array_equal(self.classes[codes], chunk.labels):
            raise ValueError(
                "X changed while it was read: there are labels that were not there at first."
            )
        return self.coded_rows(chunk.X, codes, chunk.weights)

    def coded_rows(self, X: AnyArray, codes: Integers, weights: Array | None) -> InMemoryRows:
        """Raw rows with class codes and sample weights."""
        weights = self.whole_weights(codes, weights)
        return InMemoryRows(X, codes, weights, len(self.classes), self.scale)

    def whole_weights(self, codes: Integers, weights: Array | None) -> Array | None:
        """Sample weights times class weights; None if every row counts once."""
        if self.class_factors is None:
            return weights
        factors: Array = self.class_factors[codes]
        return factors if weights is None else factors * weights

    def codes(self, labels: AnyArray, advice: str = "") -> Integers:
        """Codes (n,) of labels (n,) that must be among the classes."""
        words = [array.dtype.kind not in "biuf" for array in (labels, self.classes)]
        known = np.zeros(len(labels), dtype=bool)
        if words[0] == words[1]:
            known = np.isin(labels, self.classes)
        if not np.all(known):
            unknown = np.unique(labels[~known])[:5].tolist()
            raise ValueError(
                f"y holds labels that the model was not fitted with: {unknown}.{advice}"
            )
        return np.searchsorted(self.classes, labels)

    def origin(self, columns: "Columns", n_scaled: int) -> Integers | None:
        """For each scaled column the column of X that it is a part of; None if they are mixed."""
        own = range(columns.n_in) if columns.is_plain else columns.origin.tolist()
        given = [str(j) for j in own]
        if hasattr(self.scaler, "feature_names"):
            given = self.scaler.feature_names(given)
        elif not isinstance(self.scaler, OneToOneFeatureMixin) and not is_identity(self.scaler):
            return None
        if len(given) != n_scaled:
            return None
        return np.array([int(name) for name in given], dtype=np.intp)

    def unscaled(self, points: Array) -> Array:
        """Scaled points (M, D) in the units of X, where the scaler can be inverted."""
        inverse = getattr(self.scaler, "inverse_transform", None)
        if inverse is None or len(points) == 0:
            return points.copy()
        return np.asarray(inverse(points), dtype=np.float64)
