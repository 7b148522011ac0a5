"""How far are probabilities off, as far as so many rows can tell?

The gap between accuracy and confidence in a bin is the true gap plus chance: rows came out one way
or the other. So, by the triangle inequality, the calibration error that is seen (the weighted sum
of absolute gaps) differs from the true one by no more than a perfectly calibrated model would show
by chance on these rows. What that is, labels drawn from the confidences tell.

Nor is the true error smaller than the difference between mean confidence and accuracy, of which
fewer chances are at play. Each of the two statements is wrong in at most one of 40 cases, so what
they say together holds 19 times in 20, or more often.
"""

from typing import NamedTuple

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from ..metrics.curve import bin_of_rows

N_BINS = 10
DRAWS = 20_000_000
"""Random numbers that one question may cost."""
_EDGES = np.linspace(0.0, 1.0, N_BINS + 1)
_LEVEL = 0.975
_Z = 2.24


class CalibrationError(NamedTuple):
    """The calibration error of the predicted class, and what is known of it.

    Attributes
    ----------
    n_rows : int
    value : float
        As it is seen on the rows (ECE).
    by_chance : float
        What a perfectly calibrated model stays below, 39 times in 40, on as many rows.
    confidence, accuracy : float
        Means over the rows.
    doubt : float
        How far these are apart by chance at most, 39 times in 40.
    """

    n_rows: int
    value: float
    by_chance: float
    confidence: float
    accuracy: float
    doubt: float

    @property
    def bias(self) -> float:
        """Mean confidence less accuracy."""
        return self.confidence - self.accuracy

    @property
    def low(self) -> float:
        """The true error is not below this."""
        return max(0.0, self.value - self.by_chance, abs(self.bias) - self.doubt)

    @property
    def low_is_of_means(self) -> bool:
        """Whether the means alone tell that the true error is not smaller, and bins tell less."""
        return self.low > max(0.0, self.value - self.by_chance)

    @property
    def high(self) -> float:
        """The true error is not above this."""
        return min(1.0, self.value + self.by_chance)


def calibration_error(prob: Array, codes: Integers, rng: np.random.Generator) -> CalibrationError:
    """The calibration error of probabilities (n, C) of rows whose classes are known (n,)."""
    confidence = prob.max(axis=1)
    correct = prob.argmax(axis=1) == codes
    bins = bin_of_rows(confidence, _EDGES)
    return CalibrationError(
        n_rows=len(codes),
        value=_error(bins, confidence, correct),
        by_chance=float(np.quantile(errors_if_calibrated(prob, rng), _LEVEL)),
        confidence=float(confidence.mean()),
        accuracy=float(correct.mean()),
        doubt=_Z * float(np.sqrt(np.mean(confidence * (1.0 - confidence)) / len(codes))),
    )


def errors_if_calibrated(prob: Array, rng: np.random.Generator) -> Array:
    """Calibration errors (draws,) by chance alone, if these probabilities were the true ones."""
    confidence = prob.max(axis=1)
    bins = bin_of_rows(confidence, _EDGES)
    n = len(confidence)
    draws = int(np.clip(DRAWS // n, 50, 1_000))
    return np.array([_error(bins, confidence, rng.random(n) < confidence) for _ in range(draws)])


def error_by_chance(score: Array) -> float:
    """What the calibration error of one class stays below, 19 times in 20, if it is calibrated.

    Gaps of bins are nearly Gaussian: the sum of their absolute values has a mean and a variance.
    """
    score = np.clip(score, 0.0, 1.0)
    variance = np.bincount(bin_of_rows(score, _EDGES), score * (1.0 - score), N_BINS)
    deviation = np.sqrt(variance) / len(score)
    mean = np.sqrt(2.0 / np.pi) * deviation.sum()
    return float(mean + 1.645 * np.sqrt((1.0 - 2.0 / np.pi) * np.sum(deviation**2)))


def _error(bins: Integers, confidence: Array, correct: AnyArray) -> float:
    gap = np.bincount(bins, correct - confidence, N_BINS)
    return float(np.abs(gap).sum() / len(confidence))
