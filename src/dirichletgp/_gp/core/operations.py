"""The few array functions that kernels and scalers are written in.

Their formulas stand once, in these words. NumPy speaks them here, an array library on another
device in `rows/device.py`, and a graph of ONNX operators in `export/graph_arrays.py`.
"""

from typing import Any, Protocol

import numpy as np

from .arrays import Array, Integers


class Operations(Protocol):
    """An array library, or something that writes down what it is asked to compute."""

    def array(self, host: Array) -> Any:
        """A host array as one of these arrays."""

    def host(self, array: Any) -> Array:
        """One of these arrays as a host array."""

    def ones(self, n: int) -> Any:
        """A vector of ones."""

    def columns(self, parts: tuple[Any, ...]) -> Any:
        """Matrices and vectors side by side."""

    def exp(self, x: Any) -> Any:
        """Element by element."""

    def sqrt(self, x: Any) -> Any:
        """Element by element."""

    def maximum(self, x: Any, floor: float) -> Any:
        """Element by element."""

    def minimum(self, x: Any, ceiling: float) -> Any:
        """Element by element."""

    def log1p(self, x: Any) -> Any:
        """Element by element."""

    def interpolate(self, x: Any, knots: list[Array], values: list[Array]) -> Any:
        """Piecewise linear functions of the columns of x (n, D), constant beyond their knots.

        Of NumPy's arrays the scaler does that itself.
        """

    def where(self, condition: Any, x: Any, otherwise: float) -> Any:
        """Element by element."""

    def choose(self, condition: Any, x: Any, otherwise: Any) -> Any:
        """Element by element, of two arrays of one shape."""

    def is_nan(self, x: Any) -> Any:
        """Element by element."""

    def filled(self, x: Any, value: float) -> Any:
        """`x` with a number in the place of NaN."""

    def take(self, x: Any, columns: Integers) -> Any:
        """Some columns of a matrix."""

    def row(self, points: Any, column: int) -> Any:
        """A column of points (M, D) as a row (1, M)."""

    def nearest(self, x: Any, levels: list[Array], least: float) -> Any:
        """The nearest of increasing levels to each number of a column (n, D).

        Columns without levels, and numbers that are not above `least`, stay as they are.
        """

    def sum(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        """Sum over an axis."""

    def dot(self, x: Any, y: Any) -> float:
        """Sum of the products of all elements."""


class _NumPy:
    array = staticmethod(np.asarray)
    host = staticmethod(np.asarray)
    ones = staticmethod(np.ones)
    exp = staticmethod(np.exp)
    sqrt = staticmethod(np.sqrt)
    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    log1p = staticmethod(np.log1p)
    where = staticmethod(np.where)
    choose = staticmethod(np.where)
    is_nan = staticmethod(np.isnan)
    sum = staticmethod(np.sum)
    dot = staticmethod(np.vdot)
    columns = staticmethod(np.column_stack)

    @staticmethod
    def filled(x: Array, value: float) -> Array:
        return np.where(np.isnan(x), value, x)

    @staticmethod
    def take(x: Array, columns: Integers) -> Array:
        return x[:, columns]


NUMPY: Operations = _NumPy()  # type: ignore[assignment]
"""NumPy in the words of `Operations`."""
