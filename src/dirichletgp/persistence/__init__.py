"""Saving and loading fitted classifiers: arrays and JSON in one file, no pickle.

`DirichletGPClassifier.save` and `.load` are the usual way in. The functions here also keep small
extras of other tools (such as the recipe of a table's columns) in the same file.
"""

import os
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .archive import Archive, ModelFileError, read_archive, write_archive
from .model_file import described, restored

__all__ = ["ModelFileError", "load", "load_with_extras", "read_extras", "save"]

Classifier = TypeVar("Classifier", bound=BaseEstimator)

_KIND = "classifier"
_EXTRAS = "extras/"


def save(
    classifier: Any, path: str | os.PathLike[str], extras: Mapping[str, bytes] | None = None
) -> None:
    """Write a fitted `DirichletGPClassifier` to one file, in one step.

    Parameters
    ----------
    classifier : DirichletGPClassifier
        Fitted. Its scaler must be one of the library's own.
    path : str or path-like
    extras : mapping from str to bytes, default=None
        Kept in the file and given back by `read_extras`.
    """
    check_is_fitted(classifier)
    content, arrays = described(classifier)
    for name, value in (extras or {}).items():
        arrays[_EXTRAS + name] = np.frombuffer(value, dtype=np.uint8)
    write_archive(path, _KIND, Archive(content, arrays))


def load(path: str | os.PathLike[str], cls: type[Classifier]) -> Classifier:
    """Read a classifier that `save` wrote; `ModelFileError` if the file is not what `save` wrote.

    Parameters
    ----------
    path : str or path-like
    cls : type
        `DirichletGPClassifier`, or a class derived from it.

    Returns
    -------
    cls
        A fitted classifier.
    """
    classifier, _ = load_with_extras(path, cls)
    return classifier


def load_with_extras(
    path: str | os.PathLike[str], cls: type[Classifier]
) -> tuple[Classifier, dict[str, bytes]]:
    """Read a classifier and the extras that were saved with it, reading the file once.

    Parameters
    ----------
    path : str or path-like
    cls : type
        `DirichletGPClassifier`, or a class derived from it.

    Returns
    -------
    classifier : cls
        Fitted.
    extras : dict from str to bytes
    """
    archive = read_archive(path, _KIND)
    try:
        return restored(archive, cls), _extras(archive)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} does not describe a classifier: {error!r}"
        ) from error


def read_extras(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The extras that were saved with a classifier, by name."""
    return _extras(read_archive(path, _KIND))


def _extras(archive: Archive) -> dict[str, bytes]:
    return {
        name.removeprefix(_EXTRAS): array.tobytes()
        for name, array in archive.arrays.items()
        if name.startswith(_EXTRAS)
    }
