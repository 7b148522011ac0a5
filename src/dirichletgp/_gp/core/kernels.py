"""Stationary kernels: the values of a block of rows, and the pull-back of a derivative through them.

Every kernel is variance * profile(r2) with r2 the squared distance after division by the
lengthscales. A pull-back takes the derivative of a scalar with respect to the kernel matrix and
returns its derivative with respect to the logarithms of lengthscales and variance and to the
inducing points, with thin matrix products only: no array has more than two of the dimensions rows,
points and features.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KERNELS = ("rbf", "matern12", "matern32", "matern52")


class KernelGradient(NamedTuple):
    """Derivatives of a scalar with respect to log lengthscales (D,), log variance, and points (M, D)."""

    log_lengthscale: Array
    log_variance: float
    points: Array

    def plus(self, other: "KernelGradient") -> "KernelGradient":
        """The gradient of a sum."""
        return KernelGradient(
            self.log_lengthscale + other.log_lengthscale,
            self.log_variance + other.log_variance,
            self.points + other.points,
        )


@dataclass(frozen=True)
class Kernel:
    """A stationary kernel with its hyperparameters.

    Attributes
    ----------
    family : {"rbf", "matern12", "matern32", "matern52"}
    lengthscale : ndarray of shape (D,)
        One per feature; an isotropic kernel repeats one value.
    variance : float
        Value on the diagonal.
    """

    family: str
    lengthscale: Array
    variance: float

    def with_parameters(self, lengthscale: Array, variance: float) -> "Kernel":
        """The same family with other hyperparameters."""
        return replace(self, lengthscale=lengthscale, variance=variance)

    def values(self, rows: Array, points: Array) -> Array:
        """Kernel matrix k(rows, points).

        Parameters
        ----------
        rows : ndarray of shape (n, D)
        points : ndarray of shape (M, D)

        Returns
        -------
        ndarray of shape (n, M)
        """
        x, z = self._scaled(rows, points)
        if self.family == "rbf":
            return _rbf_values(x, z, self.variance)
        r2 = _squared_distances(x, z, self.family)
        if self.family == "matern12":
            values = np.exp(-np.sqrt(r2))
        else:
            scaled = np.sqrt((3.0 if self.family == "matern32" else 5.0) * r2)
            polynomial = 1.0 + scaled
            if self.family == "matern52":
                polynomial += scaled * scaled / 3.0
            values = polynomial * np.exp(-scaled)
        values *= self.variance
        return values

    def pull_back(
        self, rows: Array, points: Array, values: Array, derivative: Array
    ) -> KernelGradient:
        """Derivatives with respect to the hyperparameters and the points; `derivative` is overwritten.

        Parameters
        ----------
        rows : ndarray of shape (n, D)
        points : ndarray of shape (M, D)
        values : ndarray of shape (n, M)
            What `values(rows, points)` returned.
        derivative : ndarray of shape (n, M)
            Derivative of the scalar with respect to `values`.
        """
        x, z = self._scaled(rows, points)
        log_variance = float(np.vdot(derivative, values))
        # a = d scalar / d r2 = derivative * variance * profile'(r2), in place of the derivative
        if self.family == "rbf":
            derivative *= values
            a, factor = derivative, -0.5
        else:
            derivative *= self._profile_slope(_squared_distances(x, z, self.family))
            a, factor = derivative, self.variance
        # r2_ij = sum_d (x_id - z_jd)^2 needs only the sums of a and the thin product a' x
        ones = np.ones(len(z))
        sums = factor * (a.T @ np.column_stack([x, np.ones(len(x))]))
        ax, column_sums, row_sums = sums[:, :-1], sums[:, -1], factor * (a @ ones)
        from_rows = row_sums @ (x * x)
        from_points = column_sums @ (z * z) - 2.0 * np.einsum("md,md->d", z, ax)
        return KernelGradient(
            log_lengthscale=-2.0 * (from_rows + from_points),
            log_variance=log_variance,
            points=2.0 * (column_sums[:, None] * z - ax) / self.lengthscale,
        )

    def _scaled(self, rows: Array, points: Array) -> tuple[Array, Array]:
        """Rows and points in units of the lengthscales, about the centre of the points.

        Distances are computed from squares, which must not be large next to them.
        """
        centre = points.mean(axis=0)
        return (rows - centre) / self.lengthscale, (points - centre) / self.lengthscale

    def _profile_slope(self, r2: Array) -> Array:
        """Derivative of profile(r2) with respect to r2, for the Matern family."""
        if self.family == "matern12":
            r = np.sqrt(r2)
            # At r = 0 the slope is infinite, but it only ever multiplies squared differences that
            # are zero there.
            return np.where(r > 0, -0.5 * np.exp(-r) / np.where(r > 0, r, 1.0), 0.0)
        if self.family == "matern32":
            return -1.5 * np.exp(-np.sqrt(3.0 * r2))
        scaled = np.sqrt(5.0 * r2)
        return (-5.0 / 6.0) * (1.0 + scaled) * np.exp(-scaled)


def _rbf_values(x: Array, z: Array, variance: float) -> Array:
    """exp(log variance - r2 / 2) of scaled rows; the exponent is one matrix product of augmented rows."""
    log_variance = np.log(variance)
    x2, z2 = np.einsum("nd,nd->n", x, x), np.einsum("md,md->m", z, z)
    left = np.column_stack([x, -0.5 * x2, np.ones(len(x))])
    right = np.column_stack([z, np.ones(len(z)), log_variance - 0.5 * z2])
    exponent = left @ right.T
    np.minimum(exponent, log_variance, out=exponent)
    return np.exp(exponent, out=exponent)


def _squared_distances(x: Array, z: Array, family: str) -> Array:
    """Squared distances (n, M) of scaled rows, never negative."""
    x2, z2 = np.einsum("nd,nd->n", x, x), np.einsum("md,md->m", z, z)
    r2 = x @ (-2.0 * z.T)
    r2 += x2[:, None]
    r2 += z2
    np.maximum(r2, 0.0, out=r2)
    if family == "matern12":
        # sqrt magnifies rounding near zero (1e-16 becomes 1e-8), so close pairs are computed by
        # differences.
        i, j = np.nonzero(r2 < 1e-6 * (1.0 + x2[:, None]))
        r2[i, j] = np.square(x[i] - z[j]).sum(axis=1)
    return r2
