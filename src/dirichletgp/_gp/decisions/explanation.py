"""Explanations: what each column of X contributed to each prediction."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..core.parallel import Workers
from ..core.shapley import Attribution
from ..training.fitted import Fitted
from ..training.regional import RegionalModel
from .regional_explanation import regional_contributions

LOG_ODDS, LATENT = "log_odds", "latent"
OUTPUTS = (LOG_ODDS, LATENT)
# Points that importances are measured at.
_MOST_POINTS = 256


class Explanation:
    """What each column contributed to each prediction: Shapley values.

    Where the `shap` package is installed, `explain` returns the same as a `shap.Explanation`, which
    its plots take as it is.

    Attributes
    ----------
    values : ndarray of shape (n, n_features) or (n, n_features, n_classes)
        Contributions. With the base value those of a row sum to its prediction.
    base_values : ndarray of shape (n,) or (n, n_classes)
        The prediction when no column is known.
    data : ndarray of shape (n, n_features)
        The rows.
    feature_names : list of str
    output_names : list of str or None
        Classes, if there is a value for each.

    See Also
    --------
    sklearn.inspection.permutation_importance : Importance by what shuffling a column costs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> explanation = classifier.explain(X[:5])
    >>> explanation.values.shape
    (5, 4, 3)
    """

    values: Array
    base_values: Array
    data: AnyArray
    feature_names: list[str]
    output_names: list[str] | None

    def __init__(
        self,
        values: Array,
        base_values: Array | None = None,
        data: AnyArray | None = None,
        feature_names: list[str] | None = None,
        output_names: list[str] | None = None,
    ):
        vars(self).update(
            values=values,
            base_values=base_values,
            data=data,
            feature_names=feature_names,
            output_names=output_names,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.values.shape


def explained(
    values: Array,
    base_values: Array,
    data: AnyArray,
    feature_names: list[str],
    output_names: list[str] | None,
) -> Any:
    """An explanation, as the plots of shap take it where that is installed."""
    kind: Any = Explanation
    if find_spec("shap") is not None:
        with warnings.catch_warnings():
            # What it calls in other libraries is not ours to mend.
            warnings.simplefilter("ignore")
            import shap

        kind = shap.Explanation
    return kind(
        values,
        base_values=base_values,
        data=data,
        feature_names=feature_names,
        output_names=output_names,
    )


def origin_and_background(fitted: Fitted) -> tuple[Integers, Array]:
    """Which column of X each scaled one is a part of, and how they are spread.

    `ValueError` if the latent means of the model cannot be taken apart by columns.
    """
    kernel = fitted.model.kernel
    if not kernel.is_product:
        raise ValueError(
            f"kernel={kernel.name!r} is not a product over features, so contributions have no "
            "closed form; fit with kernel='product', 'rbf' or 'auto'."
        )
    if fitted.background is None:
        raise ValueError(
            "the model does not know how its features are spread, which contributions are measured "
            "against: its scaler mixes features, or it was saved by an earlier version; fit with "
            "one of the library's own scalers, such as scaler='quantile'."
        )
    origin = fitted.origin
    assert origin is not None
    return origin, fitted.background


def contributions(
    fitted: Fitted, scaled: Array, output: str, n_jobs: int | None
) -> tuple[Array, Array]:
    """Shapley values (n, n_features, C) of scaled rows, and base values (n, C)."""
    origin, background = origin_and_background(fitted)
    model = fitted.model
    if isinstance(model, RegionalModel):
        of_seen, base = regional_contributions(model, origin, scaled, n_jobs)
    else:
        posterior = model.prepared(n_jobs)
        attribution = Attribution.of(model.basis, posterior, origin, background)
        with Workers(n_jobs) as workers:
            of_seen = attribution.values(scaled, workers)
        base = np.repeat(attribution.base[None], len(scaled), axis=0)
    n_classes = len(fitted.classes)
    values = np.zeros((len(scaled), fitted.features.number, n_classes))
    values[:, np.unique(origin)] = of_seen
    if output == LOG_ODDS:
        return against_the_rest(values), against_the_rest(base)
    return values, base


def importance_at_points(fitted: Fitted, n_jobs: int | None) -> Array:
    """Shares (n_features,) of the columns of X, measured at some inducing points."""
    model = fitted.model
    points = model.points[:: max(1, -(-len(model.points) // _MOST_POINTS))]
    if fitted.origin is None:
        raise ValueError(
            "the scaler mixes features, so their importances cannot be told apart; fit with one "
            "of the library's own scalers, such as scaler='quantile'."
        )
    n_features = fitted.features.number
    if len(points) == 0:  # all regions only count
        return np.full(n_features, 1.0 / n_features)
    if model.kernel.is_product and fitted.background is not None:
        values, _ = contributions(fitted, points, LOG_ODDS, n_jobs)
        importance = np.abs(values).mean(axis=(0, 2))
    else:
        relevance = model.kernel.relevance(points)
        importance = np.bincount(fitted.origin, relevance, minlength=n_features)
    total = importance.sum()
    return importance / total if total > 0 else np.full(n_features, 1.0 / n_features)


def against_the_rest(latent: Array) -> Array:
    """Latents (..., C) less the mean latent of the other classes."""
    n_classes = latent.shape[-1]
    total = latent.sum(axis=-1, keepdims=True)
    return np.asarray((n_classes * latent - total) / (n_classes - 1))
