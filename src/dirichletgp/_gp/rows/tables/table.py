"""A table that is read a batch of rows at a time, and its rows as training asks for them."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.arrays import AnyArray
from ..in_memory import Chunk
from ..weights import sample_weights
from .errors import TableError, not_text

_BATCH_VALUES = 1 << 22
_FEWEST_ROWS, _MOST_ROWS = 1_024, 32_768
# How pyarrow begins to say what is wrong with a file.
_SOURCE = re.compile(r".* input source '(?P<name>.*?)': (Invalid: )?")


class Table:
    """A table that is read a batch of rows at a time.

    Attributes
    ----------
    name : str
        What it is called in errors.
    schema : pyarrow.Schema
    """

    def __init__(self, name: str, schema: Any):
        self.name = name
        self.schema = schema

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """All rows, as Arrow batches with these columns (None: all) in this order."""
        with in_one_line(self.name):
            for batch in self._read(self.columns if columns is None else columns):
                if batch.num_rows:
                    yield batch

    def as_numbers(self, features: list[str], label: str) -> "Table":
        """The same table; where types were guessed from the first rows, features are floats."""
        return self

    def _read(self, columns: list[str]) -> Iterator[Any]:
        raise NotImplementedError


class ScannedTable(Table):
    """A table that can be read again and again, and from the disk only the columns wanted."""

    def __init__(self, name: str, dataset: Any):
        super().__init__(name, dataset.schema)
        self._dataset = dataset

    def _read(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        rows = _BATCH_VALUES // max(len(columns), 1)
        options = {
            "batch_size": min(max(rows, _FEWEST_ROWS), _MOST_ROWS),
            # Chunks are read ahead in `rows.chunks`: more of it here would only take memory.
            "batch_readahead": 2,
            "fragment_readahead": 1,
        }
        try:
            yield from self._dataset.to_batches(columns=columns, **options)
        finally:
            pa.default_memory_pool().release_unused()


class StreamedTable(Table):
    """A table that comes as a stream, which `open_stream` opens; standard input only once."""

    def __init__(self, name: str, open_stream: Callable[[], Any]):
        super().__init__(name, open_stream().schema)
        self._open_stream = open_stream

    def _read(self, columns: list[str]) -> Iterator[Any]:
        for batch in self._open_stream():
            yield batch.select(columns)


@contextmanager
def in_one_line(name: str) -> Iterator[None]:
    """What pyarrow says is wrong with a table, as a `TableError`."""
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError as error:
        raise not_text(name, error.encoding) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise _in_our_words(name, str(error).splitlines()[0]) from error


def _in_our_words(name: str, line: str) -> TableError:
    """The error, with the file that is at fault, which may be another one of several."""
    within = _SOURCE.match(line)
    if within:
        name = within["name"]
        line = line[within.end() :]
    if "UTF8" in line:
        return not_text(name, "utf-8")
    return TableError(f"{name} cannot be read: {line}")


class TableReader:
    """Rows of a table: which columns are features, labels and weights, and checks.

    Parameters
    ----------
    table : Table
    label : str
        Name of the label column.
    weight : str or None
        Name of the column of sample weights.
    columns : list of str or None
        Names of the features; None: all other columns.

    Attributes
    ----------
    feature_names : list of str
    """

    def __init__(self, table: Table, label: Any, weight: Any = None, columns: Any = None):
        self.label = _column("y", label, table.columns, "the label column")
        self.weight = None
        if weight is not None:
            self.weight = _column("sample_weight", weight, table.columns, "the column of weights")
        self._names = self._features(columns, table.schema)
        self.feature_names: list[str] | None = self._names
        self._table = table.as_numbers(self._names, self.label)

    def _features(self, columns: Any, schema: Any) -> list[str]:
        others = {self.label, self.weight}
        all_names = list(schema.names)
        if columns is None:
            columns = [name for name in all_names if name not in others]
        names = [_column("columns", name, all_names, "a column") for name in columns]
        if others & set(names):
            raise ValueError(
                f"columns={names} holds the labels {self.label!r} or the weights; "
                "name features only."
            )
        wrong = [name for name in names if not _is_number(schema.field(name).type)]
        if wrong:
            raise ValueError(
                f"columns {wrong[:5]} are not numbers ({schema.field(wrong[0]).type}); "
                "encode them, or name the columns to use in columns."
            )
        if not names:
            raise ValueError(
                "there are no columns besides labels and weights; the model needs features."
            )
        return names

    def blocks(self) -> Iterator[Chunk]:
        """All rows from the first on, a batch at a time, checked."""
        wanted = [*self._names, self.label]
        if self.weight is not None:
            wanted.append(self.weight)
        try:
            for batch in self._table.batches(wanted):
                yield self._chunk(batch)
        except TableError as error:
            raise ValueError(f"X: {error}") from error

    def _chunk(self, batch: Any) -> Chunk:
        columns = {name: _without_nulls(name, batch.column(name)) for name in batch.schema.names}
        names = self._names
        single = all(str(columns[name].type) == "float" for name in names)
        X = np.empty((batch.num_rows, len(names)), np.float32 if single else np.float64)
        for j, name in enumerate(names):
            X[:, j] = columns[name].to_numpy(zero_copy_only=False)
        weights = None
        if self.weight is not None:
            given = columns[self.weight].to_numpy(zero_copy_only=False)
            weights = sample_weights(given, len(X), part=True)
        return Chunk(X, _labels(columns[self.label]), weights)


def _column(argument: str, name: Any, columns: list[str], what: str) -> str:
    if not isinstance(name, str):
        raise TypeError(
            f"{argument} is a {type(name).__name__}; with rows from files or Arrow tables, "
            f"{argument} is the name of {what}, one of {columns[:20]}."
        )
    times = columns.count(name)
    if times != 1:
        problem = "there are several such columns" if times else "there is no such column"
        raise ValueError(f"{argument}={name!r}: {problem}; the columns are {columns[:20]}.")
    return name


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _without_nulls(name: str, column: Any) -> Any:
    if column.null_count:
        raise ValueError(
            f"column {name!r} holds missing values; fill them or drop those rows first."
        )
    return column


def _labels(column: Any) -> AnyArray:
    """Labels as a NumPy array of numbers or strings."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _labels(column.dictionary)[column.indices.to_numpy(zero_copy_only=False)]
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        coded = column.dictionary_encode()
        distinct = np.array(coded.dictionary.to_pylist(), dtype=np.str_)
        return distinct[coded.indices.to_numpy(zero_copy_only=False)]
    raise ValueError(f"the label column holds {kind}; use integers, booleans or strings.")
