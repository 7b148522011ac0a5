"""Very many classes as a few and one more: the sum of the unlikely ones is all but constant.

With x_k = exp(f_k) and S the sum over the classes that are kept, X over the others, of mean mu,

    x_i / (S + X) - x_i / (S + mu) = -x_i (X - mu) / (S + mu)^2
                                     + x_i (X - mu)^2 / ((S + mu)^2 (S + X)),

whose first term has the expectation zero, and x_i / (S + X) <= 1. So no probability of a kept class
moves by more than

    Var(X) E[1 / (S + mu)^2]  <=  c Var(X)    with    c = min(exp(2 v_t - 2 m_t), 1 / mu^2)      (1)

for any kept class t, if X becomes the constant mu: one class more, with the mean log mu and no
variance. Ten thousand classes that have a thousandth of the probability together cannot be left out
at a tolerance of 1e-4, but they may be put together. A class j among them has the probability
E[x_j] E[1 / (S + mu)]; by Cauchy and Schwarz that is off by at most

    sqrt(c E[x_j^2]) sqrt(c Var(X)),                                                             (2)

so a class with c E[x_j^2] above the tolerance is kept.
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Array, Integers

MANY = 64
"""With more classes than this they are condensed wherever probabilities may be coarse."""
# Candidates to be kept, looked at first, and if these do not do.
_CANDIDATES = (8, 64, 512)
FEWEST = 3 * _CANDIDATES[0] // 2
"""Of fewer classes than this, all are kept."""
# Of the tolerance, what the variance of the others may take.
_OF_VARIANCE = 0.5
_LARGEST_EXPONENT = 600.0


class Condensed(NamedTuple):
    """Rows whose kept classes are equally many.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Where they are among all.
    kept : ndarray of shape (n, K)
        Classes.
    mean, variance : ndarray of shape (n, K + 1) or (n, K)
        Of the kept classes, and of the others together, if there are any.
    """

    rows: Integers
    kept: Integers
    mean: Array
    variance: Array


def condensed(
    mean: Array, variance: Array, tolerance: float, own: Integers | None = None
) -> list[Condensed]:
    """Latents (n, C) in standard form, the largest mean at zero, condensed within a tolerance.

    `own` (n,) names a class of each row that comes first among those kept.
    """
    left = np.arange(len(mean))
    found: list[Condensed] = []
    for most in _CANDIDATES:
        if len(left) and 3 * most // 2 <= mean.shape[1]:
            mine = None if own is None else own[left]
            parts, left = _with_candidates(mean, variance, tolerance, mine, left, most)
            found += parts
    if len(left):
        everything = np.tile(np.arange(mean.shape[1]), (len(left), 1))
        if own is not None:
            everything[:, 0] = own[left]
            everything[np.arange(len(left)), own[left]] = 0
        place = left[:, None], everything
        found.append(Condensed(left, everything, mean[place], variance[place]))
    return found


def _with_candidates(
    mean: Array,
    variance: Array,
    tolerance: float,
    own: Integers | None,
    rows: Integers,
    most: int,
) -> tuple[list[Condensed], Integers]:
    """Those of some rows for which so many candidates do, and the other rows."""
    m, v = mean[rows], variance[rows]
    line = np.arange(len(rows))[:, None]
    log_mean = m + 0.5 * v
    log_square = 2.0 * m + 2.0 * v  # of E[x^2]
    log_variance = log_square + np.log(-np.expm1(-np.maximum(v, 1e-300)))
    top = m.argmax(axis=1)[:, None]
    rank = log_square.copy()
    np.put_along_axis(rank, top, np.inf, axis=1)
    if own is not None:
        rank[line[:, 0], own] = np.inf
    candidates = np.argpartition(rank, m.shape[1] - most, axis=1)[:, -most:]
    order = np.argsort(rank[line, candidates], axis=1)
    candidates = candidates[line, order]  # the likeliest last
    others = log_mean.copy()
    np.put_along_axis(others, candidates, -np.inf, axis=1)
    log_rest = _log_sum(others)
    np.copyto(others, log_variance)
    np.put_along_axis(others, candidates, -np.inf, axis=1)
    log_c = np.minimum(2.0 * v[line, top][:, 0], -2.0 * log_rest)
    spent = _exp(log_c + _log_sum(others))[:, None]
    spent = spent + np.cumsum(_exp(log_c[:, None] + log_variance[line, candidates]), axis=1)
    small = (spent <= _OF_VARIANCE * tolerance) & np.isfinite(rank[line, candidates])
    small &= log_c[:, None] + log_square[line, candidates] <= np.log(tolerance)
    # All up to the first that is not small are put to the others.
    n_kept = most - np.cumprod(small, axis=1).sum(axis=1)
    enough = n_kept < most
    sizes = np.minimum(2 ** np.ceil(np.log2(n_kept + 1)).astype(np.intp), most)
    parts = []
    for size in np.unique(sizes[enough]).tolist():
        chosen = np.flatnonzero(enough & (sizes == size))
        kept = candidates[chosen, most - size :][:, ::-1]
        if own is not None:
            kept = _first(kept, own[chosen])
        joined = log_mean[chosen[:, None], candidates[chosen, : most - size]]
        log_others = _log_sum(np.column_stack([log_rest[chosen], joined]))
        parts.append(_condensed(mean, variance, rows[chosen], kept, log_others))
    return parts, rows[~enough]


def _first(kept: Integers, own: Integers) -> Integers:
    """Kept classes (n, K) with the one that is named before the others."""
    kept = kept.copy()
    place = np.argmax(kept == own[:, None], axis=1)
    kept[np.arange(len(kept)), place] = kept[:, 0]
    kept[:, 0] = own
    return kept


def _condensed(
    mean: Array, variance: Array, rows: Integers, kept: Integers, log_others: Array
) -> Condensed:
    line = rows[:, None]
    nothing = np.zeros(len(rows))
    # As far behind as counts.
    log_others = np.maximum(log_others, -_LARGEST_EXPONENT)
    return Condensed(
        rows,
        kept,
        np.column_stack([mean[line, kept], log_others]),
        np.column_stack([variance[line, kept], nothing]),
    )


def _log_sum(logs: Array) -> Array:
    """Logarithms (n,) of sums of numbers whose logarithms (n, K) are given."""
    largest = np.maximum(logs.max(axis=1), -1e300)
    total = np.exp(logs - largest[:, None]).sum(axis=1)
    return np.asarray(largest + np.log(np.maximum(total, 1e-300)))


def _exp(logs: Array) -> Array:
    return np.exp(np.minimum(logs, _LARGEST_EXPONENT))
