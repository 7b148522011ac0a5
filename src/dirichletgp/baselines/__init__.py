"""The rivals of the paper, on the same kernels, blocks and inducing points."""

from ._regression import GPRegressionClassifier
from ._ridge import NystromRidgeClassifier
from ._variational import VariationalGPClassifier

__all__ = ["GPRegressionClassifier", "NystromRidgeClassifier", "VariationalGPClassifier"]
