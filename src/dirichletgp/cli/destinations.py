"""Where commands write: never over what they read, nor over what is no earlier result."""

import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.reading import STANDARD_INPUT
from ..persistence.file_kinds import TABLE, may_replace
from .earlier_tables import EarlierTable

STANDARD_OUTPUT = "-"


class Output(NamedTuple):
    """A file to write: the option that names it, and the kind of thing it will hold.

    Of a table also what it always has, by which an earlier one is known.
    """

    option: str
    path: str | Path
    kind: str
    result: EarlierTable | None = None


def check_outputs(
    outputs: Iterable[Output], inputs: Iterable[str | None], force: bool = False
) -> None:
    """`TableError` before the work if an output cannot be written or would destroy something.

    Parameters
    ----------
    outputs : iterable of Output
    inputs : iterable of str or None
        Files that are read; "-" is standard input.
    force : bool, default=False
        Whether a file may be replaced that is no earlier result. An input never is.
    """
    read = [path for path in inputs if path is not None]
    checked: list[Output] = []
    for output in outputs:
        if str(output.path) == STANDARD_OUTPUT:
            _check_standard_output(output)
            continue
        check_destination(output.path)
        for path in read:
            if _same_file(path, output.path):
                raise TableError(
                    f"{output.option} {output.path} would replace the input {path}; "
                    "pass another name"
                )
        for other in checked:
            if _same_file(other.path, output.path):
                raise TableError(
                    f"{other.option} and {output.option} are the same file, {output.path}; "
                    "pass two names"
                )
        if not force:
            _check_kind(output)
        checked.append(output)


def check_destination(path: str | Path) -> None:
    """`TableError` before the work, not after it, if a file cannot be written there."""
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


def can_be_replaced(path: str | Path) -> bool:
    """Whether what is written there can be replaced later: not so with devices and pipes."""
    return Path(path).is_file() or not Path(path).exists()


def _check_standard_output(output: Output) -> None:
    if output.kind != TABLE:
        raise TableError(
            f"{output.option} -: a {output.kind} cannot be written to standard output; "
            "pass the name of a file"
        )


def _same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two names mean one file, be it through links. Devices are nobody's data."""
    if str(one) == STANDARD_INPUT:
        return _is_standard_input(other)
    if os.path.realpath(one) == os.path.realpath(other):
        return Path(one).is_file() or not Path(one).exists()
    with suppress(OSError):
        return Path(one).is_file() and os.path.samefile(one, other)
    return False


def _is_standard_input(path: str | Path) -> bool:
    """Whether a file is the one that the shell gives as standard input."""
    with suppress(OSError, ValueError):
        given = os.fstat(sys.stdin.fileno())
        return Path(path).is_file() and os.path.samestat(given, os.stat(path))
    return False


def _check_kind(output: Output) -> None:
    problem = None
    try:
        if not may_replace(output.path, output.kind):
            problem = f"is no {output.kind}"
        elif output.result is not None and not output.result.may_be_at(output.path):
            problem = f"is no earlier result of {output.result.command}"
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or 'unknown reason').lower()})"
    if problem is not None:
        raise TableError(
            f"{output.option} {output.path} exists and {problem}; "
            "pass another name, or --force to replace it"
        )
