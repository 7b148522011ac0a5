"""The latent posterior: mean and variance of the C latent functions at any row.

In the whitened basis, u = L^-1 k(Z, x):

    mean_c = u' beta_c + mu_c        var_c = s2 - u'u + u' B_c^-1 u        B_c = I + u0 G^ + (u1 - u0) G^_c
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .kernels import Kernel
from .labels import LabelTransform
from .linalg import cholesky, solve_rows, solve_rows_transposed
from .statistics import ClassStatistics
from .threads import Workers

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Basis:
    """The whitened kernel vectors that all M-sized quantities are written in.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
        Inducing points, scaled like the rows.
    factor : ndarray of shape (M, M)
        L, the Cholesky factor of K_mm + jitter.
    """

    kernel: Kernel
    points: Array
    factor: Array

    def vectors(self, rows: Array) -> Array:
        """Whitened kernel vectors L^-1 k(Z, x) of scaled rows (n, D), of shape (n, M)."""
        return solve_rows(self.factor, self.kernel.values(rows, self.points))


def points_covariance(kernel: Kernel, points: Array, jitter: float) -> Array:
    """K_mm + jitter, with the jitter relative to the kernel's variance."""
    covariance = kernel.values(points, points)
    covariance = 0.5 * (covariance + covariance.T)
    covariance.flat[:: len(points) + 1] = kernel.variance * (1.0 + jitter)
    return covariance


def make_basis(kernel: Kernel, points: Array, jitter: float) -> Basis:
    """The whitened basis; `numpy.linalg.LinAlgError` if K_mm + jitter cannot be factored."""
    return Basis(kernel, points, cholesky(points_covariance(kernel, points, jitter)))


@dataclass(frozen=True)
class Posterior:
    """C Gaussian posteriors over M whitened coefficients.

    Attributes
    ----------
    transform : LabelTransform
    prior : ndarray of shape (C,)
    variance : float
        s2, the prior variance of every latent function.
    coefficients : ndarray of shape (C, M)
        beta_c.
    factors : ndarray of shape (C, M, M)
        Cholesky factors of B_c.
    """

    transform: LabelTransform
    prior: Array
    variance: float
    coefficients: Array
    factors: Array

    @classmethod
    def from_statistics(
        cls,
        statistics: ClassStatistics,
        variance: float,
        transform: LabelTransform,
        prior: Array,
        workers: Workers,
    ) -> "Posterior":
        """Solve the C regressions whose rows are summed up in whitened statistics."""
        u1, u0 = 1.0 / transform.noise_in, 1.0 / transform.noise_out
        r1, r0 = transform.residuals(prior)
        sums, grams = statistics.sums, statistics.grams
        others = sums.sum(axis=0) - sums
        b = (u1 * r1)[:, None] * sums + (u0 * r0)[:, None] * others
        base = u0 * grams.sum(axis=0)
        base.flat[:: len(base) + 1] += 1.0
        factors = np.empty_like(grams)

        def solve(c: int) -> Array:
            np.multiply(grams[c], u1 - u0, out=factors[c])
            factors[c] += base
            cholesky(factors[c], overwrite=True)
            half = solve_rows(factors[c], b[c : c + 1].copy())
            return solve_rows_transposed(factors[c], half)[0]

        coefficients = np.stack(list(workers.map(solve, range(len(grams)))))
        return cls(transform, prior, variance, coefficients, factors)

    @property
    def offsets(self) -> Array:
        """Latent means far from all data, of shape (C,)."""
        return self.transform.offsets(self.prior)

    def latent(self, vectors: Array) -> tuple[Array, Array]:
        """Mean and variance (n, C) of the latent functions at rows with whitened vectors (n, M)."""
        variance = self.unexplained(vectors)[:, None] + self.explained(vectors)
        return vectors @ self.coefficients.T + self.offsets, variance

    def unexplained(self, vectors: Array) -> Array:
        """Prior variance that the inducing points say nothing about, s2 - u'u, of shape (n,)."""
        return np.maximum(self.variance - np.einsum("nm,nm->n", vectors, vectors), 0.0)

    def explained(self, vectors: Array) -> Array:
        """Posterior variance in the span of the inducing points, u' B_c^-1 u, of shape (n, C)."""
        quadratic = np.empty((len(vectors), len(self.factors)))
        for c, factor in enumerate(self.factors):
            half = solve_rows(factor, vectors.copy())
            quadratic[:, c] = np.einsum("nm,nm->n", half, half)
        return quadratic
