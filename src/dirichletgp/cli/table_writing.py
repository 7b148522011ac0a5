"""Writing tables batch by batch: CSV, Parquet or Arrow, to a file or to standard output."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.reading import FORMATS
from .._gp.rows.tables.table import CSV, FORMAT_OF_SUFFIX, PARQUET, format_of
from ..persistence.atomic_write import replacing
from .destinations import STANDARD_OUTPUT, check_destination

# Written are commas, and nothing is compressed: these suffixes would promise something else.
_ONLY_READ = (".tsv", ".txt", ".gz")
# How a formula begins in spreadsheets; what is a number is none.
_FORMULA = r"^[=@\t\r]|^[+-].*[^0-9.eE+-]"
_WRITABLE_SUFFIXES = tuple(suffix for suffix in FORMAT_OF_SUFFIX if suffix not in _ONLY_READ)


@contextmanager
def open_writer(path: str, format: str | None = None) -> Iterator[Callable[[Any], None]]:
    """A function that writes batches of one schema, one after the other.

    A file appears under its name when it is complete, and not at all if something goes wrong on the
    way. "-" is standard output, CSV unless `format` says otherwise.
    """
    if path == STANDARD_OUTPUT:
        format = _known(format or CSV)
        if format == PARQUET:
            raise TableError(
                "Parquet cannot be written to standard output; pass a file, "
                "or --output-format csv or arrow"
            )
        with _Writer(format, sys.stdout.buffer) as writer:
            yield writer.write
        sys.stdout.buffer.flush()
        return
    check_destination(path)
    format = _known(format or _format_by_name(path))
    with replacing(path) as unfinished, _Writer(format, str(unfinished)) as writer:
        yield writer.write


def _format_by_name(path: str) -> str:
    format = format_of(path)
    if format is None or Path(path).suffix.lower() not in _WRITABLE_SUFFIXES:
        known = ", ".join(_WRITABLE_SUFFIXES)
        raise TableError(
            f"{path}: the name does not end in one of {known}", "--output-format, or rename it"
        )
    return format


def _known(format: str) -> str:
    if format not in FORMATS:
        raise TableError(f"output format {format!r} is not known; pass csv, parquet or arrow")
    return format


def without_formulas(batch: Any) -> Any:
    """A batch whose texts, and names of columns, no spreadsheet takes for formulas.

    They get an apostrophe in front, which spreadsheets do not show. Numbers stay as they are; files
    of Parquet and Arrow say what is a text and hold texts as they are.
    """
    import pyarrow as pa
    from pyarrow import compute, types

    columns = []
    for column in batch.columns:
        if types.is_string(column.type) or types.is_large_string(column.type):
            risky = compute.match_substring_regex(column, _FORMULA)
            quoted = compute.binary_join_element_wise("'", column, "")
            column = compute.if_else(risky, quoted, column)
        columns.append(column)
    names = [f"'{name}" if re.search(_FORMULA, name) else name for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=names)


class _Writer:
    """Opens its sink with the first batch, whose schema it takes."""

    def __init__(self, format: str, sink: Any):
        self._format = format
        self._sink = sink
        self._writer: Any = None

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, batch: Any) -> None:
        if self._format == CSV:
            batch = without_formulas(batch)
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_batch(batch)

    def _open(self, schema: Any) -> Any:
        from pyarrow import csv, ipc, parquet

        if self._format == CSV:
            return csv.CSVWriter(self._sink, schema)
        if self._format == PARQUET:
            return parquet.ParquetWriter(self._sink, schema)
        is_file = isinstance(self._sink, str)
        return ipc.new_file(self._sink, schema) if is_file else ipc.new_stream(self._sink, schema)
