"""How far could the headline numbers be off? Resampled rows, and labels drawn from the model."""

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from ..metrics.curve import bin_of_rows
from ..metrics.scores import log_likelihood_of_rows
from .numbers import Metric

N_BINS = 10
_EDGES = np.linspace(0.0, 1.0, N_BINS + 1)
# Random numbers that one question may cost.
_DRAWS = 20_000_000

_MEANINGS = {
    "accuracy": ("Accuracy", "share of rows whose likeliest class is the true one"),
    "ece": ("Calibration error", "mean gap between confidence and accuracy (ECE)"),
    "mnll": ("Log loss", "mean negative log-likelihood, in nats; lower is better"),
    "brier": ("Brier score", "mean squared distance to the truth; lower is better"),
}


def headline_metrics(
    prob: Array, codes: Integers, n_bootstrap: int, rng: np.random.Generator
) -> tuple[list[Metric], dict[str, float]]:
    """Accuracy, MNLL, ECE and Brier score with bootstrap intervals, and the same as a plain dict.

    Parameters
    ----------
    prob : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Columns of the true classes.
    n_bootstrap : int
    rng : Generator
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
    metrics = []
    for key, (value, low, high) in found.items():
        name, meaning = _MEANINGS[key]
        metrics.append(Metric(key, name, value, low, high, meaning))
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


def _per_row_scores(prob: Array, codes: Integers) -> Array:
    """Correctness, negative log-likelihood and Brier score of each row, of shape (n, 3)."""
    own = prob[np.arange(len(codes)), codes]
    loss = -log_likelihood_of_rows(prob, codes)
    brier = np.square(prob).sum(axis=1) - 2.0 * own + 1.0
    return np.column_stack([prob.argmax(axis=1) == codes, loss, brier])


def _calibration_error(
    bins: Integers, confidence: Array, correct: AnyArray, weight: Array
) -> float:
    gap = np.bincount(bins, weight * (correct - confidence), N_BINS)
    return float(np.abs(gap).sum() / weight.sum())
