"""The fitted kernel of a classifier."""

from typing import Any

from .._gp.core.arrays import Array
from .._gp.core.kernels import Kernel


def has_fitted_kernel(classifier: Any) -> bool:
    """Whether `fitted_kernel` has something to return, with a lengthscale for features to share."""
    return hasattr(classifier, "lengthscale_") and hasattr(classifier, "fitted_kernel")


def fitted_kernel(classifier: Any) -> tuple[Kernel, Array]:
    """The kernel, and the inducing points (M, D) as the kernel sees them: scaled."""
    kernel, points = classifier.fitted_kernel()
    return kernel, points


def feature_names_of(classifier: Any) -> list[str] | None:
    """Names of the features as the kernel sees them, if they have some."""
    if not hasattr(classifier, "feature_names_in_"):
        return None
    if hasattr(classifier, "fitted_names"):
        return list(classifier.fitted_names())
    return [str(name) for name in classifier.feature_names_in_]
