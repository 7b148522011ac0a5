"""The collapsed bound and its derivatives, from class statistics alone.

With L L' = K_mm + jitter, hats for whitened quantities (G^_k = L^-1 G_k L^-T, S^_k = L^-1 S_k),
sums over classes without an index, d = u1 - u0, and B_c, b_c, beta_c as in `regressions.py`:

    bound = sum_c -1/2 [ n log 2pi + n_c log s1 + (n - n_c) log s0
                         + n_c u1 r1_c^2 + (n - n_c) u0 r0_c^2 + log|B_c| - b_c' beta_c
                         + s2 (n_c u1 + (n - n_c) u0) - tr(B_c - I) ]

Its derivatives with respect to G^_k and S^_k are, with P_c = 1/2 (I - B_c^-1 - beta_c beta_c'),

    W_k = u0 sum_c P_c + d P_k        v_k = sum_c u0 r0_c beta_c + (u1 r1_k - u0 r0_k) beta_k

A class kept as rows F_c (n_c x M, whitened) is never factored as an M x M matrix. With
B_0 = I + u0 G^ = R R', F~_c = F_c R^-T and E_c = (I + d F~_c F~_c')^-1 = T^-T T^-1,

    B_c^-1 = R^-T (I - d F~_c' E_c F~_c) R^-1        log|B_c| = log|B_0| - log|E_c|
    B_c^-1 F_c' = R^-T F~_c' E_c

If the noises are equal, d = 0: B_c = B_0 is the same for all classes, and the pooled Gram will do.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .arrays import Array
from .parallel import (
    Workers,
    add_gram,
    cholesky,
    inverse_from_cholesky,
    log_determinant,
    product,
    pulled_back,
    pulled_back_in_parallel,
    row_slices,
    solve_columns,
    solve_columns_transposed,
    solve_rows,
    solve_rows_transposed,
    symmetrise,
    whitened,
    whitened_in_parallel,
)
from .regressions import (
    LabelTransform,
    Posterior,
    class_factor,
    plus_identity,
    right_hand_sides,
    shared_matrix,
)
from .statistics import BoundStatistics, ClassStatistics, RowDerivatives

_ROWS_OF_A_UNIT = 1_024


@dataclass(frozen=True)
class BoundDerivatives:
    """The bound and its derivatives, in the basis of the kernel vectors.

    Attributes
    ----------
    value : float
    by_row : RowDerivatives
        With respect to the kernel vectors of the rows.
    points : ndarray of shape (M, M)
        With respect to K_mm + jitter.
    variance : float
        With respect to s2 where it stands in the bound by itself.
    """

    value: float
    by_row: RowDerivatives
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
    statistics: BoundStatistics,
    factor: Array,
    variance: float,
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> BoundDerivatives:
    """Evaluate the bound and its derivatives.

    Parameters
    ----------
    statistics : BoundStatistics
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
    row_factor: Array  # L R; both empty if every class has a Gram
    n_even: int  # classes of which B_c = B_0


