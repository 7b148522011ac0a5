"""Posteriors of many classes, or in few bytes: one shared triangle, and a thin matrix per class.

B_c = B + d G^_c with the shared B = I + u0 G^ = R R' and d = u1 - u0. With h = R^-1 u,

    u' B_c^-1 u = h' (I + d R^-1 G^_c R^-T)^-1 h = |h|^2 - h' A_c h,

where A_c = I - R' B_c^-1 R has its eigenvalues between 0 and 1 - u0 / u1 (below zero if d < 0, and
then -A_c stands for A_c in what follows). It has the rank of class c's rows, or nearly so. With
eigenvalues w_r and eigenvectors e_r, of which those with w_r > t are kept,

    h' A_c h = sum_r w_r (e_r'h)^2 + rest,        0 <= rest <= t (|h|^2 - sum_r (e_r'h)^2),

and the rest is estimated by a fixed share of its upper bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from .arrays import AnyArray, Array
from .parallel import Workers, multiply_columns, multiply_rows
from .regressions import Latents, Posterior, plus_identity

# Eigenvalues below this part of the largest are rounding.
_NOTHING = 1e-7


@dataclass(frozen=True)
class Correction:
    """What a class subtracts from the shared quadratic form.

    Attributes
    ----------
    matrix : ndarray of shape (M, r)
        sqrt(w_r) e_r.
    eigenvalues : ndarray of shape (r,)
        w_r.
    rest : float
        The share of |h|^2 - sum_r (e_r'h)^2 that is subtracted too; 0 if nothing was left out.
    """

    matrix: Array
    eigenvalues: Array
    rest: float = 0.0

    def of(self, half: Array, squares: Array) -> Array:
        """H' A_c h (n,) of rows h (n, M) with squares |h|^2 (n,)."""
        parts = half @ self.matrix
        parts *= parts
        found = parts.sum(axis=1)
        if self.rest > 0:
            found += self.rest * np.maximum(squares - parts @ (1.0 / self.eigenvalues), 0.0)
        return found


@dataclass(frozen=True)
class SharedPosterior(Latents):
    """C Gaussian posteriors over M whitened coefficients, as corrections of one.

    Attributes
    ----------
    variance : float
        s2, the prior variance of every latent function.
    offsets : ndarray of shape (C,)
        mu_c, the latent means far from all data.
    coefficients : ndarray of shape (C, M)
        beta_c.
    root : ndarray of shape (M, M)
        R^-1, where R is the Cholesky factor of I + u0 G^.
    ratio : float
        u0 / u1.
    corrections : sequence of Correction
        One per class.
    """

    variance: float
    offsets: Array
    coefficients: Array
    root: Array
    ratio: float
    corrections: Sequence[Correction]

    @property
    def sign(self) -> float:
        """Whether corrections are subtracted (1) or added (-1)."""
        return 1.0 if self.ratio <= 1 else -1.0

    def latent(self, vectors: Array) -> tuple[Array, Array]:
        """Mean and variance (n, C) of the latent functions at rows with whitened vectors (n, M)."""
        variance = self.explained(vectors)
        variance += self.unexplained(vectors)[:, None]
        return self.mean(vectors), variance

    def explained(self, vectors: Array) -> Array:
        """Posterior variance in the span of the points, u' B_c^-1 u, of shape (n, C)."""
        half = self.half(vectors)
        of_classes = [self.explained_of(c, half) for c in range(len(self.offsets))]
        return np.stack(of_classes, axis=1)

    def half(self, vectors: Array) -> Array:
        """What `explained_of` starts from: h = R^-1 u of whitened vectors (n, M)."""
        return multiply_rows(self.root, vectors.copy())

    def explained_of(self, c: int, half: Array) -> Array:
        """U' B_c^-1 u of one class, of shape (n,), from h = R^-1 u (n, M)."""
        squares = np.einsum("nm,nm->n", half, half)
        correction = self.corrections[c].of(half, squares)
        return np.maximum(squares - self.sign * correction, 0.0)


class Eigenvectors:
    """The eigenvalues of +-A_c above a threshold, largest first, and sqrt(w_r) e_r as columns."""

    def __init__(self, root: Array, shared: Array, sign: float, threshold: float) -> None:
        relative = multiply_columns(root, shared.copy())  # R_c^-1 R
        a = plus_identity(-sign * (relative.T @ relative), sign)
        thin = _pivoted_factor(a, 0.1 * threshold)
        values, turn = np.linalg.eigh(thin.T @ thin)
        order = np.argsort(-values)
        keep = order[values[order] > max(threshold, _NOTHING)]
        self.values = values[keep]
        self.columns = np.ascontiguousarray(thin @ turn[:, keep])


def _pivoted_factor(matrix: Array, tolerance: float) -> Array:
    """C (M, r) with C C' = `matrix`, but for a rest whose diagonal is below `tolerance`."""
    packed, pivots, rank, _ = lapack.dpstrf(np.asfortranarray(matrix), lower=1, tol=tolerance)
    thin = np.zeros((len(matrix), rank))
    thin[pivots - 1] = np.tril(packed)[:, :rank]
    return thin


def eigenvectors(
    posterior: Posterior, shared: Array, threshold: float, workers: Workers
) -> list[Eigenvectors]:
    """Of all classes; `shared` is R."""
    sign = 1.0 if posterior.transform.ratio <= 1 else -1.0
    if len(posterior.roots) < len(posterior.offsets):
        # All noises are equal: there is nothing to correct.
        nothing = Eigenvectors(posterior.roots[0], shared, sign, threshold)
        return [nothing] * len(posterior.offsets)
    return list(
        workers.map(lambda root: Eigenvectors(root, shared, sign, threshold), posterior.roots)
    )


@dataclass(frozen=True)
class Rounded:
    """A correction in bytes: a column sqrt(w_r) e_r is a scale times whole numbers.

    What rounding leaves of the columns with the largest eigenvalues is rounded once more, and is
    added: they matter most.

    Attributes
    ----------
    integers : ndarray of shape (r + k, M), int8
        The columns as rows, and the remainders of the first k of them.
    scales : ndarray of shape (r + k,)
    eigenvalues : ndarray of shape (r,)
    rest : float
    """

    integers: AnyArray
    scales: Array
    eigenvalues: Array
    rest: float

    @classmethod
    def of(cls, found: Eigenvectors, rounding: "Rounding", rows: Array) -> "Rounded":
        """What is left out is estimated from typical h, `rows` (n, M)."""
        values = found.values
        kept = int((values > rounding.least).sum())
        columns, left = found.columns[:, :kept], found.columns[:, kept:]
        values = values[:kept]
        beyond = np.square(rows).sum() - (np.square(rows @ columns) / values).sum()
        rest = float(np.square(rows @ left).sum() / beyond) if left.size else 0.0
        whole, scales = _whole_numbers(columns)
        twice = int((values > rounding.least_twice).sum())
        remainders = (columns - whole * scales)[:, :twice]
        again, fine_scales = _whole_numbers(remainders)
        integers = np.concatenate([whole.T, again.T]).astype(np.int8)
        return cls(integers, np.concatenate([scales, fine_scales]), values, rest)

    def correction(self) -> Correction:
        """What predictions use."""
        rows = np.multiply(self.integers, self.scales[:, None], dtype=np.float64)
        rank = len(self.eigenvalues)
        rows[: len(rows) - rank] += rows[rank:]
        return Correction(np.ascontiguousarray(rows[:rank].T), self.eigenvalues, self.rest)


class Rounding(NamedTuple):
    """Eigenvalues up to `least` are left out, those above `least_twice` are rounded twice."""

    least: float
    least_twice: float


def _whole_numbers(columns: Array) -> tuple[Array, Array]:
    """Columns (M, r) as whole numbers up to 127, and what to multiply each with (r,)."""
    scales = np.abs(columns).max(axis=0, initial=0.0) / 127
    return np.rint(columns / np.maximum(scales, 1e-300)), scales
