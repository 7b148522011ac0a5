"""Calibration in plain words, with as much certainty as the number of rows allows."""

import numpy as np

from .._gp.core.arrays import Array
from .numbers import Verdict

# A calibration error below the first is of no consequence to most decisions, above the second of
# some to all.
_SLIGHT = 0.02
_NOTICEABLE = 0.05


def calibration_verdict(
    n_rows: int, error: float, if_calibrated: Array, confidence: float, accuracy: float
) -> Verdict:
    """What the calibration error means.

    Parameters
    ----------
    n_rows : int
    error : float
        The calibration error (ECE).
    if_calibrated : ndarray of shape (draws,)
        Errors that a perfectly calibrated model would show by chance.
    confidence, accuracy : float
        Means over the rows.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> import numpy as np
    >>> calibration_verdict(1000, 0.01, np.linspace(0.0, 0.03, 100), 0.9, 0.9).level
    'good'
    """
    limit = float(np.quantile(if_calibrated, 0.975))
    by_chance = (
        f"On {n_rows:,} rows even a perfectly calibrated model shows an error of up to "
        f"{_points(limit)} by chance"
    )
    if error <= limit:
        headline = "The probabilities can be taken at their word"
        if limit > _NOTICEABLE:
            headline = "No sign of miscalibration, but few rows to judge by"
        sentences = [f"{by_chance}; this one shows {_points(error)}."]
        return Verdict("good", headline, sentences + [_direction(confidence, accuracy)])
    if error < _SLIGHT:
        level = "slight"
        headline = "The probabilities are slightly off, by less than most decisions notice"
    elif error < _NOTICEABLE:
        level = "noticeable"
        headline = "The probabilities are noticeably off"
    else:
        level = "poor"
        headline = "The probabilities should not be taken at their word"
    sentences = [
        f"Stated confidence and observed accuracy differ by {_points(error)} on average.",
        f"{by_chance}.",
    ]
    return Verdict(level, headline, sentences + [_direction(confidence, accuracy)])


def _points(share: float) -> str:
    """A difference of probabilities, in percentage points."""
    value = f"{100 * share:.1f}"
    return f"{value} percentage point{'' if value == '1.0' else 's'}"


def _direction(confidence: float, accuracy: float) -> str:
    said = (
        f"It is {100 * confidence:.1f}\u00a0% confident on average "
        f"and right {100 * accuracy:.1f}\u00a0% of the time"
    )
    if abs(confidence - accuracy) < 0.005:
        return f"{said}."
    return f"{said}: {'over' if confidence > accuracy else 'under'}confident, if anything."
