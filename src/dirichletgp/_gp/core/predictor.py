"""From kernel vectors to class probabilities within a tolerance, at the price of few triangles.

A posterior has a factor per class, and the variance of every class at a row costs M^2. Nearly all
of that is not needed.

Two classes: only v_0 + v_1 and m_1 - m_0 matter. With A = 2 I - B_0^-1 - B_1^-1 = U U', U an upper
triangle, and T = U' L^-1, which is a lower one,

    v_0 + v_1 = 2 s2 - k' L^-T A L^-1 k = 2 s2 - |T k|^2,

one product with one triangle from the kernel vector k on.

Many classes: all variances lie between two that need no class. With B = I + u0 G^ = R R' and
q = u' B^-1 u = |R^-1 u|^2, B_c is between B and I + u1 G^, which is between B and (u1 / u0) B, so

    u' B_c^-1 u    is between    q    and    (u0 / u1) q.

Means come exactly from all classes, variances from the middle of the two, and exactly for those
classes of a row that could still move a probability by more than the tolerance
(`probabilities/tolerance.py`).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .arrays import Array
from .parallel import (
    cholesky,
    inverse_from_cholesky,
    multiply_rows,
    padded_rows,
    solve_rows,
    solve_rows_transposed,
)
from .probabilities.softmax import class_probabilities
from .probabilities.tolerance import classes_in_doubt, probabilities_within
from .regressions import Basis, Posterior, plus_identity

# A whose smallest eigenvalue is zero cannot be factored; this much of s2 is nothing.
_RIDGE = 1e-11


class Predictor(Protocol):
    """Probabilities from kernel vectors; nothing in it changes, so threads may share it."""

    def probabilities(self, values: Array, tolerance: float) -> Array:
        """Class probabilities (n, C) of rows with kernel vectors k(Z, x) (n, M), overwritten."""


@dataclass(frozen=True)
class TwoClassPredictor:
    """Two classes: the difference of the latents as one mean and one variance.

    Attributes
    ----------
    coefficients : ndarray of shape (M,)
        L^-T (beta_1 - beta_0).
    offset : float
        mu_1 - mu_0.
    triangle : ndarray of shape (M, M)
        T, lower.
    variance : float
        2 s2.
    """

    coefficients: Array
    offset: float
    triangle: Array
    variance: float

    def difference(self, values: Array) -> tuple[Array, Array]:
        """Mean and variance (n,) of f_1 - f_0."""
        mean = values @ self.coefficients + self.offset
        explained = multiply_rows(self.triangle, values)
        variance = self.variance - np.einsum("nm,nm->n", explained, explained)
        return mean, np.maximum(variance, 0.0)

    def probabilities(self, values: Array, tolerance: float) -> Array:
        """Class probabilities (n, 2), exactly whatever the tolerance."""
        mean, variance = self.difference(values)
        nothing = np.zeros(len(mean))
        return class_probabilities(
            np.stack([nothing, mean], axis=1), np.stack([nothing, variance], axis=1)
        )


@dataclass(frozen=True)
class ManyClassPredictor:
    """Three classes or more.

    Attributes
    ----------
    basis : Basis
    posterior : Posterior
    shared : ndarray of shape (M, M)
        R, the Cholesky factor of I + u0 G^.
    """

    basis: Basis
    posterior: Posterior
    shared: Array

    def probabilities(self, values: Array, tolerance: float) -> Array:
        """Class probabilities (n, C), none off by more than the tolerance."""
        vectors = solve_rows(self.basis.factor, values)
        posterior = self.posterior
        mean = posterior.mean(vectors)
        rest = posterior.unexplained(vectors)
        centre, deviation = self.between(vectors)
        doubt = classes_in_doubt(mean, rest + centre, deviation, tolerance)
        variance = np.repeat((rest + centre)[:, None], mean.shape[1], axis=1)
        for c in np.flatnonzero(doubt.any(axis=0)).tolist():
            rows = np.flatnonzero(doubt[:, c])
            exact = posterior.explained_of(c, padded_rows(vectors, rows))
            variance[rows, c] = rest[rows] + exact[: len(rows)]
        return probabilities_within(mean, variance, tolerance)

    def between(self, vectors: Array) -> tuple[Array, Array]:
        """Centre and half width (n,) of what u' B_c^-1 u of all classes lies in."""
        half = solve_rows(self.shared, vectors.copy())
        one = np.einsum("nm,nm->n", half, half)
        transform = self.posterior.transform
        other = one * (transform.precision_out / transform.precision_in)
        other = np.minimum(other, np.einsum("nm,nm->n", vectors, vectors))
        return 0.5 * (one + other), 0.5 * np.abs(one - other)


def make_predictor(basis: Basis, posterior: Posterior, total: Array) -> Predictor:
    """The predictor of a posterior, whose rows have the whitened Gram `total` (M, M)."""
    if len(posterior.offsets) == 2:
        return _two_classes(basis, posterior)
    shared = plus_identity(posterior.transform.precision_out * total)
    return ManyClassPredictor(basis, posterior, cholesky(shared, overwrite=True))


def _two_classes(basis: Basis, posterior: Posterior) -> TwoClassPredictor:
    coefficients = posterior.coefficients[1:] - posterior.coefficients[:1]
    a = plus_identity(np.zeros(basis.factor.shape), 2.0 + _RIDGE)
    for factor in posterior.factors:
        a -= inverse_from_cholesky(factor)
    # A lower factor of A turned upside down is an upper one of A.
    turned = cholesky(np.ascontiguousarray(a[::-1, ::-1]), overwrite=True)
    triangle = np.ascontiguousarray(turned[::-1, ::-1].T)
    return TwoClassPredictor(
        solve_rows_transposed(basis.factor, coefficients)[0],
        float(posterior.offsets[1] - posterior.offsets[0]),
        solve_rows_transposed(basis.factor, triangle),
        2.0 * posterior.variance,
    )
