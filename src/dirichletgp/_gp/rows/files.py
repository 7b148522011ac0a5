"""Rows of files and of Arrow tables: which columns are features, labels and weights, and checks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.arguments import sample_weights
from ..core.arrays import AnyArray
from .chunks import Chunk, checked_finite
from .tables.errors import TableError
from .tables.reading import table_of


class TableSource:
    """Rows of files, an Arrow table or an Arrow dataset.

    Parameters
    ----------
    where : path, glob, folder, list of them, pyarrow Table, RecordBatch or Dataset
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

    def __init__(self, where: Any, label: Any, weight: Any = None, columns: Any = None):
        try:
            table = table_of(where)
        except TableError as error:
            raise ValueError(f"X: {error}") from error
        self.label = _column("y", label, table.columns, "the label column")
        self.weight = None
        if weight is not None:
            self.weight = _column("sample_weight", weight, table.columns, "the column of weights")
        self._names = self._features(columns, table.schema)
        self.feature_names: list[str] | None = self._names
        self._table = table.as_numbers(self._names, self.label)

    def _features(self, columns: Any, schema: Any) -> list[str]:
        others = {self.label, self.weight}
        there = list(schema.names)
        if columns is None:
            columns = [name for name in there if name not in others]
        names = [_column("columns", name, there, "a column") for name in columns]
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
        return Chunk(checked_finite(X, names), _labels(columns[self.label]), weights)


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
