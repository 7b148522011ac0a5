"""A file from the network, whole or not at all."""

import hashlib
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from ..persistence.atomic_write import replacing

_CHUNK = 1 << 18
_SAY_EVERY = 2.0


class DatasetError(OSError):
    """A dataset could not be had, or is not what it should be; the message says what to do.

    Examples
    --------
    >>> from dirichletgp.datasets import DatasetError, load_dataset
    >>> try:
    ...     load_dataset("eeg", folder="no such folder")
    ... except DatasetError as error:
    ...     print(error)
    folder='no such folder' is not a folder; pass the one that holds eeg.npz
    """


def download(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    attempts: int = 4,
    pause: float = 1.0,
    timeout: float = 30.0,
    progress: bool = True,
) -> str:
    """Fetch a URL into a file, which appears only when it is complete.

    Parameters
    ----------
    url : str
    path : Path
    sha256 : str or None
        What the file must hash to, if that is known.
    attempts : int
        A dropped connection, a short body or an answer of the 500s is tried again, after `pause`
        seconds, then twice that, and so on. An answer of the 400s is not.
    pause, timeout : float
        Seconds.
    progress : bool
        Say on standard error how far it is.

    Returns
    -------
    str
        The SHA-256 of the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    last: Exception | None = None
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            with replacing(path) as unfinished:
                with unfinished.open("wb") as file:
                    found = _receive(url, file.write, timeout, progress)
                if sha256 is not None and found != sha256:
                    raise DatasetError(
                        f"{url} has SHA-256 {found}, expected {sha256}: it is not the file it was; "
                        "nothing was kept. Download it yourself and pass its folder, or delete the "
                        "record beside the cache to accept it"
                    )
            return found
        except DatasetError:
            raise
        except urllib.error.HTTPError as error:
            error.close()
            last = error
            if error.code < 500:
                break
        except (OSError, HTTPException) as error:
            last = error
    raise DatasetError(
        f"could not download {url} ({last}); check the network, or download it yourself and pass "
        "its folder"
    ) from last


def _receive(url: str, write: Callable[[bytes], object], timeout: float, progress: bool) -> str:
    """Read a URL to its end; its SHA-256. A body shorter than announced is an error."""
    digest = hashlib.sha256()
    received = 0
    said = time.monotonic()
    request = urllib.request.Request(url, headers={"User-Agent": "dirichletgp"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        while chunk := answer.read(_CHUNK):
            write(chunk)
            digest.update(chunk)
            received += len(chunk)
            if progress and time.monotonic() - said > _SAY_EVERY:
                said = time.monotonic()
                share = f" of {total / 1e6:.1f}" if total else ""
                message = f"downloading {url}: {received / 1e6:.1f}{share} MB"
                print(message, file=sys.stderr, flush=True)
    if total is not None and received != total:
        raise OSError(f"the connection closed after {received} of {total} bytes")
    return digest.hexdigest()
