"""Reading tables: CSV, Parquet and Arrow files, or CSV from standard input, a batch of rows at a time.

CSV is read as text throughout. What a column holds is decided when a recipe is learned, from all of
its values, not by guessing from the first rows.
"""

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import TableError
from .formats import format_of

MOST_COLUMNS = 5_000
_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_NOT_CSV = {
    b"PAR1": "--format parquet",
    b"ARROW1": "--format arrow",
    b"\xff\xfe": "--encoding utf-16",
    b"\xfe\xff": "--encoding utf-16",
}
_HEADER_BYTES = 4_000_000
_BLOCK_BYTES = 4_000_000
_BATCH_ROWS = 8_192


class Batches:
    """Rows of a table, batch by batch.

    Attributes
    ----------
    columns : list of str
    """

    def __init__(self, columns: list[str], batches: Iterator[Any], name: str):
        check_columns(columns, name)
        self.columns, self.name = columns, name
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        import pyarrow as pa

        try:
            for batch in self._batches:
                if batch.num_rows:
                    yield batch
        except UnicodeDecodeError as error:
            raise _not_text(self.name) from error
        except pa.ArrowInvalid as error:
            raise _unreadable(self.name, error) from error


def check_columns(columns: list[str], name: str) -> None:
    """`TableError` if there are too many columns, or two of one name."""
    if len(columns) > MOST_COLUMNS:
        raise TableError(f"{name} has {len(columns):,} columns; at most {MOST_COLUMNS:,} are taken")
    if len(set(columns)) < len(columns):
        twice = next(column for place, column in enumerate(columns) if column in columns[:place])
        raise TableError(f"{name} has more than one column named {twice!r}")


@contextmanager
def open_table(path: str, format: str | None = None, encoding: str = "utf-8") -> Iterator[Batches]:
    """Open a table to read it batch by batch; "-" is CSV (or Arrow) on standard input.

    Parameters
    ----------
    path : str
    format : {"csv", "parquet", "arrow"}, default=None
        None: by the end of the name; CSV on standard input.
    encoding : str, default="utf-8"
        Of CSV.
    """
    import pyarrow as pa

    name = "standard input" if path == "-" else path
    if path != "-" and Path(path).is_dir():
        raise TableError(f"{path} is a folder; pass a file")
    kind = format or format_of(path, _FORMATS, "--format")
    if kind not in _READERS:
        raise TableError(f"format {kind!r} is not known; pass one of {', '.join(_READERS)}")
    if path != "-" and not Path(path).is_file():
        raise TableError(f"{path}: no such file")
    try:
        if path != "-" and Path(path).stat().st_size == 0:
            raise TableError(f"{name} is empty")
        if path == "-":
            yield _READERS[kind](_Rejoined(sys.stdin.buffer), path, name, encoding)
            return
        with pa.input_stream(path, compression="detect") as source:
            yield _READERS[kind](_Rejoined(source), path, name, encoding)
    except pa.ArrowInvalid as error:
        raise _unreadable(name, error) from error
    except UnicodeDecodeError as error:
        raise _not_text(name) from error
    except LookupError as error:
        if "encoding" in str(error):
            raise TableError(f"encoding {encoding!r} is not known") from error
        raise


def read_table(path: str, format: str | None = None, encoding: str = "utf-8") -> Any:
    """A whole table, as `pyarrow.Table`; `TableError` if it has no rows."""
    import pyarrow as pa

    with open_table(path, format, encoding) as table:
        batches = list(table)
        if not batches:
            raise TableError(f"{table.name} has no rows")
        return pa.Table.from_batches(batches)


class _Rejoined(io.RawIOBase):
    """A stream of which the first bytes were looked at and are still to be read."""

    def __init__(self, source: Any):
        self._source, self._first = source, b""

    def look(self, size: int, until: bytes = b"") -> bytes:
        """The first bytes: `size` of them, or fewer if `until` or the end comes earlier."""
        while len(self._first) < size and not (until and until in self._first):
            more = self._source.read(1 << 16)
            if not more:
                break
            self._first += more
        return self._first[:size]

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        if not self._first:
            self._first = self._source.read(len(target))
        part, self._first = self._first[: len(target)], self._first[len(target) :]
        target[: len(part)] = part
        return len(part)


def _csv_batches(source: _Rejoined, path: str, name: str, encoding: str) -> Batches:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header = source.look(_HEADER_BYTES, b"\n").split(b"\n", 1)[0]
    if not header.strip():
        raise TableError(
            f"{name} is empty"
            if not header
            else f"{name} has an empty first line, not names of columns"
        )
    plain = encoding.lower() in ("utf-8", "utf8")
    for start, advice in _NOT_CSV.items():
        if header.startswith(start) and plain:
            raise TableError(f"{name} is not CSV in UTF-8; pass {advice}")
    try:
        line = header.decode("utf-8-sig" if plain else encoding).rstrip("\r")
    except UnicodeDecodeError:
        raise _not_text(name) from None
    delimiter = max(",;\t|", key=line.count)
    columns = next(csv.reader([line], delimiter=delimiter))
    check_columns(columns, name)
    reader = arrow_csv.open_csv(
        io.BufferedReader(source, 1 << 20),
        read_options=arrow_csv.ReadOptions(encoding=encoding, block_size=_block_size(header)),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string())),
    )
    return Batches(columns, iter(reader), name)


def _block_size(header: bytes) -> int:
    """Bytes that hold some rows at least, however wide they are."""
    return max(_BLOCK_BYTES, 64 * len(header))


def _parquet_batches(source: _Rejoined, path: str, name: str, encoding: str) -> Batches:
    from pyarrow import parquet

    if path == "-":
        raise TableError(
            "Parquet cannot be read from standard input; pass a file, or pipe CSV or Arrow"
        )
    file = parquet.ParquetFile(path)
    return Batches(list(file.schema_arrow.names), file.iter_batches(batch_size=_BATCH_ROWS), name)


def _arrow_batches(source: _Rejoined, path: str, name: str, encoding: str) -> Batches:
    from pyarrow import ipc

    if source.look(6) != b"ARROW1":
        reader = ipc.open_stream(source)
        return Batches(list(reader.schema.names), iter(reader), name)
    if path == "-":
        raise TableError(
            "an Arrow file cannot be read from standard input; pass its name, or pipe an Arrow stream"
        )
    file = ipc.open_file(path)
    batches = (file.get_batch(number) for number in range(file.num_record_batches))
    return Batches(list(file.schema.names), batches, name)


_READERS = {"csv": _csv_batches, "parquet": _parquet_batches, "arrow": _arrow_batches}


def _not_text(name: str) -> TableError:
    return TableError(
        f"{name} is not UTF-8 text; pass its encoding, for example --encoding latin-1"
    )


def _unreadable(name: str, error: Exception) -> TableError:
    message = str(error).splitlines()[0]
    if "UTF8" in message:
        return _not_text(name)
    return TableError(f"{name} cannot be read: {message}")
