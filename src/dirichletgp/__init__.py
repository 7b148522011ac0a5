"""Calibrated classification with Dirichlet-based Gaussian processes.

`DirichletGPClassifier` is the estimator; `dirichletgp.metrics` and `dirichletgp.plotting` measure
and show calibration.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._gp.version import __version__

if TYPE_CHECKING:
    from ._gp.classifier import DirichletGPClassifier
    from ._gp.core.regressions import LabelTransform
    from ._gp.decisions.costs import Decision
    from ._gp.decisions.effects import Effect
    from ._gp.decisions.explanation import Explanation
    from ._gp.decisions.label_issues import LabelIssues
    from ._gp.decisions.thresholds import Threshold
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

# Names are imported when they are first used. The command line passes through this file before it
# can answer anything, be it `--version` or Ctrl-C, and must not have to wait for SciPy here.
_HOMES = {
    "Decision": "._gp.decisions.costs",
    "DirichletGPClassifier": "._gp.classifier",
    "Effect": "._gp.decisions.effects",
    "Explanation": "._gp.decisions.explanation",
    "GPRegressionClassifier": ".baselines",
    "LabelIssues": "._gp.decisions.label_issues",
    "LabelTransform": "._gp.core.regressions",
    "NystromRidgeClassifier": ".baselines",
    "Threshold": "._gp.decisions.thresholds",
    "VariationalGPClassifier": ".baselines",
}
_ROOMS = (
    "baselines",
    "cli",
    "datasets",
    "export",
    "metrics",
    "paper",
    "persistence",
    "plotting",
    "report",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
    return value


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *_ROOMS})
