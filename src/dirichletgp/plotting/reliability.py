"""The reliability diagram: does a confidence of 0.8 come true eight times in ten?

`ReliabilityDisplay` draws accuracy against confidence with the identity as reference, beneath it
the proportion of rows at each confidence, since a deviation carried by a handful of rows means
little. For two classes the grey band shows what the model knows about its own probabilities: it
is bounded by two more classifiers, those that answer with the lower and with the upper quantile of
the predictive distribution instead of its mean, asked about the rows of each bin. A calibrated
model has the identity inside its band.
"""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import AnyArray, Array
from ..metrics import ReliabilityCurve, expected_calibration_error, reliability_curve
from ..metrics.curve import Confidence, Strategy
from .canvas import CURVE_COLOUR, draw_identity, pyplot
from .pipelines import display_name, innermost_classifier, require, transformed_rows
from .quantile_band import draw_band, occupied_points, quantile_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReliabilityDisplay:
    """Reliability diagram with the band of quantile classifiers and the confidence histogram.

    Make one with `from_estimator` or `from_predictions`; all parameters are stored as attributes.

    Parameters
    ----------
    curve : ReliabilityCurve
        The curve of the mean classifier.
    mass : ndarray of shape (n_bins,)
        Proportion of the rows in each of `n_bins` bins of equal width on [0, 1].
    calibration_error : float
        The ECE to print.
    lower, upper : ReliabilityCurve, default=None
        The same bins with the mean lower and the mean upper quantile of their rows as confidence.
    level : float, default=0.95
        Probability between the two quantiles.
    pos_label : label, default=None
        The class whose probability is on the x axis; None: confidence in the predicted class.
    name : str, default=None
        Name of the curve in the legend.

    Attributes
    ----------
    ax_, ax_histogram_ : matplotlib Axes
        The diagram, and the histogram beneath it.
    figure_ : matplotlib Figure
        The figure that holds both.
    line_ : matplotlib Line2D
        The reliability curve.
    band_ : matplotlib PathPatch or None
        The area between the quantile classifiers.
    bars_ : matplotlib BarContainer
        The histogram.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : Scikit-learn's calibration curves.

    Examples
    --------
    >>> import numpy as np
    >>> from dirichletgp.plotting import ReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.uniform(size=2000)
    >>> y = rng.uniform(size=2000) < probability
    >>> display = ReliabilityDisplay.from_predictions(y, probability)
    >>> display.calibration_error < 0.05
    True
    >>> display.ax_.get_ylabel()
    'Observed frequency of class True'
    """

    ax_: "Axes"
    ax_histogram_: "Axes"
    figure_: Any
    line_: Any
    band_: Any
    bars_: Any

    def __init__(
        self,
        curve: ReliabilityCurve,
        mass: Array,
        calibration_error: float,
        *,
        lower: ReliabilityCurve | None = None,
        upper: ReliabilityCurve | None = None,
        level: float = 0.95,
        pos_label: Any = None,
        name: str | None = None,
    ) -> None:
        self.curve = curve
        self.mass = mass
        self.calibration_error = calibration_error
        self.lower = lower
        self.upper = upper
        self.level = level
        self.pos_label = pos_label
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        level: float = 0.95,
        pos_label: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the diagram of a fitted classifier on the rows X, y.

        Parameters
        ----------
        estimator : fitted classifier, or a pipeline or search that ends in one
            Needs `predict_proba`. The band is drawn if it has `predict_interval`.
        X : array-like of shape (n, D)
            Rows, preferably ones the estimator was not fitted to.
        y : array-like of shape (n,)
            True labels.
        level : float, default=0.95
            Probability between the quantiles that bound the band.
        pos_label : label, default=None
            The class whose probability is on the x axis. None: the second of two classes; with
            more classes, the confidence in the predicted class, which has no band.
        name : str, default=None
            Name of the curve in the legend; None: the name of the estimator's class.
        **options
            All that `from_predictions` takes besides: `n_bins`, `strategy`, `confidence`,
            `sample_weight`, `ax`, and properties of the line.

        Returns
        -------
        ReliabilityDisplay

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from dirichletgp.plotting import ReliabilityDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> display = ReliabilityDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
        >>> display.name
        'GaussianNB'
        """
        require(estimator, "predict_proba", "a reliability diagram needs probabilities")
        classes = estimator.classes_
        lower = upper = None
        if pos_label is not None or len(classes) == 2:
            classifier = innermost_classifier(estimator)
            if hasattr(classifier, "predict_interval"):
                rows = transformed_rows(estimator, X)
                lower, upper = classifier.predict_interval(rows, level=level)
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            lower=lower,
            upper=upper,
            level=level,
            pos_label=pos_label,
            labels=classes,
            name=display_name(estimator, name),
            **options,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        level: float = 0.95,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        confidence: Confidence = "mean",
        pos_label: Any = None,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **line_properties: Any,
    ) -> Self:
        """Draw the diagram of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        y_prob : array-like of shape (n, C), or (n,) for two classes
            Predicted probabilities; (n,) means the probability of the second label.
        lower, upper : array-like of shape (n, C) or (n,), default=None
            Quantiles of the probabilities, or of that of `pos_label` alone; they bound the band.
        level : float, default=0.95
            Probability between `lower` and `upper`, for the legend.
        n_bins, strategy, confidence, labels, sample_weight
            As in `dirichletgp.metrics.reliability_curve`. The histogram always has bins of equal
            width.
        pos_label : label, default=None
            The class whose probability is on the x axis. None: the second of two classes; with
            more classes, the confidence in the predicted class, which has no band.
        name : str, default=None
            Name of the curve in the legend.
        ax : matplotlib Axes, or two of them, default=None
            As in `plot`.
        **line_properties
            Properties of the reliability curve's line.

        Returns
        -------
        ReliabilityDisplay

        Examples
        --------
        >>> from dirichletgp.plotting import ReliabilityDisplay
        >>> display = ReliabilityDisplay.from_predictions(
        ...     [0, 1, 0, 1], [0.2, 0.6, 0.4, 0.9],
        ...     lower=[0.1, 0.5, 0.2, 0.7], upper=[0.4, 0.7, 0.6, 0.95], n_bins=2,
        ... )
        >>> display.mass.tolist()
        [0.5, 0.5]
        """
        rows: dict[str, Any] = {"sample_weight": sample_weight, "n_bins": n_bins}
        binning: dict[str, Any] = {**rows, "strategy": strategy, "confidence": confidence}
        # The ECE of the predicted class, the number in everybody's tables, unless somebody asks
        # for one of many classes.
        error = expected_calibration_error(y_true, y_prob, labels=labels, **binning)
        classes = np.unique(np.asarray(y_true)) if labels is None else np.asarray(labels)
        if pos_label is None and len(classes) == 2:
            pos_label = classes[1]
        which: dict[str, Any] = {"pos_label": pos_label, "labels": labels}
        curve = reliability_curve(y_true, y_prob, **which, **binning)
        if pos_label is not None and len(classes) > 2:
            error = curve.calibration_error
        score = _probability_of(np.asarray(y_prob, dtype=np.float64), classes, pos_label)
        quantiles = {"lower": lower, "upper": upper}
        below, above = quantile_curves(curve, score, quantiles, pos_label, classes, sample_weight)
        display = cls(
            curve,
            reliability_curve(y_true, y_prob, **which, **rows).mass,
            error,
            lower=below,
            upper=above,
            level=level,
            pos_label=pos_label,
            name=name,
        )
        return display.plot(ax, **line_properties)

    def plot(self, ax: Any = None, *, name: str | None = None, **line_properties: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them, default=None
            None: a new figure. Axes: the histogram takes the lower part of them. Two Axes, those
            of the diagram and of the histogram: to draw one model over another.
        name : str, default=None
            Name of the curve in the legend; None: the one given before.
        **line_properties
            Properties of the reliability curve's line.

        Returns
        -------
        ReliabilityDisplay
            Itself, with the attributes that end in an underscore set.
        """
        self.ax_, self.ax_histogram_ = _two_axes(ax)
        self.figure_ = self.ax_.figure
        name = self.name if name is None else name
        label = f"{name or 'Mean classifier'} (ECE {self.calibration_error:.3f})"
        style: dict[str, Any] = {"color": CURVE_COLOUR, "marker": "o", "markersize": 5}
        style |= {"linewidth": 1.8, "label": label, "zorder": 3} | line_properties
        (self.line_,) = self.ax_.plot(*occupied_points(self.curve).T, **style)
        self.band_ = self._draw_band()
        draw_identity(self.ax_)
        self.bars_ = self._draw_histogram()
        self._write_labels()
        return self

    def _draw_band(self) -> Any:
        if self.lower is None or self.upper is None:
            return None
        label = f"{100 * self.level:.4g} % quantile classifiers"
        return draw_band(self.ax_, self.lower, self.upper, label)

    def _draw_histogram(self) -> Any:
        from matplotlib.colors import to_rgba

        edges = np.linspace(0, 1, len(self.mass) + 1)
        colour = self.line_.get_color()
        style: dict[str, Any] = {"facecolor": to_rgba(colour, 0.35), "edgecolor": colour}
        return self.ax_histogram_.bar(
            edges[:-1], self.mass, np.diff(edges), align="edge", linewidth=0.8, **style
        )

    def _write_labels(self) -> None:
        if self.pos_label is None:
            x_label = "Confidence in the predicted class"
            y_label = "Accuracy"
        else:
            x_label = f"Predicted probability of class {self.pos_label}"
            y_label = f"Observed frequency of class {self.pos_label}"
        ticks = np.linspace(0, 1, 6)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel=y_label, yticks=ticks)
        self.ax_.tick_params(labelbottom=False)
        self.ax_.legend(loc="upper left", fontsize="small", frameon=False)
        self.ax_histogram_.set(
            xlim=(-0.02, 1.02), xticks=ticks, xlabel=x_label, ylabel="Proportion\nof rows"
        )
        self.ax_histogram_.locator_params(axis="y", nbins=4)


def _probability_of(prob: Array, classes: AnyArray, pos_label: Any) -> Array:
    """Probabilities (n,) of a class; as they are if no class is asked for."""
    if pos_label is None:
        return prob
    if prob.ndim == 2:
        return prob[:, classes.tolist().index(pos_label)]
    return 1.0 - prob if pos_label == classes[0] else prob


def _two_axes(ax: Any) -> tuple["Axes", "Axes"]:
    plt = pyplot("a reliability diagram")
    if np.ndim(ax) == 1 and len(ax) == 2:
        return ax[0], ax[1]
    if ax is None:
        _, ax = plt.subplots(figsize=(4.8, 5.8), layout="constrained")
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError(
            "ax must come from subplots, so that its place can be divided between the diagram and "
            "the histogram; otherwise pass two Axes, ax=(diagram, histogram)"
        )
    halves = place.subgridspec(2, 1, height_ratios=(3.4, 1), hspace=0.03)
    ax.set_subplotspec(halves[0])
    return ax, ax.figure.add_subplot(halves[1], sharex=ax)
