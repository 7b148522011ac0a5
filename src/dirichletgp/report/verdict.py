"""Calibration in plain words: no more is said than the rows can tell.

Words follow from what is certain, not from the error that happens to be seen: two samples of the
same rows may differ in how much they can tell, but they do not contradict each other.
"""

from .calibration import CalibrationError
from .numbers import Verdict

# A calibration error below the first is of no consequence to most decisions, above the second of
# some to all.
_SLIGHT = 0.02
_NOTICEABLE = 0.05


def calibration_verdict(error: CalibrationError) -> Verdict:
    """What the calibration error means.

    Examples
    --------
    >>> found = CalibrationError(10_000, 0.006, 0.009, 0.9, 0.9, 0.005)
    >>> calibration_verdict(found).headline
    'The probabilities are right to within 1.5 percentage points on average'
    """
    between = f"between {100 * error.low:.1f} and {_points(error.high)}"
    if error.low >= _NOTICEABLE:
        level = "poor"
        headline = f"The probabilities should not be taken at their word: they are off by {between}"
    elif error.low >= _SLIGHT:
        level = "noticeable"
        headline = f"The probabilities are noticeably off, by {between} on average"
    elif error.low > 0.0:
        level = "slight"
        headline = f"The probabilities are off, by {between} on average"
    elif error.high <= _NOTICEABLE:
        level = "good"
        headline = f"The probabilities are right to within {_points(error.high)} on average"
    else:
        level = "open"
        headline = (
            f"No sign of miscalibration, but {error.n_rows:,} rows cannot rule out "
            f"errors of up to {_points(error.high)}"
        )
    sentences = [
        f"On these {error.n_rows:,} rows confidence and accuracy differ by {_points(error.value)} "
        f"on average over bins; a perfectly calibrated model would show up to "
        f"{100 * error.by_chance:.1f} by chance.",
        f"The true error is {between} (95\u00a0%){_what_the_lower_end_rests_on(error)}.",
        _direction(error),
    ]
    return Verdict(level, headline, sentences)


def _points(share: float) -> str:
    """A difference of probabilities, in percentage points."""
    value = f"{100 * share:.1f}"
    return f"{value} percentage point{'' if value == '1.0' else 's'}"


def _what_the_lower_end_rests_on(error: CalibrationError) -> str:
    """Said where bins alone would not have told it: without it the numbers seem to disagree."""
    if not error.low_is_of_means:
        return ""
    return (
        f"; the lower end rests on the means over all rows, which are "
        f"{_points(abs(error.bias))} apart and would be up to {100 * error.doubt:.1f} by chance"
    )


def _direction(error: CalibrationError) -> str:
    said = (
        f"It is {100 * error.confidence:.1f}\u00a0% confident on average "
        f"and right {100 * error.accuracy:.1f}\u00a0% of the time"
    )
    if abs(error.bias) <= error.doubt:
        return f"{said}: no more apart than by chance."
    if error.bias > 0:
        return f"{said}: overconfident, it promises too much."
    return f"{said}: underconfident, it is right more often than it says."
