"""Where rows that need not fit into memory come from: files, tables, memory maps, blocks, read a chunk at a time.

A source can be read any number of times, always in the same order. Its rows are regrouped into
chunks whose size depends on the number of features alone, so that sums do not depend on how a file
happens to be cut. A chunk is read while the one before it is computed.
"""

import os
from collections.abc import Generator, Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from ..core.arguments import sample_weights

Array = NDArray[np.float64]
Item = TypeVar("Item")

_CHUNK_BYTES = 2**24
_FEWEST_ROWS, _MOST_ROWS = 1_024, 65_536
_WAIT = 0.1  # seconds after which a reader looks whether it is still wanted


class Chunk(NamedTuple):
    """Rows (m, D), labels (m,) and sample weights (m,), or None where every row counts once."""

    X: NDArray[Any]
    labels: NDArray[Any]
    weights: Array | None


class RowSource(Protocol):
    """Rows that can be read again and again.

    Attributes
    ----------
    feature_names : list of str or None
    """

    feature_names: list[str] | None

    def blocks(self) -> Iterator[Chunk]:
        """All rows from the first on, in pieces of any size, checked."""


def row_source(X: Any, y: Any, sample_weight: Any, columns: Any) -> RowSource | None:
    """The source that the arguments of `fit` describe, or None for arrays in memory."""
    if isinstance(X, str | os.PathLike) or _is_list_of_paths(X) or _is_arrow(X):
        from .files import TableSource

        return TableSource(X, y, sample_weight, columns)
    if columns is not None:
        raise ValueError(
            "columns chooses columns of files and Arrow tables; pass X with the columns you want."
        )
    if isinstance(X, np.memmap):
        return ArraySource(X, y, sample_weight)
    if y is None and sample_weight is None and not hasattr(X, "dask") and _is_blocks(X):
        return BlockSource(X)
    return None


def _is_list_of_paths(X: Any) -> bool:
    return (
        isinstance(X, list | tuple)
        and len(X) > 0
        and all(isinstance(x, str | os.PathLike) for x in X)
    )


