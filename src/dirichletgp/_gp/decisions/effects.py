"""Effects of one column, or of two together, with what the model does not know about them.

The effect of a column at a value is the latent function with that value in it and all other columns
drawn from the background, less the mean over the background: a linear functional of the latent
function, so it is Gaussian under the posterior. With kernel factors of columns, k_g(x, z) at the
points and means kbar_h(z) over the background, its kernel vector is

    s2 (k_g(x, z) - kbar_g(z)) prod_{h != g} kbar_h(z)

and its prior variance s2 (1 - 2 c_g(x) + k=_g) prod_{h != g} k=_h, where c_g(x) is the mean factor
between x and the background, and k=_h that between two draws from it. Regions have effects of their
own (`regional_effects.py`).
"""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, Booleans, Integers
from ..core.shapley import ColumnFactors
from ..training.fitted import Fitted, Model
from ..training.regional import RegionalModel
from .explanation import against_the_rest, origin_and_background
from .regional_effects import regional_effect


@dataclass(frozen=True)
class Effect:
    """The effect of columns on the log-odds of each class against the rest.

    Attributes
    ----------
    mean : ndarray of shape (n, C)
    deviation : ndarray of shape (n, C)
        Posterior standard deviation.

    See Also
    --------
    sklearn.inspection.PartialDependenceDisplay : The effect on predictions of any estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> classifier.effect(X[:5], 2).mean.shape
    (5, 3)
    """

    mean: Array
    deviation: Array


def effect(fitted: Fitted, scaled: Array, columns: list[int], n_jobs: int | None) -> Effect:
    """The effect of one or two columns of X at the values that they have in scaled rows (n, D)."""
    origin, lines = origin_and_background(fitted)
    model = fitted.model
    if not set(columns) <= set(origin.tolist()):
        n_classes = len(fitted.classes)
        return Effect(np.zeros((len(scaled), n_classes)), np.zeros((len(scaled), n_classes)))
    if isinstance(model, RegionalModel):
        own = np.isin(origin, columns)
        mean, variance = regional_effect(model, lines, own, scaled, n_jobs)
    else:
        mean, variance = _effect_of_one(model, origin, lines, columns, scaled, n_jobs)
    return Effect(against_the_rest(mean), np.sqrt(_variance_against_the_rest(variance)))


def _effect_of_one(
    model: Model,
    origin: Integers,
    lines: Array,
    columns: list[int],
    scaled: Array,
    n_jobs: int | None,
) -> tuple[Array, Array]:
    """Mean and variance (n, C) of the effect on the latents of one model for all rows."""
    factors = ColumnFactors(model.kernel, model.points, origin)
    own = np.isin(factors.columns, columns)
    variance = model.kernel.variance
    means = factors.mean(lines)
    others = means[~own].prod(axis=0)
    at_values = np.concatenate(
        [factors.of_rows(scaled[i : i + 1])[:, own].prod(axis=1) for i in range(len(scaled))]
    )
    vectors = variance * (at_values - means[own].prod(axis=0)) * others
    vectors = model.basis.whitened(vectors)
    prior = variance * _prior_shape(ColumnFactors(model.kernel, lines, origin), scaled, own)
    posterior = model.prepared(n_jobs)
    unexplained = np.maximum(prior - np.einsum("nm,nm->n", vectors, vectors), 0.0)
    return vectors @ posterior.coefficients.T, unexplained[:, None] + posterior.explained(vectors)


def _prior_shape(between: ColumnFactors, scaled: Array, own: Booleans) -> Array:
    """(1 - 2 c + k=) of the own columns times k= of the others, (n,); `between` is at the lines."""
    pairs = between.mean(between.points).mean(axis=1)
    # Columns are drawn each by itself, so means of products are products of means.
    together = float(pairs[own].prod())
    to_background = np.array(
        [between.of_rows(scaled[i : i + 1])[0, own].mean(axis=1).prod() for i in range(len(scaled))]
    )
    return np.maximum(1.0 - 2.0 * to_background + together, 0.0) * pairs[~own].prod()


def _variance_against_the_rest(variance: Array) -> Array:
    """Variances (n, C) of independent latents less the mean of the others."""
    n_classes = variance.shape[1]
    others = variance.sum(axis=1, keepdims=True) - variance
    return np.asarray(variance + others / (n_classes - 1) ** 2)