def _solve(
    statistics: BoundStatistics,
    factor: Array,
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> _Solution:
    b = right_hand_sides(solve_rows(factor, statistics.sums.copy()), transform, prior)
    own = list(workers.map(lambda gram: whitened(factor, gram), statistics.grams.values()))
    total = sum(own, np.zeros(factor.shape))
    if len(own) < len(b):
        total += whitened_in_parallel(factor, statistics.pooled, workers.map)
    base = shared_matrix(total, transform)
    if not own and not statistics.rows:
        return _solve_even(total, base, b)

    def solve_gram_class(pair: tuple[int, Array]) -> _GramClass:
        k, gram = pair
        lower = class_factor(base, gram, transform, out=gram)
        inverse = inverse_from_cholesky(lower)
        return _GramClass(log_determinant(lower), inverse @ b[k], inverse)

    solved_grams = workers.map(solve_gram_class, zip(statistics.grams, own, strict=True))
    grams = dict(zip(statistics.grams, solved_grams, strict=True))
    rows: dict[int, _RowClass] = {}
    base_factor = row_factor = np.empty((0, 0))
    if statistics.rows:
        d = transform.precision_in - transform.precision_out
        base_factor = cholesky(base)
        row_factor = product(factor, base_factor, workers.map)

        def solve_row_class(k: int) -> _RowClass:
            return _solve_row_class(statistics.rows[k], d, base_factor, row_factor, b[k])

        solved_rows = workers.map(solve_row_class, statistics.rows)
        rows = dict(zip(statistics.rows, solved_rows, strict=True))
    parts: dict[int, _GramClass | _RowClass] = {**grams, **rows}
    beta = np.stack([parts[k].beta for k in range(len(b))])
    log_determinants = sum(part.log_determinant for part in parts.values())
    return _Solution(total, b, beta, log_determinants, grams, rows, base_factor, row_factor, 0)


def _solve_even(total: Array, base: Array, b: Array) -> _Solution:
    """All regressions with one matrix."""
    lower = cholesky(base, overwrite=True)
    beta = solve_rows_transposed(lower, solve_rows(lower, b.copy()))
    log_determinants = len(b) * log_determinant(lower)
    return _Solution(total, b, beta, log_determinants, {}, {}, lower, np.empty((0, 0)), len(b))


def _derivatives(
    value: float,
    solution: _Solution,
    statistics: BoundStatistics,
    factor: Array,
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> BoundDerivatives:
    u1, u0 = transform.precision_in, transform.precision_out
    d = u1 - u0
    r1, r0 = transform.residuals(prior)
    n_classes = len(prior)
    beta = solution.beta

    p_sum = _sum_of_p(solution, d, workers)
    shared = plus_identity(2.0 * u0 * p_sum, d)
    through_kernel = p_sum - 0.5 * (n_classes * u0 + d) * solution.total

    # Back in the basis of the kernel vectors, X becomes L^-T X L^-1.
    def matrix(k: int) -> Array:
        own = solution.grams[k].inverse + np.outer(beta[k], beta[k])
        return pulled_back(factor, shared - d * own)

    matrices = dict(zip(solution.grams, workers.map(matrix, solution.grams), strict=True))
    raw_beta = solve_rows_transposed(factor, beta.copy())

    def row_terms(k: int) -> Array:
        terms = solve_rows_transposed(solution.row_factor, solution.rows[k].solved)
        terms += np.outer(statistics.rows[k] @ raw_beta[k], raw_beta[k])
        terms *= -d
        return terms

    by_row = RowDerivatives(
        matrices=matrices,
        shared=pulled_back_in_parallel(factor, shared, workers.map)
        if len(matrices) < n_classes
        else shared,
        vectors=(u0 * r0) @ raw_beta + (u1 * r1 - u0 * r0)[:, None] * raw_beta,
        row_terms=dict(zip(solution.rows, workers.map(row_terms, solution.rows), strict=True)),
    )
    by_points = pulled_back_in_parallel(factor, through_kernel, workers.map)
    precision = float((statistics.counts * d + statistics.counts.sum() * u0).sum())
    return BoundDerivatives(value, by_row, by_points, -0.5 * precision)


def _sum_of_p(solution: _Solution, d: float, workers: Workers) -> Array:
    """sum_c P_c, whitened.

    I - B_c^-1 must be formed before it is pulled back, or its small part drowns in K_mm^-1.
    """
    p_sum = plus_identity(-solution.beta.T @ solution.beta, len(solution.beta))
    for part in solution.grams.values():
        p_sum -= part.inverse
    if solution.rows:
        # sum_c B_c^-1 = R^-T (C_rows I - d sum_c F~_c' E_c F~_c) R^-1 over classes kept as rows
        halves = [part.half for part in solution.rows.values()]
        pooled = plus_identity(symmetrise(-d * _sum_of_grams(halves, workers)), len(halves))
        p_sum -= pulled_back_in_parallel(solution.base_factor, pooled, workers.map)
    if solution.n_even:
        p_sum -= solution.n_even * inverse_from_cholesky(solution.base_factor)
    p_sum *= 0.5
    return p_sum


def _solve_row_class(
    rows: Array, d: float, base_factor: Array, row_factor: Array, b: Array
) -> _RowClass:
    """Factor E_c^-1 = I + d F~_c F~_c', which has the size of the class."""
    rows = solve_rows(row_factor, rows.copy())
    lower = cholesky(plus_identity(d * (rows @ rows.T)))
    half = solve_columns(lower, rows.copy())
    solved = solve_columns_transposed(lower, half.copy())
    h = solve_rows(base_factor, b[None, :].copy())
    h -= d * (h @ rows.T) @ solved
    beta = solve_rows_transposed(base_factor, h)[0]
    return _RowClass(log_determinant(base_factor) + log_determinant(lower), beta, half, solved)


def _sum_of_grams(rows: list[Array], workers: Workers) -> Array:
    """Lower triangle of the summed Grams of matrices of few rows each, in larger units of work."""
    units: list[list[Array]] = [[]]
    for matrix in rows:
        if sum(map(len, units[-1])) >= _ROWS_OF_A_UNIT:
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
    quadratic = 0.0
    # One factor may serve all classes.
    of_factor = len(posterior.coefficients) // len(posterior.factors)
    places = row_slices(len(posterior.offsets), of_factor)
    for factor, place in zip(posterior.factors, places, strict=True):
        # b' B^-1 b = |R' beta|^2 with B = R R'
        fit = float(np.square(posterior.coefficients[place] @ factor).sum())
        quadratic += of_factor * log_determinant(factor) - fit
    trace = float(np.einsum("cmm->", statistics.grams))
    return _assemble(
        statistics.counts,
        posterior.transform,
        posterior.prior,
        posterior.variance,
        quadratic,
        trace,
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
    u1, u0 = transform.precision_in, transform.precision_out
    r1, r0 = transform.residuals(prior)
    n = counts.sum()
    n_classes = len(counts)
    inside = np.log(transform.noise_in) + u1 * (r1**2 + variance)
    outside = np.log(transform.noise_out) + u0 * (r0**2 + variance)
    of_counts = n_classes * n * np.log(2 * np.pi) + counts @ inside + (n - counts) @ outside
    # sum_c tr(B_c - I) = (C u0 + u1 - u0) tr(G^)
    return -0.5 * float(of_counts + quadratic - (n_classes * u0 + u1 - u0) * trace)
