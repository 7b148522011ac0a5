"""Rows that were seen before: the labels of their copies vote beside the model.

A table may hold the same row several times, as bookings of a group or forms that were filled in
alike, with labels that agree more than a function of a thousand points can say. A row that is met
again has n_c votes of its copies for class c, n in all, and the model's probabilities p are worth w
labels: the mean of a Dirichlet distribution that begins with w p and has seen the votes,

    p_c' = (n_c + w p_c) / (n + w)

w is what predicts left-out rows best, each beside its other copies. Where the model says all that
copies can say, w is large and nothing is kept. Nor is it if copies never contradict each other:
they may be one row that was drawn several times, as for a bootstrap or to balance classes, and
what is known of one such row is no news of another.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..rows.in_memory import Keys, row_keys

# Copies of fewer rows than this say too little about what copies are worth.
_FEWEST_ROWS = 200
_JUDGES = 3_000
_WORTHS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
# So many groups of copies in a hundred contradict themselves, if each has a label of its own.
_CONTRADICTING = 0.01
# Votes that are remembered at most: rows times classes.
MOST_VOTES = 2_000_000
_ROUNDING = 1e-9
# What left-out rows must gain, in standard errors of groups of copies, and per row with copies.
_SURE, _GAIN = 3.0, 0.005


@dataclass(frozen=True)
class Copies:
    """The labels of rows that may be met again.

    Attributes
    ----------
    keys : ndarray of shape (G,), uint64
        Fingerprints of the distinct rows, increasing.
    votes : ndarray of shape (G, C)
        Weight of their labels.
    worth : float
        w, the number of votes that the model is worth.
    """

    keys: Keys
    votes: Array
    worth: float

    def of_rows(self, rows: AnyArray) -> Array:
        """The votes (n, C) of the copies of rows (n, D)."""
        return self._at(row_keys(rows))

    def _at(self, wanted: Keys) -> Array:
        if len(self.keys) == 0:
            return np.zeros((len(wanted), self.votes.shape[1]))
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where((self.keys[place] == wanted)[:, None], self.votes[place], 0.0)

    def probabilities(self, of_model: Array, votes: Array) -> Array:
        """Class probabilities (n, C) with votes (n, C) beside those of the model."""
        total = votes.sum(axis=1, keepdims=True)
        # Without votes, what the model says to the last bit.
        blended = (votes + self.worth * of_model) / (total + self.worth)
        return np.where(total > 0, blended, of_model)

    def log_probabilities(self, of_model: Array, votes: Array) -> Array:
        """The same for logarithms, right however small the probability."""
        total = votes.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            logs = np.logaddexp(np.log(votes), np.log(self.worth) + of_model)
        return np.where(total > 0, logs - np.log(total + self.worth), of_model)

    def concentrations(self, of_model: Array, votes: Array) -> Array:
        """Parameters (n, C) of Dirichlet distributions that have seen as many labels more."""
        known = of_model.sum(axis=1, keepdims=True)
        total = known + votes.sum(axis=1, keepdims=True)
        return total * self.probabilities(of_model / known, votes)

    def plus(self, rows: AnyArray, codes: Integers, weights: Array | None) -> "Copies":
        """With labels of more rows; negative weights take them away."""
        keys = row_keys(rows)
        more = np.zeros((len(codes), self.votes.shape[1]))
        more[np.arange(len(codes)), codes] = 1.0 if weights is None else weights
        return self._with(keys, more)

    def minus(self, rows: AnyArray, codes: Integers, weights: Array | None) -> "Copies":
        """Without the labels of some rows."""
        own = np.ones(len(codes)) if weights is None else weights
        known = np.isin(row_keys(rows), self.keys)
        return self.plus(rows[known], codes[known], -own[known])

    def times(self, factor: float) -> "Copies":
        """With the weight of every label multiplied."""
        return replace(self, votes=factor * self.votes)._with(self.keys[:0], self.votes[:0])

    def merged(self, other: "Copies", places: Integers) -> "Copies":
        """With the labels of another's rows, whose class k is called places[k] here."""
        return self._with(other.keys, other.among(self.votes.shape[1], places).votes)

    def among(self, n_classes: int, places: Integers) -> "Copies":
        """With more classes: class k is called places[k]."""
        votes = np.zeros((len(self.keys), n_classes))
        votes[:, places] = self.votes
        return replace(self, votes=votes)

    def _with(self, keys: Keys, votes: Array) -> "Copies":
        """With more votes, sorted by row, and without rows that have none left.

        Where they would be too many, only rows that are known get more of them.
        """
        n_classes = self.votes.shape[1]
        if (len(self.keys) + len(keys)) * n_classes > MOST_VOTES:
            known = np.isin(keys, self.keys)
            keys, votes = keys[known], votes[known]
        everything, place = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        total = np.zeros((len(everything), n_classes))
        np.add.at(total, place.ravel(), np.concatenate([self.votes, votes]))
        if total.min(initial=0.0) < -_ROUNDING * max(1.0, total.max(initial=0.0)):
            raise ValueError(
                "forget: some of these rows were never added with these labels. "
                "Pass rows with the labels and weights that they were added with."
            )
        total = np.where(total > _ROUNDING, total, 0.0)
        kept = total.any(axis=1)
        return replace(self, keys=everything[kept], votes=total[kept])


def learned_copies(
    rows: AnyArray,
    codes: Integers,
    n_classes: int,
    left_out: Callable[[Integers], Array],
) -> Copies | None:
    """The copies among training rows, if left-out rows gain by them.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    codes : ndarray of shape (n,)
    n_classes : int
    left_out : callable
        From positions (m,) to the probabilities (m, C) that the model has for these rows, each
        left out by itself.
    """
    nothing = Copies(np.empty(0, dtype=np.uint64), np.empty((0, n_classes)), 1.0)
    found = nothing.plus(rows, codes, None)
    if found.votes[found.votes > 0].min() > 1.0:
        return None  # All rows are there several times: that says nothing about labels.
    keys = row_keys(rows)
    several = np.flatnonzero(found._at(keys).sum(axis=1) > 1)
    if len(several) < _FEWEST_ROWS:
        return None
    groups = found.votes[found.votes.sum(axis=1) > 1]
    if np.mean((groups > 0).sum(axis=1) > 1) < _CONTRADICTING:
        return None
    some = np.random.RandomState(0).permutation(several)[:_JUDGES]
    of_model = np.maximum(left_out(some), np.finfo(float).tiny)
    own = np.arange(len(some)), codes[some]
    others = found._at(keys[some])
    others[own] -= 1.0
    best = max(
        (replace(found, worth=worth) for worth in _WORTHS),
        key=lambda copies: np.log(copies.probabilities(of_model, others)[own]).sum(),
    )
    gain = np.log(best.probabilities(of_model, others)[own]) - np.log(of_model[own])
    # Copies of one row gain or lose together.
    of_groups = np.bincount(np.unique(keys[some], return_inverse=True)[1].ravel(), gain)
    sure = of_groups.sum() > _SURE * np.sqrt(np.square(of_groups).sum())
    return best if sure and gain.mean() > _GAIN else None
