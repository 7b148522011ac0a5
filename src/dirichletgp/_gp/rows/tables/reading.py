"""Tables a batch of rows at a time: files, Arrow tables, datasets, standard input.

Both `fit("rows.parquet", y=...)` and the command line read through here. They differ in one thing:
`fit` wants numbers, so CSV is parsed as it is read, whereas the command line reads CSV as text and
decides what a column holds from all of its values, when it learns a recipe.
"""

import glob
import io
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..chunks import ChunkedSource
from .csv_tables import CsvLayout, CsvOptions, CsvTable, PeekableStream, csv_layout
from .errors import TableError
from .table import ScannedTable, StreamedTable, Table, TableReader, in_one_line

if TYPE_CHECKING:
    from ..door import Given

CSV, PARQUET, ARROW = "csv", "parquet", "arrow"
FORMATS = (CSV, PARQUET, ARROW)
FORMAT_OF_SUFFIX = {
    ".csv": CSV,
    ".tsv": CSV,
    ".txt": CSV,
    ".gz": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
}
# Written are commas, and nothing is compressed: these suffixes would promise something else.
_ONLY_READ = (".tsv", ".txt", ".gz")
WRITABLE_SUFFIXES = tuple(suffix for suffix in FORMAT_OF_SUFFIX if suffix not in _ONLY_READ)
MOST_COLUMNS = 5_000
STANDARD_INPUT = "-"
_BLOCK_BYTES = 1 << 20
_ARROW_FILE = b"ARROW1"


def table_rows(given: "Given") -> ChunkedSource:
    """Rows of the table that `fit` was given, as training asks for them."""
    try:
        table = table_of(given.X)
    except TableError as error:
        raise ValueError(f"X: {error}") from error
    return ChunkedSource(TableReader(table, given.y, given.sample_weight, given.columns))


def table_of(where: Any) -> Table:
    """The table that `fit` was given, numbers parsed.

    Parameters
    ----------
    where : path, glob, folder, list of them, pyarrow Table, RecordBatch or Dataset
    """
    try:
        import pyarrow as pa
        from pyarrow import dataset as arrow
    except ImportError as error:
        raise ImportError(
            "reading files needs pyarrow; install it with: pip install pyarrow"
        ) from error
    if isinstance(where, pa.RecordBatch):
        where = pa.Table.from_batches([where])
    if isinstance(where, pa.Table):
        where = arrow.dataset(where)
    if isinstance(where, arrow.Dataset):
        return ScannedTable("the table", where)
    if not isinstance(where, str | os.PathLike | list | tuple):
        raise TypeError(
            f"X is a {type(where).__module__}.{type(where).__name__}, which cannot be read twice; "
            "pass a path, a Table or a Dataset."
        )
    files = files_at(where)
    paths = [file.path for file in files]
    if files[0].format != CSV:
        return _binary_table(paths, files[0].format)
    layout = _layout_of_file(paths[0], "utf-8")
    return _csv_table(paths, layout, "utf-8", as_text=False)


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
        layout = _layout_of_file(path, encoding)
        check_columns(layout.columns, path)
        table = _csv_table([path], layout, encoding, as_text=True)
    else:
        table = _binary_table([path], format)
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


def _layout_of_file(path: str, encoding: str) -> CsvLayout:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        return csv_layout(PeekableStream(stream), path, encoding)


def _csv_table(paths: list[str], layout: CsvLayout, encoding: str, as_text: bool) -> Table:
    import pyarrow as pa

    schema = pa.schema([(name, pa.string()) for name in layout.columns]) if as_text else None
    return CsvTable(paths, CsvOptions.of(layout, encoding, _BLOCK_BYTES), schema)


