"""An array library that follows the array API standard, and the device its arrays live on.

Kernels and scalers as they are in `_kernels` and `_scaling`, written once more in the words of the
standard.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from ..core.kernels import Kernel, KernelGradient
from .scaling import NormalScores, scaling_function

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
Tensor = Any


def is_tensor(X: Any) -> bool:
    """Whether X is a PyTorch tensor; one in host memory is also an array, and stays that without the extra."""
    if type(X).__module__.partition(".")[0] != "torch" or not hasattr(X, "device"):
        return False
    return find_spec("array_api_compat") is not None or X.device.type != "cpu"


class Device:
    """An array library, and the device its arrays live on.

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
                "rows that are tensors need array-api-compat; install it with: pip install array-api-compat"
            ) from error
        self.xp: Any = array_api_compat.array_namespace(like)
        self._place, self._move = array_api_compat.device(like), array_api_compat.to_device

    def there(self, array: Any) -> Tensor:
        """A host array on the device, as float64."""
        return self.xp.asarray(np.ascontiguousarray(array, dtype=np.float64), device=self._place)

    def indices(self, positions: Integers) -> Tensor:
        """Positions as an index on the device."""
        return self.xp.asarray(np.ascontiguousarray(positions), device=self._place)

    def back(self, tensor: Tensor) -> NDArray[Any]:
        """A tensor as a host array."""
        return np.asarray(self._move(tensor, "cpu"))

    def floats(self, tensor: Tensor) -> Tensor:
        """A tensor as float64."""
        return self.xp.astype(tensor, self.xp.float64)

    def kernel_values(self, kernel: Kernel, rows: Tensor, points: Tensor) -> Tensor:
        """`Kernel.values` on the device."""
        return kernel.variance * self._profile(
            kernel.family, self._squared_distances(kernel, rows, points)
        )

    def pull_back(
        self, kernel: Kernel, rows: Tensor, points: Tensor, values: Tensor, derivative: Tensor
    ) -> Any:
        """`Kernel.pull_back` on the device; the gradient is on the host."""
        xp = self.xp
        x, z = self._scaled(kernel, rows, points)
        log_variance = float(xp.sum(derivative * values))
        slope = self._slope(kernel.family, self._squared_distances(kernel, rows, points))
        a = kernel.variance * derivative * slope
        ax, column_sums, row_sums = a.T @ x, xp.sum(a, axis=0), xp.sum(a, axis=1)
        from_rows, from_points = (
            row_sums @ (x * x),
            column_sums @ (z * z) - 2.0 * xp.sum(z * ax, axis=0),
        )
        of_points = 2.0 * (column_sums[:, None] * z - ax)
        return KernelGradient(
            -2.0 * self.back(from_rows + from_points),
            log_variance,
            self.back(of_points) / kernel.lengthscale,
        )

    def _scaled(self, kernel: Kernel, rows: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        centre, lengthscale = self.xp.mean(points, axis=0), self.there(kernel.lengthscale)
        return (rows - centre) / lengthscale, (points - centre) / lengthscale

    def _squared_distances(self, kernel: Kernel, rows: Tensor, points: Tensor) -> Tensor:
        xp = self.xp
        x, z = self._scaled(kernel, rows, points)
        r2 = xp.sum(x * x, axis=1)[:, None] + xp.sum(z * z, axis=1)[None, :] - 2.0 * (x @ z.T)
        return xp.where(r2 > 0.0, r2, xp.zeros_like(r2))

    def _profile(self, family: str, r2: Tensor) -> Tensor:
        xp = self.xp
        if family == "rbf":
            return xp.exp(-0.5 * r2)
        if family == "matern12":
            return xp.exp(-xp.sqrt(r2))
        r = xp.sqrt((3.0 if family == "matern32" else 5.0) * r2)
        polynomial = 1.0 + r if family == "matern32" else 1.0 + r + r * r / 3.0
        return polynomial * xp.exp(-r)

    def _slope(self, family: str, r2: Tensor) -> Tensor:
        """Derivative of the profile with respect to r2; see `Kernel` for r2 = 0."""
        xp = self.xp
        if family == "rbf":
            return -0.5 * xp.exp(-0.5 * r2)
        if family == "matern12":
            r = xp.sqrt(xp.where(r2 > 0.0, r2, xp.ones_like(r2)))
            return xp.where(r2 > 0.0, -0.5 * xp.exp(-r) / r, xp.zeros_like(r2))
        if family == "matern32":
            return -1.5 * xp.exp(-xp.sqrt(3.0 * r2))
        r = xp.sqrt(5.0 * r2)
        return (-5.0 / 6.0) * (1.0 + r) * xp.exp(-r)

    def scaled_rows(self, scaler: Any, rows: Tensor) -> Tensor:
        """Raw rows scaled by one of the library's scalers on the device, by others on the host."""
        rows = self.floats(rows)
        if isinstance(scaler, NormalScores):
            columns = zip(scaler.knots_, scaler.scores_, scaler.widths_, strict=True)
            # A sum is a column of its own in memory, which a search in it wants.
            return self.xp.stack(
                [self._scores(rows[:, j] + 0.0, *column) for j, column in enumerate(columns)],
                axis=1,
            )
        if type(scaler) is StandardScaler:
            return (rows - self.there(scaler.mean_)) / self.there(scaler.scale_)
        if type(scaler) is MinMaxScaler:
            return rows * self.there(scaler.scale_) + self.there(scaler.min_)
        if type(scaler) is FunctionTransformer and scaler.func is None:
            return rows
        return self.there(scaling_function(scaler)(self.back(rows)))

    def _scores(self, column: Tensor, knots: Array, scores: Array, width: float) -> Tensor:
        """`NormalScores.scores` of one column."""
        xp, low, high = self.xp, float(knots[0]), float(knots[-1])
        if len(knots) == 1:
            inside = xp.zeros_like(column) + float(scores[0])
        else:
            at, values = self.there(knots), self.there(scores)
            right = xp.clip(xp.searchsorted(at, column), 1, len(knots) - 1)
            left, right = xp.take(at, right - 1), right
            step = xp.take(at, right) - left
            part = xp.clip((column - left) / step, 0.0, 1.0)
            start = xp.take(values, right - 1)
            inside = start + part * (xp.take(values, right) - start)
        if width <= 0:
            return inside
        beyond = xp.clip(column - high, 0.0, None) - xp.clip(low - column, 0.0, None)
        return inside + xp.sign(beyond) * xp.log1p(xp.abs(beyond) / float(width))


def checked_device(X: Tensor, n_features: int | None = None) -> Device:
    """The device of rows that were checked."""
    device = Device(X)
    if X.ndim != 2 or (n_features is not None and X.shape[1] != n_features):
        expected = "n_features" if n_features is None else n_features
        raise ValueError(
            f"X has the shape {tuple(X.shape)}; pass a tensor of shape (n, {expected})."
        )
    if not bool(device.xp.all(device.xp.isfinite(X))):
        raise ValueError("X contains NaN or infinity; fill or drop those rows first.")
    return device
