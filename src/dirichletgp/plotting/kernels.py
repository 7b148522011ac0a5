"""The fitted kernel of a classifier."""

from typing import Any

from .._gp.core.arrays import Array
from .._gp.core.kernels import Kernel


def has_fitted_kernel(classifier: Any) -> bool:
    """Whether `fitted_kernel` has something to return."""
    return hasattr(classifier, "lengthscale_") and hasattr(classifier, "_fitted")


def fitted_kernel(classifier: Any) -> tuple[Kernel, Array]:
    """The kernel, and the inducing points (M, D) as the kernel sees them: scaled."""
    model = classifier._fitted.model
    return model.kernel, model.points
