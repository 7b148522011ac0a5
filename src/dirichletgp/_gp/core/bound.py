"""The collapsed bound and its derivatives, from class statistics alone.

With L L' = K_mm + jitter, hats for whitened quantities (G^_k = L^-1 G_k L^-T, S^_k = L^-1 S_k),
sums over classes without an index, u1 = 1/s1, u0 = 1/s0 and d = u1 - u0:

    B_c = I + u0 G^ + d G^_c        b_c = u1 r1_c S^_c + u0 r0_c (S^ - S^_c)        beta_c = B_c^-1 b_c

    bound = sum_c -1/2 [ n log 2pi + n_c log s1 + (n - n_c) log s0 + n_c u1 r1_c^2 + (n - n_c) u0
    r0_c^2
                         + log|B_c| - b_c' beta_c + s2 (n_c u1 + (n - n_c) u0) - tr(B_c - I) ]

Its derivatives with respect to G^_k and S^_k are, with P_c = 1/2 (I - B_c^-1 - beta_c beta_c'),

    W_k = u0 sum_c P_c + d P_k        v_k = sum_c u0 r0_c beta_c + (u1 r1_k - u0 r0_k) beta_k

A class kept as rows F_c (n_c x M, whitened) is never factored as an M x M matrix. With B_0 = I + u0
G^ = R R', F~_c = F_c R^-T and E_c = (I + d F~_c F~_c')^-1 = T^-T T^-1,

    B_c^-1 = R^-T (I - d F~_c' E_c F~_c) R^-1      log|B_c| = log|B_0| - log|E_c|      B_c^-1 F_c' = R^-T F~_c' E_c
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .labels import LabelTransform
from .linalg import (
    add_gram,
    cholesky,
    inverse_from_cholesky,
    log_determinant,
    product,
    pulled_back,
    pulled_back_in_parallel,
    solve_columns,
    solve_columns_transposed,
    solve_rows,
    solve_rows_transposed,
    symmetrise,
    whitened,
    whitened_in_parallel,
)
from .posterior import Posterior
from .statistics import ClassStatistics, RowStatistics
from .threads import Workers

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BoundDerivatives:
    """The bound, and what a second pass over the rows needs to know, in the basis of the kernel vectors.

    The derivative with respect to the kernel vector of a row of class k is ``w_i (2 W_k k_i +
    v_k)``. A class kept as rows shares its W_k with all others but for a low-rank term, which
    `row_terms` holds row by row.

    Attributes
    ----------
    value : float
    matrices : dict from class code to ndarray of shape (M, M)
        2 W_k of the classes with a Gram of their own.
    shared : ndarray of shape (M, M)
        2 W_k without its low-rank term, of the classes kept as rows.
    vectors : ndarray of shape (C, M)
        v_k.
    row_terms : dict from class code to ndarray of shape (n_k, M)
    points : ndarray of shape (M, M)
        Derivative with respect to K_mm + jitter.
    variance : float
        Derivative with respect to s2 where it stands in the bound by itself.
    """

    value: float
    matrices: dict[int, Array]
    shared: Array
    vectors: Array
    row_terms: dict[int, Array]
    points: Array
    variance: float


class _GramClass(NamedTuple):
    """A class with a Gram of its own, solved: log|B_c|, beta_c and B_c^-1."""

    log_determinant: float
    beta: Array
    inverse: Array


class _RowClass(NamedTuple):
    """A class kept as rows, solved: log|B_c|, beta_c, T^-1 F~_c and E_c F~_c."""

    log_determinant: float
    beta: Array
    half: Array
    solved: Array


def bound_and_derivatives(
    statistics: RowStatistics,
    factor: Array,
    variance: float,
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> BoundDerivatives:
    """Evaluate the bound and its derivatives.

    Parameters
    ----------
    statistics : RowStatistics
        Sums of kernel vectors, not whitened.
    factor : ndarray of shape (M, M)
        L, the Cholesky factor of K_mm + jitter.
    variance : float
        s2, the value of the kernel on its diagonal.
    transform : LabelTransform
    prior : ndarray of shape (C,)
    workers : Workers
    """
    solution = _solve(statistics, factor, transform, prior, workers)
    quadratic = solution.log_determinants - float(np.vdot(solution.b, solution.beta))
    trace = float(np.trace(solution.total))
    value = _assemble(statistics.counts, transform, prior, variance, quadratic, trace)
    return _derivatives(value, solution, statistics, factor, transform, prior, workers)


class _Solution(NamedTuple):
    """The C regressions, solved in the whitened basis."""

    total: Array  # G^
    b: Array
    beta: Array
    log_determinants: float  # sum_c log|B_c|
    grams: dict[int, _GramClass]
    rows: dict[int, _RowClass]
    base_factor: Array  # R, and
    row_factor: Array  # L R; both empty if no class is kept as rows


def _solve(
    statistics: RowStatistics,
    factor: Array,
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> _Solution:
    u1, u0 = 1.0 / transform.noise_in, 1.0 / transform.noise_out
    r1, r0 = transform.residuals(prior)
    sums = solve_rows(factor, statistics.sums.copy())
    b = (u1 * r1)[:, None] * sums + (u0 * r0)[:, None] * (sums.sum(axis=0) - sums)

    whitened_grams = list(
        workers.map(lambda gram: whitened(factor, gram), statistics.grams.values())
    )
    total = sum(whitened_grams, np.zeros(factor.shape))
    if statistics.rows:
        total += whitened_in_parallel(factor, statistics.pooled, workers.map)
    base = _plus_identity(u0 * total)

    def solve_gram_class(k: int, gram: Array) -> _GramClass:
        return _solve_gram_class(base, (u1 - u0) * gram, b[k])

    gram_classes = workers.map(
        lambda pair: solve_gram_class(*pair), zip(statistics.grams, whitened_grams, strict=True)
    )
    grams = dict(zip(statistics.grams, gram_classes, strict=True))
    rows: dict[int, _RowClass] = {}
    base_factor = row_factor = np.empty((0, 0))
    if statistics.rows:
        base_factor = cholesky(base)
        row_factor = product(factor, base_factor, workers.map)

        def solve_row_class(k: int) -> _RowClass:
            return _solve_row_class(statistics.rows[k], u1 - u0, base_factor, row_factor, b[k])

        rows = dict(
            zip(statistics.rows, workers.map(solve_row_class, statistics.rows), strict=True)
        )
    parts: dict[int, _GramClass | _RowClass] = {**grams, **rows}
    beta = np.stack([parts[k].beta for k in range(len(b))])
    log_determinants = sum(part.log_determinant for part in parts.values())
    return _Solution(total, b, beta, log_determinants, grams, rows, base_factor, row_factor)


def _derivatives(
    value: float,
    solution: _Solution,
    statistics: RowStatistics,
    factor: Array,
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> BoundDerivatives:
    u1, u0 = 1.0 / transform.noise_in, 1.0 / transform.noise_out
    d = u1 - u0
    r1, r0 = transform.residuals(prior)
    n_classes, beta, total = len(prior), solution.beta, solution.total

    # sum_c P_c, whitened: I - B_c^-1 must be formed before it is pulled back, or its small part
    # drowns in K_mm^-1.
    p_sum = _plus_identity(-beta.T @ beta, n_classes)
    for part in solution.grams.values():
        p_sum -= part.inverse
    if solution.rows:
        # sum_c B_c^-1 = R^-T (C_rows I - d sum_c F~_c' E_c F~_c) R^-1 over the classes kept as rows
        pooled = symmetrise(
            -d * _sum_of_grams([part.half for part in solution.rows.values()], workers)
        )
        p_sum -= pulled_back_in_parallel(
            solution.base_factor, _plus_identity(pooled, len(solution.rows)), workers.map
        )
    p_sum *= 0.5
    shared = _plus_identity(2.0 * u0 * p_sum, d)
    through_kernel = p_sum - 0.5 * (n_classes * u0 + d) * total

    # Back in the basis of the kernel vectors, X becomes L^-T X L^-1.
    def matrix(k: int) -> Array:
        return pulled_back(
            factor, shared - d * (solution.grams[k].inverse + np.outer(beta[k], beta[k]))
        )

    matrices = dict(zip(solution.grams, workers.map(matrix, solution.grams), strict=True))
    raw_beta = solve_rows_transposed(factor, beta.copy())

    def row_terms(k: int) -> Array:
        terms = solve_rows_transposed(solution.row_factor, solution.rows[k].solved)
        terms += np.outer(statistics.rows[k] @ raw_beta[k], raw_beta[k])
        terms *= -d
        return terms

    precision = float((statistics.counts * d + statistics.counts.sum() * u0).sum())
    return BoundDerivatives(
        value=value,
        matrices=matrices,
        shared=pulled_back_in_parallel(factor, shared, workers.map) if solution.rows else shared,
        vectors=(u0 * r0) @ raw_beta + (u1 * r1 - u0 * r0)[:, None] * raw_beta,
        row_terms=dict(zip(solution.rows, workers.map(row_terms, solution.rows), strict=True)),
        points=pulled_back_in_parallel(factor, through_kernel, workers.map),
        variance=-0.5 * precision,
    )


def _plus_identity(matrix: Array, times: float = 1.0) -> Array:
    """Add a multiple of the identity, in place."""
    matrix.flat[:: len(matrix) + 1] += times
    return matrix


def _solve_gram_class(base: Array, own: Array, b: Array) -> _GramClass:
    """Factor B_c = base + own (overwritten)."""
    own += base
    lower = cholesky(own, overwrite=True)
    inverse = inverse_from_cholesky(lower)
    return _GramClass(log_determinant(lower), inverse @ b, inverse)


def _solve_row_class(
    rows: Array, d: float, base_factor: Array, row_factor: Array, b: Array
) -> _RowClass:
    """Factor E_c^-1 = I + d F~_c F~_c', which has the size of the class."""
    rows = solve_rows(row_factor, rows.copy())
    lower = cholesky(_plus_identity(d * (rows @ rows.T)))
    half = solve_columns(lower, rows.copy())
    solved = solve_columns_transposed(lower, half.copy())
    h = solve_rows(base_factor, b[None, :].copy())
    h -= d * (h @ rows.T) @ solved
    beta = solve_rows_transposed(base_factor, h)[0]
    return _RowClass(log_determinant(base_factor) + log_determinant(lower), beta, half, solved)


