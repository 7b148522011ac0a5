"""From kernel vectors to class probabilities within a tolerance, at the price of few triangles.

A posterior has a factor per class, and the variance of every class at a row costs M^2. Nearly all
of that is not needed.

Two classes: only v_0 + v_1 and m_1 - m_0 matter. With A = 2 I - B_0^-1 - B_1^-1 = U U', U an upper
triangle, and T = U' L^-1, which is a lower one,

    v_0 + v_1 = 2 s2 - k' L^-T A L^-1 k = 2 s2 - |T k|^2,

one product with one triangle from the kernel vector k on.

Many classes: all variances lie between two that need no class. With B = I + u0 G^ and
q = u' B^-1 u, B_c is between B and I + u1 G^, which is between B and (u1 / u0) B, so

    u' B_c^-1 u    is between    q    and    (u0 / u1) q.

Means come exactly from all classes. Variances come in three steps, each for the rows only for which
the one before could leave a probability off by more than the tolerance
(`probabilities/tolerance.py`):

1. the variance v = s2 - k' L^-T (I - B^-1) L^-1 k that belongs to B, by one triangle as above. The
   part s2 - u'u that no point explains is not known yet, but as q <= v, all variances lie between
   v and (u0 / u1) v;
2. the whitened vector u, with it that part and q;
3. the variance of a class itself, for those classes of a row that are still in doubt.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .arrays import Array
from .low_rank import SharedPosterior
from .parallel import (
    cholesky,
    inverse_from_cholesky,
    multiply_rows,
    outer_product_of_root,
    padded_rows,
    product_in_tiles,
)
from .probabilities.softmax import class_probabilities
from .probabilities.tolerance import classes_in_doubt, probabilities_within
from .regressions import Basis, Latents, Posterior, plus_identity, shared_matrix

# A whose smallest eigenvalue is zero cannot be factored; this much of s2 is nothing.
RIDGE = 1e-11


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


class Halves(Latents):
    """A posterior of two classes of which only the difference is known: each has half of it."""

    def __init__(self, predictor: TwoClassPredictor, basis: Basis):
        self._triangle = predictor.triangle
        self._factor = basis.factor
        self.variance = 0.5 * predictor.variance
        self.offsets = 0.5 * predictor.offset * np.array([-1.0, 1.0])
        whitened = predictor.coefficients @ self._factor
        self.coefficients = 0.5 * np.stack([-whitened, whitened])

    def latent(self, vectors: Array) -> tuple[Array, Array]:
        """Mean and variance (n, 2) of the latent functions at rows with whitened vectors (n, M)."""
        return self.mean(vectors), self.unexplained(vectors)[:, None] + self.explained(vectors)

    def explained(self, vectors: Array) -> Array:
        """Half of u' (B_0^-1 + B_1^-1) u = 2 u'u - |T L u|^2 for each class, (n, 2)."""
        half = multiply_rows(self._triangle, multiply_rows(self._factor, vectors.copy()))
        squares = np.einsum("nm,nm->n", vectors, vectors)
        rest = squares - 0.5 * np.einsum("nm,nm->n", half, half)
        return np.repeat(np.maximum(rest, 0.0)[:, None], 2, axis=1)


@dataclass(frozen=True)
class ManyClassPredictor:
    """Three classes or more.

    Attributes
    ----------
    basis : Basis
    posterior : Posterior or SharedPosterior
    coefficients : ndarray of shape (C, M)
        L^-T beta_c.
    triangle : ndarray of shape (M, M)
        T, lower, with T' T = L^-T (I - B^-1) L^-1.
    ratio : float
        u0 / u1.
    share : float, default=1
        Of a tolerance, what may be spent here; the rest was spent on rounding.
    """

    basis: Basis
    posterior: Posterior | SharedPosterior
    coefficients: Array
    triangle: Array
    ratio: float
    share: float = 1.0

    @classmethod
    def of(
        cls,
        basis: Basis,
        posterior: Posterior | SharedPosterior,
        shared: Array,
        ratio: float,
        share: float = 1.0,
    ) -> "ManyClassPredictor":
        """From R, the Cholesky factor of B = I + u0 G^."""
        explained = plus_identity(-inverse_from_cholesky(shared), 1.0 + RIDGE)
        triangle = _triangle(explained, basis)
        coefficients = basis.of_kernel_vectors(posterior.coefficients)
        return cls(basis, posterior, coefficients, triangle, ratio, share)

    def probabilities(self, values: Array, tolerance: float) -> Array:
        """Class probabilities (n, C), none off by more than the tolerance."""
        tolerance *= self.share
        mean = product_in_tiles(values, self.coefficients.T) + self.posterior.offsets
        explained = multiply_rows(self.triangle, values.copy())
        variance = self.posterior.variance - np.einsum("nm,nm->n", explained, explained)
        variance = np.maximum(variance, 0.0)
        if self.ratio == 1.0:  # all variances of a row are the same
            shared = np.broadcast_to(variance[:, None], mean.shape)
            return probabilities_within(mean, shared, tolerance)
        centre = 0.5 * (1.0 + self.ratio) * variance
        deviation = 0.5 * abs(1.0 - self.ratio) * variance
        doubt = classes_in_doubt(mean, centre, deviation, tolerance)
        variances = np.repeat(centre[:, None], mean.shape[1], axis=1)
        rows = np.flatnonzero(doubt.any(axis=1))
        if len(rows):
            vectors = self.basis.whitened(padded_rows(values, rows))
            variances[rows] = self._looked_at(mean[rows], variance[rows], vectors, tolerance)
        return probabilities_within(mean, variances, tolerance)

    def _looked_at(self, mean: Array, variance: Array, vectors: Array, tolerance: float) -> Array:
        """Variances (n, C) of rows with whitened vectors (n or more, M): steps 2 and 3."""
        posterior = self.posterior
        n, n_classes = mean.shape
        rest = posterior.unexplained(vectors[:n])
        one = np.maximum(variance - rest, 0.0)
        other = np.minimum(one * self.ratio, posterior.variance - rest)
        centre = rest + 0.5 * (one + other)
        doubt = classes_in_doubt(mean, centre, 0.5 * np.abs(one - other), tolerance)
        variances = np.repeat(centre[:, None], n_classes, axis=1)
        source = posterior.half(vectors)
        for c in np.flatnonzero(doubt.any(axis=0)).tolist():
            rows = np.flatnonzero(doubt[:, c])
            exact = posterior.explained_of(c, padded_rows(source, rows))
            variances[rows, c] = rest[rows] + exact[: len(rows)]
        return variances


def make_predictor(basis: Basis, posterior: Posterior, grams: Array) -> Predictor:
    """The predictor of a posterior, whose rows have the whitened Grams (C, M, M)."""
    if len(posterior.offsets) == 2:
        return two_class_predictor(basis, posterior)
    shared = cholesky(shared_matrix(grams.sum(axis=0), posterior.transform), overwrite=True)
    return ManyClassPredictor.of(basis, posterior, shared, posterior.transform.ratio)


def factored(matrix: Array) -> Array:
    """A lower factor of a matrix that is positive definite, or would be but for rounding.

    Sums that rows were added to and taken from a great many times may round to less than nothing.
    """
    try:
        return cholesky(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        floor = max(RIDGE, 1e-9 * float(values[-1]))
        return cholesky(np.ascontiguousarray((vectors * np.maximum(values, floor)) @ vectors.T))


def _triangle(a: Array, basis: Basis) -> Array:
    """T, lower, with T' T = L^-T A L^-1."""
    # A lower factor of A turned upside down is an upper one of A.
    turned = factored(np.ascontiguousarray(a[::-1, ::-1]))
    return basis.of_kernel_vectors(turned[::-1, ::-1].T)


def two_class_predictor(basis: Basis, posterior: Posterior) -> TwoClassPredictor:
    """One mean and one triangle for the difference of two classes."""
    coefficients = posterior.coefficients[1:] - posterior.coefficients[:1]
    a = plus_identity(np.zeros(basis.inverse.shape), 2.0 + RIDGE)
    for root in posterior.roots:
        a -= outer_product_of_root(root)
    return TwoClassPredictor(
        basis.of_kernel_vectors(coefficients)[0],
        float(posterior.offsets[1] - posterior.offsets[0]),
        _triangle(a, basis),
        2.0 * posterior.variance,
    )
