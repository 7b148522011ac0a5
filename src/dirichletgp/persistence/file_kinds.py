"""What an existing file is, by its first bytes: nothing is written over one of another kind."""

import os

from .archive import MAGIC

MODEL, PAGE, TABLE = "model", "HTML page", "table"
_USUAL_NAMES = {MODEL: "model.dgp", PAGE: "report.html", TABLE: "rows.csv"}
_PAGE_STARTS = (b"<!doctype html", b"<html")
_TABLE_STARTS = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")
_LOOKED_AT = 4_096


def may_replace(path: str | os.PathLike[str], kind: str) -> bool:
    """Whether a thing of a kind may be written there: over nothing, an empty file, or its like.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dirichletgp.persistence.file_kinds import MODEL, TABLE, may_replace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.csv")
    ...     _ = path.write_text("age,label")
    ...     may_replace(path, MODEL), may_replace(path, TABLE)
    (False, True)
    """
    if not os.path.isfile(path):  # a device or a pipe is nobody's data
        return True
    with open(path, "rb") as file:
        first = file.read(_LOOKED_AT)
    return not first or _is_of_kind(first, kind)


def check_replaceable(path: str | os.PathLike[str], kind: str, overwrite: bool) -> None:
    """`FileExistsError` if a file of another kind is there, unless it is to be overwritten.

    A folder cannot be: `IsADirectoryError`.
    """
    if os.path.isdir(path):
        example = os.path.join(os.fspath(path), _USUAL_NAMES[kind])
        raise IsADirectoryError(
            f"{os.fspath(path)!r} is a folder; pass the path of a file, such as {example!r}."
        )
    if not overwrite and not may_replace(path, kind):
        raise FileExistsError(
            f"{os.fspath(path)!r} exists and is no {kind}; "
            "pass another path, or overwrite=True to replace it."
        )


def _is_of_kind(first: bytes, kind: str) -> bool:
    """Whether a file that begins so is of a kind."""
    is_model = first.startswith(MAGIC)
    is_page = first.lstrip().lower().startswith(_PAGE_STARTS)
    if kind == MODEL:
        return is_model
    if kind == PAGE:
        return is_page
    is_text = b"\0" not in first
    return first.startswith(_TABLE_STARTS) or (is_text and not is_page and not is_model)
