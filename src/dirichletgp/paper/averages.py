"""Means over splits, with their standard errors."""

import numpy as np


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN for the error of a single value."""
    if len(values) == 1:
        return float(values[0]), np.nan
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return float(np.mean(values)), float(error)


def written_average(values: list[float], digits: int = 4) -> str:
    """Mean and standard error as text.

    Examples
    --------
    >>> written_average([0.1, 0.2])
    '0.1500 ± 0.0500'
    """
    mean, error = mean_and_error(values)
    if np.isnan(error):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
