"""Where uncertainty comes from: labels that are noisy, or too little data."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import Array, Booleans
from .canvas import CURVE_COLOUR, SECOND_COLOUR, one_axes
from .pipelines import innermost_classifier, require, transformed_rows


class UncertaintyDisplay:
    """Epistemic against aleatoric uncertainty, one point per row, in nats.

    Make one with `from_estimator` or `from_predictions`. To the right labels are noisy, and more
    data will not help; at the top too little was seen, and it will.

    Parameters
    ----------
    aleatoric, epistemic : array-like of shape (n,)
        As `DirichletGPClassifier.predict_uncertainty` gives them.
    correct : array-like of bool of shape (n,), default=None
        Whether the prediction of the row was right; wrong ones are marked.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib PathCollection
        Of the rows predicted right, and of those predicted wrong.

    Examples
    --------
    >>> from dirichletgp.plotting import UncertaintyDisplay
    >>> display = UncertaintyDisplay.from_predictions(
    ...     [0.1, 0.6], [0.01, 0.02], correct=[True, False]
    ... )
    >>> display.ax_.get_xlabel()
    'Aleatoric uncertainty (nats): labels are noisy'
    """

    ax_: Any
    figure_: Any
    points_: list[Any]

    def __init__(
        self, aleatoric: ArrayLike, epistemic: ArrayLike, correct: ArrayLike | None = None
    ) -> None:
        self.aleatoric: Array = np.asarray(aleatoric, dtype=np.float64)
        self.epistemic: Array = np.asarray(epistemic, dtype=np.float64)
        if self.aleatoric.ndim != 1 or self.aleatoric.shape != self.epistemic.shape:
            raise ValueError(
                "aleatoric and epistemic must have the same shape (n,), "
                f"got {self.aleatoric.shape} and {self.epistemic.shape}"
            )
        self.correct: Booleans | None = None
        if correct is not None:
            self.correct = np.asarray(correct, dtype=bool)
        if self.correct is not None and self.correct.shape != self.aleatoric.shape:
            raise ValueError(
                f"correct has shape {self.correct.shape}, expected {self.aleatoric.shape}"
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the uncertainty of a fitted classifier about rows.

        Parameters
        ----------
        estimator : fitted classifier, or a pipeline or search that ends in one
            Needs `predict_uncertainty`.
        X : array-like of shape (n, D)
        y : array-like of shape (n,), default=None
            True labels: with them, rows predicted wrong are marked.
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        UncertaintyDisplay
        """
        purpose = "a DirichletGPClassifier tells the two uncertainties apart"
        require(estimator, "predict_uncertainty", purpose)
        rows = transformed_rows(estimator, X)
        _, aleatoric, epistemic = innermost_classifier(estimator).predict_uncertainty(rows)
        correct = None if y is None else estimator.predict(X) == np.asarray(y)
        return cls(aleatoric, epistemic, correct).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        aleatoric: ArrayLike,
        epistemic: ArrayLike,
        *,
        correct: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw uncertainties computed before, each of shape (n,).

        Parameters
        ----------
        aleatoric, epistemic : array-like of shape (n,)
        correct : array-like of bool of shape (n,), default=None
            Whether the prediction of the row was right.
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        UncertaintyDisplay
        """
        return cls(aleatoric, epistemic, correct).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, into `ax` or a new figure; returns itself."""
        self.ax_ = one_axes(ax, "a picture of uncertainty")
        self.figure_ = self.ax_.figure
        right = np.ones(len(self.aleatoric), dtype=bool) if self.correct is None else self.correct
        dots: dict[str, Any] = {"s": 14, "color": CURVE_COLOUR, "alpha": 0.45, "linewidths": 0}
        crosses: dict[str, Any] = {"s": 24, "color": SECOND_COLOUR, "marker": "x"}
        self.points_ = [
            self.ax_.scatter(self.aleatoric[rows], self.epistemic[rows], **style)
            for rows, style in ((right, dots), (~right, crosses))
        ]
        self.ax_.set(xlabel="Aleatoric uncertainty (nats): labels are noisy")
        self.ax_.set(ylabel="Epistemic uncertainty (nats): too little data")
        self.ax_.set_xlim(left=0)
        # Most rows are well known and a few not at all: both show, and zero too.
        self.ax_.set_yscale("symlog", linthresh=1e-3)
        self.ax_.set_ylim(0, 2 * max(self.epistemic.max(initial=0.0), 1e-3))
        if self.correct is not None:
            self.points_[0].set_label("Predicted right")
            self.points_[1].set_label("Predicted wrong")
            self.ax_.legend(loc="upper left", fontsize="small", frameon=False)
        return self
