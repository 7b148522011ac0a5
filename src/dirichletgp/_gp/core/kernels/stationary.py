"""Stationary kernels: variance * profile(r2), r2 the squared distance in units of lengthscales.

A family is a file with two formulas, `profile` and its `slope`; all else is here.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import AnyArray, Array, Integers
from ..fields import POSITIVE, VARIANCE, Numbers, check_arrays, real_number, truth
from ..operations import NUMPY, Operations
from ..parallel import Mapper
from .kernel import Kernel, KernelAt, KernelBelief, KernelGradient

# What is believed of logarithms before rows are seen, as standard deviations: of lengthscales about
# their mean, of that mean about the typical one, and of the variance. Found on small tables.
_APART, _AWAY, _STRETCH = 0.6, 2.0, 3.0
# What a file must hold of it.
_FIELDS = {"lengthscale": Numbers("D", POSITIVE)}
# In lengthscales from the centre of the points: beyond that one row is as far away as another, and
# squares are still finite.
_FARTHEST = 1e100


@dataclass(frozen=True)
class Stationary(Kernel):
    """A stationary kernel with its parameters.

    Attributes
    ----------
    lengthscale : ndarray of shape (D,)
        One per feature.
    variance : float
    ard : bool
        Whether the lengthscales are free of each other; otherwise they are one number, repeated.
    """

    lengthscale: Array
    variance: float
    ard: bool = True

    exponent: ClassVar[float | None] = None
    """If the profile is exp(exponent * r2): NumPy then takes fewer passes over the matrix."""

    @abstractmethod
    def profile(self, r2: Any, on: Operations) -> Any:
        """Correlation at squared distances r2, one at zero; a new array."""

    @abstractmethod
    def slope(self, r2: Any, on: Operations) -> Any:
        """Derivative of `profile` by r2; zero where it would be infinite, at r2 = 0."""

    @classmethod
    def starting(
        cls,
        rows: Array,
        lengthscale: float | Array | None,
        variance: float,
        ard: bool,
        categories: Integers | None = None,
    ) -> Self:
        """One lengthscale for all features, as the authors of the paper start."""
        n_features = rows.shape[1]
        if lengthscale is None:
            lengthscale = float(rows.std(axis=0).mean() * np.sqrt(n_features)) or 1.0
        return cls(np.full(n_features, lengthscale), variance, ard)

    @classmethod
    def continuing(cls, earlier: Kernel, ard: bool) -> Self | None:
        """The lengthscales of another stationary kernel, their geometric mean without `ard`."""
        if not isinstance(earlier, Stationary):
            return None
        lengthscale = earlier.lengthscale
        if not ard:
            lengthscale = np.full(lengthscale.shape, np.exp(np.log(lengthscale).mean()))
        return cls(lengthscale, earlier.variance, ard)

    def beginning_at(self, start: Kernel) -> Kernel:
        """The start itself: rows leave nothing else behind."""
        return start

    def refined(self, rows: Array) -> Self:
        """The same: a search takes no short cuts."""
        return self

    def at(self, points: Array) -> "StationaryAt":
        """The kernel at given points: there is nothing to prepare."""
        return StationaryAt(self, points)

    def of_points(self, points: Array) -> Self:
        """Points are rows like others."""
        return self

    def snapped(self, points: Array) -> Array:
        """One point is as good as another."""
        return points

    def values(self, rows: Any, points: Any, on: Operations = NUMPY) -> Any:
        """Kernel matrix of shape (n, M)."""
        if self.exponent is not None and on is NUMPY:
            return self.at(points).values(rows)
        x, z = self._scaled(rows, points, on)
        values = self.profile(self.squared_distances(x, z, on), on)
        values *= self.variance
        return values

    def pull_back(
        self, rows: Any, points: Any, values: Any, derivative: Any, on: Operations = NUMPY
    ) -> KernelGradient:
        """Derivatives by log lengthscales, log variance and points, by thin products only."""
        return self.pull_back_scaled(*self._scaled(rows, points, on), values, derivative, on)

    def pull_back_scaled(
        self, x: Any, z: Any, values: Any, derivative: Any, on: Operations = NUMPY
    ) -> KernelGradient:
        """The same for rows and points in units of the lengthscales."""
        log_variance = 0.0 if self.exponent is not None else float(on.dot(derivative, values))
        a, factor = self.by_squared_distance(x, z, values, derivative, on)
        # r2_ij = sum_d (x_id - z_jd)^2 needs only the sums of a and the thin product a' x
        sums = a.T @ on.columns((x, on.ones(len(x))))
        if self.exponent is not None:
            # a is the product of derivatives and values already.
            log_variance = float(on.sum(sums[:, -1], axis=0))
        sums = factor * sums
        ax = sums[:, :-1]
        column_sums = sums[:, -1]
        row_sums = factor * (a @ on.ones(len(z)))
        from_rows = row_sums @ (x * x)
        from_points = column_sums @ (z * z) - 2.0 * on.sum(z * ax, axis=0)
        by_lengthscale = -2.0 * on.host(from_rows + from_points)
        by_point = 2.0 * on.host(column_sums[:, None] * z - ax)
        return KernelGradient(
            by_lengthscale if self.ard else by_lengthscale.sum(keepdims=True),
            log_variance,
            by_point / self.lengthscale,
        )

    def by_squared_distance(
        self, x: Any, z: Any, values: Any, derivative: Any, on: Operations
    ) -> tuple[Any, float]:
        """D scalar / d r2 (n, M), less a factor that is returned beside it."""
        if self.exponent is not None:
            # The slope is proportional to the value, which is at hand.
            derivative *= values
            return derivative, self.exponent
        derivative *= self.slope(self.squared_distances(x, z, on), on)
        return derivative, self.variance

    def squared_distances(self, x: Any, z: Any, on: Operations) -> Any:
        """Squared distances (n, M) of scaled rows, never negative."""
        r2 = x @ (-2.0 * z.T)
        r2 += on.sum(x * x, axis=1, keepdims=True)
        r2 += on.sum(z * z, axis=1)
        return on.maximum(r2, 0.0)

    def _scaled(self, rows: Any, points: Any, on: Operations) -> tuple[Any, Any]:
        """Rows and points in units of the lengthscales, about the centre of the points.

        Distances are computed from squares, which must not be large next to them.
        """
        centre = on.sum(points, axis=0) / len(points)
        if on is NUMPY:
            return self.scaled_about(centre, rows), self.scaled_about(centre, points)
        lengthscale = on.array(self.lengthscale)
        return (rows - centre) / lengthscale, (points - centre) / lengthscale

    def scaled_about(self, centre: Array, rows: Array) -> Array:
        """Rows in units of the lengthscales, about a centre, none too far to be squared."""
        with np.errstate(over="ignore"):
            x = (rows - centre) / self.lengthscale
        return np.clip(x, -_FARTHEST, _FARTHEST, out=x)

    @property
    def parameters(self) -> Array:
        """Logarithms of the free lengthscales."""
        return np.log(self.lengthscale if self.ard else self.lengthscale[:1])

    def with_parameters(self, parameters: Array, variance: float) -> Self:
        """The same family with other lengthscales and variance."""
        lengthscale = np.broadcast_to(np.exp(parameters), self.lengthscale.shape).copy()
        return replace(self, lengthscale=lengthscale, variance=variance)

    def belief(self, typical: "Stationary") -> KernelBelief:
        """Features matter about equally.

        With l0 and s0 those of the typical kernel,

            log l_j - mean log l ~ N(0, 0.6^2)
            mean log l ~ N(log l0, 2^2)        log s2 ~ N(log s0, 3^2)
        """
        logs = self.parameters
        apart = (logs - logs.mean()) / _APART
        away = (logs.mean() - typical.parameters.mean()) / _AWAY
        stretch = np.log(self.variance / typical.variance) / _STRETCH
        value = float(apart @ apart) + away**2 + stretch**2
        by_parameters = apart / _APART + away / (_AWAY * len(logs))
        return KernelBelief(-0.5 * value, -by_parameters, -float(stretch / _STRETCH))

    def pulled_together(self) -> Self:
        """The same kernel with the geometric mean of the lengthscales."""
        mean = np.exp(np.log(self.lengthscale).mean())
        return replace(self, lengthscale=np.full(self.lengthscale.shape, mean))

    def stretched(self, factor: float, variance: float) -> Self:
        """The same kernel with longer lengthscales."""
        return replace(self, lengthscale=factor * self.lengthscale, variance=variance)

    @property
    def shown_lengthscale(self) -> float | Array:
        """A number if it is one for all features, otherwise one per feature."""
        return self.lengthscale if self.ard else float(self.lengthscale[0])

    def parameter_names(self, features: Sequence[str]) -> list[str]:
        """A lengthscale per feature, or one."""
        return [f"lengthscale of {name}" for name in features] if self.ard else ["lengthscale"]

    def feature_weights(self) -> Array:
        """One over the lengthscales."""
        return 1.0 / self.lengthscale

    def to_metric(self, rows: Array) -> Array:
        """Rows in units of the lengthscales."""
        return rows / self.lengthscale

    def from_metric(self, rows: Array) -> Array:
        """Rows in units of the features."""
        return rows * self.lengthscale

    @property
    def has_inverse_metric(self) -> bool:
        """All columns are numbers."""
        return True

    def relevance(self, points: Array) -> Array:
        """One minus the mean correlation of points that differ in one feature alone, (D,)."""
        found = np.empty(points.shape[1])
        for j, lengthscale in enumerate(self.lengthscale):
            alone = replace(self, lengthscale=np.array([lengthscale]), variance=1.0)
            column = np.ascontiguousarray(points[:, j, None])
            found[j] = max(0.0, 1.0 - alone.values(column, column).mean())
        return found

    def fits(self, n_features: int, categories: Integers | None = None) -> bool:
        """Whether there is a lengthscale for each of so many features, all of them numbers."""
        return len(self.lengthscale) == n_features and categories is None

    def described(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Family and variance as JSON, lengthscales as an array."""
        content = {"family": self.name, "variance": self.variance, "ard": self.ard}
        return content, {"lengthscale": self.lengthscale}

    @classmethod
    def restored(
        cls, content: Mapping[str, Any], arrays: Mapping[str, AnyArray], ard: bool
    ) -> Self:
        """The kernel of a file."""
        check_arrays(_FIELDS, arrays)
        variance = real_number(content["variance"], "variance of the kernel", VARIANCE)
        # Files of earlier versions leave it to the estimator.
        ard = truth(content.get("ard", ard), "parameters of the kernel")
        return cls(arrays["lengthscale"], variance, ard)


