"""What people should know before they believe a score: few rows, copies, columns that tell all."""

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from .._gp.rows.in_memory import fingerprints

_MOST_NAMED = 5
# Rows that are looked at to find columns that give the label away, and how many different numbers
# are taken as so many categories.
_ROWS, _FEW_VALUES = 4_096, 64
_FEWEST_ROWS = 30
# A column that leaves this share of the mistakes of guessing is too good to be true.
_LEFT = 0.05
_COPIES = 0.05
_BLOCK = 65_536


def copied_rows(
    train: tuple[Array, AnyArray], test: tuple[Array, AnyArray], held_out: bool
) -> list[str]:
    """Rows of the test that equal training rows in all columns that are used, and in the label.

    Where columns have few values, rows are equal by chance: then training rows equal each other
    as often, and nothing is said. Rows of `train` and `test` are matrices with their labels.
    """
    classes = np.unique(np.concatenate([train[1], test[1]]))
    known, new = (_keys(np.asarray(X), np.searchsorted(classes, y)) for X, y in (train, test))
    copies = int(np.isin(new, known).sum())
    _, inverse, counts = np.unique(known, return_inverse=True, return_counts=True)
    by_chance = float(np.mean(counts[inverse] > 1))
    share = copies / len(new)
    if copies == 0 or (share < _COPIES and held_out) or share < 2 * by_chance:
        return []
    return [
        f"{copies:,} of {len(new):,} test rows are training rows too; "
        "scores on them say nothing about new rows"
    ]


def _keys(X: AnyArray, codes: Integers) -> AnyArray:
    """A number for each row (n,), made of blocks of rows: no copy of all is needed."""
    starts = range(0, len(codes), _BLOCK)
    return np.concatenate([fingerprints(X[i : i + _BLOCK], codes[i : i + _BLOCK]) for i in starts])


def telling_columns(
    X: Array, codes: Integers, names: list[str], is_category: AnyArray
) -> list[str]:
    """Columns each of which tells the label all but alone.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Rows as a matrix; NaN is a value of its own.
    codes : ndarray of shape (n,)
    names : list of str of length D
        The column each matrix column comes from.
    is_category : ndarray of shape (D,) of bool
    """
    if len(codes) < _FEWEST_ROWS:
        return []
    if len(codes) > _ROWS:
        chosen = np.random.default_rng(0).choice(len(codes), _ROWS, replace=False)
        X, codes = X[chosen], codes[chosen]
    guessing = 1.0 - np.bincount(codes).max() / len(codes)
    found: dict[str, float] = {}
    for j, name in enumerate(names):
        values = np.asarray(X[:, j], dtype=np.float64)
        right = _told(values, codes, bool(is_category[j]))
        if 1.0 - right <= _LEFT * guessing:
            found[name] = max(right, found.get(name, 0.0))
    return [
        f"column {name!r} alone gives {100 * right:.1f} % of the labels away; "
        "is it known before the label is? If not, leave it out"
        for name, right in list(found.items())[:_MOST_NAMED]
    ]


def _told(values: Array, codes: Integers, is_category: bool) -> float:
    """The share of rows whose label other rows of about the same value have."""
    distinct, cells = np.unique(values, return_inverse=True)
    if is_category or len(distinct) <= _FEW_VALUES:
        return _right_without_itself(cells, codes)
    # In the order of a number that tells all, labels change once from class to class. Missing
    # values come last.
    in_order = codes[np.argsort(values, kind="stable")]
    return float(np.mean(in_order[1:] == in_order[:-1]))


def _right_without_itself(cells: Integers, codes: Integers) -> float:
    """Share of rows with the most frequent label of the other rows of their cell."""
    counts = np.zeros((cells.max() + 1, codes.max() + 1))
    np.add.at(counts, (cells, codes), 1.0)
    others = counts[cells]
    others[np.arange(len(codes)), codes] -= 1.0
    own = others[np.arange(len(codes)), codes]
    others[np.arange(len(codes)), codes] = -1.0
    return float(np.mean((own > 0) & (own > others.max(axis=1))))
