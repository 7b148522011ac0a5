"""Left-out predictions whose kernel did not see the row either.

Closed-form leave-one-out takes a row out of the posterior, but the kernel was learned from all
rows: with few of them that row still speaks through the lengthscales. So the rows are dealt into
folds, the kernel is learned again without each fold, and the rows of the fold are left out one by
one under that kernel. What comes out is kept row by row, found again by a fingerprint of row and
class.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array, Integers
from ..core.parallel import Workers
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import Basis, LabelTransform, Posterior
from ..rows.in_memory import InMemoryRows

Keys = NDArray[np.uint64]

_FOLDS = 5


@dataclass(frozen=True)
class LeftOut:
    """Latent functions at training rows, predicted without them.

    Attributes
    ----------
    keys : ndarray of shape (n,), uint64
        Fingerprints of the rows, increasing.
    mean, variance : ndarray of shape (n, C)
    """

    keys: Keys
    mean: Array
    variance: Array

    @classmethod
    def of(cls, rows: InMemoryRows, mean: Array, variance: Array) -> "LeftOut":
        """Keep the latents (n, C) of scaled rows."""
        keys = fingerprints(rows.X, rows.codes)
        order = np.argsort(keys)
        return cls(keys[order], mean[order], variance[order])

    def loss(self, rows: InMemoryRows) -> float:
        """Mean negative log-likelihood of rows that are all kept."""
        place = self.places(rows.X, rows.codes)
        log_p = log_probability_of(rows.codes, self.mean[place], self.variance[place])
        return -float(np.average(log_p, weights=rows.weights))

    def places(self, rows: Array, codes: Integers) -> Integers:
        """Where scaled rows of given classes are among those kept; -1 for rows that are not."""
        wanted = fingerprints(rows, codes)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, place, -1)

    def replaced(
        self, rows: Array, codes: Integers, mean: Array, variance: Array
    ) -> tuple[Array, Array]:
        """Latents (n, C) of scaled rows, with those that are kept in the place of those given."""
        place = self.places(rows, codes)
        kept = (place >= 0)[:, None]
        return np.where(kept, self.mean[place], mean), np.where(
            kept, self.variance[place], variance
        )


def fingerprints(rows: Array, codes: Integers) -> Keys:
    """A number for each scaled row and its class (n,), the same wherever the row stands."""
    content = np.ascontiguousarray(np.column_stack([codes, rows + 0.0]))  # + 0.0: no minus zero
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in content]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def fold_of_each_row(rows: InMemoryRows) -> Integers:
    """A fold for each row, every class spread over all; it depends on rows, not on their order."""
    keys = fingerprints(rows.X, rows.codes)
    fold = np.empty(len(rows), dtype=np.intp)
    dealt = 0
    for code in range(rows.n_classes):
        members = np.flatnonzero(rows.codes == code)
        members = members[np.argsort(keys[members], kind="stable")]
        fold[members] = (dealt + np.arange(len(members))) % _FOLDS
        dealt += len(members)
    return fold


def cross_fitted(
    rows: InMemoryRows,
    learn: Callable[[InMemoryRows], Basis],
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> LeftOut:
    """Leave every row out, under a kernel that was learned without its fold.

    Parameters
    ----------
    rows : InMemoryRows
        Scaled and merged.
    learn : callable
        From some of the rows to the basis of a kernel learned from them.
    transform : LabelTransform
    prior : ndarray of shape (C,)
    workers : Workers
    """
    fold = fold_of_each_row(rows)
    mean = np.empty((len(rows), rows.n_classes))
    variance = np.empty_like(mean)
    for j in np.unique(fold):
        inside = np.flatnonzero(fold == j)
        basis = learn(rows.take(np.flatnonzero(fold != j)))
        statistics = rows.class_statistics(basis, workers)
        s2 = basis.kernel.variance
        posterior = Posterior.from_statistics(statistics, s2, transform, prior, workers)
        own = None if rows.weights is None else rows.weights[inside]
        vectors = basis.vectors(rows.X[inside])
        latents = posterior.latent_without_row(vectors, rows.codes[inside], own)
        mean[inside], variance[inside] = latents
    return LeftOut.of(rows, mean, variance)
