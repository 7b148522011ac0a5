"""What a feature does to the log-odds of a class, and how well that is known."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils import _safe_indexing

from .._gp.core.arrays import AnyArray, Array
from .canvas import BAND_COLOUR, CURVE_COLOUR, REFERENCE_COLOUR, one_axes
from .pipelines import innermost_classifier, require, transformed_rows

_MOST_CATEGORIES = 15
_PAIR_STEPS = 25


class EffectDisplay:
    """The effect of a feature, with a credible band; or of two features together.

    Make one with `from_estimator`, or from numbers computed before.

    Parameters
    ----------
    values : list of ndarray
        The values of one feature, (n,), or of two, (n,) and (m,): numbers in order, or texts.
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
        names = [_name(rows, feature) for feature in features]
        if len(features) == 2:
            grids = [_grid(_column(rows, feature), _PAIR_STEPS)[0] for feature in features]
            mean = classifier.effect(_all_pairs(rows, features, grids), *features).mean[:, place]
            shape = (len(grids[0]), len(grids[1]))
            return cls(grids, mean.reshape(shape), None, names, label, level).plot(ax)
        values, chosen = _grid(_column(rows, features[0]), n_points)
        found = classifier.effect(_safe_indexing(rows, chosen), *features)
        mean, deviation = found.mean[:, place], found.deviation[:, place]
        return cls([values], mean, deviation, names, label, level).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, into `ax` or a new figure; returns itself."""
        pair = len(self.values) == 2
        self.ax_ = one_axes(ax, "a picture of effects", (5.6, 4.4) if pair else (5.4, 3.6))
        self.figure_ = self.ax_.figure
        if pair:
            self._draw_pair()
        elif self.values[0].dtype.kind == "f":
            self._draw_curve()
        else:
            self._draw_categories()
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
            is_number = values.dtype.kind == "f"
            places.append(values if is_number else np.arange(len(values)))
            if not is_number:
                set_ticks(places[-1], [str(value) for value in values])
        largest = float(np.abs(self.mean).max()) or 1.0
        mesh = self.ax_.pcolormesh(
            *places, self.mean.T, cmap="RdBu_r", vmin=-largest, vmax=largest, shading="nearest"
        )
        self.figure_.colorbar(mesh, ax=self.ax_, label=self._what)
        self.ax_.set_xlabel(self.names[0])
        self.ax_.set_ylabel(self.names[1])


def _name(rows: Any, feature: str | int) -> str:
    if isinstance(feature, str):
        return feature
    return str(rows.columns[feature]) if hasattr(rows, "columns") else f"x{feature}"


def _column(rows: Any, feature: str | int) -> AnyArray:
    """The values (n,) of a feature, numbers as floats."""
    if not hasattr(rows, "columns"):
        column = np.asarray(rows)[:, int(feature)]
    else:
        column = rows[feature if isinstance(feature, str) else rows.columns[feature]]
    values = np.asarray(column)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values.astype(object)


def _grid(values: AnyArray, most: int) -> tuple[AnyArray, AnyArray]:
    """Some values in order, and rows that have them: numbers spread as the rows are."""
    if values.dtype.kind != "f":
        texts = np.array(["missing" if _lacks(v) else str(v) for v in values.tolist()])
        distinct, first, counts = np.unique(texts, return_index=True, return_counts=True)
        kept = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
        return distinct[kept], first[kept]
    distinct, first = np.unique(values, return_index=True)
    known = ~np.isnan(distinct)
    distinct, first = distinct[known], first[known]
    if len(distinct) > most:
        wanted = np.quantile(values[~np.isnan(values)], np.linspace(0, 1, most))
        kept = np.unique(np.searchsorted(distinct, wanted).clip(0, len(distinct) - 1))
        distinct, first = distinct[kept], first[kept]
    return distinct, first


def _lacks(value: Any) -> bool:
    return value is None or value != value or str(value) in ("<NA>", "NaT")


def _all_pairs(rows: Any, features: tuple[str | int, ...], grids: list[AnyArray]) -> Any:
    """Rows in which two features have all pairs of values; the others are those of the first."""
    size = len(grids[0]) * len(grids[1])
    places = [
        np.repeat(np.arange(len(grids[0])), len(grids[1])),
        np.tile(np.arange(len(grids[1])), len(grids[0])),
    ]
    pairs = _safe_indexing(rows, np.zeros(size, dtype=np.intp))
    if not hasattr(pairs, "columns"):
        pairs = np.array(pairs)
        for feature, grid, place in zip(features, grids, places, strict=True):
            pairs[:, int(feature)] = grid[place]
        return pairs
    names = [_name(rows, feature) for feature in features]
    filled = {name: grid[place] for name, grid, place in zip(names, grids, places, strict=True)}
    if hasattr(pairs, "assign"):
        return pairs.assign(**filled)
    import polars as pl

    return pairs.with_columns(**{name: pl.Series(values) for name, values in filled.items()})
