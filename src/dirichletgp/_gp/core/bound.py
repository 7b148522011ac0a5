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
    add_outer_gram,
    cholesky,
    inverse_from_cholesky,
    inverse_triangle,
    log_determinant,
    multiply_columns,
    multiply_columns_transposed,
    multiply_rows,
    multiply_rows_transposed,
    product,
    pulled_back,
    pulled_back_in_parallel,
    row_slices,
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
    """A class kept as rows, solved: log|B_c|, beta_c and E_c F~_c."""

    log_determinant: float
    beta: Array
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
    inverse = inverse_triangle(factor)
    solution = _solve(statistics, factor, inverse, transform, prior, workers)
    quadratic = solution.log_determinants - float(np.vdot(solution.b, solution.beta))
    trace = float(np.trace(solution.total))
    value = _assemble(statistics.counts, transform, prior, variance, quadratic, trace)
    return _derivatives(value, solution, statistics, inverse, transform, prior, workers)


class _Solution(NamedTuple):
    """The C regressions, solved in the whitened basis."""

    total: Array  # G^
    b: Array
    beta: Array
    log_determinants: float  # sum_c log|B_c|
    grams: dict[int, _GramClass]
    rows: dict[int, _RowClass]
    row_gram: Array  # sum_c F~_c' E_c F~_c of the classes kept as rows, its lower triangle,
    base_factor: Array  # R if there are such classes, or if all have B_0,
    row_inverse: Array  # and (L R)^-1; what is not needed is empty
    n_even: int  # classes of which B_c = B_0


