"""Accuracy against rejection: how good is what is left when the least certain are refused?"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import Array
from ..metrics.inputs import checked_predictions
from .canvas import CURVE_COLOUR, REFERENCE_COLOUR, one_axes
from .pipelines import display_name, require


@dataclass(frozen=True)
class RejectionCurve:
    """Accuracy of the rows that are kept, as a function of the share that is refused.

    Attributes
    ----------
    rejected : ndarray of shape (K,)
        Share of the rows that is refused, the least confident first, increasing from 0.
    accuracy : ndarray of shape (K,)
        Accuracy of the others.
    threshold : ndarray of shape (K,)
        The confidence from which on a row is kept.

    Examples
    --------
    >>> from dirichletgp.plotting import rejection_curve
    >>> curve = rejection_curve([0, 1, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> curve.accuracy[:2].tolist()  # of all rows, and without the least certain one
    [0.75, 1.0]
    """

    rejected: Array
    accuracy: Array
    threshold: Array

    @property
    def mean_accuracy(self) -> float:
        """Accuracy averaged over all shares of refused rows: the area under the curve."""
        ends = np.append(self.rejected[1:], 1.0)
        return float(np.sum((ends - self.rejected) * self.accuracy))


def rejection_curve(
    y_true: ArrayLike, y_prob: ArrayLike, *, labels: ArrayLike | None = None
) -> RejectionCurve:
    """Accuracy of what is left when the rows of least confidence are refused.

    Rows of equal confidence are refused together.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_prob : array-like of shape (n, C), or (n,) for two classes
        Predicted probabilities; the confidence of a row is its largest.
    labels : array-like of shape (C,), default=None
        The class of every column of `y_prob`; None: the sorted classes in `y_true`.

    Returns
    -------
    RejectionCurve

    Examples
    --------
    >>> from dirichletgp.plotting import rejection_curve
    >>> curve = rejection_curve([0, 1, 1, 0], [0.1, 0.9, 0.45, 0.4])
    >>> curve.rejected.tolist(), curve.accuracy.tolist()
    ([0.0, 0.25, 0.5], [0.75, 1.0, 1.0])
    """
    true_column, prob, _, _ = checked_predictions(y_true, y_prob, labels, None)
    confidence = prob.max(axis=1)
    correct = prob.argmax(axis=1) == true_column
    order = np.argsort(confidence, kind="stable")
    # Rounded, so that 1 - 0.4 and 0.6 are the same confidence.
    sorted_confidence = np.round(confidence[order], 12)
    first = np.flatnonzero(np.diff(sorted_confidence, prepend=-1.0) > 0)
    kept_correct = np.cumsum(correct[order][::-1])[::-1]
    n = len(order)
    return RejectionCurve(first / n, kept_correct[first] / (n - first), confidence[order][first])


class RejectionDisplay:
    """Accuracy of the rows that are kept against the share that is refused.

    Make one with `from_estimator` or `from_predictions`. A useful confidence makes the curve rise
    from the left; the dashed line is what refusing rows at random would give.

    Parameters
    ----------
    curve : RejectionCurve
    name : str, default=None
        Name of the curve in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D

    See Also
    --------
    sklearn.metrics.DetCurveDisplay : Errors of two kinds against each other.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from dirichletgp.plotting import RejectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = RejectionDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    >>> bool(display.curve.mean_accuracy > display.curve.accuracy[0])
    True
    """

    ax_: Any
    figure_: Any
    line_: Any

    def __init__(self, curve: RejectionCurve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the curve of a fitted classifier on the rows X (n, D) with labels y (n,).

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba`
        X : array-like of shape (n, D)
        y : array-like of shape (n,)
        name : str, default=None
            None: the name of the estimator's class.
        **options
            All that `from_predictions` takes besides.

        Returns
        -------
        RejectionDisplay
        """
        require(estimator, "predict_proba", "rows are refused by their largest probability")
        name = display_name(estimator, name)
        return cls.from_predictions(
            y, estimator.predict_proba(X), labels=estimator.classes_, name=name, **options
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **line_properties: Any,
    ) -> Self:
        """Draw the curve of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_prob : array-like of shape (n, C), or (n,) for two classes
        labels : array-like of shape (C,), default=None
            The class of every column of `y_prob`; None: the sorted classes in `y_true`.
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure.
        **line_properties
            Properties of the line.

        Returns
        -------
        RejectionDisplay
        """
        curve = rejection_curve(y_true, y_prob, labels=labels)
        return cls(curve, name=name).plot(ax, **line_properties)

    def plot(self, ax: Any = None, *, name: str | None = None, **line_properties: Any) -> Self:
        """Draw, into `ax` or a new figure; returns itself."""
        self.ax_ = one_axes(ax, "a rejection curve")
        self.figure_ = self.ax_.figure
        name = (self.name if name is None else name) or "Least confident first"
        style = {
            "color": CURVE_COLOUR,
            "linewidth": 1.8,
            "label": name,
            "drawstyle": "steps-post",
        } | line_properties
        (self.line_,) = self.ax_.plot(self.curve.rejected, self.curve.accuracy, **style)
        reference: dict[str, Any] = {
            "color": REFERENCE_COLOUR,
            "linestyle": (0, (5, 3)),
            "linewidth": 1.0,
        }
        if not any(line.get_gid() == "random" for line in self.ax_.lines):
            self.ax_.axhline(
                self.curve.accuracy[0], gid="random", label="Rows refused at random", **reference
            )
        self.ax_.set(
            xlim=(0, 1), xlabel="Share of rows refused", ylabel="Accuracy of the rows kept"
        )
        self.ax_.margins(y=0.08)
        self.ax_.legend(
            loc="lower right", bbox_to_anchor=(1, 0.12), fontsize="small", frameon=False
        )
        return self
