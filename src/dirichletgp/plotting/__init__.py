"""Pictures of a classifier, in the manner of scikit-learn's displays.

Each display is made from a fitted estimator (`from_estimator`) or from numbers computed before, and
draws with matplotlib, which is imported when something is drawn and not before. For the confusion
matrix use scikit-learn's own `sklearn.metrics.ConfusionMatrixDisplay`.

===============================  ==============================================================
`ReliabilityDisplay`             does a confidence of 0.8 come true eight times in ten?
`ClasswiseCalibrationDisplay`    the same question, asked of each class
`RejectionDisplay`               accuracy of what is left when the least certain rows are refused
`UncertaintyDisplay`             noisy labels, or too little data?
`FeatureRelevanceDisplay`        which features tell rows apart
`EffectDisplay`                  what a feature does to the log-odds, and how well that is known
`TrainingHistoryDisplay`         how the bound rose, stage by stage
===============================  ==============================================================
"""

from .classwise import ClasswiseCalibrationDisplay
from .effects import EffectDisplay
from .history import TrainingHistoryDisplay
from .rejection import RejectionCurve, RejectionDisplay, rejection_curve
from .relevance import FeatureRelevanceDisplay, feature_relevance
from .reliability import ReliabilityDisplay
from .uncertainty import UncertaintyDisplay

__all__ = [
    "ClasswiseCalibrationDisplay",
    "EffectDisplay",
    "FeatureRelevanceDisplay",
    "RejectionCurve",
    "RejectionDisplay",
    "ReliabilityDisplay",
    "TrainingHistoryDisplay",
    "UncertaintyDisplay",
    "feature_relevance",
    "rejection_curve",
]
