"""Exact Shapley values of latent means under kernels that are products over columns.

With a_m the weights of the points, the latent mean is a sum of products over the columns,

    f(x) = mu + sum_m a_m prod_j k_j(x_j, z_mj)

What remains of it when some columns are not known is the same sum with the mean kbar_j(m) of k_j
over a background in the place of each unknown factor: the expectation of f with those columns drawn
from the background, each by itself. The Shapley value of column j averages what knowing it adds,
over all orders of the others, and is an integral over the share q of columns that are known
already,

    phi_j = integral_0^1 sum_m a_m (k_j - kbar_j) prod_{i != j} (q k_i + (1 - q) kbar_i) dq

a polynomial of degree D - 1 in q, which Gauss-Legendre quadrature with ceil(D / 2) nodes integrates
exactly. The values of a row sum to f(x) less the expectation of f over the background.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import Array, Integers
from .kernels import Kernel
from .parallel import Workers, row_slices
from .regressions import Basis, Posterior

# Numbers in the arrays of a block of rows: they should stay in cache.
_NUMBERS_IN_CACHE = 2**17


@dataclass(frozen=True)
class ColumnFactors:
    """A product kernel at some points, seen as one factor for each column of X.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
    origin : ndarray of shape (D,)
        For each scaled column the column of X that it is a part of. Factors of one multiply.
    """

    kernel: Kernel
    points: Array
    origin: Integers

    @cached_property
    def columns(self) -> Integers:
        """The G columns of X that the kernel sees, increasing."""
        return np.unique(self.origin)

    def of_rows(self, rows: Array) -> Array:
        """Factors (n, G, M) of scaled rows (n, D), without the kernel's variance."""
        factors = self.kernel.at(self.points).factors(rows)
        if len(self.columns) == len(self.origin):
            return factors[:, np.argsort(self.origin)]
        parts = [factors[:, self.origin == j].prod(axis=1) for j in self.columns]
        return np.stack(parts, axis=1)

    def mean(self, rows: Array) -> Array:
        """Mean factors (G, M) over scaled rows, some at a time."""
        total = np.zeros((len(self.columns), len(self.points)))
        for block in row_slices(len(rows), block_rows(*total.shape)):
            total += self.of_rows(rows[block]).sum(axis=0)
        return total / len(rows)


def block_rows(n_columns: int, n_points: int) -> int:
    """Rows whose factors are taken at once."""
    return max(1, _NUMBERS_IN_CACHE // (n_columns * n_points))


def point_weights(basis: Basis, posterior: Posterior) -> Array:
    """Weights (M, C) of the products at the points in the latent means, offsets aside."""
    weights = basis.of_kernel_vectors(posterior.coefficients)
    return np.ascontiguousarray(basis.kernel.variance * weights.T)


@dataclass(frozen=True)
class Attribution:
    """Latent means taken apart.

    Attributes
    ----------
    factors : ColumnFactors
    background : ndarray of shape (G, M)
        kbar, the mean factors over the background.
    weights : ndarray of shape (M, C)
        a, those of the points.
    offsets : ndarray of shape (C,)
        mu.
    """

    factors: ColumnFactors
    background: Array
    weights: Array
    offsets: Array

    @classmethod
    def of(
        cls, basis: Basis, posterior: Posterior, origin: Integers, background: Array
    ) -> "Attribution":
        """The latent means of a posterior, against a background of scaled rows (B, D)."""
        factors = ColumnFactors(basis.kernel, basis.points, origin)
        weights = point_weights(basis, posterior)
        return cls(factors, factors.mean(background), weights, posterior.offsets)

    @property
    def base(self) -> Array:
        """Latent means (C,) when no column is known."""
        return np.asarray(self.background.prod(axis=0) @ self.weights + self.offsets)

    def values(self, rows: Array, workers: Workers) -> Array:
        """Shapley values (n, G, C) of scaled rows (n, D)."""
        size = block_rows(*self.background.shape)

        def of_block(place: slice) -> Array:
            factors = self.factors.of_rows(rows[place])
            return shapley_values(factors, self.background, self.weights)

        return np.concatenate(list(workers.map(of_block, row_slices(len(rows), size))))


def shapley_values(factors: Array, background: Array, weights: Array) -> Array:
    """Shapley values (n, G, C) from factors (n, G, M), their means (G, M) and weights (M, C)."""
    n_columns = len(background)
    nodes, shares = np.polynomial.legendre.leggauss(-(-n_columns // 2))
    known = 0.5 * (nodes + 1.0)
    difference = factors - background
    total = np.zeros_like(factors)
    for q, share in zip(known, 0.5 * shares, strict=True):
        total += share * _products_of_others(background + q * difference)
    total *= difference
    return total @ weights


def _products_of_others(factors: Array) -> Array:
    """For each of the factors (n, G, M) the product of all others; zeros are no trouble."""
    others = np.empty_like(factors)
    before = np.ones_like(factors[:, 0])
    for j in range(factors.shape[1]):
        others[:, j] = before
        before *= factors[:, j]
    after = np.ones_like(before)
    for j in reversed(range(factors.shape[1])):
        others[:, j] *= after
        after *= factors[:, j]
    return others
