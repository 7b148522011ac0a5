"""Tables of CSV: how they are laid out, seen from their first bytes, and how they are read."""

import codecs
import csv
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

from ..texts import MISSING
from .errors import TableError, is_utf8, not_text
from .table import ScannedTable, Table, in_one_line

_DELIMITERS = ",;\t|"
_FIRST_PIECE = 1 << 16
_BLOCK_BYTES = 1 << 20
_LARGEST_HEADER = 4_000_000
_FEWEST_ROWS = 64
# What else writers of numbers write where there is none.
_NULLS = frozenset({"-NaN", "-nan", "#NA", "1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND", "<NA>"})
# What else a file may hold that is called CSV: what it is, and the option that reads it.
_NOT_CSV = {
    b"PAR1": ("Parquet", "--format parquet"),
    b"ARROW1": ("Arrow", "--format arrow"),
    b"\xff\xfe": ("UTF-16", "--encoding utf-16"),
    b"\xfe\xff": ("UTF-16", "--encoding utf-16"),
}


class CsvLayout(NamedTuple):
    """Delimiter and names of the columns of CSV, and how long its first line is."""

    delimiter: str
    columns: list[str]
    header_length: int


class CsvOptions(NamedTuple):
    """How pyarrow is told to read CSV: its ReadOptions and ParseOptions."""

    reading: Any
    parsing: Any

    @classmethod
    def of(cls, layout: CsvLayout, encoding: str) -> "CsvOptions":
        """The options for a layout, in blocks that hold some rows at least, however wide."""
        from pyarrow import csv

        block_bytes = max(_BLOCK_BYTES, _FEWEST_ROWS * layout.header_length)
        reading = csv.ReadOptions(encoding=encoding, block_size=block_bytes)
        return cls(reading, csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True))

    def without_line_breaks(self) -> "CsvOptions":
        """The same for tables in which no value has a line break."""
        from pyarrow import csv

        return self._replace(parsing=csv.ParseOptions(delimiter=self.parsing.delimiter))


class PeekableStream(io.RawIOBase):
    """A stream of which the first bytes can be looked at and are still there to be read."""

    def __init__(self, source: Any):
        self._source = source
        self._seen = b""

    def look(self, size: int) -> bytes:
        """The first bytes: `size` of them, or fewer if the stream ends."""
        while len(self._seen) < size:
            if not self._see_more():
                break
        return self._seen[:size]

    def first_lines(self) -> bytes:
        """The first line and some bytes more, or the beginning of a very long line."""
        while b"\n" not in self._seen.lstrip(b"\r\n") and len(self._seen) < _LARGEST_HEADER:
            if not self._see_more():
                break
        return self._seen

    def _see_more(self) -> bool:
        more = self._source.read(_FIRST_PIECE)
        self._seen += more
        return len(more) > 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, target: Any) -> int:
        """Fill a buffer, from what was looked at as long as there is some of it."""
        part = self._seen[: len(target)]
        if part:
            self._seen = self._seen[len(part) :]
        else:
            part = self._source.read(len(target))
        target[: len(part)] = part
        return len(part)


def csv_layout(stream: PeekableStream, name: str, encoding: str) -> CsvLayout:
    """The layout of CSV; `TableError` if there is no first line with names of columns.

    Parameters
    ----------
    stream : PeekableStream
        At its beginning; nothing is taken from it.
    name : str
        What the table is called in errors; a name in .tsv says that there are tabs.
    encoding : str
    """
    first = stream.first_lines()
    header = _decoded(first, name, encoding).lstrip("\r\n")
    if not header:
        raise TableError(f"{name} is empty")
    line = header.splitlines()[0]
    if not line.strip():
        raise TableError(f"{name} has an empty first line, not names of columns")
    if "\ufffd" in line:
        raise not_text(name, encoding)
    delimiter = _delimiter(header.splitlines()[:2], name)
    return CsvLayout(delimiter, _columns(header, delimiter, name), len(line))


