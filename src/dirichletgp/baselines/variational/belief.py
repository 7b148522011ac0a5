"""The belief of variational inference: Gaussians over whitened inducing values.

A latent function is f_c(x) = u' v_c + what the inducing points cannot explain, with u = L^-1 k(Z,
x) and v_c ~ N(0, I). The belief is q(v_c) = N(m_c, S_c), kept as mean m_c and precision B_c =
S_c^-1. At a row,

    mean_c = u' m_c        var_c = s2 - u'u + u' S_c u
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._gp.core.arrays import Array
from ..._gp.core.parallel import (
    Workers,
    add_gram,
    block_size,
    cholesky,
    inverse_from_cholesky,
    inverse_triangle,
    log_determinant,
    multiply_rows,
    row_slices,
    solve_rows,
    solve_rows_transposed,
    symmetrise,
)

# Rows that a thread takes at once: at least so many, and for many latents so many that there are
# few tasks.
_SEGMENT, _TASKS = 2_048, 64


@dataclass(frozen=True)
class Belief:
    """q over the whitened inducing values of L latent functions.

    Attributes
    ----------
    mean : ndarray of shape (L, M)
        m_c.
    precision : ndarray of shape (L, M, M)
        B_c; `numpy.linalg.LinAlgError` on first use if one is not positive definite.
    """

    mean: Array
    precision: Array

    @classmethod
    def prior(cls, n_latents: int, n_points: int) -> "Belief":
        """What is believed without rows."""
        return cls(np.zeros((n_latents, n_points)), identities(n_latents, n_points))

    @cached_property
    def factors(self) -> Array:
        """Cholesky factors of the precisions."""
        return np.stack([cholesky(precision) for precision in self.precision])

    @cached_property
    def covariance(self) -> Array:
        """S_c, of shape (L, M, M)."""
        return np.stack([inverse_from_cholesky(factor) for factor in self.factors])

    def prepare(self, workers: Workers) -> None:
        """Have factors and covariances computed by several threads, a latent each."""
        if "covariance" in vars(self):
            return

        def of(precision: Array) -> tuple[Array, Array]:
            factor = cholesky(precision)
            return factor, inverse_from_cholesky(factor)

        factors, covariance = zip(*workers.map(of, self.precision), strict=True)
        vars(self).update(factors=np.stack(factors), covariance=np.stack(covariance))

    def with_mean(self, mean: Array) -> "Belief":
        """The same precisions, and all that is known of them, about another mean."""
        other = Belief(mean, self.precision)
        vars(other).update(
            {name: vars(self)[name] for name in ("factors", "covariance") if name in vars(self)}
        )
        return other

    def marginals(self, vectors: Array, variance: float) -> tuple[Array, Array]:
        """Latent means and variances (n, L) at whitened vectors (n, M); `variance` is s2."""
        spread = np.empty((len(vectors), len(self.mean)))
        for c, factor in enumerate(self.factors):
            half = multiply_rows(inverse_triangle(factor), vectors.copy())
            spread[:, c] = np.square(half).sum(axis=1)
        spread += np.maximum(variance - np.square(vectors).sum(axis=1), 0.0)[:, None]
        return vectors @ self.mean.T, spread

    def divergence(self) -> float:
        """Kullback-Leibler divergence from the prior, summed over the latents."""
        traces = float(np.trace(self.covariance, axis1=1, axis2=2).sum())
        logs = sum(log_determinant(factor) for factor in self.factors)
        return 0.5 * (traces + float(np.vdot(self.mean, self.mean)) - self.mean.size + logs)


def identities(n_latents: int, n_points: int) -> Array:
    """Unit matrices of shape (L, M, M)."""
    return np.tile(np.eye(n_points), (n_latents, 1, 1))


def solved(factors: Array, vectors: Array) -> Array:
    """A_c^-1 x_c for vectors x_c (L, M), with Cholesky factors of the A_c."""
    halves = [
        solve_rows(factor, x[None].copy()) for factor, x in zip(factors, vectors, strict=True)
    ]
    return np.concatenate(
        [solve_rows_transposed(factor, half) for factor, half in zip(factors, halves, strict=True)]
    )


def add_weighted_grams(grams: Array, vectors: Array, weights: Array, workers: Workers) -> None:
    """Add sum_i w_ic u_i u_i' to the matrices (L, M, M), in place; weights may be negative."""
    n_points = vectors.shape[1]
    segments = row_slices(len(vectors), max(_SEGMENT, len(vectors) * len(grams) // _TASKS))

    def of_segment(task: tuple[int, slice]) -> tuple[int, Array]:
        c, segment = task
        positive, negative = np.zeros((n_points, n_points)), None
        for place in row_slices(segment.stop - segment.start, block_size(n_points)):
            own = slice(segment.start + place.start, segment.start + place.stop)
            block, w = vectors[own], weights[own, c]
            roots = np.sqrt(np.maximum(w, 0.0))
            add_gram(block * roots[:, None], positive)
            if w.min() < 0:
                negative = np.zeros_like(positive) if negative is None else negative
                below = w < 0
                add_gram(block[below] * np.sqrt(-w[below])[:, None], negative)
        return c, symmetrise(positive if negative is None else positive - negative)

    tasks = [(c, segment) for c in range(len(grams)) for segment in segments]
    for c, gram in workers.map(of_segment, tasks):
        grams[c] += gram
