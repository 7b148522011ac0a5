"""What the values of a file must be: said once for each, checked before anything is done with it.

A right checksum says that a file is as it was written, not who wrote it. So nothing in a file
reaches a formula, let alone C code, before a *field* has looked at it:

    fields = {"points": Numbers("M D"), "counts": Numbers("C", NOT_NEGATIVE)}
    sizes = check_arrays(fields, arrays)

Letters are dimensions: the same letter is the same number wherever it stands, and `sizes` says
which. To add an array to a file is to add its line to a table of fields. Single numbers, counts,
truths and texts of a JSON object have functions of their own, with the same errors.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import AnyArray, Array

Range = tuple[float, float]

MODERATE: Range = (-1e150, 1e150)
"""Numbers whose squares are finite."""
NOT_NEGATIVE: Range = (0.0, 1e150)
POSITIVE: Range = (1e-100, 1e100)
"""Parameters: products of three are finite, and so are inverses."""
VARIANCE: Range = (1e-100, 1e8)
"""Of a kernel: log-odds that vary by more than 10,000 are none that labels could have."""
SUMS: Range = (-1e100, 1e100)
FINITE: Range = (-sys.float_info.max, sys.float_info.max)
"""Numbers that are only compared with those of rows."""
ABOVE_ZERO: Range = (5e-324, sys.float_info.max)
COUNTS: Range = (0, 2**53)

Sizes = dict[str, int]


def expect(condition: bool, what: str) -> None:
    """`ValueError` that says what is not as it should be."""
    if not condition:
        raise ValueError(f"unexpected {what}")


@dataclass(frozen=True)
class Numbers:
    """An array of numbers.

    Attributes
    ----------
    shape : str
        A letter for each dimension, with spaces between them; a digit stands for itself.
    within : tuple of two numbers
        The smallest and the largest that may be among them.
    dtype : str
        Their type, as NumPy calls it.
    holes : bool
        Whether NaN may be among them, for a value that is missing.
    """

    shape: str
    within: Range = MODERATE
    dtype: str = "float64"
    holes: bool = False

    def check(self, name: str, array: AnyArray, sizes: Sizes) -> None:
        """`ValueError` unless the array is one; letters that are new are put into `sizes`."""
        letters = self.shape.split()
        expect(array.dtype == np.dtype(self.dtype), f"type of {name}")
        expect(array.ndim == len(letters), f"shape of {name}")
        for letter, n in zip(letters, array.shape, strict=True):
            wanted = int(letter) if letter.isdigit() else sizes.setdefault(letter, n)
            expect(n == wanted, f"shape of {name}")
        expect(self._within(array), f"numbers in {name}")

    def _within(self, array: AnyArray) -> bool:
        lowest, highest = self.within
        inside = (array >= lowest) & (array <= highest)
        if self.holes:
            inside |= np.isnan(array)
        return bool(np.all(inside))


def faded(counts: AnyArray) -> AnyArray:
    """Weights of rows as they are, but for those that have faded to less than can be divided by."""
    return np.where(counts < np.finfo(np.float64).tiny, 0.0, counts)


def check_arrays(
    fields: Mapping[str, Numbers], arrays: Mapping[str, AnyArray], sizes: Sizes | None = None
) -> Sizes:
    """Check that all fields are there and as they should be; what the letters stand for."""
    sizes = {} if sizes is None else sizes
    for name, field in fields.items():
        expect(name in arrays, f"absence of {name}")
        field.check(name, arrays[name], sizes)
    return sizes


def real_number(value: Any, what: str, within: Range = MODERATE) -> float:
    """A number of a JSON object."""
    expect(type(value) in (int, float) and within[0] <= value <= within[1], what)
    return float(value)


def whole_number(value: Any, what: str, highest: float = COUNTS[1]) -> int:
    """A count of a JSON object."""
    expect(type(value) is int and 0 <= value <= highest, what)
    return int(value)


def truth(value: Any, what: str) -> bool:
    """True or false of a JSON object."""
    expect(type(value) is bool, what)
    return bool(value)


def text(value: Any, what: str) -> str:
    """A text of a JSON object."""
    expect(isinstance(value, str), what)
    return str(value)


def texts(value: Any, what: str) -> list[str]:
    """A list of texts of a JSON object."""
    expect(isinstance(value, list) and all(isinstance(item, str) for item in value), what)
    return list(value)


def increasing(values: Array, ends: AnyArray, what: str, *, strictly: bool = True) -> None:
    """Check that numbers (n,) increase within each of the parts that end at `ends`."""
    steps = np.diff(values)
    rises = steps > 0 if strictly else steps >= 0
    borders = ends[(ends > 0) & (ends < len(values))]
    rises[borders - 1] = True
    expect(bool(np.all(rises)), f"order of {what}")
