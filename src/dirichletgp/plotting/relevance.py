"""Which features tell rows apart, read off the lengthscales."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import Array
from .canvas import CURVE_COLOUR, one_axes
from .kernels import feature_names_of, fitted_kernel, of_columns
from .pipelines import innermost_classifier, require

_MOST_POINTS = 300


def feature_relevance(classifier: Any) -> Array:
    """Share of each feature in how the model tells rows apart.

    The measure of a feature is what it alone takes away from the correlation of two rows, 1 -
    k(difference / lengthscale), on average over pairs of inducing points: between 0 and 1, so that
    a feature which is the same for nearly all rows counts little however short its lengthscale. A
    feature of share 0 could be left out. A category counts once, however many values it has, and
    so does a date, as the sum of its parts.

    Parameters
    ----------
    classifier : fitted DirichletGPClassifier

    Returns
    -------
    ndarray of shape (n_features,)
        Not negative, sums to one.

    See Also
    --------
    sklearn.inspection.permutation_importance : Importance by what shuffling a column costs.

    Examples
    --------
    >>> import numpy as np
    >>> from dirichletgp import DirichletGPClassifier
    >>> from dirichletgp.plotting import feature_relevance
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> classifier = DirichletGPClassifier(n_inducing=50, random_state=0).fit(X, X[:, 0] > 0)
    >>> bool(feature_relevance(classifier)[0] > 0.9)
    True
    """
    kernel, points = fitted_kernel(classifier)
    step = -(-len(points) // _MOST_POINTS)
    relevance = of_columns(classifier, kernel.relevance(points[::step]))
    total = relevance.sum()
    if total > 0:
        return relevance / total
    return np.full(len(relevance), 1.0 / len(relevance))


class FeatureRelevanceDisplay:
    """Bars of the features that matter most.

    Make one with `from_estimator`, or with `from_predictions` from relevances computed before.

    Parameters
    ----------
    relevance : array-like of shape (n_features,)
        As `feature_relevance` gives it.
    feature_names : array-like of str of shape (n_features,), default=None
        None: x0, x1, ...

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer

    See Also
    --------
    sklearn.inspection.permutation_importance : Importance by what shuffling a column costs.

    Examples
    --------
    >>> from dirichletgp.plotting import FeatureRelevanceDisplay
    >>> display = FeatureRelevanceDisplay.from_predictions(
    ...     [0.2, 0.7, 0.1], feature_names=["age", "dose", "sex"]
    ... )
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['dose', 'age', 'sex']
    """

    ax_: Any
    figure_: Any
    bars_: Any

    def __init__(self, relevance: ArrayLike, feature_names: ArrayLike | None = None) -> None:
        self.relevance: Array = np.asarray(relevance, dtype=np.float64)
        if feature_names is None:
            feature_names = [f"x{j}" for j in range(len(self.relevance))]
        self.feature_names = np.asarray(feature_names)
        if self.feature_names.shape != self.relevance.shape:
            raise ValueError(
                f"feature_names has shape {self.feature_names.shape}, "
                f"expected {self.relevance.shape}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: ArrayLike | None = None,
        max_features: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw the relevance of a fitted classifier's features.

        Parameters
        ----------
        estimator : fitted DirichletGPClassifier, or a pipeline or search that ends in one
        feature_names : array-like of str of shape (n_features,), default=None
            None: the names the classifier was fitted with, if any.
        max_features : int, default=20
            The most bars to draw.
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        FeatureRelevanceDisplay
        """
        purpose = "relevance is read off the lengthscales of a fitted DirichletGPClassifier"
        require(estimator, "lengthscale_", purpose)
        classifier = innermost_classifier(estimator)
        if feature_names is None:
            feature_names = feature_names_of(classifier)
        return cls(feature_relevance(classifier), feature_names).plot(ax, max_features=max_features)

    @classmethod
    def from_predictions(
        cls,
        relevance: ArrayLike,
        *,
        feature_names: ArrayLike | None = None,
        max_features: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw relevances computed before.

        Parameters
        ----------
        relevance : array-like of shape (n_features,)
        feature_names : array-like of str of shape (n_features,), default=None
        max_features : int, default=20
            The most bars to draw.
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        FeatureRelevanceDisplay
        """
        return cls(relevance, feature_names).plot(ax, max_features=max_features)

    def plot(self, ax: Any = None, *, max_features: int = 20) -> Self:
        """Draw, into `ax` or a new figure, at most `max_features` bars; returns itself."""
        shown = np.argsort(-self.relevance, kind="stable")[:max_features]
        self.ax_ = one_axes(ax, "a picture of feature relevance", (5.4, 1.0 + 0.26 * len(shown)))
        self.figure_ = self.ax_.figure
        heights = np.arange(len(shown))
        names = [str(name) for name in self.feature_names[shown]]
        self.bars_ = self.ax_.barh(heights, self.relevance[shown], color=CURVE_COLOUR, height=0.7)
        self.ax_.set_yticks(heights, names)
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel("Share in telling rows apart")
        return self
