"""The methods of a fitted classifier that turn probabilities into something to act on."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from numpy.typing import ArrayLike

from ..core.arrays import Booleans
from ..predictions import FittedClassifier
from ..training.settings import fraction
from .sets import prediction_sets, scores_that_hold


class DecidingClassifier(FittedClassifier):
    """Sets, decisions, thresholds, labels to check and explanations of a fitted classifier."""

    def predict_set(
        self,
        X: ArrayLike,
        coverage: float = 0.9,
        *,
        by_class: bool = False,
        allow_empty: bool = False,
    ) -> Booleans:
        """Sets of classes that hold the label with a stated probability.

        A class is in the set of a row if its probability is at least as large as all but few
        training rows gave to their own labels when they were left out: no rows need to be held
        back. Where the model is unsure, sets are larger. The promise is kept on average over rows
        that come from where the training rows came from.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        coverage : float, default=0.9
            Probability that a set holds the label of its row.
        by_class : bool, default=False
            Keep the promise for the rows of each class by themselves: rare classes are then found
            as often as frequent ones, in larger sets.
        allow_empty : bool, default=False
            Whether a set may be empty. If not, it holds the likeliest class in any case: labels
            are then found more often than promised where the model is right more often than that.

        Returns
        -------
        ndarray of shape (n, n_classes), bool
            Columns in the order of `classes_`.

        Warns
        -----
        UserWarning
            If the promise is not known to hold: rows were added or taken away since training.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = DirichletGPClassifier(random_state=0).fit(X, y)
        >>> classifier.predict_set([[5.0, 3.4, 1.5, 0.2], [6.0, 2.7, 5.1, 1.6]], 0.99).tolist()
        [[True, False, False], [False, True, True]]
        """
        coverage = fraction("coverage", coverage)
        scores = scores_that_hold(self._fitted.scores)
        probabilities = self.predict_proba(X)
        return prediction_sets(probabilities, scores, coverage, by_class, allow_empty)
