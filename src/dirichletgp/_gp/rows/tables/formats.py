"""Which files are tables, and of which format: the one table of suffixes."""

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
