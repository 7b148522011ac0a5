"""Calibrated classification with Dirichlet-based Gaussian processes.

`DirichletGPClassifier` is the estimator; `dirichletgp.metrics` and `dirichletgp.plotting` measure
and show calibration.
"""

from ._gp.classifier import DirichletGPClassifier
from ._gp.core.regressions import LabelTransform
from ._gp.decisions.costs import Decision
from ._gp.decisions.effects import Effect
from ._gp.decisions.explanation import Explanation
from ._gp.decisions.label_issues import LabelIssues
from ._gp.decisions.thresholds import Threshold
from ._gp.version import __version__
from .baselines import GPRegressionClassifier, NystromRidgeClassifier, VariationalGPClassifier

__all__ = [
    "Decision",
    "DirichletGPClassifier",
    "Effect",
    "Explanation",
    "GPRegressionClassifier",
    "LabelIssues",
    "LabelTransform",
    "NystromRidgeClassifier",
    "Threshold",
    "VariationalGPClassifier",
    "__version__",
]
