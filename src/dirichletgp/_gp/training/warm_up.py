"""The first rows of a stream, kept until scaling, inducing points and kernel are settled."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

# A kernel learned from fewer rows than this, or than ten for each inducing point, follows the noise
# of their labels.
_FEWEST_ROWS, _ROWS_PER_POINT = 4_000, 10


def warm_up_rows(n_subsample: int | None, n_points: int) -> int:
    """How many rows settle scaling, inducing points and kernel of a stream."""
    return n_subsample if n_subsample is not None else max(_FEWEST_ROWS, _ROWS_PER_POINT * n_points)


@dataclass(frozen=True)
class WarmUp:
    """Rows seen so far, as they came.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        Sample weights, without the class weights.
    trained_at : int
        Number of rows when the model was last trained; 0 before that.
    """

    X: NDArray[Any]
    codes: Integers
    weights: Array
    trained_at: int = 0

    @classmethod
    def empty(cls, n_features: int, dtype: Any) -> "WarmUp":
        """Before the first row."""
        return cls(np.empty((0, n_features), dtype), np.empty(0, dtype=np.intp), np.empty(0))

    def plus(self, X: NDArray[Any], codes: Integers, weights: Array | None) -> "WarmUp":
        """With more rows."""
        return replace(
            self,
            X=np.concatenate([self.X, X]),
            codes=np.concatenate([self.codes, codes]),
            weights=np.concatenate([self.weights, np.ones(len(X)) if weights is None else weights]),
        )

    def times(self, factor: float) -> "WarmUp":
        """With the weight of every row multiplied."""
        return replace(self, weights=factor * self.weights)

    def recoded(self, places: Integers) -> "WarmUp":
        """With class k called places[k]."""
        return replace(self, codes=places[self.codes])

    def __len__(self) -> int:
        return len(self.codes)
