"""One method on one split: what tables, speed-up and reliability diagrams are made of."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from .._gp.classifier import DirichletGPClassifier
from ..metrics import (
    ReliabilityCurve,
    error_rate,
    expected_calibration_error,
    mean_negative_log_likelihood,
    reliability_curve,
)
from .dataset import Dataset
from .methods import estimator, parameters
from .store import Result, Settings
from .task import Task

KIND = "evaluation"
LEVEL = 0.95
# Raised when what is measured changes, so that older results are not taken for newer ones.
_FORMAT = 2
_GUESSES = {"gpc": 40.0, "ours": 20.0, "nkrr": 1.5}


def evaluation(data: Dataset, method: str, seed: int, **changes: Any) -> Task:
    """The task of fitting and scoring a method on a split."""
    model = estimator(method, data, seed, **changes)
    chosen = parameters(model)
    settings: Settings = {
        **data.settings,
        "method": method,
        "split": seed,
        "estimator": chosen,
        "format": _FORMAT,
    }
    rows = (data.n_train / 15_000) ** 0.8
    points = (chosen["n_inducing"] or 1000) / (1000 if method == "ours" else 200)
    seconds = _GUESSES.get(method, 2.0) * rows * points
    # A task lives as long as the run: it is a copy that is fitted, and forgotten.
    return Task(KIND, settings, lambda: measure(clone(model), data, seed), seconds)


def measure(model: Any, data: Dataset, seed: int) -> Result:
    """Fit, predict and score; training time is that of `fit` alone."""
    split = data.split(seed)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(split.X, split.y)
    fitted = time.perf_counter()
    probabilities = model.predict_proba(split.X_test)
    predicted = time.perf_counter()
    y = split.y_test
    labels = model.classes_
    result: Result = {
        "error": error_rate(y, probabilities, labels=labels),
        "mnll": mean_negative_log_likelihood(y, probabilities, labels=labels),
        "ece": expected_calibration_error(y, probabilities, labels=labels),
        "ece_midpoint": expected_calibration_error(
            y, probabilities, labels=labels, confidence="midpoint"
        ),
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "n_test": len(y),
        "warnings": sorted({str(warning.message) for warning in said}),
    }
    which = {"labels": labels, "pos_label": labels[1] if data.binary else None}
    curves = {"mean": reliability_curve(y, probabilities, **which)}
    if data.binary and hasattr(model, "predict_interval"):
        # The paper's intervals are those of the latent functions.
        kind = {"kind": "latent"} if isinstance(model, DirichletGPClassifier) else {}
        lower, upper = model.predict_interval(split.X_test, level=LEVEL, **kind)
        curves["lower"] = reliability_curve(y, lower[:, 1], **which)
        curves["upper"] = reliability_curve(y, upper[:, 1], **which)
        result["interval_width"] = float(np.mean(upper[:, 1] - lower[:, 1]))
    result["curves"] = {name: counts_of_bins(curve, len(y)) for name, curve in curves.items()}
    return result


def counts_of_bins(curve: ReliabilityCurve, n: int) -> dict[str, list[float]]:
    """Sums per bin, which add up over splits: rows, confidences, events."""
    rows = curve.mass * n
    return {
        "rows": np.round(rows).tolist(),
        "confidence": (rows * np.nan_to_num(curve.confidence)).tolist(),
        "events": np.round(rows * np.nan_to_num(curve.accuracy)).tolist(),
    }


def pooled_curve(results: list[Result], which: str) -> ReliabilityCurve | None:
    """The reliability curve over all splits; None if they have none of that kind."""
    curves = [result["curves"][which] for result in results if which in result["curves"]]
    if not curves:
        return None
    total = {key: np.sum([curve[key] for curve in curves], axis=0) for key in curves[0]}
    rows = total["rows"]
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin is the NaN it should be
        return ReliabilityCurve(
            bin_edges=np.linspace(0, 1, len(rows) + 1),
            accuracy=total["events"] / rows,
            confidence=total["confidence"] / rows,
            mass=rows / rows.sum(),
        )
