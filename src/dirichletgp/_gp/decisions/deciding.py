"""The methods of a fitted classifier that turn probabilities into something to act on."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array, Booleans
from ..core.warning import warn_caller
from ..predictions import FittedClassifier
from ..rows.arrays import are_votes, checked_labels
from ..rows.scaling import scaling_function
from ..rows.soft_labels import votes_of
from ..rows.weights import sample_weights
from ..training.settings import choice, fraction
from .costs import Decision, cheapest
from .effects import Effect, effect
from .explanation import LOG_ODDS, OUTPUTS, contributions, explained, importance_at_points
from .label_issues import LabelIssues, issues_among, twins_of
from .sets import prediction_sets, scores_that_hold
from .thresholds import PRECISION, RECALL, Reached, Threshold, threshold_for


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
        [[True, False, False], [False, False, True]]
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

        With regions, what is explained is the average of the regions of the row with its weights
        in them held fixed. Features that are not known are drawn from the inducing points of a
        region, so base values differ from row to row: contributions say what sets a row apart
        from others of its region.

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
        if output == LOG_ODDS and base.shape[1] == 2:
            values, base, labels = values[:, :, 1], base[:, 1], None
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
        values, _, _ = self.contributions(X)
        return np.abs(values).mean(axis=(0, 2))

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the contributions to the log-odds, (n_features,).

        Measured at the inducing points, by `importance`; for kernels without such contributions,
        by how much a feature alone takes away from the correlation of two points.

        Examples
        --------
        >>> import numpy as np
        >>> from dirichletgp import DirichletGPClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> classifier = DirichletGPClassifier("rbf", random_state=0).fit(X, X[:, 0] > 0)
        >>> bool(classifier.feature_importances_[0] > 0.8)
        True
        """
        return importance_at_points(self._known("feature_importances_"), self.n_jobs)

    def contributions(self, X: ArrayLike) -> tuple[Array, Array, list[str]]:
        """Shapley values of the log-odds (n, n_features, n_classes), base values, and names.

        The same as `explain`, as plain arrays; base values have shape (n, n_classes).
        """
        values, base = contributions(self._fitted, self._scaled(X), LOG_ODDS, self.n_jobs)
        return values, base, self._column_names

    def effect(self, X: ArrayLike, *features: str | int) -> Effect:
        """The effect of one feature by itself, or of two together, at the values in some rows.

        It is the change in the log-odds of each class against the others that a feature brings
        about when all other features are drawn from the training rows, each by itself; on average
        over the training rows it is zero. `EffectDisplay` draws it. With regions, they are drawn
        together, from at most 256 lines, and each line is predicted by the regions that hold it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows; only the features that are named matter.
        *features : str or int
            Names or positions of one feature or of two.

        Returns
        -------
        Effect
            `mean` and posterior standard `deviation`, each of shape (n, n_classes).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = DirichletGPClassifier(kernel="rbf", random_state=0).fit(X, y)
        >>> found = classifier.effect(X, 2)
        >>> bool(found.mean[0, 0] > found.mean[100, 0])  # short petals speak for the first class
        True
        """
        if not 1 <= len(features) <= 2:
            raise ValueError(f"features={features!r}: name one feature, or two.")
        places = [self.place_of_feature(feature) for feature in features]
        return effect(self._fitted, self._scaled(X), places, self.n_jobs)

    def place_of_feature(self, feature: str | int) -> int:
        """Where a feature stands among the columns of X, by name or position; for displays."""
        names = self._column_names
        if isinstance(feature, str) and feature in names:
            return names.index(feature)
        if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
            return int(feature)
        raise ValueError(
            f"feature={feature!r} is neither a position below {len(names)} nor one of {names[:10]}."
        )

    def label_issues(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LabelIssues:
        """Training rows whose label looks wrong, the most suspicious first.

        Each row is predicted without itself, as by `loo_proba`; those whose likeliest label is
        not the given one are listed. Rows that are all but the same and have different labels are
        named together.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows that the model was fitted to, all or some.
        y : array-like of shape (n,) or (n, n_classes)
            Their labels, or their votes: the label is then the one with most votes, and all votes
            of a row are left out.
        sample_weight : array-like of shape (n,) or None
            Their weights in the fit.

        Returns
        -------
        LabelIssues
        """
        fitted = self._fitted
        probabilities = self.loo_proba(X, y, sample_weight)
        if are_votes(y):
            given = votes_of(y, part=True)
            rows, labels = self._matrix(X), given.labels[given.votes.argmax(axis=1)]
        else:
            rows, labels = self._matrix_and_labels(X, y)
        codes = fitted.encoder.codes(labels)
        issues = issues_among(probabilities, codes, fitted.classes)
        scaled = fitted.encoder.scale(np.asarray(rows, dtype=np.float64))
        return replace(issues, twin=twins_of(issues.rows, scaled, codes, fitted.model.kernel))

    def decide(self, X: ArrayLike, costs: ArrayLike, decline: float | None = None) -> Decision:
        """The decisions that cost least on average, and where it is cheaper to decline.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        costs : array-like of shape (n_classes, n_classes)
            ``costs[i][j]`` is what it costs to decide for ``classes_[j]`` where ``classes_[i]`` is
            right.
        decline : float or None, default=None
            What it costs to decide nothing, and ask somebody. None: that cannot be done.

        Returns
        -------
        Decision
            `labels`, the expected `cost`, and where it is better to have `declined`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> classifier = DirichletGPClassifier(kernel="rbf", random_state=0).fit(X[::2], y[::2])
        >>> costs = [[0, 50], [5, 0]]  # a tumour (0) that is missed costs ten false alarms
        >>> decision = classifier.decide(X[1::2], costs, decline=2)
        >>> decision.labels.shape, bool(decision.cost.max() <= 2)
        ((284,), True)
        """
        return cheapest(self.predict_proba(X), self.classes_, costs, decline)

    def threshold(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        precision: float | None = None,
        recall: float | None = None,
        label: Any = None,
        level: float = 0.95,
        left_out: bool = True,
        sample_weight: ArrayLike | None = None,
    ) -> Threshold:
        """The threshold on a label's probability that reaches a precision or a recall.

        Left-out predictions of the training rows choose it, so no rows need to be held back, and
        say how certain it is.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows that the model was fitted to, all or some.
        y : array-like of shape (n,)
            Their labels.
        precision, recall : float or None
            What is wanted, one of the two: the share of rows above the threshold that have the
            label, or the share of rows with the label that are above it.
        label : object, default=None
            None: the second of two classes.
        level : float, default=0.95
            Of the intervals.
        left_out : bool, default=True
            Whether `X` are rows that the model was fitted to, so that each must be left out. False:
            other rows.
        sample_weight : array-like of shape (n,) or None
            Their weights in the fit.

        Returns
        -------
        Threshold

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> classifier = DirichletGPClassifier(kernel="rbf", random_state=0).fit(X, y)
        >>> found = classifier.threshold(X, y, recall=0.99)
        >>> 0.99 <= found.recall <= 1.0
        True
        """
        if (precision is None) == (recall is None):
            raise ValueError(
                f"precision={precision!r} and recall={recall!r}: pass one of the two as a number."
            )
        target = RECALL if precision is None else PRECISION
        wanted = fraction(target, recall if precision is None else precision)
        level = fraction("level", level)
        place = self._place_of(label)
        if left_out:
            probabilities = self.loo_proba(X, y, sample_weight)
        else:
            probabilities = self.predict_proba(X)
            said = self.rows_seen_in(X, y)
            if said is not None:
                warn_caller(f"{said}. For rows of the fit leave left_out=True.", UserWarning)
        codes = self._fitted.encoder.codes(checked_labels(y, probabilities))
        weights = sample_weights(sample_weight, len(codes))
        reached = Reached.of(probabilities[:, place], codes == place, weights)
        return threshold_for(reached, target, wanted, level)

    def _place_of(self, label: Any) -> int:
        """Where a label stands among the classes; None is the second of two."""
        classes = self.classes_.tolist()
        if label is None:
            if len(classes) > 2:
                raise ValueError(f"label=None, but there are {len(classes)} classes; pass a label.")
            return 1
        if label not in classes:
            raise ValueError(f"label={label!r} is not among the classes, {classes[:5]}.")
        return classes.index(label)

    @property
    def _column_names(self) -> list[str]:
        """Names of the columns of X, which are x0, x1, ... if they have none."""
        columns = self._fitted.features.columns
        return columns.names_in or [f"x{j}" for j in range(columns.n_in)]

    def _scaled(self, X: Any) -> Array:
        """Rows of X as the kernel sees them, (n, D)."""
        rows = np.asarray(self._matrix(X), dtype=np.float64)
        return scaling_function(self._fitted.encoder.scaler)(rows)
