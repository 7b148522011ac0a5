"""Explanations: what each column of X contributed to each prediction."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.parallel import Workers
from ..core.shapley import Attribution, ColumnFactors, point_weights
from ..training.fitted import Fitted

LOG_ODDS, LATENT = "log_odds", "latent"
OUTPUTS = (LOG_ODDS, LATENT)
# Points that importances are measured at.
_MOST_POINTS = 256

_REASON = "and contributions are those of one model for all rows"


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


def attribution_of(fitted: Fitted, n_jobs: int | None) -> Attribution:
    """The latent means of a fitted model taken apart; `ValueError` if that cannot be done."""
    factors = column_factors(fitted)
    assert fitted.background is not None
    model = fitted.undivided(_REASON)
    posterior = model.prepared(n_jobs)
    return Attribution(
        factors=factors,
        background=factors.mean(fitted.background),
        weights=point_weights(model.basis, posterior),
        offsets=posterior.offsets,
    )


def column_factors(fitted: Fitted, points: Array | None = None) -> ColumnFactors:
    """The kernel of a fitted model as factors of columns, at its own points or others."""
    model = fitted.undivided(_REASON)
    kernel = model.kernel
    if not kernel.is_product:
        raise ValueError(
            f"kernel={kernel.name!r} is not a product over features, so contributions have no "
            "closed form; fit with kernel='product', 'rbf' or 'auto'."
        )
    origin = fitted.origin
    if origin is None:
        raise ValueError(
            "the scaler mixes features, so contributions cannot be told apart; fit with one of "
            "the library's own scalers, such as scaler='quantile'."
        )
    if fitted.background is None:
        raise ValueError(
            "the model was saved by an earlier version and does not know how its features are "
            "spread, which contributions are measured against; fit it again."
        )
    return ColumnFactors(kernel, model.points if points is None else points, origin)


def contributions(
    fitted: Fitted, scaled: Array, output: str, n_jobs: int | None
) -> tuple[Array, Array]:
    """Shapley values (n, n_features, C) of scaled rows, and base values (C,)."""
    attribution = attribution_of(fitted, n_jobs)
    with Workers(n_jobs) as workers:
        of_seen = attribution.values(scaled, workers)
    n_classes = len(fitted.classes)
    values = np.zeros((len(scaled), fitted.features.number, n_classes))
    values[:, attribution.factors.columns] = of_seen
    base = attribution.base
    if output == LOG_ODDS:
        return against_the_rest(values), against_the_rest(base)
    return values, base


def importance_at_points(fitted: Fitted, n_jobs: int | None) -> Array:
    """Shares (n_features,) of the columns of X, measured at some inducing points."""
    model = fitted.model
    points = model.points[:: -(-len(model.points) // _MOST_POINTS)]
    if fitted.origin is None:
        raise ValueError(
            "the scaler mixes features, so their importances cannot be told apart; fit with one "
            "of the library's own scalers, such as scaler='quantile'."
        )
    if model.kernel.is_product and fitted.background is not None:
        values, _ = contributions(fitted, points, LOG_ODDS, n_jobs)
        importance = np.abs(values).mean(axis=(0, 2))
    else:
        relevance = model.kernel.relevance(points)
        importance = np.bincount(fitted.origin, relevance, minlength=fitted.features.number)
    total = importance.sum()
    n_features = len(importance)
    return importance / total if total > 0 else np.full(n_features, 1.0 / n_features)


def against_the_rest(latent: Array) -> Array:
    """Latents (..., C) less the mean latent of the other classes."""
    n_classes = latent.shape[-1]
    total = latent.sum(axis=-1, keepdims=True)
    return np.asarray((n_classes * latent - total) / (n_classes - 1))
