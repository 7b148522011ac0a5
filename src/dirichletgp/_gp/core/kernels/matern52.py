"""The Matern kernel of smoothness 5/2: functions with two derivatives."""

from typing import Any

from ..operations import Operations
from .kernel import register
from .stationary import Stationary


@register
class Matern52(Stationary):
    """The Matern kernel of smoothness 5/2."""

    name = "matern52"
    title = "Matérn 5/2"

    def profile(self, r2: Any, on: Operations) -> Any:
        """(1 + s + s^2 / 3) exp(-s) with s = sqrt(5) r."""
        s = on.sqrt(5.0 * r2)
        return (1.0 + s + s * s / 3.0) * on.exp(-s)

    def slope(self, r2: Any, on: Operations) -> Any:
        """-5/6 (1 + s) exp(-s)."""
        s = on.sqrt(5.0 * r2)
        return (-5.0 / 6.0) * (1.0 + s) * on.exp(-s)
