"""How far could the headline numbers have come out otherwise? Resampled rows, and labels drawn from the model."""

import numpy as np
from numpy.typing import NDArray

from ..metrics.scores import log_likelihood_of_rows
from .numbers import Metric

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

N_BINS = 10
# Random numbers that one question may cost.
_DRAWS = 20_000_000


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
    confidence, correct = prob.max(axis=1), per_row[:, 0]
    bins = _bin_of(confidence)
    means, errors = [], []
    for _ in range(max(2, min(n_bootstrap, _DRAWS // n))):
        weight = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        means.append(weight @ per_row / n)
        errors.append(_calibration_error(bins, confidence, correct, weight))
    values = per_row.mean(axis=0)
    low, high = np.quantile(np.array(means), [0.025, 0.975], axis=0)
    error = _calibration_error(bins, confidence, correct, np.ones(n))
    # Resampling adds noise to every bin, and an ECE is a sum of absolute noises: without the shift
    # its interval would lie above the value itself.
    shift = error - np.mean(errors)
    error_low, error_high = np.maximum(np.quantile(errors, [0.025, 0.975]) + shift, 0.0)
    metrics = [
        Metric(
            "accuracy",
            "Accuracy",
            values[0],
            low[0],
            high[0],
            "share of rows whose likeliest class is the true one",
        ),
        Metric(
            "ece",
            "Calibration error",
            error,
            error_low,
            error_high,
            "mean gap between confidence and accuracy (ECE)",
        ),
        Metric(
            "mnll",
            "Log loss",
            values[1],
            low[1],
            high[1],
            "mean negative log-likelihood, in nats; lower is better",
        ),
        Metric(
            "brier",
            "Brier score",
            values[2],
            low[2],
            high[2],
            "mean squared distance to the truth; lower is better",
        ),
    ]
    return metrics, {metric.key: metric.value for metric in metrics}


def expected_error_if_calibrated(prob: Array, rng: np.random.Generator) -> Array:
    """Calibration errors (draws,) that a perfectly calibrated model with these probabilities would show."""
    confidence = prob.max(axis=1)
    bins, n = _bin_of(confidence), len(confidence)
    ones = np.ones(n)
    draws = int(np.clip(_DRAWS // n, 50, 1_000))
    return np.array(
        [
            _calibration_error(bins, confidence, rng.random(n) < confidence, ones)
            for _ in range(draws)
        ],
        dtype=np.float64,
    )


def _per_row_scores(prob: Array, codes: Integers) -> Array:
    """Correctness, negative log-likelihood and Brier score of each row, of shape (n, 3)."""
    own = prob[np.arange(len(codes)), codes]
    loss = -log_likelihood_of_rows(prob, codes)
    brier = np.square(prob).sum(axis=1) - 2.0 * own + 1.0
    return np.column_stack([prob.argmax(axis=1) == codes, loss, brier])


def _bin_of(confidence: Array) -> Integers:
    """Bins of equal width on [0, 1], as `dirichletgp.metrics` counts them."""
    return np.searchsorted(np.linspace(0.0, 1.0, N_BINS + 1)[1:-1], confidence, side="left")


def _calibration_error(bins: Integers, confidence: Array, correct: Array, weight: Array) -> float:
    gap = np.bincount(bins, weight * (correct - confidence), N_BINS)
    return float(np.abs(gap).sum() / weight.sum())