def _binary_table(paths: list[str], format: str) -> Table:
    """A table of Parquet or Arrow files."""
    from pyarrow import dataset as arrow
    from pyarrow import ipc

    if os.path.getsize(paths[0]) == 0:
        raise TableError(f"{paths[0]} is empty")
    with in_one_line(paths[0]):
        if format == PARQUET:
            # Local files: to have row groups in memory before they are decoded gains nothing.
            options = arrow.ParquetFragmentScanOptions(pre_buffer=False)
            parquet = arrow.ParquetFileFormat(default_fragment_scan_options=options)
            return ScannedTable(paths[0], arrow.dataset(paths, format=parquet))
        if len(paths) == 1 and not _is_arrow_file(paths[0]):
            return StreamedTable(paths[0], partial(ipc.open_stream, paths[0]))
        return ScannedTable(paths[0], arrow.dataset(paths, format="ipc"))


def _is_arrow_file(path: str) -> bool:
    """Whether a file can be read at any place, as opposed to a stream that was kept."""
    with open(path, "rb") as file:
        return file.read(len(_ARROW_FILE)) == _ARROW_FILE


def _standard_input(format: str, encoding: str) -> Table:
    import pyarrow as pa
    from pyarrow import csv, ipc

    name = "standard input"
    stream = PeekableStream(sys.stdin.buffer)
    if format == PARQUET:
        raise TableError(f"Parquet cannot be read from {name}; pass a file, or pipe CSV or Arrow")
    if format == ARROW and stream.look(len(_ARROW_FILE)) == _ARROW_FILE:
        raise TableError(
            f"an Arrow file cannot be read from {name}; pass its name, or pipe an Arrow stream"
        )
    with in_one_line(name):
        if format == ARROW:
            reader = ipc.open_stream(stream)
        else:
            layout = csv_layout(stream, name, encoding)
            check_columns(layout.columns, name)
            options = CsvOptions.of(layout, encoding, _BLOCK_BYTES)
            texts = csv.ConvertOptions(column_types=dict.fromkeys(layout.columns, pa.string()))
            buffered = io.BufferedReader(stream, _BLOCK_BYTES)
            reader = csv.open_csv(buffered, options.reading, options.parsing, texts)
    return StreamedTable(name, lambda: reader)


class TableFile(NamedTuple):
    """A file and its format."""

    path: str
    format: str


def format_of(path: str) -> str | None:
    """The format of a file by the end of its name, None if that does not say.

    Examples
    --------
    >>> format_of("rows.csv.gz"), format_of("rows.PQ"), format_of("rows.xlsx")
    ('csv', 'parquet', None)
    """
    return FORMAT_OF_SUFFIX.get(Path(path).suffix.lower())


def files_at(where: Any) -> list[TableFile]:
    """The files that a path, a glob, a folder or a list of them means, in a fixed order.

    `FileNotFoundError` if one of them means none, `ValueError` if they are of several formats.
    """
    files: list[TableFile] = []
    for pattern in where if isinstance(where, list | tuple) else [where]:
        found = [file for path in _matches(pattern) for file in _files_of(path)]
        if not found:
            raise FileNotFoundError(f"X={os.fspath(pattern)!r}: there are no files in that folder.")
        files += found
    formats = sorted({file.format for file in files})
    if len(formats) > 1:
        raise ValueError(f"X names files of several formats ({formats}); pass files of one format.")
    return files


def _matches(pattern: Any) -> list[str]:
    name = os.path.expanduser(os.fspath(pattern))
    found = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
    if not found:
        raise FileNotFoundError(
            f"X={os.fspath(pattern)!r}: there is no such file, and no file matches it."
        )
    return found


def _files_of(path: str) -> Iterator[TableFile]:
    """The file itself, or all files of a folder."""
    if os.path.isdir(path):
        for inner in sorted(_visible_files(path)):
            # Programs that write folders of Parquet do not all give their parts a suffix.
            yield TableFile(inner, format_of(inner) or PARQUET)
        return
    format = format_of(path)
    if format is None:
        known = ", ".join(FORMAT_OF_SUFFIX)
        raise ValueError(
            f"X={path!r} ends in none of {known}; rename it, or pass a pyarrow Dataset."
        )
    yield TableFile(path, format)


def _visible_files(folder: str) -> Iterator[str]:
    """Files in a folder and below, without hidden ones and the marks that Spark leaves there."""
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            if not name.startswith((".", "_")):
                yield os.path.join(root, name)
