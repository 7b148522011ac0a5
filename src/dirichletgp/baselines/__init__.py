"""The rivals of the paper, on the same kernels, blocks and inducing points."""

from .label_regression.regression import GPRegressionClassifier
from .label_regression.ridge import NystromRidgeClassifier
from .variational.classifier import VariationalGPClassifier

__all__ = ["GPRegressionClassifier", "NystromRidgeClassifier", "VariationalGPClassifier"]
