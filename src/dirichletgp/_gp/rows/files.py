"""Rows of Parquet and CSV files and of Arrow tables, streamed by record batch, only the columns that are used."""

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chunks import ChunkedSource, checked_finite
from .in_memory import Chunk
from .weights import sample_weights

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".arrow": "ipc",
    ".feather": "ipc",
}
_BATCH_ROWS = 32_768


class ArrowSource:
    """Rows of files, an Arrow table or an Arrow dataset.

    Parameters
    ----------
    where : path, glob, list of paths, pyarrow Table, RecordBatch or Dataset
    label : str
        Name of the label column.
    weight : str or None
        Name of the column of sample weights.
    columns : list of str or None
        Names of the features; None: all other columns.
    """

    def __init__(self, where: Any, label: Any, weight: Any = None, columns: Any = None):
        self.dataset = _dataset(where)
        schema = self.dataset.schema
        self.label = _column("y", label, schema, "the label column")
        self.weight = (
            None
            if weight is None
            else _column("sample_weight", weight, schema, "the column of weights")
        )
        self.feature_names: list[str] | None = self._features(columns)
        self.n_rows: int | None = (
            self.dataset.count_rows() if _is_cheap_to_count(self.dataset) else None
        )

    def _features(self, columns: Any) -> list[str]:
        schema, others = self.dataset.schema, {self.label, self.weight}
        if columns is None:
            names = [name for name in schema.names if name not in others]
        else:
            names = [_column("columns", name, schema, "a column") for name in columns]
            if others & set(names):
                raise ValueError(
                    f"columns={names} holds the labels {self.label!r} or the weights; name features only."
                )
        wrong = [name for name in names if not _is_number(schema.field(name).type)]
        if wrong:
            raise ValueError(
                f"columns {wrong[:5]} are not numbers ({schema.field(wrong[0]).type}); encode them, or name the "
                "columns to use in columns."
            )
        if not names:
            raise ValueError(
                "there are no columns besides labels and weights; the model needs features."
            )
        return names

    def blocks(self) -> Iterator[Chunk]:
        """Record batches."""
        import pyarrow

        names = self.feature_names or []
        wanted = [*names, self.label, *([] if self.weight is None else [self.weight])]
        # Read-ahead is ours (`_sources`): more of it here would only take memory.
        options = {"batch_size": _BATCH_ROWS, "batch_readahead": 2, "fragment_readahead": 1}
        try:
            for batch in self.dataset.to_batches(columns=wanted, **options):
                if batch.num_rows:
                    yield self._chunk(batch, names)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"X cannot be read: {error}") from error
        finally:
            pyarrow.default_memory_pool().release_unused()

    def _chunk(self, batch: Any, names: list[str]) -> Chunk:
        columns = {name: _without_nulls(name, batch.column(name)) for name in batch.schema.names}
        single = all(str(columns[name].type) == "float" for name in names)
        X = np.empty((batch.num_rows, len(names)), np.float32 if single else np.float64)
        for j, name in enumerate(names):
            X[:, j] = columns[name].to_numpy(zero_copy_only=False)
        weights = None
        if self.weight is not None:
            weights = sample_weights(
                columns[self.weight].to_numpy(zero_copy_only=False), len(X), part=True
            )
        return Chunk(checked_finite(X, names), _labels(columns[self.label]), weights)


def _dataset(where: Any) -> Any:
    try:
        import pyarrow
        import pyarrow.dataset as arrow
    except ImportError as error:
        raise ImportError(
            "reading files needs pyarrow; install it with: pip install pyarrow"
        ) from error
    if isinstance(where, arrow.Dataset):
        return where
    if isinstance(where, pyarrow.Table | pyarrow.RecordBatch):
        return arrow.dataset(
            where if isinstance(where, pyarrow.Table) else pyarrow.Table.from_batches([where])
        )
    if not isinstance(where, str | os.PathLike | list | tuple):
        raise TypeError(
            f"X is a {type(where).__module__}.{type(where).__name__}, which cannot be read twice; "
            "pass a path, a Table or a Dataset."
        )
    paths = _paths(where)
    kinds = {_format(path) for path in paths}
    if len(kinds) > 1:
        raise ValueError(
            f"X names files of several formats ({sorted(kinds)}); pass files of one format."
        )
    kind = kinds.pop()
    if kind == "tsv":
        from pyarrow.csv import ParseOptions

        kind = arrow.CsvFileFormat(parse_options=ParseOptions(delimiter="\t"))
    if kind == "parquet":
        # Local files: to have whole row groups in memory before they are decoded gains nothing.
        options = arrow.ParquetFragmentScanOptions(pre_buffer=False)
        kind = arrow.ParquetFileFormat(default_fragment_scan_options=options)
    try:
        return arrow.dataset(paths if len(paths) > 1 else paths[0], format=kind)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{paths[0]!r} cannot be read as {kind}: {error}") from error


def _paths(where: Any) -> list[str]:
    """Existing paths, in a fixed order."""
    paths: list[str] = []
    for pattern in where if isinstance(where, list | tuple) else [where]:
        name = os.path.expanduser(os.fspath(pattern))
        found = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileNotFoundError(
                f"X={os.fspath(pattern)!r}: there is no such file, and no file matches it."
            )
        paths += found
    return paths


def _format(path: str) -> str:
    if os.path.isdir(path):
        return "parquet"
    suffixes = [s.lower() for s in Path(path).suffixes[-2:]]
    kind = _FORMATS.get("".join(suffixes)) or _FORMATS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise ValueError(
            f"X={path!r} ends in none of {sorted(_FORMATS)}; rename it, or pass a pyarrow Dataset."
        )
    return kind


def _column(argument: str, name: Any, schema: Any, what: str) -> str:
    if not isinstance(name, str):
        raise TypeError(
            f"{argument} is a {type(name).__name__}; with rows from files or Arrow tables, {argument} is the name of "
            f"{what}, one of {schema.names[:20]}."
        )
    if schema.names.count(name) != 1:
        missing = (
            "there is no such column"
            if name not in schema.names
            else "there are several such columns"
        )
        raise ValueError(f"{argument}={name!r}: {missing}; the columns are {schema.names[:20]}.")
    return name


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _is_cheap_to_count(dataset: Any) -> bool:
    return getattr(getattr(dataset, "format", None), "default_extname", "") != "csv"


def _without_nulls(name: str, column: Any) -> Any:
    if column.null_count:
        raise ValueError(
            f"column {name!r} holds missing values; fill them or drop those rows first."
        )
    return column


def _labels(column: Any) -> NDArray[Any]:
    """Labels as a NumPy array of numbers or strings."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _labels(column.dictionary)[column.indices.to_numpy(zero_copy_only=False)]
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        coded = column.dictionary_encode()
        return np.array(coded.dictionary.to_pylist(), dtype=np.str_)[
            coded.indices.to_numpy(zero_copy_only=False)
        ]
    raise ValueError(f"the label column holds {kind}; use integers, booleans or strings.")


def table_rows(given: Any) -> ChunkedSource:
    """Rows of files, an Arrow table or an Arrow dataset, as training asks for them."""
    source = ArrowSource(given.X, given.y, given.sample_weight, given.columns)
    return ChunkedSource(source)
