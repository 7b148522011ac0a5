"""The fitted kernel of a classifier: how relevant each feature is to it, and what it is called."""

from typing import Any

import numpy as np

from .._gp.core.arrays import Array
from .._gp.core.kernels import Kernel

_TITLES = {
    "rbf": "squared exponential",
    "matern12": "Matérn 1/2",
    "matern32": "Matérn 3/2",
    "matern52": "Matérn 5/2",
}


def has_fitted_kernel(classifier: Any) -> bool:
    """Whether `fitted_kernel` has something to return."""
    return hasattr(classifier, "lengthscale_") and hasattr(classifier, "_model")


def fitted_kernel(classifier: Any) -> tuple[Kernel, Array]:
    """The kernel, and the inducing points (M, D) as the kernel sees them: scaled."""
    model = classifier._model
    return model.kernel, model.points


def kernel_title(kernel: Kernel) -> str:
    """The kernel's name in words."""
    return _TITLES.get(kernel.family, kernel.family)


def kernel_relevance(kernel: Kernel, points: Array) -> Array:
    """What each feature alone takes away from the correlation of two points, on average: (D,)."""
    relevance = np.empty(points.shape[1])
    for j, lengthscale in enumerate(kernel.lengthscale):
        alone = Kernel(kernel.family, np.array([lengthscale]), 1.0)
        column = np.ascontiguousarray(points[:, j, None])
        relevance[j] = max(0.0, 1.0 - alone.values(column, column).mean())
    return relevance
