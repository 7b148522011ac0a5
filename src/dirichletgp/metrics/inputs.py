"""Labels, probabilities and weights as the metrics take them, checked."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import AnyArray, Array, Integers

# Sums further from one, or numbers further outside [0, 1], are mistakes and not rounding.
SUM_TOLERANCE = 1e-3
RANGE_TOLERANCE = 1e-6


def checked_predictions(
    y_true: ArrayLike, y_prob: ArrayLike, labels: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[Integers, Array, Array, list[Any]]:
    """Column of the true class, probabilities (n, C), weights, and the classes of the columns."""
    truth = as_labels(y_true, "y_true")
    prob = _as_columns(y_prob)
    check_same_length("y_prob", len(prob), len(truth))
    weight = checked_weight(sample_weight, len(truth))
    present, row_of_present = np.unique(truth, return_inverse=True)
    classes = present.tolist() if labels is None else as_labels(labels, "labels").tolist()
    if len(set(classes)) != len(classes):
        raise ValueError(f"labels must name every class once, got {classes}")
    if len(classes) != prob.shape[1]:
        source = "y_true holds" if labels is None else "labels names"
        raise ValueError(
            f"y_prob has {prob.shape[1]} columns but {source} {len(classes)} classes, {classes}; "
            "pass labels with the class of every column (for an estimator: its classes_)"
        )
    unknown = [label for label in present.tolist() if label not in classes]
    if unknown:
        raise ValueError(f"y_true holds {unknown}, which labels={classes} does not name")
    column_of_present = np.array([classes.index(label) for label in present.tolist()])
    # A row of weight 0 must not even move the edges of equal-mass bins.
    kept = weight > 0
    return column_of_present[row_of_present][kept], prob[kept], weight[kept], classes


def _as_columns(y_prob: ArrayLike) -> Array:
    try:
        prob = np.asarray(y_prob, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y_prob must be an array of probabilities: {error}") from error
    if prob.ndim not in (1, 2) or (prob.ndim == 2 and prob.shape[1] < 2):
        raise ValueError(
            f"y_prob has shape {prob.shape}, expected (n, C) with a column for every class, "
            "or (n,) with the probability of the second of two classes"
        )
    inside = (prob >= -RANGE_TOLERANCE) & (prob <= 1 + RANGE_TOLERANCE)
    if not inside.all():
        raise ValueError(
            f"y_prob must hold probabilities between 0 and 1, found {prob[~inside][0]}; "
            "scores or logarithms have to be turned into probabilities first"
        )
    prob = np.clip(prob, 0.0, 1.0)
    if prob.ndim == 1:
        return np.column_stack([1.0 - prob, prob])
    off = np.abs(prob.sum(axis=1) - 1.0)
    if off.size and off.max() > SUM_TOLERANCE:
        row = int(off.argmax())
        raise ValueError(
            f"the rows of y_prob must sum to 1, row {row} sums to {prob[row].sum():.6g}; "
            "divide every row by its sum"
        )
    return prob


def as_labels(values: ArrayLike, name: str) -> AnyArray:
    """Labels as an array (n,) of numbers or of strings; `name` is for the error."""
    array = np.asarray(values)
    if array.dtype == object:  # strings of pandas and polars arrive so
        is_text = [isinstance(value, str) for value in array.ravel()]
        # A missing string is a float NaN or None, which must not become the class "nan".
        array = np.asarray(array.tolist()) if all(is_text) or not any(is_text) else array
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}, expected (n,) with at least one label")
    if array.dtype.kind not in "biufU" or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise ValueError(f"{name} must hold only numbers or only strings, none missing")
    return array


def check_same_length(name: str, length: int, expected: int) -> None:
    """An error if an argument has another number of rows than `y_true`."""
    if length != expected:
        raise ValueError(f"{name} has {length} rows but y_true has {expected}; they must match")


def checked_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    """Weights (n_rows,) as given, or ones; an error if they cannot be weights."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}, expected ({n_rows},)")
    if not np.all(np.isfinite(weight)) or weight.min() < 0 or weight.sum() == 0:
        raise ValueError("sample_weight must be finite and not negative, and not all zero")
    return weight