def _solve(
    statistics: BoundStatistics,
    factor: Array,
    inverse: Array,
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> _Solution:
    b = right_hand_sides(multiply_rows(inverse, statistics.sums.copy()), transform, prior)
    own = list(workers.map(lambda gram: whitened(inverse, gram), statistics.grams.values()))
    total = sum(own, np.zeros(factor.shape))
    if len(own) < len(b):
        total += whitened_in_parallel(inverse, statistics.pooled, workers.map)
    base = shared_matrix(total, transform)
    if not own and not statistics.rows:
        return _solve_even(total, base, b)

    def solve_gram_class(pair: tuple[int, Array]) -> _GramClass:
        k, gram = pair
        lower = class_factor(base, gram, transform, out=gram)
        of_class = inverse_from_cholesky(lower)
        return _GramClass(log_determinant(lower), of_class @ b[k], of_class)

    solved_grams = workers.map(solve_gram_class, zip(statistics.grams, own, strict=True))
    grams = dict(zip(statistics.grams, solved_grams, strict=True))
    rows: dict[int, _RowClass] = {}
    row_gram = base_factor = row_inverse = np.empty((0, 0))
    if statistics.rows:
        d = transform.precision_in - transform.precision_out
        base_factor = cholesky(base)
        row_inverse = inverse_triangle(product(factor, base_factor, workers.map))
        row_gram = np.zeros(factor.shape)

        def solve_row_classes(unit: list[int]) -> tuple[list[_RowClass], Array]:
            gram = np.zeros(factor.shape)
            found = [
                _solve_row_class(statistics.rows[k], d, base_factor, row_inverse, b[k], gram)
                for k in unit
            ]
            return found, gram

        units = _units_of_classes(statistics.rows)
        solved_rows = workers.map(solve_row_classes, units)
        for unit, (found, gram) in zip(units, solved_rows, strict=True):
            rows.update(zip(unit, found, strict=True))
            row_gram += gram
    parts: dict[int, _GramClass | _RowClass] = {**grams, **rows}
    beta = np.stack([parts[k].beta for k in range(len(b))])
    log_determinants = sum(part.log_determinant for part in parts.values())
    return _Solution(
        total, b, beta, log_determinants, grams, rows, row_gram, base_factor, row_inverse, 0
    )


def _solve_even(total: Array, base: Array, b: Array) -> _Solution:
    """All regressions with one matrix."""
    lower = cholesky(base, overwrite=True)
    beta = solve_rows_transposed(lower, solve_rows(lower, b.copy()))
    log_determinants = len(b) * log_determinant(lower)
    nothing = np.empty((0, 0))
    return _Solution(total, b, beta, log_determinants, {}, {}, nothing, lower, nothing, len(b))


def _derivatives(
    value: float,
    solution: _Solution,
    statistics: BoundStatistics,
    inverse: Array,
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
        return pulled_back(inverse, shared - d * own)

    matrices = dict(zip(solution.grams, workers.map(matrix, solution.grams), strict=True))
    raw_beta = multiply_rows_transposed(inverse, beta.copy())

    def row_terms(k: int) -> Array:
        terms = multiply_rows_transposed(solution.row_inverse, solution.rows[k].solved)
        terms += np.outer(statistics.rows[k] @ raw_beta[k], raw_beta[k])
        terms *= -d
        return terms

    by_row = RowDerivatives(
        matrices=matrices,
        shared=pulled_back_in_parallel(inverse, shared, workers.map)
        if len(matrices) < n_classes
        else shared,
        vectors=(u0 * r0) @ raw_beta + (u1 * r1 - u0 * r0)[:, None] * raw_beta,
        row_terms=dict(zip(solution.rows, workers.map(row_terms, solution.rows), strict=True)),
    )
    by_points = pulled_back_in_parallel(inverse, through_kernel, workers.map)
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
        pooled = plus_identity(symmetrise(-d * solution.row_gram), len(solution.rows))
        base_inverse = inverse_triangle(solution.base_factor)
        p_sum -= pulled_back_in_parallel(base_inverse, pooled, workers.map)
    if solution.n_even:
        p_sum -= solution.n_even * inverse_from_cholesky(solution.base_factor)
    p_sum *= 0.5
    return p_sum


def _solve_row_class(
    rows: Array, d: float, base_factor: Array, row_inverse: Array, b: Array, gram: Array
) -> _RowClass:
    """Factor E_c^-1 = I + d F~_c F~_c', which has the size of the class.

    F~_c' E_c F~_c is added to the lower triangle of `gram`.
    """
    rows = multiply_rows(row_inverse, rows.copy())
    lower = np.eye(len(rows))
    add_outer_gram(rows, lower, d)
    lower = cholesky(lower, overwrite=True)
    inverse = inverse_triangle(lower)
    solved = multiply_columns(inverse, rows.copy())  # T^-1 F~_c
    add_gram(solved, gram)
    solved = multiply_columns_transposed(inverse, solved)
    h = solve_rows(base_factor, b[None, :].copy())
    h -= d * (h @ rows.T) @ solved
    beta = solve_rows_transposed(base_factor, h)[0]
    return _RowClass(log_determinant(base_factor) + log_determinant(lower), beta, solved)


def _units_of_classes(rows: dict[int, Array]) -> list[list[int]]:
    """Classes kept as rows in units of work: small ones together, which share a Gram."""
    units: list[list[int]] = [[]]
    n = 0
    for k, of_class in rows.items():
        if n >= _ROWS_OF_A_UNIT:
            units.append([])
            n = 0
        units[-1].append(k)
        n += len(of_class)
    return units


def collapsed_bound(statistics: ClassStatistics, posterior: Posterior) -> float:
    """The bound alone, from whitened statistics and the posterior they led to."""
    quadratic = 0.0
    # One root may serve all classes.
    of_root = len(posterior.coefficients) // len(posterior.roots)
    places = row_slices(len(posterior.offsets), of_root)
    for root, place in zip(posterior.roots, places, strict=True):
        # b' B^-1 b = |R' beta|^2 with B = R R'
        halves = solve_rows_transposed(root, posterior.coefficients[place].copy())
        fit = float(np.square(halves).sum())
        quadratic -= of_root * log_determinant(root) + fit
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
