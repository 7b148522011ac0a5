"""Tables a batch of rows at a time, and their rows as training asks for them.

All that `fit("rows.parquet", y=...)` reads with where all columns are numbers: the files that are
meant, the table they are, its rows. Columns of other kinds are for `mixed_rows.py`. The command
line reads with the same classes (`reading.py`).
"""

import glob
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.arrays import AnyArray, Array
from ..chunks import ChunkedSource
from ..columns import Columns
from ..in_memory import Chunk
from ..weights import sample_weights
from .errors import NotNumbersError, TableError, not_text

if TYPE_CHECKING:
    from ..door import Given, RowSource

CSV, PARQUET, ARROW = "csv", "parquet", "arrow"
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
ARROW_FILE = b"ARROW1"
"""How an Arrow file begins that can be read at any place, unlike a stream that was kept."""

_BATCH_VALUES = 1 << 22
_FEWEST_ROWS, _MOST_ROWS = 1_024, 32_768
# How pyarrow begins to say what is wrong with a file.
_SOURCE = re.compile(r".* input source '(?P<name>.*?)': (Invalid: )?")

_RAGGED = re.compile(
    r"Row #(?P<line>\d+): Expected (?P<wanted>\d+) columns, got (?P<found>\d+): (?P<text>.*)"
)


def table_rows(given: "Given") -> "RowSource":
    """Rows of the table that `fit` was given, as training asks for them."""
    try:
        table = table_of(given.X)
    except TableError as error:
        raise ValueError(f"X: {error}") from error
    reader = TableReader(table, given.y, given.sample_weight, given.columns)
    asked = given.categorical
    by_type = asked is None or (isinstance(asked, str) and asked == "from_dtype")
    if by_type and reader.are_numbers and not table.is_csv:
        return ChunkedSource(reader, given.in_pieces)
    from .mixed_rows import mixed_table_rows

    return mixed_table_rows(reader, asked, given.in_pieces)


def table_of(where: Any) -> "Table":
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
        return binary_table(paths, files[0].format)
    # Here, because tables of CSV are built on this module.
    from .csv_tables import csv_table, layout_of_file

    return csv_table(paths, layout_of_file(paths[0], "utf-8"), "utf-8", as_text=False)


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


def binary_table(paths: list[str], format: str) -> "Table":
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
        return file.read(len(ARROW_FILE)) == ARROW_FILE


class Table:
    """A table that is read a batch of rows at a time.

    Attributes
    ----------
    name : str
        What it is called in errors.
    schema : pyarrow.Schema
    """

    is_csv = False

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
                if not self.is_csv:
                    # Arrow files are taken as they are: places of texts may lie outside of them.
                    batch.validate(full=True)
                if batch.num_rows:
                    yield batch

    def as_numbers(self, features: list[str], label: str) -> "Table":
        """The same table; where types were guessed from the first rows, features are floats."""
        return self

    def as_texts(self, features: list[str], numbers: frozenset[str]) -> "Table":
        """The same table; where types were guessed, features are texts but for some numbers."""
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
    except OSError as error:
        if error.filename is not None:
            raise
        raise TableError(f"{name} cannot be read: {error}") from error
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
    ragged = _RAGGED.search(line)
    if ragged:
        wanted, found = ragged["wanted"], ragged["found"]
        return TableError(
            f"{name} cannot be read: line {ragged['line']} has {found} values where the first "
            f"line has {wanted} names: {ragged['text']}"
        )
    if "CSV conversion error" in line:
        return NotNumbersError(f"{name} cannot be read: {line}")
    return TableError(f"{name} cannot be read: {line}")


