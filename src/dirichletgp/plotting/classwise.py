"""Calibration class by class: honest on the whole, a classifier can be wrong about one class."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..metrics import ReliabilityCurve, reliability_curve
from ..metrics.curve import Strategy
from .canvas import CLASS_COLOURS, CLASS_MARKERS, draw_identity, one_axes
from .pipelines import require
from .quantile_band import occupied_points


class ClasswiseCalibrationDisplay:
    """The reliability curve of every class against the rest.

    Make one with `from_estimator` or `from_predictions`. The classes with the largest calibration
    error have colours and stand in the legend; the others are drawn in grey.

    Parameters
    ----------
    curves : list of ReliabilityCurve
        One per class.
    classes : array-like of shape (C,)
        Their labels.

    Attributes
    ----------
    calibration_error : ndarray of shape (C,)
        The calibration error of each class.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One per class, in the order of `classes`.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : Scikit-learn's calibration curves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from dirichletgp.plotting import ClasswiseCalibrationDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ClasswiseCalibrationDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    >>> display.calibration_error.round(3).tolist()
    [0.0, 0.028, 0.028]
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, curves: list[ReliabilityCurve], classes: ArrayLike) -> None:
        self.curves = curves
        self.classes = np.asarray(classes)
        self.calibration_error = np.array([curve.calibration_error for curve in curves])

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, **options: Any) -> Self:
        """Draw the curves of a fitted classifier on the rows X (n, D) with labels y (n,).

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba`
        X : array-like of shape (n, D)
        y : array-like of shape (n,)
        **options
            All that `from_predictions` takes besides.

        Returns
        -------
        ClasswiseCalibrationDisplay
        """
        require(estimator, "predict_proba", "calibration is a property of probabilities")
        return cls.from_predictions(
            y, estimator.predict_proba(X), labels=estimator.classes_, **options
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_named: int = 6,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_prob : array-like of shape (n, C), or (n,) for two classes
        n_bins, strategy, labels, sample_weight
            As in `dirichletgp.metrics.reliability_curve`.
        n_named : int, default=6
            Classes with a colour and a place in the legend, those with the largest error first; at
            most 6.
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        ClasswiseCalibrationDisplay
        """
        classes = np.unique(np.asarray(y_true)) if labels is None else np.asarray(labels)
        binning: dict[str, Any] = {
            "n_bins": n_bins,
            "strategy": strategy,
            "sample_weight": sample_weight,
        }
        curves = [
            reliability_curve(y_true, y_prob, pos_label=label, labels=classes, **binning)
            for label in classes.tolist()
        ]
        return cls(curves, classes).plot(ax, n_named=n_named)

    def plot(self, ax: Any = None, *, n_named: int = 6) -> Self:
        """Draw, into `ax` or a new figure, with `n_named` classes in colour; returns itself."""
        self.ax_ = one_axes(ax, "a picture of class-wise calibration", (4.8, 4.6))
        self.figure_ = self.ax_.figure
        self.lines_ = []
        largest_error_first = np.argsort(-self.calibration_error, kind="stable")
        rank = np.argsort(largest_error_first)
        for curve, label, place in zip(self.curves, self.classes.tolist(), rank, strict=True):
            style: dict[str, Any] = {"color": "#B5B5B5", "linewidth": 0.9, "zorder": 1}
            if place < min(n_named, len(CLASS_COLOURS)):
                style = {
                    "color": CLASS_COLOURS[place],
                    "marker": CLASS_MARKERS[place],
                    "markersize": 4.5,
                    "zorder": 3,
                    "label": f"{label} (error {curve.calibration_error:.3f})",
                }
            self.lines_ += self.ax_.plot(*occupied_points(curve).T, **style)
        draw_identity(self.ax_)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        self.ax_.set(
            xlabel="Predicted probability of the class", ylabel="Observed frequency of the class"
        )
        self.ax_.legend(loc="upper left", fontsize="small", frameon=False)
        return self
