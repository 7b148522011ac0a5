"""One file of named arrays and JSON: the container behind `save` and checkpoints.

    magic (16 bytes) | length of the header (8, little endian) | SHA-256 of the header (32) | header
    | members

The header is JSON: what kind of file this is, the version of its format, and for each member its
name, type, shape and SHA-256. The members follow in that order, raw and little endian, to the last
byte of the file. Nothing in a file is ever run or unpickled, and no size in it is believed before
it was compared with the length of the file.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._gp.core.arrays import AnyArray
from .._gp.version import __version__
from .atomic_write import replacing

MAGIC = b"\x93DIRICHLETGP\r\n\x1a\n"  # bytes that a transfer as text would damage
_FORMAT_VERSION = 1
_LARGEST_HEADER = 2**26
_TYPES = frozenset(
    ["|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"]
)


class ModelFileError(ValueError):
    """A file that is truncated, altered, not one of this library's, or from a newer version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dirichletgp import DirichletGPClassifier
    >>> from dirichletgp.persistence import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.dgp")
    ...     _ = path.write_text("something else")
    ...     try:
    ...         DirichletGPClassifier.load(path)
    ...     except ModelFileError:
    ...         print("refused")
    refused
    """


class Archive(NamedTuple):
    """What a file holds: a JSON object, and arrays by name."""

    content: dict[str, Any]
    arrays: dict[str, AnyArray]


def write_archive(path: str | os.PathLike[str], kind: str, archive: Archive) -> None:
    """Write a file in one step: `path` holds its old content or all of the new, come what may."""
    members = {name: _portable(name, array) for name, array in archive.arrays.items()}
    header = _header(kind, archive.content, members)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {str(path)!r}: there is no folder {str(folder)!r}.")
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        file.write(
            MAGIC + len(header).to_bytes(8, "little") + hashlib.sha256(header).digest() + header
        )
        for array in members.values():
            file.write(_bytes_of(array))


def read_archive(path: str | os.PathLike[str], kind: str) -> Archive:
    """Read a file of a given kind; `ModelFileError` unless every byte is as it was written."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            header = _read_header(file, size, kind)
            return Archive(header["content"], _read_members(file, size, header["members"]))
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from None


def _header(kind: str, content: Mapping[str, Any], members: Mapping[str, AnyArray]) -> bytes:
    listed = [
        {
            "name": name,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": hashlib.sha256(_bytes_of(array)).hexdigest(),
        }
        for name, array in members.items()
    ]
    header = {
        "format": "dirichletgp",
        "kind": kind,
        "format_version": _FORMAT_VERSION,
        "library_version": __version__,
    }
    return json.dumps({**header, "content": content, "members": listed}).encode("ascii")


def _portable(name: str, array: AnyArray) -> AnyArray:
    """The array in C order and little endian."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in _TYPES:
        raise TypeError(f"{name} has the type {array.dtype}, which a model file cannot hold.")
    return array


def _bytes_of(array: AnyArray) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _read_header(file: BinaryIO, size: int, kind: str) -> dict[str, Any]:
    magic = file.read(len(MAGIC))
    if magic != MAGIC:
        raise ModelFileError("it is not a file of this library.")
    length, digest = int.from_bytes(file.read(8), "little"), file.read(32)
    if length > min(_LARGEST_HEADER, size - file.tell()):
        raise ModelFileError("it is truncated or damaged.")
    text = file.read(length)
    if hashlib.sha256(text).digest() != digest:
        raise ModelFileError("its header is truncated or damaged.")
    try:
        header = json.loads(text)
        version, found = header["format_version"], header["kind"]
        if type(version) is not int or version < 1:
            raise TypeError
        if type(header["content"]) is not dict or type(header["members"]) is not list:
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError("its header is not one this library writes.") from None
    if version > _FORMAT_VERSION:
        raise ModelFileError(
            f"it was written by version {header.get('library_version')!r} of dirichletgp in a "
            "newer format; upgrade with: pip install --upgrade dirichletgp"
        )
    if found != kind:
        raise ModelFileError(f"it holds a {found!r}, not a {kind!r}.")
    return dict(header)


def _read_members(file: BinaryIO, size: int, members: list[Any]) -> dict[str, AnyArray]:
    arrays: dict[str, AnyArray] = {}
    for member in members:
        name, dtype, shape, digest = _described(member)
        length = dtype.itemsize
        for n in shape:
            length *= n
        # An array without numbers must not claim to be long in another direction either.
        too_long = length > size - file.tell() or max(shape, default=0) > size
        if name in arrays or too_long:
            raise ModelFileError("it is truncated or damaged.")
        array = np.empty(shape, dtype)
        read = file.readinto(_bytes_of(array)) if length else 0  # type: ignore[attr-defined]
        if read != length or hashlib.sha256(_bytes_of(array)).hexdigest() != digest:
            raise ModelFileError(f"its part {name!r} is truncated or damaged.")
        if dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
            raise ModelFileError(f"its part {name!r} holds truths that are neither 0 nor 1.")
        arrays[name] = array.astype(dtype.newbyteorder("="), copy=False)
    if file.tell() != size:
        raise ModelFileError("it is longer than it should be.")
    return arrays


def _described(member: Any) -> tuple[str, np.dtype[Any], tuple[int, ...], str]:
    """Name, type, shape and checksum of a member, if they are what they should be."""
    try:
        name, dtype, shape, digest = (member[key] for key in ("name", "dtype", "shape", "sha256"))
        valid = (
            isinstance(name, str)
            and isinstance(digest, str)
            and isinstance(dtype, str)
            and dtype in _TYPES
        )
        valid = valid and type(shape) is list and len(shape) <= 8
        valid = valid and all(type(n) is int and 0 <= n < 2**48 for n in shape)
    except (TypeError, KeyError):
        valid = False
    if not valid:
        raise ModelFileError("its header is not one this library writes.")
    return name, np.dtype(dtype), tuple(shape), digest
