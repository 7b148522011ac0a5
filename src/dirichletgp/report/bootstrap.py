"""How far could the headline numbers be off? Resampled rows, and labels drawn from the model."""

from collections.abc import Sequence

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from ..metrics.curve import bin_of_rows
from ..metrics.scores import log_likelihood_of_rows
from .numbers import Metric
from .ranking import MOST_CLASSES, area_under_curve, label_scores

N_BINS = 10
_EDGES = np.linspace(0.0, 1.0, N_BINS + 1)
# Random numbers that one question may cost.
_DRAWS = 20_000_000

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
) -> tuple[list[Metric], dict[str, float]]:
    """Metrics with 95 % intervals and what guessing reaches, and the same as a plain dict.

    Accuracy, calibration error, log loss and Brier score (scikit-learn's: of two classes it is that
    of one of them); and, if rows are of two classes at least and these are not very many, the area
    under the ROC curve, precision, recall and F1, of the second of two classes or on average.

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
    confidence = prob.max(axis=1)
    correct = per_row[:, 0]
    bins = bin_of_rows(confidence, _EDGES)
    means = []
    errors = []
    for _ in range(max(2, min(n_bootstrap, _DRAWS // n))):
        weight = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        means.append(weight @ per_row / n)
        errors.append(_calibration_error(bins, confidence, correct, weight))
    accuracy, mnll, brier = np.column_stack(
        [per_row.mean(axis=0), *np.quantile(np.array(means), [0.025, 0.975], axis=0)]
    )
    error = _calibration_error(bins, confidence, correct, np.ones(n))
    # Resampling adds noise to every bin, and an ECE is a sum of absolute noises: without the shift
    # its interval would lie above the value itself.
    shift = error - np.mean(errors)
    ece = (error, *np.maximum(np.quantile(errors, [0.025, 0.975]) + shift, 0.0))
    found = {"accuracy": accuracy, "ece": ece, "mnll": mnll, "brier": brier}
    if len(np.unique(codes)) > 1 and prob.shape[1] <= MOST_CLASSES:
        # Streams of their own: the other numbers are the same with and without them.
        own = np.random.default_rng(n)
        found["auc"] = area_under_curve(prob, codes)
        found |= label_scores(prob, codes, n_bootstrap, own)
    guessed = _by_guessing(codes, prob.shape[1])
    which = f"class {labels[1]}" if len(labels) == 2 else "mean over the classes"
    metrics = []
    for key, (value, low, high) in found.items():
        name, meaning = _MEANINGS[key]
        if key in _OF_LABELS:
            meaning = f"{meaning} ({which})"
        metrics.append(Metric(key, name, value, low, high, meaning, guessed.get(key)))
    return metrics, {metric.key: metric.value for metric in metrics}


def expected_error_if_calibrated(prob: Array, rng: np.random.Generator) -> Array:
    """Calibration errors (draws,) by chance alone, if these probabilities were the true ones."""
    confidence = prob.max(axis=1)
    bins = bin_of_rows(confidence, _EDGES)
    n = len(confidence)
    draws = int(np.clip(_DRAWS // n, 50, 1_000))
    errors = np.empty(draws)
    for draw in range(draws):
        correct = rng.random(n) < confidence
        errors[draw] = _calibration_error(bins, confidence, correct, np.ones(n))
    return errors


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


def _calibration_error(
    bins: Integers, confidence: Array, correct: AnyArray, weight: Array
) -> float:
    gap = np.bincount(bins, weight * (correct - confidence), N_BINS)
    return float(np.abs(gap).sum() / weight.sum())
