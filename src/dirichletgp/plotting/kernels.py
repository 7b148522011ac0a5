"""The fitted kernel of a classifier."""

from typing import Any

import numpy as np

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
    """Names of the features, each once, if they have some."""
    if not hasattr(classifier, "feature_names_in_"):
        return None
    if hasattr(classifier, "fitted_names"):
        return list(dict.fromkeys(classifier.fitted_names()))
    return [str(name) for name in classifier.feature_names_in_]


def of_columns(classifier: Any, values: Array) -> Array:
    """Values of the features as the kernel sees them, summed over those of the same name."""
    names = list(classifier.fitted_names()) if hasattr(classifier, "fitted_names") else []
    if len(names) != len(values):
        return values
    place = {name: j for j, name in enumerate(dict.fromkeys(names))}
    return np.asarray(np.bincount([place[name] for name in names], values), dtype=np.float64)
