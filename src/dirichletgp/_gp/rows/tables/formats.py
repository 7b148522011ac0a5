"""Kinds of files, by the end of their name."""

from collections.abc import Mapping
from pathlib import Path

from .errors import TableError


def format_of(path: str, formats: Mapping[str, str], option: str) -> str:
    """The format of a file, "csv" for a pipe; `TableError` that names `option` if its name does not say."""
    if path == "-":
        return "csv"
    try:
        return formats[Path(path).suffix.lower()]
    except KeyError:
        known = ", ".join(formats)
        raise TableError(
            f"{path}: the name does not end in one of {known}; rename it, or pass {option}"
        ) from None
