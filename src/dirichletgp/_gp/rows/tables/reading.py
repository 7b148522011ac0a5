"""Tables that a command is given: files and standard input, CSV as text."""

import sys
from pathlib import Path
from typing import Any

from .csv_tables import PeekableStream, csv_layout, csv_stream, csv_table, layout_of_file
from .errors import TableError
from .table import (
    ARROW,
    ARROW_FILE,
    CSV,
    FORMAT_OF_SUFFIX,
    PARQUET,
    StreamedTable,
    Table,
    binary_table,
    format_of,
    in_one_line,
)

FORMATS = (CSV, PARQUET, ARROW)
MOST_COLUMNS = 5_000
STANDARD_INPUT = "-"


def open_table(path: str, format: str | None = None, encoding: str = "utf-8") -> Table:
    """The table that a command was given, CSV as text; "-" is standard input.

    Parameters
    ----------
    path : str
    format : {"csv", "parquet", "arrow"}, default=None
        None: by the end of the name; CSV on standard input.
    encoding : str, default="utf-8"
        Of CSV.
    """
    if path != STANDARD_INPUT and Path(path).is_dir():
        raise TableError(f"{path} is a folder; pass a file")
    format = format or (CSV if path == STANDARD_INPUT else _format_by_name(path))
    if format not in FORMATS:
        raise TableError(f"format {format!r} is not known; pass one of {', '.join(FORMATS)}")
    if path == STANDARD_INPUT:
        table = _standard_input(format, encoding)
    elif not Path(path).is_file():
        raise TableError(f"{path}: no such file")
    elif format == CSV:
        layout = layout_of_file(path, encoding)
        check_columns(layout.columns, path)
        table = csv_table([path], layout, encoding, as_text=True)
    else:
        table = binary_table([path], format)
    check_columns(table.columns, table.name)
    return table


def read_table(path: str, format: str | None = None, encoding: str = "utf-8") -> Any:
    """A whole table, as `pyarrow.Table`; `TableError` if it has no rows."""
    import pyarrow as pa

    table = open_table(path, format, encoding)
    batches = list(table.batches())
    if not batches:
        raise TableError(f"{table.name} has no rows")
    return pa.Table.from_batches(batches)


def check_columns(columns: list[str], name: str) -> None:
    """`TableError` if there are too many columns, or two of one name."""
    if len(columns) > MOST_COLUMNS:
        raise TableError(f"{name} has {len(columns):,} columns; at most {MOST_COLUMNS:,} are taken")
    if len(set(columns)) < len(columns):
        twice = next(column for place, column in enumerate(columns) if column in columns[:place])
        raise TableError(f"{name} has more than one column named {twice!r}")


def _format_by_name(path: str) -> str:
    format = format_of(path)
    if format is None:
        known = ", ".join(FORMAT_OF_SUFFIX)
        raise TableError(
            f"{path}: the name does not end in one of {known}", "--format, or rename it"
        )
    return format


def _standard_input(format: str, encoding: str) -> Table:
    from pyarrow import ipc

    name = "standard input"
    stream = PeekableStream(sys.stdin.buffer)
    if format == PARQUET:
        raise TableError(f"Parquet cannot be read from {name}; pass a file, or pipe CSV or Arrow")
    if format == ARROW and stream.look(len(ARROW_FILE)) == ARROW_FILE:
        raise TableError(
            f"an Arrow file cannot be read from {name}; pass its name, or pipe an Arrow stream"
        )
    with in_one_line(name):
        if format == ARROW:
            reader = ipc.open_stream(stream)
        else:
            layout = csv_layout(stream, name, encoding)
            check_columns(layout.columns, name)
            reader = csv_stream(stream, layout, encoding)
    return StreamedTable(name, lambda: reader)