def _decoded(first: bytes, name: str, encoding: str) -> str:
    """The first bytes as text; what is wrong further down is for the reader of rows to find."""
    if not is_utf8(encoding):
        return codecs.getincrementaldecoder(encoding)("replace").decode(first)
    for start, (what, option) in _NOT_CSV.items():
        if first.startswith(start):
            raise TableError(f"{name} holds {what}, not CSV in UTF-8", option)
    return first.decode("utf-8-sig", "replace")


def _delimiter(lines: list[str], name: str) -> str:
    """The most frequent mark of the header, preferably one that the next line has as often."""
    plain = [re.sub(r'"[^"]*"', "", line) for line in lines]  # quotes delimit nothing
    header = plain[0]
    if ".tsv" in Path(name).suffixes and "\t" in header:
        return "\t"
    agreeing = [mark for mark in _DELIMITERS if 0 < header.count(mark) == plain[-1].count(mark)]
    return max(agreeing or _DELIMITERS, key=header.count)


def _columns(header: str, delimiter: str, name: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(header), delimiter=delimiter))
    except csv.Error as error:
        raise TableError(f"{name} cannot be read: {error}") from error


class CsvTable(ScannedTable):
    """A table of CSV files.

    Parameters
    ----------
    paths : list of str
    options : CsvOptions
    schema : pyarrow.Schema, default=None
        Names and types of the columns; None: types are guessed from the first rows.
    """

    def __init__(self, paths: list[str], options: CsvOptions, schema: Any = None):
        from pyarrow import csv
        from pyarrow import dataset as arrow

        self._paths = paths
        self._options = options
        # Texts stay texts; among numbers and dates these words mean that a value is missing.
        absent = csv.ConvertOptions(null_values=sorted(MISSING | _NULLS), strings_can_be_null=False)
        format = arrow.CsvFileFormat(
            parse_options=options.parsing,
            read_options=options.reading,
            convert_options=absent,
        )
        with in_one_line(paths[0]):
            super().__init__(paths[0], arrow.dataset(paths, schema=schema, format=format))

    is_csv = True

    def as_texts(self, features: list[str], numbers: frozenset[str]) -> Table:
        """The same table; features are texts, but for some that are numbers."""
        import pyarrow as pa

        fields = []
        for field in self.schema:
            kind = pa.float64() if field.name in numbers else pa.string()
            fields.append(field.with_type(kind) if field.name in features else field)
        return CsvTable(self._paths, self._options, pa.schema(fields))

    def as_numbers(self, features: list[str], label: str) -> Table:
        """The same table; integers in the first rows need not be integers in the last."""
        import pyarrow as pa

        wanted = set(features)
        fields = []
        for field in self.schema:
            guessed = field.name in wanted and pa.types.is_integer(field.type)
            fields.append(field.with_type(pa.float64()) if guessed else field)
        # Numbers and labels have no line breaks, and looking for them costs a tenth of the time.
        texts = {field.name for field in fields if not pa.types.is_primitive(field.type)}
        options = self._options if texts - {label} else self._options.without_line_breaks()
        return CsvTable(self._paths, options, pa.schema(fields))


def layout_of_file(path: str, encoding: str) -> CsvLayout:
    """The layout of a CSV file, compressed or not."""
    import pyarrow as pa

    with in_one_line(path), pa.input_stream(path, compression="detect") as stream:
        return csv_layout(PeekableStream(stream), path, encoding)


def csv_table(paths: list[str], layout: CsvLayout, encoding: str, as_text: bool) -> Table:
    """A table of CSV files of one layout: all columns as text, or as numbers where they are."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.string()) for name in layout.columns]) if as_text else None
    return CsvTable(paths, CsvOptions.of(layout, encoding), schema)


def csv_stream(stream: PeekableStream, layout: CsvLayout, encoding: str) -> Any:
    """A pyarrow reader of CSV that comes as a stream, all columns as text."""
    import pyarrow as pa
    from pyarrow import csv

    options = CsvOptions.of(layout, encoding)
    texts = csv.ConvertOptions(column_types=dict.fromkeys(layout.columns, pa.string()))
    buffered = io.BufferedReader(stream, _BLOCK_BYTES)
    return csv.open_csv(buffered, options.reading, options.parsing, texts)
