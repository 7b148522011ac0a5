"""Writing tables batch by batch: CSV, Parquet or Arrow, to a file or to standard output."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....persistence.atomic_write import replacing
from .errors import TableError
from .formats import format_of

_FORMATS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


def check_destination(path: str | Path) -> None:
    """`TableError` before the work, not after it, if a file cannot be written where it should be."""
    folder = Path(path).resolve().parent
    if Path(path).is_dir():
        raise TableError(f"{path} is a folder; pass the name of a file to write")
    if not folder.is_dir():
        raise TableError(f"{path}: there is no folder {folder}")
    if Path(path).exists() and not Path(path).is_file():
        return  # a device or a pipe
    # Files are written beside their final name and then moved there: it is the folder that must be
    # writable.
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise TableError(f"{path}: cannot write in the folder {folder}: {reason}") from None


@contextmanager
def open_writer(path: str, format: str | None = None) -> Iterator[Callable[[Any], None]]:
    """A function that writes batches of one schema, one after the other; "-" is CSV on standard output.

    A file appears under its name when it is complete, and not at all if something goes wrong on the
    way.
    """
    if path != "-":
        check_destination(path)
    kind = format or format_of(path, _FORMATS, "--output-format")
    if kind not in _FORMATS.values():
        raise TableError(f"output format {kind!r} is not known; pass csv, parquet or arrow")
    if path == "-":
        if kind == "parquet":
            raise TableError(
                "Parquet cannot be written to standard output; pass a file, or --output-format csv or arrow"
            )
        with _Writer(kind, sys.stdout.buffer) as writer:
            yield writer.write
        sys.stdout.buffer.flush()
        return
    with replacing(path) as unfinished, _Writer(kind, str(unfinished)) as writer:
        yield writer.write


class _Writer:
    """Opens its sink with the first batch, whose schema it takes."""

    def __init__(self, kind: str, sink: Any):
        self._kind, self._sink, self._writer = kind, sink, None

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, batch: Any) -> None:
        if self._writer is None:
            self._writer = self._open(batch.schema)
        writer: Any = self._writer
        writer.write_batch(batch)

    def _open(self, schema: Any) -> Any:
        if self._kind == "csv":
            from pyarrow import csv

            return csv.CSVWriter(self._sink, schema)
        if self._kind == "parquet":
            from pyarrow import parquet

            return parquet.ParquetWriter(self._sink, schema)
        from pyarrow import ipc

        return (ipc.new_file if isinstance(self._sink, str) else ipc.new_stream)(self._sink, schema)