def _sum_of_grams(rows: list[Array], workers: Workers) -> Array:
    """Lower triangle of the sum of rows' rows over matrices of few rows each, gathered into larger units of work."""
    units: list[list[Array]] = [[]]
    for matrix in rows:
        if sum(map(len, units[-1])) >= 1_024:
            units.append([])
        units[-1].append(matrix)

    def of_unit(unit: list[Array]) -> Array:
        gram = np.zeros((unit[0].shape[1], unit[0].shape[1]))
        for matrix in unit:
            add_gram(matrix, gram)
        return gram

    total, *others = workers.map(of_unit, units)
    for gram in others:
        total += gram
    return total


def collapsed_bound(statistics: ClassStatistics, posterior: Posterior) -> float:
    """The bound alone, from whitened statistics and the posterior they led to."""
    transform, variance = posterior.transform, posterior.variance
    coefficients = posterior.coefficients
    # b' B^-1 b = |R' beta|^2 with B = R R'
    fit = sum(
        float(np.square(c @ f).sum()) for c, f in zip(coefficients, posterior.factors, strict=True)
    )
    log_determinants = sum(log_determinant(f) for f in posterior.factors)
    trace = float(np.einsum("cmm->", statistics.grams))
    return _assemble(
        statistics.counts, transform, posterior.prior, variance, log_determinants - fit, trace
    )


def _assemble(
    counts: Array,
    transform: LabelTransform,
    prior: Array,
    variance: float,
    quadratic: float,
    trace: float,
) -> float:
    """The bound from sum_c (log|B_c| - b_c' beta_c), tr(G^) and the counts."""
    u1, u0 = 1.0 / transform.noise_in, 1.0 / transform.noise_out
    r1, r0 = transform.residuals(prior)
    n, n_classes = counts.sum(), len(counts)
    inside = np.log(transform.noise_in) + u1 * (r1**2 + variance)
    outside = np.log(transform.noise_out) + u0 * (r0**2 + variance)
    of_counts = n_classes * n * np.log(2 * np.pi) + counts @ inside + (n - counts) @ outside
    # sum_c tr(B_c - I) = (C u0 + u1 - u0) tr(G^)
    return -0.5 * float(of_counts + quadratic - (n_classes * u0 + u1 - u0) * trace)
