"""Labels that are not certain: probabilities or votes for each class, (n, C).

A row with votes v_1, ..., v_C is the same as C rows with one label each and weights v_1, ..., v_C.
So it is taken: as rows that are there once, and pointed to once for every class that has votes.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from .in_memory import Chunk


class Votes(NamedTuple):
    """Labels (C,), increasing, and the votes (n, C) that rows have for each."""

    labels: AnyArray
    votes: Array


class RepeatedRows:
    """Rows (n, D) of which some are there several times, without being copied.

    Parameters
    ----------
    X : ndarray of shape (m, D)
    origin : ndarray of shape (n,)
        Which of them each row is.
    """

    ndim = 2

    def __init__(self, X: AnyArray, origin: Integers):
        self._X = X
        self._origin = origin
        self.shape = (len(origin), X.shape[1])
        self.dtype = X.dtype

    def __len__(self) -> int:
        return len(self._origin)

    def __getitem__(self, rows: Any) -> AnyArray:
        return np.asarray(self._X[self._origin[rows]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.asarray(self._X[self._origin], dtype=dtype)


def votes_of(Y: Any, names: Any = None, part: bool = False) -> Votes:
    """Checked votes from the argument `y` of `fit`; labels are names of columns or 0, 1, ...

    A class may have none if the rows are a `part` of more.
    """
    if names is None:
        names = getattr(Y, "columns", None)
    try:
        votes = np.asarray(Y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "y has several columns that are not all numbers; pass one label per row, or a number "
            "of votes (or a probability) per row and class."
        ) from None
    labels = np.arange(votes.shape[1]) if names is None else np.array(list(names))
    if not np.all(np.isfinite(votes)) or np.any(votes < 0):
        raise ValueError(
            "y holds votes or probabilities that are negative, infinite or missing; "
            "pass numbers of at least 0."
        )
    nobody = np.flatnonzero(votes.sum(axis=0) == 0)
    if len(nobody) and not part:
        raise ValueError(
            f"y has no votes at all for {labels[nobody].tolist()[:5]}; leave such columns out."
        )
    order = np.argsort(labels)
    return Votes(labels[order], votes[:, order])


def voted_rows(X: AnyArray, given: Votes, weights: Array | None) -> Chunk:
    """Rows (n, D) with votes as rows with one label each, row after row."""
    if len(X) != len(given.votes):
        raise ValueError(f"X has {len(X)} rows, but y has {len(given.votes)}; pass one per row.")
    origin, codes = np.nonzero(given.votes)
    own = given.votes[origin, codes]
    if weights is not None:
        own = own * weights[origin]
    rows: Any = RepeatedRows(X, origin)
    return Chunk(rows, given.labels[codes], None if np.all(own == 1.0) else own)
