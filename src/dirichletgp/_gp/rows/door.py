"""One door for rows: what training asks of them, and who answers for which kind.

    choose_rows  ->  RowSource: rows as a user gives them; read once for a `Summary`
    labelled     ->  LabelledRows: all of them, coded and scaled; class statistics in a basis
    bound_rows   ->  BoundRows: those that an evaluation of the bound is of; two passes over them

Rows in memory, rows read chunk by chunk (files, tables, iterables, memory maps), rows on a Dask
cluster and rows on another device are one file each, and one line of `_KINDS`.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..core.arrays import AnyArray, Array, Booleans
from ..core.kernels import Kernel, KernelGradient
from ..core.parallel import Workers
from ..core.regressions import Basis
from ..core.statistics import BoundStatistics, ClassStatistics, RowDerivatives
from .in_memory import Encoder, InMemoryRows, Summary

if TYPE_CHECKING:
    from .columns import Columns

FLOATS = [np.float64, np.float32]
"""What rows are converted to, if they are neither."""

# A sample has as many rows as training can use, fewer if they are very wide.
_SAMPLE_ROWS, _SAMPLE_BYTES = 100_000, 2e8


class SampleSize(NamedTuple):
    """How many rows a sample should have.

    Attributes
    ----------
    fewest : int
        What training needs in any case.
    wanted : int
        What the user wants the kernel to be learned from.
    """

    fewest: int
    wanted: int

    def rows(self, n_features: int) -> int:
        """As many as there can be, and as many as are wanted."""
        return max(self.wanted, self.rows_to_fetch(n_features))

    def rows_to_fetch(self, n_features: int) -> int:
        """The same where all others stay where they are and can be learned from there."""
        return max(self.fewest, int(min(_SAMPLE_ROWS, _SAMPLE_BYTES / (16 * n_features))))


class PassObserver(Protocol):
    """Who is told how far a pass over all rows has come, and may know the beginning of it."""

    def resumed(self) -> tuple[ClassStatistics, int] | None:
        """The statistics of the first rows, and how many these are, of a pass that was stopped."""

    def begin(self, done: int, total: int) -> None:
        """A pass over `total` rows begins."""

    def advance(self, statistics: ClassStatistics, done: int) -> None:
        """The statistics of the first `done` rows are these."""


class BoundRows(Protocol):
    """The rows that an evaluation of the bound is of."""

    @property
    def class_weights(self) -> Array:
        """Sum of the weights of each class, of shape (C,)."""

    def bound_statistics(
        self, kernel: Kernel, points: Array, workers: Workers, pooled: bool = False
    ) -> BoundStatistics:
        """The first pass over the rows; all classes have one Gram if it is pooled."""

    def pull_back(
        self, by_row: RowDerivatives, kernel: Kernel, points: Array, workers: Workers
    ) -> KernelGradient:
        """The second pass over the rows."""


class LabelledRows(Protocol):
    """All rows, coded and scaled."""

    def class_statistics(
        self, basis: Basis, workers: Workers, observer: PassObserver, pooled: bool = False
    ) -> ClassStatistics:
        """Sums of the whitened vectors of all rows, with one Gram for all classes if pooled."""

    def bound_rows(self, sample: InMemoryRows, wanted: int) -> BoundRows:
        """Where to evaluate the bound for a sample; with more rows `wanted` it may be all rows."""


class RowSource(Protocol):
    """Rows as a user gives them."""

    @property
    def columns(self) -> "Columns":
        """What the columns are; what is missing in them is known after the summary."""

    def summary(self, size: SampleSize, seed: int) -> Summary:
        """Classes, their weights, and a sample: of rows in memory all of them."""

    def labelled(self, encoder: Encoder, summary: Summary, sample: InMemoryRows) -> LabelledRows:
        """All rows, given what the summary says of them and its sample, encoded."""


class Given(NamedTuple):
    """The arguments of `fit`, and what the estimator says of rows.

    Attributes
    ----------
    X, y, sample_weight, columns
        As `fit` was given them.
    in_pieces : bool
        Asks for passes that can be taken up again.
    estimator : str
        Its name, for errors.
    categorical : object
        The parameter `categorical_features`.
    """

    X: Any
    y: Any
    sample_weight: Any
    columns: Any = None
    in_pieces: bool = False
    estimator: str = "classifier"
    categorical: Any = "from_dtype"


def choose_rows(given: Given) -> RowSource:
    """The source that arguments of `fit` describe; rows that were prepared are one themselves."""
    if library_of(given.X) == library_of(given):
        prepared: RowSource = given.X
        return prepared
    if given.columns is not None and not _is_table(given):
        raise ValueError(
            "columns chooses columns of files and Arrow tables; pass X with the columns you want."
        )
    for takes, open_rows in _KINDS:
        if takes(given):
            return open_rows(given)
    return _array_rows(given)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or dataframe."""
    return library_of(X) in ("dask", "dask_expr") and hasattr(X, "dask")


