"""The rivals of the paper, on the same kernels, blocks and inducing points."""

from ._regression import GPRegressionClassifier

__all__ = ["GPRegressionClassifier"]
