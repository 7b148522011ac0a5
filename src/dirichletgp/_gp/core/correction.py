"""What the likelihood of labels adds to the means of the regressions.

The regressions are fitted to transformed labels, which is what makes them fast. The likelihood of
the labels themselves would have put the means a little elsewhere: towards it they are corrected, by
a function in the span of the inducing points (`training/likelihood.py` learns it),

    mean_c(x) = k(x)' beta_c + offset_c + k(x)' shift_c

Variances stay. Leaving a row out must leave it out of the correction too. So the rows are dealt
into folds by what they hold, and there is a correction without each fold, which is given to its
rows. It is kept in the basis of the model and, like kernel and label transform, stays as it is when
rows are added. Where rows fade or are forgotten, so much of it counts as there is of their weight.
"""

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array, Integers


@dataclass(frozen=True)
class Correction:
    """Coefficients of whitened kernel vectors, to be added to those of the regressions.

    Attributes
    ----------
    shift : ndarray of shape (C, M)
        Learned from all rows.
    of_folds : ndarray of shape (folds, C, M)
        Each without the rows of a fold.
    weight : float
        Weight of the rows that the model stood on when it was learned.
    """

    shift: Array
    of_folds: Array
    weight: float

    def without_fold(self, vectors: Array, fold: Integers) -> Array:
        """What is added to the means (n, C) of rows with whitened vectors (n, M) and folds (n,)."""
        added = np.empty((len(vectors), len(self.shift)))
        for k, shift in enumerate(self.of_folds):
            rows = np.flatnonzero(fold == k)
            added[rows] = vectors[rows] @ shift.T
        return added

    def among(self, n_classes: int, places: Integers) -> "Correction":
        """With class k called places[k] among more classes; of new ones nothing is corrected."""
        n_points = self.shift.shape[1]
        shift = np.zeros((n_classes, n_points))
        of_folds = np.zeros((len(self.of_folds), n_classes, n_points))
        shift[places] = self.shift
        of_folds[:, places] = self.of_folds
        return replace(self, shift=shift, of_folds=of_folds)
