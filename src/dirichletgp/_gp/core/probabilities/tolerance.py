"""Class probabilities within a stated tolerance: which variances, and which classes, can matter.

Latents f_c ~ N(m_c, v_c) are independent; p_i = E[pi_i] with pi = softmax(f). By the heat equation
dp_i/dv_j = E[d2 pi_i / df_j2] / 2, and

    d2 pi_i / df_i2 = pi_i (1 - pi_i) (1 - 2 pi_i)        d2 pi_i / df_j2 = -pi_i pi_j (1 - 2 pi_j)

As pi_i <= 1 - pi_j, whatever i is,

    |dp_i/dv_j| <= w_j / 2    with    w_j = E[pi_j (1 - pi_j) |1 - 2 pi_j|].

Three bounds on w_j are at hand: p_j, 1 - p_j, and the maximum 1 / (6 sqrt 3) of x (1 - x) |1 - 2x|.

Let all v lie in a box: v_j is within `deviation` of a centre. How much does p_j vary in the box? On
a straight line from the centre, on which every v_k moves by at most `deviation`,

    |dp_j| <= deviation / 2 E[pi_j (1 - pi_j) |1 - 2 pi_j| + pi_j sum_{k != j} pi_k |1 - 2 pi_k|]
           <= deviation / 2 E[pi_j 2 (1 - pi_j)]  <=  deviation min(p_j, 1 - p_j),

so p_j and 1 - p_j stay within a factor exp(deviation) of their values at the centre. Hence, if the
classes of a set J have the variance of the centre instead of their own, no probability moves by
more than

    sum_{j in J} deviation / 2 min(exp(deviation) min(p_j, 1 - p_j), 1 / (6 sqrt 3))        (1)

with p at the centre; the path from the true variances to those in use stays in the box. For p_j an
upper bound does. Against the class t with the largest mean, with x = f_j - f_t, a Gaussian too,

    pi_j <= sigmoid(x) <= min(exp(x), exp(x / 2) / 2),

whose expectations are closed forms; and 1 - p_t <= sum_{j != t} p_j.

A class may also be left out of the softmax altogether. With K left out, pi_i becomes
pi_i / (1 - pi_K) and moves by pi_i pi_K / (1 - pi_K): its expectation moves by at most p_K.
"""

import numpy as np

from ..arrays import Array, Booleans, Integers
from .condensed import FEWEST, condensed
from .softmax import PLAIN, Accuracy, class_probabilities, level_integrals, standard_form

_STEEPEST = 1.0 / (6.0 * np.sqrt(3.0))
# Of the tolerance, what variances and what classes that are left out or put together may cost; the
# rest is for quadrature.
_OF_VARIANCES, _OF_OTHERS = 0.92, 0.05
# Right to 1e-6, in two thirds of the time: for tolerances well above that.
_QUICK = PLAIN._replace(depth=18.0, height=9.0, degree=2)
_LEAST_FOR_QUICK = 5e-5
_FEWEST_KEPT = 3
_LARGEST_EXPONENT = 500.0


def classes_in_doubt(mean: Array, centre: Array, deviation: Array, tolerance: float) -> Booleans:
    """Classes (n, C) whose own variance could move a probability of the row beyond the tolerance.

    Parameters
    ----------
    mean : ndarray of shape (n, C)
    centre, deviation : ndarray of shape (n,)
        The variances of all classes of a row lie between centre - deviation and centre + deviation.
    tolerance : float
        Of any probability, when all other classes have the variance of the centre; see (1).
    """
    top = mean.argmax(axis=1)[:, None]
    bound = upper_bounds(mean, np.broadcast_to(centre[:, None], mean.shape), top)
    np.put_along_axis(bound, top, 0.0, axis=1)
    np.put_along_axis(bound, top, bound.sum(axis=1, keepdims=True), axis=1)
    stretch = np.exp(np.minimum(deviation, _LARGEST_EXPONENT))
    moves = np.minimum(stretch[:, None] * bound, _STEEPEST)
    moves *= 0.5 * deviation[:, None]
    return _largest(moves, _OF_VARIANCES * tolerance)


def upper_bounds(mean: Array, variance: Array, top: Integers) -> Array:
    """Upper bounds (n, C) of E[pi_j] by a race against the class `top` (n, 1) alone; 1 for it."""
    gap = mean - np.take_along_axis(mean, top, axis=1)
    spread = variance + np.take_along_axis(variance, top, axis=1)
    bound = np.minimum(gap + 0.5 * spread, 0.5 * gap + 0.125 * spread - np.log(2.0))
    np.minimum(bound, 0.0, out=bound)
    np.exp(bound, out=bound)
    np.put_along_axis(bound, top, 1.0, axis=1)
    return bound