def is_tensor(X: Any) -> bool:
    """Whether X is a PyTorch tensor; in host memory it is also an array, without the extra."""
    if library_of(X) != "torch" or not hasattr(X, "device"):
        return False
    return find_spec("array_api_compat") is not None or X.device.type != "cpu"


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas or polars, or a table of Arrow."""
    library = library_of(X)
    if library == "pyarrow":
        return type(X).__name__ in ("Table", "RecordBatch")
    return library in ("pandas", "polars") and hasattr(X, "columns") and hasattr(X, "dtypes")


def library_of(X: Any) -> str:
    """The library that the type of X comes from."""
    return type(X).__module__.partition(".")[0]


def _is_table(given: Given) -> bool:
    X = given.X
    several = isinstance(X, list | tuple) and len(X) > 0
    paths = several and all(isinstance(x, str | os.PathLike) for x in X)
    return paths or isinstance(X, str | os.PathLike) or library_of(X) == "pyarrow"


def _is_blocks(given: Given) -> bool:
    X = given.X
    if given.y is not None or given.sample_weight is not None or is_dask(X):
        return False
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(b, tuple) and len(b) in (2, 3) for b in X)
    return hasattr(X, "__iter__") and not hasattr(X, "shape") and not hasattr(X, "__array__")


def missing_in(X: AnyArray, names: list[str] | None) -> Booleans | None:
    """Which columns (D,) of numbers hold NaN, None if none does; infinities are refused by name."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return None
    infinite = np.isinf(X)
    if np.any(infinite):
        row, place = np.argwhere(infinite)[0].tolist()
        column = repr(names[place]) if names else place
        raise ValueError(
            f"X holds infinity in column {column}, first in row {row}; "
            "replace it by a number, or by NaN if it means that the value is missing."
        )
    missing: Booleans = np.asarray(np.isnan(X).any(axis=0))
    return missing if np.any(missing) else None


def refuse_repeated_names(X: Any) -> None:
    """`ValueError` if columns of a frame have the same name: which is meant cannot be told."""
    if not is_frame(X):
        return
    names = X.schema.names if library_of(X) == "pyarrow" else list(X.columns)
    if len(set(names)) == len(names):
        return
    counts = {name: names.count(name) for name in names}
    repeated = [f"{name!r} ({n} columns)" for name, n in counts.items() if n > 1]
    named = ", ".join(repeated[:5]) + " and more" * (len(repeated) > 5)
    raise ValueError(
        f"X has columns of the same name: {named}. Drop or rename them, so that names are unique."
    )


# Each kind is imported when it is needed: the libraries behind most of them are optional.


def _array_rows(given: Given) -> RowSource:
    from .arrays import ArrayRows

    return ArrayRows.of(given)


def _table_rows(given: Given) -> RowSource:
    from .tables.table import table_rows

    return table_rows(given)


def _dask_rows(given: Given) -> RowSource:
    from .on_dask import DaskRows

    return DaskRows(given)


def _tensor_rows(given: Given) -> RowSource:
    from .on_device import TensorRows

    return TensorRows(given)


def _memory_map_rows(given: Given) -> RowSource:
    from .sources import memory_map_rows

    return memory_map_rows(given)


def _block_rows(given: Given) -> RowSource:
    from .sources import block_rows

    return block_rows(given)


def _rows_in_pieces(given: Given) -> RowSource:
    from .sources import array_rows_in_pieces

    return array_rows_in_pieces(given)


# The first whose test is true wins; what none of them takes is an array.
_KINDS: list[tuple[Callable[[Given], bool], Callable[[Given], RowSource]]] = [
    (_is_table, _table_rows),
    (lambda given: is_dask(given.X), _dask_rows),
    (lambda given: is_tensor(given.X), _tensor_rows),
    (lambda given: isinstance(given.X, np.memmap), _memory_map_rows),
    (_is_blocks, _block_rows),
    (lambda given: given.in_pieces, _rows_in_pieces),
]
