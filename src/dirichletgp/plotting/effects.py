"""What a feature does to the log-odds of a class, and how well that is known."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from .._gp.core.arrays import AnyArray, Array
from .._gp.rows.columns import Matrix
from .canvas import BAND_COLOUR, CURVE_COLOUR, REFERENCE_COLOUR, one_axes
from .feature_values import feature_values, matrix_of
from .pipelines import innermost_classifier, require, transformed_rows

_PAIR_STEPS = 25
_IN_ORDER = "fM"  # numbers and times


class EffectDisplay:
    """The effect of a feature, with a credible band; or of two features together.

    Make one with `from_estimator`, or from numbers computed before.

    Parameters
    ----------
    values : list of ndarray
        The values of one feature, (n,), or of two, (n,) and (m,): numbers or times (datetime64)
        in order, or texts.
    mean : ndarray of shape (n,) or (n, m)
        Change in the log-odds of the class.
    deviation : ndarray of shape (n,) or None
        Its posterior standard deviation; None for two features.
    names : list of str
        Of the features.
    label : object
        The class.
    level : float, default=0.95
        Of the band.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn.inspection.PartialDependenceDisplay : The effect on predictions of any estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> from dirichletgp.plotting import EffectDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> classifier = DirichletGPClassifier(kernel="rbf", random_state=0).fit(X, y)
    >>> display = EffectDisplay.from_estimator(classifier, X, "petal length (cm)", label=2)
    >>> display.ax_.get_xlabel()
    'petal length (cm)'
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        values: list[AnyArray],
        mean: Array,
        deviation: Array | None,
        names: list[str],
        label: Any,
        level: float = 0.95,
    ) -> None:
        self.values = values
        self.mean = mean
        self.deviation = deviation
        self.names = names
        self.label = label
        self.level = level

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *features: str | int,
        label: Any = None,
        level: float = 0.95,
        n_points: int = 80,
        ax: Any = None,
    ) -> Self:
        """Draw the effect of one feature of a fitted classifier, or of two together.

        Features are what the model takes them for (`columns_`): texts that were read as numbers
        are numbers, dates are times, and of a text that is known by its words the effect of each
        word is drawn, as if it were the only one.

        Parameters
        ----------
        estimator : fitted DirichletGPClassifier, or a pipeline or search that ends in one
        X : array-like of shape (n, n_features)
            Rows whose values are shown, such as the training rows.
        *features : str or int
            Names or positions of one feature or of two.
        label : object, default=None
            The class. None: the second of two, the first of more.
        level : float, default=0.95
            Of the band.
        n_points : int, default=80
            Values of a number that are computed.
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        EffectDisplay
        """
        require(estimator, "effect", "effects are those of a fitted DirichletGPClassifier")
        if len(features) not in (1, 2):
            raise TypeError(
                f"name one feature or two after the rows, got {len(features)}: "
                "EffectDisplay.from_estimator(classifier, X, 'age')."
            )
        classifier = innermost_classifier(estimator)
        rows = transformed_rows(estimator, X)
        classes = classifier.classes_.tolist()
        if label is None:
            label = classes[1] if len(classes) == 2 else classes[0]
        if label not in classes:
            raise ValueError(f"label={label!r} is not among the classes, {classes[:5]}.")
        place = classes.index(label)
        columns = [classifier.place_of_feature(feature) for feature in features]
        pair = len(features) == 2
        most = _PAIR_STEPS if pair else n_points
        given = [feature_values(classifier, rows, column, most) for column in columns]
        base = matrix_of(classifier, rows)[0]
        at = given[0].in_rows(base)
        if pair:
            at = np.concatenate([given[1].in_rows(row) for row in at])
        found = classifier.effect(Matrix.of(at), *columns)
        shape = tuple(len(each.values) for each in given)
        mean = found.mean[:, place].reshape(shape)
        deviation = None if pair else found.deviation[:, place]
        values, names = [each.values for each in given], [each.name for each in given]
        return cls(values, mean, deviation, names, label, level).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, into `ax` or a new figure; returns itself."""
        pair = len(self.values) == 2
        self.ax_ = one_axes(ax, "a picture of effects", (5.6, 4.4) if pair else (5.4, 3.6))
        self.figure_ = self.ax_.figure
        if pair:
            self._draw_pair()
        elif self.values[0].dtype.kind in _IN_ORDER:
            self._draw_curve()
        else:
            self._draw_categories()
        if self.values[0].dtype.kind == "M":
            self.ax_.tick_params(axis="x", labelrotation=30)
        return self

    @property
    def _reach(self) -> Array:
        """Half the width of the band."""
        assert self.deviation is not None
        return float(ndtri(0.5 + self.level / 2)) * self.deviation

    @property
    def _what(self) -> str:
        return f"Change in the log-odds of {self.label}"

    def _draw_curve(self) -> None:
        x, reach = self.values[0], self._reach
        band = f"{100 * self.level:.0f} % band"
        self.ax_.fill_between(
            x, self.mean - reach, self.mean + reach, color=BAND_COLOUR, alpha=0.6, lw=0, label=band
        )
        self.ax_.plot(x, self.mean, color=CURVE_COLOUR, lw=2, label="effect")
        self.ax_.axhline(0.0, color=REFERENCE_COLOUR, lw=0.8, ls=(0, (5, 3)))
        # One tick for each value that was computed: they are spread as the rows are.
        self.ax_.plot(
            x,
            np.zeros(len(x)),
            "|",
            color=REFERENCE_COLOUR,
            ms=6,
            alpha=0.6,
            transform=self.ax_.get_xaxis_transform(),
            clip_on=False,
        )
        self.ax_.set_xlabel(self.names[0])
        self.ax_.set_ylabel(self._what)
        self.ax_.legend(frameon=False)

    def _draw_categories(self) -> None:
        order = np.argsort(self.mean, kind="stable")
        heights = np.arange(len(order))
        self.ax_.errorbar(
            self.mean[order],
            heights,
            xerr=self._reach[order],
            fmt="o",
            color=CURVE_COLOUR,
            ecolor=BAND_COLOUR,
            elinewidth=4,
            capsize=0,
        )
        self.ax_.axvline(0.0, color=REFERENCE_COLOUR, lw=0.8, ls=(0, (5, 3)))
        self.ax_.set_yticks(heights, [str(value) for value in self.values[0][order]])
        self.ax_.set_ylabel(self.names[0])
        self.ax_.set_xlabel(self._what)

    def _draw_pair(self) -> None:
        axes = [self.ax_.set_xticks, self.ax_.set_yticks]
        places = []
        for values, set_ticks in zip(self.values, axes, strict=True):
            in_order = values.dtype.kind in _IN_ORDER
            places.append(values if in_order else np.arange(len(values)))
            if not in_order:
                set_ticks(places[-1], [str(value) for value in values])
        largest = float(np.abs(self.mean).max()) or 1.0
        mesh = self.ax_.pcolormesh(
            *places, self.mean.T, cmap="RdBu_r", vmin=-largest, vmax=largest, shading="nearest"
        )
        self.figure_.colorbar(mesh, ax=self.ax_, label=self._what)
        self.ax_.set_xlabel(self.names[0])
        self.ax_.set_ylabel(self.names[1])
