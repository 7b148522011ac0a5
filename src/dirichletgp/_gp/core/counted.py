"""The posterior of a region without points: class counts, as the paper treats a single row.

Counts n_c with a total of one pseudo-count, spread evenly over the C classes, are the parameters of
a Dirichlet distribution. Its Gamma variables become log-normals with the same moments:

    var_c = log(1 + 1 / (n_c + 1/C))        mean_c = log(n_c + 1/C) - var_c / 2

A training row is left out by not counting it.
"""

from dataclasses import dataclass

import numpy as np

from .arrays import Array, Integers
from .regressions import LabelTransform, Posterior


@dataclass(frozen=True)
class CountedPosterior(Posterior):
    """A posterior that is the same everywhere.

    Attributes
    ----------
    counts : ndarray of shape (C,)
        Weight of the rows of each class.
    """

    counts: Array

    @classmethod
    def of(
        cls, counts: Array, variance: float, transform: LabelTransform, prior: Array
    ) -> "CountedPosterior":
        """The posterior of counts (C,); the transform says what level latents have."""
        n_classes = len(counts)
        return cls(
            transform,
            prior,
            variance,
            transform.offsets(np.full(n_classes, 1.0 / n_classes)),
            np.empty((n_classes, 0)),
            np.empty((n_classes, 0, 0)),
            np.maximum(counts, 0.0),
        )

    def latent(self, vectors: Array) -> tuple[Array, Array]:
        """Mean and variance (n, C): those of the counts at every row."""
        mean, variance = self._of_counts(self.counts[None])
        shape = (len(vectors), len(self.counts))
        return np.broadcast_to(mean, shape).copy(), np.broadcast_to(variance, shape).copy()

    def latent_without_row(
        self,
        vectors: Array,
        codes: Integers,
        weights: Array | None,
        fold: Integers | None = None,
    ) -> tuple[Array, Array]:
        """Latent mean and variance (n, C) of training rows, each without its own contribution."""
        own = np.zeros((len(codes), len(self.counts)))
        own[np.arange(len(codes)), codes] = 1.0 if weights is None else weights
        return self.latent_without_votes(vectors, own)

    def latent_without_votes(
        self,
        vectors: Array,
        votes: Array,
        explained: Array | None = None,
        fold: Integers | None = None,
    ) -> tuple[Array, Array]:
        """The same for rows with votes (n, C) for classes."""
        return self._of_counts(np.maximum(self.counts - votes, 0.0))

    def _of_counts(self, counts: Array) -> tuple[Array, Array]:
        """Latents (n, C) for counts (n, C)."""
        gamma = counts + 1.0 / counts.shape[1]
        variance = np.log1p(1.0 / gamma)
        mean = np.log(gamma) - variance / 2
        return mean - mean.mean(axis=1, keepdims=True) + self.offsets, variance
