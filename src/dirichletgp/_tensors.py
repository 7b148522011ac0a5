"""The block functions on arrays of another library (PyTorch, on whatever device), through the array API standard.

Rows stay where they are. What has the size of the rows is computed there, in float64 and in large blocks: kernel
vectors, their sums, the pull-back of a derivative, latent means and variances. What has the size of the inducing points
comes back to the host, where everything else takes place.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from ._blocks import ArrayRows
from ._bound import BoundDerivatives
from ._kernels import Kernel, KernelGradient
from ._model import Model
from ._objective import DirichletObjective
from ._posterior import Basis
from ._scaling import NormalScores, scaling_function
from ._statistics import ClassStatistics, RowStatistics
from ._workers import row_slices

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
Tensor = Any

_BLOCK_ROWS = 8_192


def is_tensor(X: Any) -> bool:
    """Whether X is a PyTorch tensor; one in host memory is also an array, and stays that without the extra."""
    if type(X).__module__.partition(".")[0] != "torch":
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
                'rows that are tensors need array-api-compat; install it with: pip install "dirichletgp[torch]"'
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
        return kernel.variance * self._profile(kernel.family, self._squared_distances(kernel, rows, points))

    def pull_back(self, kernel: Kernel, rows: Tensor, points: Tensor, values: Tensor, derivative: Tensor) -> Any:
        """`Kernel.pull_back` on the device; the gradient is on the host."""
        xp = self.xp
        x, z = self._scaled(kernel, rows, points)
        log_variance = float(xp.sum(derivative * values))
        slope = self._slope(kernel.family, self._squared_distances(kernel, rows, points))
        a = kernel.variance * derivative * slope
        ax, column_sums, row_sums = a.T @ x, xp.sum(a, axis=0), xp.sum(a, axis=1)
        from_rows, from_points = row_sums @ (x * x), column_sums @ (z * z) - 2.0 * xp.sum(z * ax, axis=0)
        of_points = 2.0 * (column_sums[:, None] * z - ax)
        return KernelGradient(
            -2.0 * self.back(from_rows + from_points), log_variance, self.back(of_points) / kernel.lengthscale
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
            return self.xp.stack([self._scores(rows[:, j] + 0.0, *column) for j, column in enumerate(columns)], axis=1)
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


@dataclass(frozen=True)
class TensorRows:
    """Labelled rows on a device.

    Attributes
    ----------
    device : Device
    X : tensor of shape (n, D)
        Raw, or scaled if `scaler` is None.
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
    n_classes : int
    scaler : transformer or None
    """

    device: Device
    X: Tensor
    codes: Integers
    weights: Array | None
    n_classes: int
    scaler: Any = None

    @cached_property
    def _of_class(self) -> list[Integers]:
        return [np.flatnonzero(self.codes == k) for k in range(self.n_classes)]

    def blocks(self, code: int) -> Any:
        """Places among the rows of a class, scaled rows, and weights as a column or None."""
        positions = self._of_class[code]
        for place in row_slices(len(positions), _BLOCK_ROWS):
            rows = self.device.xp.take(self.X, self.device.indices(positions[place]), axis=0)
            rows = self.device.floats(rows) if self.scaler is None else self.device.scaled_rows(self.scaler, rows)
            weights = None
            if self.weights is not None:
                weights = self.device.there(self.weights[positions[place]])[:, None]
            yield place, rows, weights

    def statistics(self, basis: Basis) -> ClassStatistics:
        """`ClassStatistics.accumulate` on the device."""
        xp, n_points = self.device.xp, len(basis.points)
        total = ClassStatistics.empty(self.n_classes, n_points)
        points, whiten = self.device.there(basis.points), self.device.there(inverse_factor(basis.factor).T)
        for k in range(self.n_classes):
            for _, rows, weights in self.blocks(k):
                vectors = self.device.kernel_values(basis.kernel, rows, points) @ whiten
                weighted = vectors if weights is None else weights * vectors
                total.counts[k] += len(rows) if weights is None else float(xp.sum(weights))
                total.sums[k] += self.device.back(xp.sum(weighted, axis=0))
                gram = self.device.back(weighted.T @ vectors)
                total.grams[k] += 0.5 * (gram + gram.T)
        return total

    def row_statistics(self, kernel: Kernel, host_points: Array) -> RowStatistics:
        """`RowStatistics.accumulate` on the device."""
        xp, n_points = self.device.xp, len(host_points)
        points, sizes = self.device.there(host_points), [len(positions) for positions in self._of_class]
        kept = {k: np.empty((size, n_points)) for k, size in enumerate(sizes) if size < n_points}
        counts, sums, pooled = np.zeros(self.n_classes), np.zeros((self.n_classes, n_points)), np.zeros((n_points,) * 2)
        grams: dict[int, Array] = {k: np.zeros((n_points,) * 2) for k in range(self.n_classes) if k not in kept}
        for k in range(self.n_classes):
            for place, rows, weights in self.blocks(k):
                values = self.device.kernel_values(kernel, rows, points)
                weighted = values if weights is None else weights * values
                counts[k] += len(rows) if weights is None else float(xp.sum(weights))
                sums[k] += self.device.back(xp.sum(weighted, axis=0))
                gram = self.device.back(weighted.T @ values)
                grams.get(k, pooled)[:] += 0.5 * (gram + gram.T)
                if k in kept:
                    kept[k][place] = self.device.back(values if weights is None else xp.sqrt(weights) * values)
        return RowStatistics(counts, sums, grams, kept, pooled)

    def gradient(self, bound: BoundDerivatives, kernel: Kernel, host_points: Array) -> KernelGradient:
        """`gradient_of_rows` on the device."""
        points = self.device.there(host_points)
        total = KernelGradient(np.zeros(points.shape[1]), 0.0, np.zeros(points.shape))
        for k in range(self.n_classes):
            if not len(self._of_class[k]):
                continue
            matrix = self.device.there(bound.matrices.get(k, bound.shared))
            vector = self.device.there(bound.vectors[k])
            for place, rows, weights in self.blocks(k):
                values = self.device.kernel_values(kernel, rows, points)
                derivative = values @ matrix + vector
                derivative = derivative if weights is None else weights * derivative
                if k in bound.row_terms:
                    terms = self.device.there(bound.row_terms[k][place])
                    derivative = derivative + (terms if weights is None else self.device.xp.sqrt(weights) * terms)
                total = total.plus(self.device.pull_back(kernel, rows, points, values, derivative))
        return total


@dataclass(frozen=True)
class TensorObjective(DirichletObjective):
    """The collapsed bound, its passes over the rows on a device."""

    device: Device

    @cached_property
    def _there(self) -> TensorRows:
        rows: ArrayRows = self.rows
        return TensorRows(self.device, self.device.there(rows.X), rows.codes, rows.weights, rows.n_classes)

    def statistics(self, kernel: Kernel, points: Array) -> RowStatistics:
        """The first pass."""
        return self._there.row_statistics(kernel, points)

    def gradient(self, bound: BoundDerivatives, kernel: Kernel, points: Array) -> KernelGradient:
        """The second pass."""
        return self._there.gradient(bound, kernel, points)


def checked_device(X: Tensor, n_features: int | None = None) -> Device:
    """The device of rows that were checked."""
    device = Device(X)
    if X.ndim != 2 or (n_features is not None and X.shape[1] != n_features):
        expected = "n_features" if n_features is None else n_features
        raise ValueError(f"X has the shape {tuple(X.shape)}; pass a tensor of shape (n, {expected}).")
    if not bool(device.xp.all(device.xp.isfinite(X))):
        raise ValueError("X contains NaN or infinity; fill or drop those rows first.")
    return device


def inverse_factor(factor: Array) -> Array:
    """Inverse of a lower triangle: products with it take the place of the solves that the array API does not have."""
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True))


def latent_blocks(device: Device, model: Model, scaler: Any, X: Tensor) -> Any:
    """Latent mean and variance (m, C), on the host, of blocks of raw rows on a device."""
    xp, posterior, basis = device.xp, model.posterior, model.basis
    points, whiten = device.there(basis.points), device.there(inverse_factor(basis.factor).T)
    coefficients = device.there(posterior.coefficients.T)
    solvers = [device.there(inverse_factor(factor).T) for factor in posterior.factors]
    for place in row_slices(X.shape[0], _BLOCK_ROWS):
        vectors = device.kernel_values(basis.kernel, device.scaled_rows(scaler, X[place, :]), points) @ whiten
        explained = xp.stack([xp.sum((vectors @ solver) ** 2, axis=1) for solver in solvers], axis=1)
        unexplained = xp.clip(posterior.variance - xp.sum(vectors * vectors, axis=1), 0.0, None)
        mean = device.back(vectors @ coefficients) + posterior.offsets
        yield mean, device.back(unexplained[:, None] + explained)
