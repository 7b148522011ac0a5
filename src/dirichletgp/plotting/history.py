"""How a fit went: the bound at each evaluation, stage by stage."""

from typing import Any, Self

from .canvas import CLASS_COLOURS, one_axes
from .pipelines import innermost_classifier, require


class TrainingHistoryDisplay:
    """The bound per row at every evaluation of a fit.

    Make one with `from_estimator`, or with `from_predictions` from a history kept before. Stages
    with different points, rows or label transforms maximise different bounds: heights compare
    within a stage, not between stages.

    Parameters
    ----------
    history : list of dict
        The `history_` of a fitted classifier.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One per stage that evaluated the bound.

    See Also
    --------
    sklearn.model_selection.LearningCurveDisplay : Scores against the number of rows.

    Examples
    --------
    >>> from dirichletgp.plotting import TrainingHistoryDisplay
    >>> stage = {"stage": "kernel", "seconds": 0.1, "note": "", "bound_per_row": [-3.0, -2.0, -1.5]}
    >>> history = [stage]
    >>> len(TrainingHistoryDisplay.from_predictions(history).lines_)
    1
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, history: list[dict[str, Any]]) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the history of a fitted classifier, or of the one that a pipeline or search ends in.

        Parameters
        ----------
        estimator : fitted DirichletGPClassifier, or a pipeline or search that ends in one
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        TrainingHistoryDisplay
        """
        purpose = "a fitted DirichletGPClassifier keeps the history of its fit"
        require(estimator, "history_", purpose)
        return cls(innermost_classifier(estimator).history_).plot(ax)

    @classmethod
    def from_predictions(cls, history: list[dict[str, Any]], *, ax: Any = None) -> Self:
        """Draw a history kept before.

        Parameters
        ----------
        history : list of dict
            The `history_` of a fitted classifier.
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        TrainingHistoryDisplay
        """
        return cls(history).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, into `ax` or a new figure; returns itself."""
        self.ax_ = one_axes(ax, "a picture of the training history")
        self.figure_ = self.ax_.figure
        self.lines_ = []
        start = 1
        for stage in self.history:
            bound = stage["bound_per_row"]
            if not bound:
                continue
            colour = CLASS_COLOURS[len(self.lines_) % len(CLASS_COLOURS)]
            label = f"{stage['stage']}, {stage['seconds']:.1f} s"
            numbers = range(start, start + len(bound))
            self.lines_ += self.ax_.plot(
                numbers, bound, color=colour, marker=".", linewidth=1.4, label=label
            )
            start += len(bound)
        self.ax_.set(xlabel="Evaluation of the bound", ylabel="Bound per row (nats)")
        if self.lines_:
            # A line search may try a bad step; it should not press everything else flat.
            ends = [value for line in self.lines_ for value in line.get_ydata()[[0, -1]]]
            reach = 0.1 * (max(ends) - min(ends)) or 1.0
            self.ax_.set_ylim(min(ends) - 4 * reach, max(ends) + reach)
            self.ax_.legend(loc="lower right", fontsize="small", frameon=False)
        return self
