"""Which way features work: what the model takes higher values, or some categories, for."""

from typing import Any

import numpy as np

from .._gp.core.arrays import Array, Integers
from .._gp.rows.columns import Columns, Matrix

MOST_FEATURES = 14
# Rows that a category must have for its name to be told: others might be about somebody.
FEWEST_TO_NAME = 10
_LEVELS = np.linspace(0.05, 0.95, 9)
# An effect is clear if it spans so many of its own standard deviations, and goes one way if its
# ends are so much of its span apart.
_CLEAR, _ONE_WAY = 2.0, 0.6


def directions(
    classifier: Any, rows: Any, labels: list[str], features: list[str]
) -> dict[str, dict[str, str]]:
    """For some features, which way they work by themselves, in words.

    It is the effect on the log-odds of the second of two classes, or of the class that it changes
    the most. Empty for models that have no effects of single columns in closed form.

    Parameters
    ----------
    classifier : fitted classifier
    rows : array-like of shape (n, D)
        Whose values effects are looked at.
    labels : list of str
    features : list of str
        Names of columns as the classifier knows them.

    Returns
    -------
    dict of str to dict
        By name: "way" ("up", "down", "both", "unclear" or "category") and "words".
    """
    if not hasattr(classifier, "effect") or not hasattr(classifier, "fitted_columns"):
        return {}
    columns = classifier.fitted_columns()
    matrix = np.asarray(rows) if isinstance(rows, Matrix) else columns.matrix(rows)
    given = columns.names_in or [f"x{j}" for j in range(columns.n_in)]
    found = {}
    for name in features:
        column = given.index(name) if name in given else -1
        parts = np.flatnonzero(columns.origin == column).tolist()
        if len(parts) != 1:
            continue  # parts of a date work together
        j = parts[0]
        chosen = _typical_rows(matrix[:, j], is_category=bool(columns.levels[j]))
        if len(chosen) < 2:
            continue
        try:
            effect = classifier.effect(Matrix.of(matrix[chosen]), column)
        except ValueError:  # this kernel or scaler has none in closed form
            return {}
        span = np.ptp(effect.mean, axis=0)
        c = 1 if len(labels) == 2 else int(span.argmax())
        if span[c] < _CLEAR * effect.deviation[:, c].max():
            found[name] = {"way": "unclear", "words": "no clear direction"}
        elif columns.levels[j]:
            names = _categories(columns, column, matrix[chosen, j])
            found[name] = _of_categories(effect.mean[:, c], names, labels[c])
        else:
            found[name] = _of_numbers(effect.mean[:, c], labels[c])
    return found


def _typical_rows(values: Array, is_category: bool) -> Integers:
    """Rows with the values to look at, in the order of these."""
    present = np.flatnonzero(~np.isnan(values))
    if len(present) == 0:
        return present
    if is_category:
        _, first, counts = np.unique(values[present], return_index=True, return_counts=True)
        return present[first[counts >= FEWEST_TO_NAME]]
    in_order = present[np.argsort(values[present], kind="stable")]
    places = np.rint(_LEVELS * (len(in_order) - 1)).astype(np.intp)
    _, first = np.unique(values[in_order[places]], return_index=True)
    return in_order[places[first]]


def _categories(columns: Columns, column: int, codes: Array) -> list[str]:
    """Names of categories by their codes; those that are not known have the last."""
    known: list[str] = columns.kinds[column].categories  # type: ignore[attr-defined]
    return [known[c] if c < len(known) else "others" for c in codes.astype(int).tolist()]


def _of_numbers(mean: Array, label: str) -> dict[str, str]:
    rise = (mean[-1] - mean[0]) / np.ptp(mean)
    if rise >= _ONE_WAY:
        return {"way": "up", "words": f"higher: {label} likelier"}
    if rise <= -_ONE_WAY:
        return {"way": "down", "words": f"higher: {label} less likely"}
    middle = "most" if mean[1:-1].max(initial=-np.inf) > mean[[0, -1]].max() else "least"
    return {"way": "both", "words": f"{label} {middle} likely in between"}


def _of_categories(mean: Array, names: list[str], label: str) -> dict[str, str]:
    most, least = names[int(mean.argmax())], names[int(mean.argmin())]
    return {
        "way": "category",
        "words": f"{label} likeliest where it is {most}, least where {least}",
    }
