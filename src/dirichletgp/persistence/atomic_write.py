"""Files that appear under their name when they are whole, and not before."""

import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name beside `path` to write to, which takes its place in one step when all went well.

    Whatever goes wrong, `path` holds either its old content or all of the new, and nothing else is
    left behind. A process that is killed cannot tidy up: what it leaves, a hidden file that ends in
    `.part`, is removed when the same file is written again. A link stays a link: the file that it
    points to is replaced, and keeps its permissions. A device or a pipe is written to as it is.

    Examples
    --------
    >>> import tempfile
    >>> from dirichletgp.persistence.atomic_write import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "numbers.txt") as unfinished:
    ...         _ = unfinished.write_text("1 2 3")
    ...     [path.name for path in Path(folder).iterdir()]
    ['numbers.txt']
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with _named(path):
            yield Path(path)
        return
    target = Path(os.path.realpath(path))
    # Beside the file that it will replace, so that both are on the same disk.
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    _remove_abandoned(target)
    try:
        with _named(path), _held(unfinished):
            yield unfinished
            with unfinished.open("r+b") as file:
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, unfinished)
            os.replace(unfinished, target)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    _sync_folder(target.parent)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file in one step, and the folders above it if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished:
        unfinished.write_bytes(content)


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system, such as that of a full disk, say which file they are about."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """A new file that others can see is being written: the lock ends with the process, however."""
    if fcntl is None:
        yield
        return
    while True:
        with path.open("xb") as file:
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(file, fcntl.LOCK_EX)
            # Before it was locked, somebody may have taken it for abandoned.
            if os.fstat(file.fileno()).st_nlink:
                yield
                return


def _remove_abandoned(target: Path) -> None:
    """Remove what writers of a file left behind when they were killed."""
    if fcntl is None:
        return
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        with suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the renaming last through a power failure, where folders can be synchronised."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
