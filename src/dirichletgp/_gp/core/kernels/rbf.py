"""The squared exponential kernel, exp(-r2 / 2)."""

from typing import Any

import numpy as np

from ..arrays import Array
from ..operations import NUMPY, Operations
from .kernel import register
from .stationary import Stationary


@register
class RBF(Stationary):
    """The squared exponential kernel."""

    name = "rbf"
    title = "squared exponential"

    def profile(self, r2: Any, on: Operations) -> Any:
        """exp(-r2 / 2)."""
        return on.exp(-0.5 * r2)

    def slope(self, r2: Any, on: Operations) -> Any:
        """Minus half the profile."""
        return -0.5 * on.exp(-0.5 * r2)

    def by_squared_distance(
        self, x: Any, z: Any, values: Any, derivative: Any, on: Operations
    ) -> tuple[Any, float]:
        """The slope is -1/2 of the value, which is at hand."""
        derivative *= values
        return derivative, -0.5

    def values(self, rows: Any, points: Any, on: Operations = NUMPY) -> Any:
        """Kernel matrix of shape (n, M); NumPy has a form with fewer passes over it."""
        return (
            self._by_one_product(rows, points) if on is NUMPY else super().values(rows, points, on)
        )

    def _by_one_product(self, rows: Array, points: Array) -> Array:
        """exp(log variance - r2 / 2), with the exponent as one product of augmented rows."""
        centre = points.mean(axis=0)
        x = (rows - centre) / self.lengthscale
        z = (points - centre) / self.lengthscale
        log_variance = np.log(self.variance)
        half_x2 = -0.5 * np.einsum("nd,nd->n", x, x)
        half_z2 = -0.5 * np.einsum("md,md->m", z, z)
        left = np.column_stack([x, half_x2, np.ones(len(x))])
        right = np.column_stack([z, np.ones(len(z)), log_variance + half_z2])
        exponent = left @ right.T
        np.minimum(exponent, log_variance, out=exponent)
        return np.exp(exponent, out=exponent)
