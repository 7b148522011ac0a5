"""A checksum of rows that does not depend on their order, and an order that depends on them alone.

The same dataset comes in different row orders from different sources. Each row gets a 64-bit
number; the sorted numbers make the checksum, and sorting by them makes splits the same whatever the
source.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from .._gp.core.arrays import AnyArray, Integers


def row_numbers(X: AnyArray, y: AnyArray) -> NDArray[np.uint64]:
    """A number (n,) for each row and its label, the same for rows equal in single precision."""
    numbers = np.zeros(len(y), dtype=np.uint64)
    for place, column in enumerate([*X.T, y]):
        single = column.astype("<f4") + np.float32(0)  # minus zero is zero
        numbers ^= numbers >> np.uint64(29)
        numbers = (numbers + single.view("<u4")) * _odd_number(place)
    return numbers ^ (numbers >> np.uint64(32))


def _odd_number(place: int) -> np.uint64:
    """A multiplier for a column, the same for ever."""
    digest = hashlib.sha256(f"column {place}".encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little") | 1)


def rows_checksum(X: AnyArray, y: AnyArray) -> str:
    """Checksum of rows X (n, D) and codes y (n,), whatever their order."""
    in_order = np.sort(row_numbers(X, y))
    return hashlib.sha256(in_order.astype("<u8").tobytes()).hexdigest()


def canonical_order(X: AnyArray, y: AnyArray) -> Integers:
    """Positions (n,) that put the rows into the same order, whichever they came in."""
    return np.argsort(row_numbers(X, y), kind="stable")