def _largest(values: Array, budget: float) -> Booleans:
    """All but the smallest of each row (n, C), which add up to no more than the budget."""
    order = np.argsort(values, axis=1)
    total = np.cumsum(np.take_along_axis(values, order, axis=1), axis=1)
    chosen = np.empty(values.shape, dtype=bool)
    np.put_along_axis(chosen, order, total > budget, axis=1)
    return chosen


def probabilities_within(mean: Array, variance: Array, tolerance: float) -> Array:
    """Expected class probabilities (n, C) by an integral over the classes that can matter.

    Classes whose probabilities add up to less than a twentieth of the tolerance stay out of it;
    where classes are many, those whose sum is as good as constant (`condensed.py`). Their own are
    E[exp(f_j)] E[1 / sum of exp(f_k)] over the others: right in relative terms as well where they
    are small.
    """
    mean, variance = standard_form(mean, variance)
    n_classes = mean.shape[1]
    if n_classes <= _FEWEST_KEPT:
        return class_probabilities(mean, variance)
    if n_classes >= FEWEST and tolerance > 0:
        return _condensed_probabilities(mean, variance, tolerance)
    top = mean.argmax(axis=1)[:, None]
    bound = upper_bounds(mean, variance, top)
    matters = _largest(bound, _OF_OTHERS * tolerance)
    n_kept = _sizes(matters.sum(axis=1), n_classes)
    order = np.argsort(-bound, axis=1, kind="stable")
    out = np.empty(mean.shape)
    accuracy = _QUICK if tolerance >= _LEAST_FOR_QUICK else PLAIN
    for size in np.unique(n_kept).tolist():
        rows = np.flatnonzero(n_kept == size)
        kept = order[rows, :size]
        p, log_inverse = _kept_probabilities(
            np.take_along_axis(mean[rows], kept, axis=1),
            np.take_along_axis(variance[rows], kept, axis=1),
            accuracy,
        )
        others = np.exp(np.minimum(mean[rows] + 0.5 * variance[rows] + log_inverse[:, None], 0.0))
        others = np.minimum(others, bound[rows])
        np.put_along_axis(others, kept, 0.0, axis=1)
        p *= 1.0 - others.sum(axis=1, keepdims=True)
        np.put_along_axis(others, kept, p, axis=1)
        out[rows] = others
    return out


def _condensed_probabilities(mean: Array, variance: Array, tolerance: float) -> Array:
    """Of very many classes: the unlikely ones together are one more class."""
    accuracy = _QUICK if tolerance >= _LEAST_FOR_QUICK else PLAIN
    out = np.empty(mean.shape)
    for part in condensed(mean, variance, _OF_OTHERS * tolerance):
        p, log_inverse = _kept_probabilities(part.mean, part.variance, accuracy)
        rows = part.rows
        if p.shape[1] == mean.shape[1]:  # there are no others
            out[rows[:, None], part.kept] = p
            continue
        others = np.exp(np.minimum(mean[rows] + 0.5 * variance[rows] + log_inverse[:, None], 0.0))
        np.put_along_axis(others, part.kept, 0.0, axis=1)
        total = others.sum(axis=1, keepdims=True)
        others *= p[:, -1:] / np.where(total > 0, total, 1.0)
        np.put_along_axis(others, part.kept, p[:, :-1], axis=1)
        out[rows] = others
    return out


def _sizes(counts: Integers, most: int) -> Integers:
    """Counts rounded up by a quarter or less, so that few sizes serve all rows."""
    counts = np.maximum(counts, _FEWEST_KEPT)
    unit = 2 ** np.maximum(np.floor(np.log2(counts)).astype(np.intp) - 2, 0)
    return np.minimum(-(-counts // unit) * unit, most)


def _kept_probabilities(mean: Array, variance: Array, accuracy: Accuracy) -> tuple[Array, Array]:
    """E[softmax(f)] (n, K), and log E[1 / sum_k exp(f_k)] (n,).

    The latter is the integral of F(s) exp(-s): E[1 / x] is that of E[exp(-t x)] over t = exp(-s).
    """
    out, log_inverse = np.empty(mean.shape), np.empty(len(mean))
    for rows, integral in level_integrals(mean, variance, accuracy):
        p = (integral.kappa * integral.density[:, None, :]).sum(axis=2)
        out[rows] = p / p.sum(axis=1, keepdims=True)
        steps = integral.step * np.arange(integral.total.shape[1])
        log_terms = -integral.total - (integral.lowest[:, None] + steps)
        largest = log_terms.max(axis=1)
        terms = np.exp(log_terms - largest[:, None]).sum(axis=1)
        log_inverse[rows] = largest + np.log(integral.step * terms)
    return out, log_inverse
