"""Readers of arrays, memory maps and blocks, a chunk at a time."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from ..core.arrays import AnyArray
from .arrays import checked_rows, refuse_missing_labels
from .categorical import FROM_DTYPE, asks_for_categories, categorical_columns, refuse_categories
from .chunks import ChunkedSource, chunk_rows
from .columns import Columns
from .door import FLOATS, is_frame
from .frames import Frame, has_numbers_only, names_of, stacked
from .in_memory import Chunk
from .learning import LEARNED_FROM, Wishes, labels_of, learned_columns
from .weights import sample_weights

if TYPE_CHECKING:
    from .door import Given


class ArrayReader:
    """Rows of arrays or memory maps X (n, D) and y (n,)."""

    def __init__(self, X: AnyArray, y: Any, sample_weight: Any, columns: Columns | None = None):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; pass an array of shape (n, n_features).")
        if y is None:
            raise ValueError(
                "DirichletGPClassifier requires y to be passed, but the target y is None."
            )
        self.X = X
        refuse_missing_labels(y)
        self.labels = column_or_1d(y)
        if len(self.labels) != len(X):
            raise ValueError(
                f"X has {len(X)} rows, but y has {len(self.labels)} labels; pass one label per row."
            )
        self.weights = sample_weights(sample_weight, len(X))
        self.columns = Columns(X.shape[1]) if columns is None else columns

    def blocks(self) -> Iterator[Chunk]:
        """Slices of the arrays."""
        size = chunk_rows(self.X.shape[1])
        kind = np.float32 if self.X.dtype == np.float32 else np.float64
        whole = Chunk(self.X, self.labels, self.weights)
        for start in range(0, len(self.X), size):
            part = whole.part(slice(start, start + size))
            # A copy, so that pages of a memory map are not held, and cannot change.
            yield part._replace(X=np.array(part.X, dtype=kind))


class BlockReader:
    """Rows of an iterable of (X, y) or (X, y, sample_weight) blocks that starts anew every time."""

    def __init__(self, iterable: Iterable[Any], categorical: Any = FROM_DTYPE):
        if iter(iterable) is iterable:
            raise TypeError(
                f"X is a {type(iterable).__name__}, which can be read once only; rows are read "
                "twice. Pass a list of (X, y) blocks, or an object whose __iter__ starts from the "
                "first block every time."
            )
        self.iterable = iterable
        first = next(iter(iterable), None)
        if first is None:
            raise ValueError(
                "X has no blocks; pass an iterable of (X, y) blocks with at least one row."
            )
        self.columns = Columns(np.shape(first[0])[1], names_of(first[0]))
        of_kinds = is_frame(first[0]) and not has_numbers_only(first[0])
        if of_kinds or asks_for_categories(categorical):
            self.columns = self._learned_columns(categorical)

    def _learned_columns(self, categorical: Any) -> Columns:
        """What the columns of the first blocks are."""
        parts: list[Any] = []
        labels: list[Any] = []
        n = 0
        for block in self.iterable:
            parts.append(block[0])
            labels.append(block[1])
            n += len(block[0])
            if n >= LEARNED_FROM:
                break
        frame = Frame(stacked(parts))
        chosen = categorical_columns(categorical, frame.names, frame.shape[1])
        wishes = Wishes(categories=chosen, drops=frame.names is not None)
        return learned_columns(frame, wishes, labels_of(labels, frame.shape[0]))

    def blocks(self) -> Iterator[Chunk]:
        """The blocks."""
        for i, block in enumerate(self.iterable):
            if not isinstance(block, tuple | list) or len(block) not in (2, 3):
                raise TypeError(
                    f"block {i} is a {type(block).__name__}; "
                    "pass tuples (X, y) or (X, y, sample_weight)."
                )
            X = self._matrix(block[0], f"X of block {i}")
            refuse_missing_labels(block[1])
            labels = column_or_1d(block[1])
            if len(labels) != len(X):
                raise ValueError(
                    f"block {i} has {len(X)} rows, but {len(labels)} labels; "
                    "pass one label per row."
                )
            weights = block[2] if len(block) == 3 else None
            yield Chunk(X, labels, sample_weights(weights, len(X), part=True))

    def _matrix(self, X: Any, name: str) -> AnyArray:
        if not self.columns.is_plain:
            return self.columns.matrix(X)
        rows: AnyArray = check_array(X, dtype=FLOATS, ensure_all_finite=False, input_name=name)
        return rows


def memory_map_rows(given: "Given") -> ChunkedSource:
    """Rows of a memory map, of which a chunk at a time is read."""
    refuse_categories(given.categorical, "memory maps")
    return ChunkedSource(ArrayReader(given.X, given.y, given.sample_weight), given.in_pieces)


def block_rows(given: "Given") -> ChunkedSource:
    """Rows of an iterable of blocks."""
    return ChunkedSource(BlockReader(given.X, given.categorical), given.in_pieces)


def array_rows_in_pieces(given: "Given") -> ChunkedSource:
    """Rows of arrays, passed over chunk by chunk."""
    X, labels, columns = checked_rows(given)
    return ChunkedSource(ArrayReader(X, labels, given.sample_weight, columns), given.in_pieces)
