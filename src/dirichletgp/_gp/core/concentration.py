"""How well class probabilities are known: the number of labels that a prediction is worth.

The noises of a label transform make averaged probabilities predict well. They say nothing about how
well these are known; the likelihood of labels does. Near a row with class probabilities p a label
has the information w = p_c (1 - p_c) about the log-odds of class c. If these have a prior variance
d_j along eigenvector u_j of the total whitened Gram G^ = sum_j lambda_j u_j u_j' (of a kernel of
variance 1), they are known up to the variance

    V(x) = a (1 - k^'k^) + sum_j (u_j'k^)^2 d_j / (1 + w lambda_j d_j)

As many labels with the same probabilities, nu = 1 / (w V), would leave the same doubt, which is
that of a Dirichlet distribution with mean p and concentration nu. Class frequencies are no better
known than n labels allow, and one more is assumed than there are, so

    1 / nu(x) = w V(x) + 1 / (n + 1)        w = sum_c p_c^2 (1 - p_c)

with the mean weight of the classes in all of them: that of either of two classes, and the same for
all wherever many are as likely. It takes nothing but the Gram that a model has anyway: rows are
added, taken away and merged as ever.

The kernel is not known either, least of all from few rows. Its scale and roughness (d_j, see
`prior_variances`) are averaged over; and fitted log-odds that labels would still move are not known
better than that. Where rows are few, so that the move is mostly chance, its mean square is added to
V everywhere; where they are many, the square of the move delta_c(x) itself:

    1 / nu(x) = w V(x) + 1 / (n + 1) + sum_c p_c^2 (1 - p_c) delta_c(x)^2

What labels say about all of this is learned by the fit (`training/log_odds.py`) and kept with the
model, like the label transform.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from .arrays import Array
from .regressions import POWERS, SCALES, LogOddsBeliefs, prior_variances
from .statistics import ClassStatistics

# Information of a label where the probabilities are all but certain.
_LEAST_INFORMATION = 1e-9
# A setting of the kernel that is believed less than this changes nothing.
_NEGLIGIBLE = 0.005


@dataclass(frozen=True)
class Concentration:
    """The concentration of the Dirichlet distribution of class probabilities, at any row.

    Attributes
    ----------
    variance : float
        s2, that of the kernel.
    n_rows : float
        Weight of all rows.
    eigenvalues : ndarray of shape (M,)
        lambda_j.
    eigenvectors : ndarray of shape (M, M)
        u_j, in columns.
    beliefs : LogOddsBeliefs
    """

    variance: float
    n_rows: float
    eigenvalues: Array
    eigenvectors: Array
    beliefs: LogOddsBeliefs

    @classmethod
    def from_statistics(
        cls,
        statistics: ClassStatistics,
        variance: float,
        prior: Array,
        beliefs: LogOddsBeliefs | None,
    ) -> "Concentration":
        """For whitened statistics of a kernel of some variance.

        Parameters
        ----------
        statistics : ClassStatistics
        variance : float
        prior : ndarray of shape (C,)
        beliefs : LogOddsBeliefs or None
            None: as the sums of each class alone suggest.
        """
        values, vectors = eigh(statistics.grams.sum(axis=0) / variance)
        values = np.maximum(values, 0.0)
        if beliefs is None:
            sums = statistics.sums @ vectors / np.sqrt(variance)
            beliefs = _beliefs_of_sums(sums, values, prior)
        return cls(variance, float(statistics.counts.sum()), values, vectors, beliefs)

    def at(self, vectors: Array, p: Array) -> Array:
        """Nu (n,) at rows with whitened vectors (n, M) and class probabilities p (n, C)."""
        by_class = p * p * (1.0 - p)
        weight = np.maximum(by_class.sum(axis=1), _LEAST_INFORMATION)
        squares = np.square(vectors @ self.eigenvectors) / self.variance
        unexplained = np.maximum(1.0 - squares.sum(axis=1), 0.0)
        information = weight[:, None] * self.eigenvalues
        doubt = np.full(len(vectors), float(self.beliefs.departure))
        for (i, j), belief in np.ndenumerate(self.beliefs.settings):
            if belief >= _NEGLIGIBLE:
                prior = prior_variances(self.eigenvalues, SCALES[i], POWERS[j])
                within = (squares * (prior / (1.0 + information * prior))).sum(axis=1)
                doubt += belief * (SCALES[i] * unexplained + within)
        per_label = weight * doubt + 1.0 / (self.n_rows + 1.0)
        if self.beliefs.moves is not None:
            moves = vectors @ (self.beliefs.moves.T / np.sqrt(self.variance))
            per_label += (by_class * np.square(moves)).sum(axis=1)
        return np.asarray(1.0 / per_label)


def _beliefs_of_sums(sums: Array, eigenvalues: Array, prior: Array) -> LogOddsBeliefs:
    """Beliefs where no row is at hand, for models that earlier versions wrote.

    The evidence of labels about the class frequencies: S_c - p_c S says how far the log-odds depart
    from them, with the information p_c (1 - p_c) of every label. Where they depart far, that is
    less than the fitted probabilities would say.
    """
    prior = prior / prior.sum()
    pulls = np.square(sums - prior[:, None] * sums.sum(axis=0))
    information = (prior * (1.0 - prior))[:, None] * eigenvalues

    def evidence(scale: float, power: float) -> float:
        d = prior_variances(eigenvalues, scale, power)
        precision = 1.0 + information * d
        by_class = 0.5 * (pulls * d / precision - np.log(precision)).sum(axis=1)
        return float(by_class.mean())

    found = [evidence(scale, power) for scale in SCALES for power in POWERS]
    return LogOddsBeliefs.by_evidence(np.array(found))
