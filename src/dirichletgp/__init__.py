"""Calibrated classification with Dirichlet-based Gaussian processes.

`DirichletGPClassifier` is the estimator; `dirichletgp.metrics` and `dirichletgp.plotting` measure
and show calibration.
"""

from ._gp.classifier import DirichletGPClassifier
from ._gp.core.regressions import LabelTransform
from ._gp.version import __version__
from .baselines import GPRegressionClassifier, NystromRidgeClassifier, VariationalGPClassifier

__all__ = [
    "DirichletGPClassifier",
    "GPRegressionClassifier",
    "LabelTransform",
    "NystromRidgeClassifier",
    "VariationalGPClassifier",
    "__version__",
]
