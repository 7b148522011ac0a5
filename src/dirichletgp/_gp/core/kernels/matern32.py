"""The Matern kernel of smoothness 3/2: functions with one derivative."""

from typing import Any

from ..operations import Operations
from .kernel import register
from .stationary import Stationary


@register
class Matern32(Stationary):
    """The Matern kernel of smoothness 3/2."""

    name = "matern32"
    title = "Matérn 3/2"

    def profile(self, r2: Any, on: Operations) -> Any:
        """(1 + s) exp(-s) with s = sqrt(3) r."""
        s = on.sqrt(3.0 * r2)
        return (1.0 + s) * on.exp(-s)

    def slope(self, r2: Any, on: Operations) -> Any:
        """-3/2 exp(-s)."""
        return -1.5 * on.exp(-on.sqrt(3.0 * r2))
