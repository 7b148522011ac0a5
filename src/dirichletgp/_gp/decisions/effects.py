"""Effects of one column, or of two together, with what the model does not know about them.

The effect of a column at a value is the latent function with that value in it and all other columns
drawn from the background, less the mean over the background: a linear functional of the latent
function, so it is Gaussian under the posterior. With kernel factors of columns, k_g(x, z) at the
points and means kbar_h(z) over the background, its kernel vector is

    s2 (k_g(x, z) - kbar_g(z)) prod_{h != g} kbar_h(z)

and its prior variance s2 (1 - 2 c_g(x) + k=_g) prod_{h != g} k=_h, where c_g(x) is the mean factor
between x and the background, and k=_h that between two draws from it.
"""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, Booleans
from ..core.parallel import solve_rows
from ..training.fitted import Fitted
from .explanation import against_the_rest, column_factors


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
    factors = column_factors(fitted)
    lines = fitted.background
    assert lines is not None
    own = np.isin(factors.columns, columns)
    if own.sum() != len(set(columns)):
        n_classes = len(fitted.classes)
        return Effect(np.zeros((len(scaled), n_classes)), np.zeros((len(scaled), n_classes)))
    model = fitted.undivided("and effects are those of one model for all rows")
    variance = model.kernel.variance
    means = factors.mean(lines)
    others = means[~own].prod(axis=0)
    at_values = np.concatenate(
        [factors.of_rows(scaled[i : i + 1])[:, own].prod(axis=1) for i in range(len(scaled))]
    )
    vectors = variance * (at_values - means[own].prod(axis=0)) * others
    vectors = solve_rows(model.basis.factor, vectors)
    prior = variance * _prior_shape(fitted, scaled, own)
    posterior = model.prepared(n_jobs)
    unexplained = np.maximum(prior - np.einsum("nm,nm->n", vectors, vectors), 0.0)
    latent_variance = unexplained[:, None] + posterior.explained(vectors)
    mean = against_the_rest(vectors @ posterior.coefficients.T)
    return Effect(mean, np.sqrt(_variance_against_the_rest(latent_variance)))


def _prior_shape(fitted: Fitted, scaled: Array, own: Booleans) -> Array:
    """(1 - 2 c + k=) of the own columns times k= of the others, of shape (n,)."""
    lines = fitted.background
    assert lines is not None
    between = column_factors(fitted, lines)
    pairs = between.mean(lines).mean(axis=1)
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
