"""An array library that follows the array API standard, and the device its arrays live on."""

from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..core.kernels.product_tables import borders
from .scaling import scaled_on, scaling_function

Tensor = Any


class Device:
    """An array library and a device, in the words of `core/operations.py`.

    Parameters
    ----------
    like : tensor
        An array that lives there.
    """

    def __init__(self, like: Tensor):
        try:
            import array_api_compat
        except ImportError as error:
            raise ImportError(
                "rows that are tensors need array-api-compat; "
                "install it with: pip install array-api-compat"
            ) from error
        self.xp: Any = array_api_compat.array_namespace(like)
        self._place = array_api_compat.device(like)
        self._move = array_api_compat.to_device
        self.exp = self.xp.exp
        self.sqrt = self.xp.sqrt
        self.log1p = self.xp.log1p

    def array(self, host: Any) -> Tensor:
        """A host array on the device, as float64."""
        host = np.ascontiguousarray(host, dtype=np.float64)
        return self.xp.asarray(host, device=self._place)

    def host(self, tensor: Tensor) -> AnyArray:
        """A tensor as a host array."""
        return np.asarray(self._move(tensor, "cpu"))

    def indices(self, positions: Integers) -> Tensor:
        """Positions as an index on the device."""
        return self.xp.asarray(np.ascontiguousarray(positions), device=self._place)

    def floats(self, tensor: Tensor) -> Tensor:
        """A tensor as float64."""
        return self.xp.astype(tensor, self.xp.float64)

    def ones(self, n: int) -> Tensor:
        """A vector of ones."""
        return self.xp.ones(n, dtype=self.xp.float64, device=self._place)

    def columns(self, parts: tuple[Tensor, ...]) -> Tensor:
        """Matrices and vectors side by side."""
        matrices = [part if part.ndim == 2 else part[:, None] for part in parts]
        return self.xp.concat(matrices, axis=1)

    def maximum(self, x: Tensor, floor: float) -> Tensor:
        """Element by element."""
        return self.xp.clip(x, floor, None)

    def minimum(self, x: Tensor, ceiling: float) -> Tensor:
        """Element by element."""
        return self.xp.clip(x, None, ceiling)

    def where(self, condition: Tensor, x: Tensor, otherwise: float) -> Tensor:
        """Element by element."""
        return self.xp.where(condition, x, self.xp.full_like(x, otherwise))

    def choose(self, condition: Tensor, x: Tensor, otherwise: Tensor) -> Tensor:
        """Element by element, of two arrays of one shape."""
        return self.xp.where(condition, x, otherwise)

    def is_nan(self, x: Tensor) -> Tensor:
        """Element by element."""
        return self.xp.isnan(x)

    def filled(self, x: Tensor, value: float) -> Tensor:
        """`x` with a number in the place of NaN."""
        return self.xp.where(self.xp.isnan(x), self.xp.full_like(x, value), x)

    def take(self, x: Tensor, columns: Integers) -> Tensor:
        """Some columns of a matrix."""
        return self.xp.take(x, self.indices(columns), axis=1)

    def row(self, points: Tensor, column: int) -> Tensor:
        """A column of points (M, D) as a row (1, M)."""
        return points[:, column][None, :]

    def nearest(self, x: Tensor, levels: list[Array], least: float) -> Tensor:
        """The nearest of increasing levels to each number of a column (n, D)."""
        columns = [x[:, j] + 0.0 for j in range(len(levels))]
        for j, own in enumerate(levels):
            if len(own) == 0:
                continue
            place = self.xp.searchsorted(self.array(borders(own)), columns[j])
            found = self.xp.take(self.array(own), place)
            columns[j] = self.xp.where(columns[j] > least, found, columns[j])
        return self.xp.stack(columns, axis=1)

    def sum(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        """Sum over an axis."""
        return self.xp.sum(x, axis=axis, keepdims=keepdims)

    def dot(self, x: Tensor, y: Tensor) -> float:
        """Sum of the products of all elements."""
        return float(self.xp.sum(x * y))

    def interpolate(self, x: Tensor, knots: list[Array], values: list[Array]) -> Tensor:
        """Piecewise linear functions of the columns of x (n, D), constant beyond their knots."""
        # A sum is a column of its own in memory, which a search in it wants.
        columns = [x[:, j] + 0.0 for j in range(len(knots))]
        parts = zip(columns, knots, values, strict=True)
        return self.xp.stack([self._interpolated(*part) for part in parts], axis=1)

    def _interpolated(self, x: Tensor, knots: Array, values: Array) -> Tensor:
        if len(knots) == 1:
            return self.xp.full_like(x, float(values[0]))
        at = self.array(knots)
        heights = self.array(values)
        right = self.xp.clip(self.xp.searchsorted(at, x), 1, len(knots) - 1)
        left_knot = self.xp.take(at, right - 1)
        left_height = self.xp.take(heights, right - 1)
        share = (x - left_knot) / (self.xp.take(at, right) - left_knot)
        rise = self.xp.take(heights, right) - left_height
        return left_height + self.xp.clip(share, 0.0, 1.0) * rise

    def scaled_rows(self, scaler: Any, rows: Tensor, of_training_rows: bool = False) -> Tensor:
        """Raw rows scaled by one of the library's scalers on the device, by others on the host."""
        rows = self.floats(rows)
        own = of_training_rows and hasattr(scaler, "transform_training")
        scaled = None if own else scaled_on(scaler, rows, self)
        if scaled is not None:
            return scaled
        return self.array(scaling_function(scaler, of_training_rows)(self.host(rows)))


def checked_device(X: Tensor, n_features: int | None = None) -> Device:
    """The device of rows that were checked."""
    device = Device(X)
    if X.ndim != 2 or (n_features is not None and X.shape[1] != n_features):
        expected = "n_features" if n_features is None else n_features
        raise ValueError(
            f"X has the shape {tuple(X.shape)}; pass a tensor of shape (n, {expected})."
        )
    if bool(device.xp.any(device.xp.isinf(X))):
        raise ValueError(
            "X holds infinity; replace it by a number, or by NaN where a value is missing."
        )
    return device