class TableReader:
    """Rows of a table: which columns are features, labels and weights, and checks.

    Parameters
    ----------
    table : Table
    label : str or list of str
        Name of the label column, or of the columns of votes for classes of these names.
    weight : str or None
        Name of the column of sample weights.
    columns : list of str or None
        Names of the features; None: all other columns.

    Attributes
    ----------
    table : Table
    labels : list of str
        The label column, or those of votes.
    weight : str or None
    columns : Columns
        Numbers all of them.
    are_numbers : bool
        Whether the types of the columns say so.
    """

    def __init__(self, table: Table, label: Any, weight: Any = None, columns: Any = None):
        several = list(label) if isinstance(label, list | tuple) else [label]
        self.labels = [_column("y", each, table.columns, "the label column") for each in several]
        self.table = table
        if len(self.labels) > 1:
            self.table = table.as_numbers(self.labels, "")
        self.weight = None
        if weight is not None:
            self.weight = _column("sample_weight", weight, table.columns, "the column of weights")
        self.names = self._features(columns, table.schema)
        self.columns = Columns(len(self.names), self.names)
        self.are_numbers = all(_is_number(table.schema.field(name).type) for name in self.names)
        self._as_numbers = self.table.as_numbers(self.names, self.labels[0])

    def _features(self, columns: Any, schema: Any) -> list[str]:
        others = {*self.labels, self.weight}
        all_names = list(schema.names)
        if columns is None:
            columns = [name for name in all_names if name not in others]
        names = [_column("columns", name, all_names, "a column") for name in columns]
        if others & set(names):
            raise ValueError(
                f"columns={names} holds the labels {self.labels} or the weights; "
                "name features only."
            )
        if not names:
            raise ValueError(
                "there are no columns besides labels and weights; the model needs features."
            )
        return names

    def blocks(self) -> Iterator[Chunk]:
        """All rows from the first on, a batch at a time, checked."""
        return self.chunks_of(self._as_numbers, self._matrix)

    def chunks_of(self, table: Table, matrix: Callable[[Any], AnyArray]) -> Iterator[Chunk]:
        """All rows of the table in one of its forms; `matrix` makes rows (m, D) of a batch."""
        wanted = [*self.names, *self.labels]
        if self.weight is not None:
            wanted.append(self.weight)
        try:
            for batch in table.batches(wanted):
                yield self._chunk(matrix(batch.select(self.names)), batch)
        except NotNumbersError:
            raise
        except TableError as error:
            raise ValueError(f"X: {error}") from error

    def _chunk(self, X: AnyArray, batch: Any) -> Chunk:
        """Rows (m, D) with their labels, or as often as they have votes for classes."""
        weights = self._weights(batch)
        if len(self.labels) == 1:
            return Chunk(X, self._labels(batch.column(self.labels[0])), weights)
        from ..soft_labels import voted_rows, votes_of

        columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in self.labels]
        votes = votes_of(np.column_stack(columns), self.labels, part=True)
        rows, labels, own = voted_rows(X, votes, weights)
        return Chunk(np.asarray(rows), labels, own)

    def _matrix(self, batch: Any) -> AnyArray:
        columns = [batch.column(j) for j in range(len(self.names))]
        single = all(str(column.type) == "float" for column in columns)
        X = np.empty((batch.num_rows, len(columns)), np.float32 if single else np.float64)
        for j, column in enumerate(columns):
            whole = column.cast(X.dtype.name) if column.null_count else column
            X[:, j] = whole.to_numpy(zero_copy_only=False)
        return X

    def _weights(self, batch: Any) -> Array | None:
        if self.weight is None:
            return None
        given = batch.column(self.weight)
        if given.null_count:
            raise ValueError(
                f"sample_weight={self.weight!r}: the column holds missing values; "
                "fill them or drop those rows first."
            )
        values = given.to_numpy(zero_copy_only=False)
        return sample_weights(values, batch.num_rows, part=True)

    def _labels(self, column: Any) -> AnyArray:
        if _unlabelled(column):
            found = [_unlabelled(b.column(0)) for b in self.table.batches(self.labels)]
            raise ValueError(
                f"y={self.labels[0]!r}: {sum(found):,} rows have no label; drop them from the "
                "table first."
            )
        return _labels(column)


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


def _unlabelled(column: Any) -> int:
    """How many rows have no label: an empty text is none."""
    from pyarrow import compute, types

    empty = 0
    if types.is_string(column.type) or types.is_large_string(column.type):
        empty = compute.sum(compute.equal(column, "")).as_py() or 0
    elif types.is_floating(column.type):
        empty = compute.sum(compute.is_nan(column)).as_py() or 0
    return int(column.null_count) + empty


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
