"""How good, and how honest, are predicted probabilities?

Error rate, mean negative log-likelihood (MNLL) and expected calibration error (ECE). All that is
said about calibration goes through one object, the `ReliabilityCurve`: rows are binned by
confidence once, and the ECE, the class-wise ECE and the reliability diagram of
`dirichletgp.plotting` read the same bins.

Probabilities are an array (n, C) whose columns follow `labels` or, for two classes, an array (n,)
of probabilities of the second label. Sample weights have repeat semantics: a row of weight 2
counts as two rows, a row of weight 0 as none.
"""

from .curve import ReliabilityCurve, reliability_curve
from .scores import (
    classwise_calibration_error,
    error_rate,
    expected_calibration_error,
    mean_negative_log_likelihood,
)

__all__ = [
    "ReliabilityCurve",
    "classwise_calibration_error",
    "error_rate",
    "expected_calibration_error",
    "mean_negative_log_likelihood",
    "reliability_curve",
]
