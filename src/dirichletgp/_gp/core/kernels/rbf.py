"""The squared exponential kernel, exp(-r2 / 2): smooth functions."""

from typing import Any

from ..operations import Operations
from .kernel import register
from .stationary import Stationary


@register
class RBF(Stationary):
    """The squared exponential kernel."""

    name = "rbf"
    title = "squared exponential"
    exponent = -0.5
    is_product = True

    def profile(self, r2: Any, on: Operations) -> Any:
        """exp(-r2 / 2)."""
        return on.exp(-0.5 * r2)

    def slope(self, r2: Any, on: Operations) -> Any:
        """Minus half the profile."""
        return -0.5 * on.exp(-0.5 * r2)
