"""A table that is read a batch of rows at a time, from the disk or from a stream."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .csv_layout import CsvOptions, not_text
from .errors import TableError

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
        from pyarrow import dataset as arrow

        self._paths = paths
        self._options = options
        format = arrow.CsvFileFormat(parse_options=options.parsing, read_options=options.reading)
        with in_one_line(paths[0]):
            super().__init__(paths[0], arrow.dataset(paths, schema=schema, format=format))

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
