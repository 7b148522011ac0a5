"""The headline numbers, and how far they could be off: shares of so many rows, resampled rows."""

from collections.abc import Sequence

import numpy as np

from .._gp.core.arrays import Array, Integers
from ..metrics.scores import log_likelihood_of_rows
from .calibration import DRAWS, calibration_error
from .numbers import Metric, Verdict
from .proportions import wilson_interval
from .ranking import MOST_CLASSES, area_under_curve, label_scores
from .verdict import calibration_verdict

_MEANINGS = {
    "accuracy": ("Accuracy", "share of rows whose likeliest class is the true one"),
    "ece": ("Calibration error", "mean gap of confidence and accuracy (ECE), in percentage points"),
    "mnll": ("Log loss", "mean negative log-likelihood, in nats; lower is better"),
    "brier": ("Brier score", "mean squared error of the probabilities; lower is better"),
    "auc": ("AUC", "how often a row of the class is given more than another row"),
    "precision": ("Precision", "share of rows called so that are"),
    "recall": ("Recall", "share of rows that are so that are called so"),
    "f1": ("F1", "harmonic mean of precision and recall"),
}
_OF_LABELS = ("auc", "precision", "recall", "f1")


def headline_metrics(
    prob: Array,
    codes: Integers,
    n_bootstrap: int,
    rng: np.random.Generator,
    labels: Sequence[str],
) -> tuple[list[Metric], Verdict]:
    """Metrics with 95 % intervals and what guessing reaches, and what they say of calibration.

    Accuracy, calibration error, log loss and Brier score (scikit-learn's: of two classes it is that
    of one of them); and, if rows are of two classes at least and these are not very many, the area
    under the ROC curve, precision, recall and F1, of the second of two classes or on average.

    Accuracy, precision, recall and F1 have the interval of a share of so many rows. Log loss and
    Brier score have that of rows drawn again, or none where these would all be alike.

    Parameters
    ----------
    prob : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Columns of the true classes.
    n_bootstrap : int
    rng : Generator
    labels : sequence of str
        The classes.
    """
    n = len(codes)
    per_row = _per_row_scores(prob, codes)
    means = []
    for _ in range(max(2, min(n_bootstrap, DRAWS // n))):
        weight = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        means.append(weight @ per_row / n)
    accuracy, mnll, brier = per_row.mean(axis=0).tolist()
    low, high = np.quantile(np.array(means), [0.025, 0.975], axis=0)
    error = calibration_error(prob, codes, rng)
    found: dict[str, tuple[float, float | None, float | None]] = {
        "accuracy": (accuracy, *wilson_interval(accuracy, n)),
        "ece": (error.value, error.low, error.high),
        "mnll": (mnll, *_unless_all_alike(per_row[:, 1], low[1], high[1])),
        "brier": (brier, *_unless_all_alike(per_row[:, 2], low[2], high[2])),
    }
    if len(np.unique(codes)) > 1 and prob.shape[1] <= MOST_CLASSES:
        found["auc"] = area_under_curve(prob, codes)
        found |= label_scores(prob, codes)
    guessed = _by_guessing(codes, prob.shape[1])
    which = f"class {labels[1]}" if len(labels) == 2 else "mean over the classes"
    metrics = []
    for key, (value, low, high) in found.items():
        name, meaning = _MEANINGS[key]
        if key in _OF_LABELS:
            meaning = f"{meaning} ({which})"
        metrics.append(Metric(key, name, value, low, high, meaning, guessed.get(key)))
    return metrics, calibration_verdict(error)


def _unless_all_alike(scores: Array, low: float, high: float) -> tuple[float | None, float | None]:
    """Ends of an interval by resampling: rows whose scores (n,) are equal tell of no other ones."""
    alike = np.ptp(scores) <= 1e-12
    return (None, None) if alike else (float(low), float(high))


def _by_guessing(codes: Integers, n_classes: int) -> dict[str, float]:
    """What the most frequent class, or the class frequencies of these rows, would reach."""
    share = np.bincount(codes, minlength=n_classes) / len(codes)
    constant = np.broadcast_to(share, (len(codes), n_classes))
    accuracy, mnll, brier = _per_row_scores(constant, codes).mean(axis=0).tolist()
    present = share[share > 0]
    drawn = float(share[1] if n_classes == 2 else present.mean())
    guessed = {"accuracy": accuracy, "mnll": mnll, "brier": brier, "auc": 0.5}
    return guessed | dict.fromkeys(("precision", "recall", "f1"), drawn)


def _per_row_scores(prob: Array, codes: Integers) -> Array:
    """Correctness, negative log-likelihood and Brier score of each row, of shape (n, 3)."""
    own = prob[np.arange(len(codes)), codes]
    loss = -log_likelihood_of_rows(prob, codes)
    brier = np.square(prob).sum(axis=1) - 2.0 * own + 1.0
    if prob.shape[1] == 2:
        brier /= 2.0
    return np.column_stack([prob.argmax(axis=1) == codes, loss, brier])