class StationaryAt(KernelAt):
    """A stationary kernel at given points: sums of gradients are vectors."""

    def __init__(self, kernel: Stationary, points: Array):
        self._kernel = kernel
        self._points = points
        self._centre = points.sum(axis=0) / len(points)
        self._scaled = kernel.scaled_about(self._centre, points)
        exponent = kernel.exponent
        if exponent is not None:
            z = self._scaled
            of_points = np.log(kernel.variance) + exponent * np.einsum("md,md->m", z, z)
            self._right = np.column_stack([-2.0 * exponent * z, np.ones(len(z)), of_points])

    def values(self, rows: Array, out: Array | None = None) -> Array:
        """Kernel matrix (n, M)."""
        kernel = self._kernel
        if kernel.exponent is None:
            found: Array = kernel.values(rows, self._points)
            if out is not None:
                np.copyto(out, found)
            return found
        # exp(log variance + exponent * r2), the exponents as one product of augmented rows
        x = kernel.scaled_about(self._centre, rows)
        of_rows = kernel.exponent * np.einsum("nd,nd->n", x, x)
        augmented = np.column_stack([x, of_rows, np.ones(len(x))])
        values = np.matmul(augmented, self._right.T, out=out)
        log_variance = np.log(kernel.variance)
        if values.max(initial=-np.inf) > log_variance:  # by rounding; to look takes less time
            np.minimum(values, log_variance, out=values)
        return np.exp(values, out=values)

    def factors(self, rows: Array) -> Array:
        """exp(exponent * r2) of each column by itself."""
        exponent = self._kernel.exponent
        assert exponent is not None
        length = self._kernel.lengthscale[:, None]
        factors = rows[:, :, None] / length - self._points.T / length
        np.square(factors, out=factors)
        factors *= exponent
        return np.exp(factors, out=factors)

    def no_derivatives(self) -> Array:
        """Room for parameters, log variance and points in one vector."""
        return np.zeros(len(self._kernel.parameters) + 1 + self._points.size)

    def add_derivatives(self, rows: Array, values: Array, derivative: Array, total: Array) -> None:
        """Add the gradient of a block."""
        x = self._kernel.scaled_about(self._centre, rows)
        found = self._kernel.pull_back_scaled(x, self._scaled, values, derivative)
        n = len(found.parameters)
        total[:n] += found.parameters
        total[n] += found.log_variance
        total[n + 1 :] += found.points.ravel()

    def gradient(self, total: Array, mapper: Mapper = map) -> KernelGradient:
        """The three parts of the vector."""
        n = len(self._kernel.parameters)
        points = total[n + 1 :].reshape(self._points.shape)
        return KernelGradient(total[:n], float(total[n]), points)