def _is_arrow(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pyarrow"


def _is_blocks(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(block, tuple) and len(block) in (2, 3) for block in X)
    return hasattr(X, "__iter__") and not hasattr(X, "shape") and not hasattr(X, "__array__")


class ArraySource:
    """Rows of arrays or memory maps X (n, D) and y (n,)."""

    def __init__(
        self, X: NDArray[Any], y: Any, sample_weight: Any, feature_names: list[str] | None = None
    ):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; pass an array of shape (n, n_features).")
        if y is None:
            raise ValueError(
                "DirichletGPClassifier requires y to be passed, but the target y is None."
            )
        self.X, self.labels = X, column_or_1d(y)
        if len(self.labels) != len(X):
            raise ValueError(
                f"X has {len(X)} rows, but y has {len(self.labels)} labels; pass one label per row."
            )
        self.weights = sample_weights(sample_weight, len(X))
        self.n_rows: int | None = len(X)
        self.feature_names = feature_names

    def blocks(self) -> Iterator[Chunk]:
        """Slices of the arrays."""
        size = chunk_rows(self.X.shape[1])
        for start in range(0, len(self.X), size):
            part = slice(start, start + size)
            # A copy, so that pages of a memory map are not held, and cannot change.
            X = checked_finite(
                np.array(self.X[part], dtype=_float_type(self.X.dtype)), self.feature_names
            )
            yield Chunk(X, self.labels[part], None if self.weights is None else self.weights[part])


class BlockSource:
    """Rows of an iterable of (X, y) or (X, y, sample_weight) blocks that can be gone through again."""

    n_rows: int | None = None

    def __init__(self, iterable: Iterable[Any]):
        if iter(iterable) is iterable:
            raise TypeError(
                f"X is a {type(iterable).__name__}, which can be read once only; rows are read twice. Pass a list of "
                "(X, y) blocks, or an object whose __iter__ starts from the first block every time."
            )
        self.iterable = iterable
        first = next(iter(iterable), None)
        if first is None:
            raise ValueError(
                "X has no blocks; pass an iterable of (X, y) blocks with at least one row."
            )
        names = list(getattr(first[0], "columns", []))
        self.feature_names = (
            names if names and all(isinstance(name, str) for name in names) else None
        )

    def blocks(self) -> Iterator[Chunk]:
        """The blocks."""
        for i, block in enumerate(self.iterable):
            if not isinstance(block, tuple | list) or len(block) not in (2, 3):
                raise TypeError(
                    f"block {i} is a {type(block).__name__}; pass tuples (X, y) or (X, y, sample_weight)."
                )
            X = check_array(block[0], dtype=[np.float64, np.float32], input_name=f"X of block {i}")
            labels = column_or_1d(block[1])
            if len(labels) != len(X):
                raise ValueError(
                    f"block {i} has {len(X)} rows, but {len(labels)} labels; pass one label per row."
                )
            yield Chunk(
                X, labels, sample_weights(block[2], len(X), part=True) if len(block) == 3 else None
            )


def chunk_rows(n_features: int) -> int:
    """Rows per chunk."""
    return int(np.clip(_CHUNK_BYTES // (8 * n_features), _FEWEST_ROWS, _MOST_ROWS))


def chunks(source: RowSource, start: int = 0) -> Generator[Chunk, None, None]:
    """The rows of a source from row `start` (at the edge of a chunk) on, in chunks of one size, read ahead."""
    return _ahead(_skipped(_regrouped(source.blocks()), start))


def _regrouped(blocks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The same rows in chunks of one size, without those of weight zero."""
    kept: list[Chunk] = []
    n, size, n_features = 0, 0, None
    for block in map(_without_zeros, blocks):
        if n_features is None:
            n_features, size = block.X.shape[1], chunk_rows(block.X.shape[1])
        if block.X.shape[1] != n_features:
            raise ValueError(
                f"a block has {block.X.shape[1]} columns, but the first one has {n_features}."
            )
        while n + len(block.labels) >= size:
            yield _joined([*kept, _part(block, slice(0, size - n))])
            block, kept, n = _part(block, slice(size - n, None)), [], 0
        if len(block.labels):
            kept.append(block)
            n += len(block.labels)
    if kept:
        yield _joined(kept)


def _without_zeros(block: Chunk) -> Chunk:
    if block.weights is None or np.all(block.weights > 0):
        return block
    return _part(block, np.flatnonzero(block.weights))


def _part(block: Chunk, rows: Any) -> Chunk:
    return Chunk(
        block.X[rows], block.labels[rows], None if block.weights is None else block.weights[rows]
    )


def _joined(blocks: list[Chunk]) -> Chunk:
    if len(blocks) == 1:
        return blocks[0]
    weights = None
    if any(block.weights is not None for block in blocks):
        weights = np.concatenate(
            [np.ones(len(b.labels)) if b.weights is None else b.weights for b in blocks]
        )
    return Chunk(
        np.concatenate([b.X for b in blocks]), np.concatenate([b.labels for b in blocks]), weights
    )


def _skipped(parts: Iterator[Chunk], start: int) -> Iterator[Chunk]:
    for part in parts:
        if start <= 0:
            yield part
        start -= len(part.labels)


def _ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """The same items, each prepared by a thread of its own while the one before is used."""
    ready: Queue[tuple[bool, Any]] = Queue(maxsize=1)
    unwanted = Event()

    def offer(message: tuple[bool, Any]) -> bool:
        while not unwanted.is_set():
            try:
                ready.put(message, timeout=_WAIT)
                return True
            except Full:
                continue
        return False

    def read() -> None:
        try:
            for item in items:
                if not offer((True, item)):
                    return
            offer((False, None))
        except BaseException as error:
            offer((False, error))

    reader = Thread(target=read, name="dirichletgp-reader")
    reader.start()
    try:
        while True:
            try:
                more, item = ready.get(timeout=_WAIT)
            except Empty:
                continue
            if not more:
                if item is not None:
                    raise item
                return
            yield item
            del item
    finally:
        unwanted.set()
        reader.join()


def _float_type(dtype: np.dtype[Any]) -> type:
    return np.float32 if dtype == np.float32 else np.float64


def checked_finite(X: NDArray[Any], names: list[str] | None) -> NDArray[Any]:
    """X, if it holds neither NaN nor infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return X
    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if len(bad):
        column = repr(names[bad[0]]) if names else bad[0]
        raise ValueError(
            f"X contains NaN or infinity, first in column {column}; fill or drop those rows first."
        )
    return X
