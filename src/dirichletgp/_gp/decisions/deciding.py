"""The methods of a fitted classifier that turn probabilities into something to act on."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array, Booleans
from ..predictions import FittedClassifier
from ..rows.scaling import scaling_function
from ..training.settings import choice, fraction
from .explanation import LOG_ODDS, OUTPUTS, contributions, explained
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

    def explain(self, X: ArrayLike, output: str = "log_odds") -> Any:
        """What each feature contributed to each prediction: exact Shapley values.

        A contribution is what knowing a feature adds to the prediction, averaged over all orders
        in which the features of the row may become known; those that are not known yet are drawn
        from the training rows, each by itself. The kernel being a product over features, this has
        a closed form. The values of a row and the base value sum to its prediction.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        output : {"log_odds", "latent"}, default="log_odds"
            What is explained: the latent mean of a class less the mean of those of all other
            classes, which with two classes is the log-odds of the second; or the latent mean of
            each class.

        Returns
        -------
        shap.Explanation if `shap` is installed, otherwise Explanation
            Its `values` have shape (n, n_features) for the log-odds of the second of two classes,
            otherwise (n, n_features, n_classes): ``explanation[:, :, 2]`` is what the plots of
            `shap` take then.

        Raises
        ------
        ValueError
            The kernel is not a product over features (Matern kernels are not), or the scaler mixes
            features.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = DirichletGPClassifier(kernel="rbf", random_state=0).fit(X, y)
        >>> explanation = classifier.explain(X[:2], output="latent")
        >>> explanation.values.shape
        (2, 4, 3)
        >>> total = explanation.base_values + explanation.values.sum(axis=1)
        >>> mean, _ = classifier.latent_mean_and_variance(X[:2])
        >>> bool(abs(total - mean).max() < 1e-8)
        True
        """
        choice("output", output, OUTPUTS)
        values, base = contributions(self._fitted, self._scaled(X), output, self.n_jobs)
        labels: list[str] | None = [str(label) for label in self.classes_.tolist()]
        if output == LOG_ODDS and len(base) == 2:
            values, base, labels = values[:, :, 1], base[1], None
        base = np.repeat(base[None], len(values), axis=0)
        return explained(values, base, np.asarray(X), self._column_names, labels)

    def importance(self, X: ArrayLike) -> Array:
        """How much each feature contributes to the log-odds of rows, on average.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n_features,)
            Mean absolute Shapley values over the rows, and over the classes.
        """
        values, _ = contributions(self._fitted, self._scaled(X), LOG_ODDS, self.n_jobs)
        return np.abs(values).mean(axis=(0, 2))

    @property
    def _column_names(self) -> list[str]:
        """Names of the columns of X, which are x0, x1, ... if they have none."""
        columns = self._fitted.features.columns
        return columns.names_in or [f"x{j}" for j in range(columns.n_in)]

    def _scaled(self, X: Any) -> Array:
        """Rows of X as the kernel sees them, (n, D)."""
        rows = np.asarray(self._matrix(X), dtype=np.float64)
        return scaling_function(self._fitted.encoder.scaler)(rows)

