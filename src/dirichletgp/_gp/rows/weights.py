"""Weights of rows and of classes, checked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Array


def sample_weights(sample_weight: Any, n: int, part: bool = False) -> Array | None:
    """Row weights (n,) from the `sample_weight` argument; None if every row counts once.

    All may be zero if the rows are a `part` of more.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but X has {n} rows; pass one weight per row."
        )
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight holds NaN or infinity; pass finite weights.")
    if np.any(weights < 0):
        raise ValueError(
            f"sample_weight holds negative values, such as {weights.min():g}; "
            "pass weights of at least 0."
        )
    if not part and not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every row; pass at least one positive weight.")
    return weights


def class_factors(class_weight: Any, classes: AnyArray, totals: Array) -> Array | None:
    """Weight of each class (C,) from `class_weight` and the total sample weight of each class."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        # A class without rows (declared to partial_fit) has nothing to balance yet.
        present = totals > 0
        return np.where(
            present, totals.sum() / (present.sum() * np.where(present, totals, 1.0)), 1.0
        )
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in classes]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[:5]}, which are not among the labels; "
                f"classes are {classes}."
            )
        factors = as_numbers([class_weight.get(label, 1.0) for label in classes.tolist()])
        if factors.shape == classes.shape and np.all((factors > 0) & np.isfinite(factors)):
            return factors
    raise ValueError(
        f"class_weight={class_weight!r} is not valid; "
        "pass None, 'balanced', or a dict from labels to positive numbers."
    )


def as_numbers(value: Any) -> Array:
    """An array of numbers, or an empty one for what cannot be read as such."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)
