"""The Matern kernel of smoothness 1/2, exp(-r): continuous functions with kinks."""

from typing import Any

import numpy as np

from ..operations import NUMPY, Operations
from .kernel import register
from .stationary import Stationary


@register
class Matern12(Stationary):
    """The Matern kernel of smoothness 1/2."""

    name = "matern12"
    title = "Matérn 1/2"

    def profile(self, r2: Any, on: Operations) -> Any:
        """exp(-r)."""
        return on.exp(-on.sqrt(r2))

    def slope(self, r2: Any, on: Operations) -> Any:
        """-exp(-r) / 2r, which only ever multiplies squared differences that are zero at r = 0."""
        r = on.sqrt(r2)
        divisor = on.where(r > 0.0, r, 1.0)
        return on.where(r > 0.0, -0.5 * on.exp(-r) / divisor, 0.0)

    def squared_distances(self, x: Any, z: Any, on: Operations) -> Any:
        """Close pairs by differences: a root magnifies rounding near zero (1e-16 becomes 1e-8)."""
        r2 = super().squared_distances(x, z, on)
        if on is NUMPY:
            i, j = np.nonzero(r2 < 1e-6 * (1.0 + np.square(x).sum(axis=1, keepdims=True)))
            r2[i, j] = np.square(x[i] - z[j]).sum(axis=1)
        return r2
