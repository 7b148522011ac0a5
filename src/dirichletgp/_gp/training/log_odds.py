"""What labels say about log-odds beyond the fitted ones: their scale, their roughness, their error.

Intervals stand on it (`core/concentration.py`).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..core.arrays import Array, Booleans, Integers
from ..core.parallel import cholesky, solve_rows, solve_rows_transposed
from ..core.regressions import (
    POWERS,
    SCALES,
    SMALLEST_SHARE,
    LogOddsBeliefs,
    plus_identity,
    prior_variances,
)

# Directions and classes that scale and roughness of log-odds are judged by: those with most rows.
_DIRECTIONS, _CLASSES = 300, 6
# Prior variance of the constant that the log-odds vary about.
_OF_CONSTANT = 4.0
_LEAST_PROBABILITY = 1e-9
# A setting that is believed less than this changes nothing.
_NEGLIGIBLE = 0.005


def log_odds_beliefs(
    vectors: Array, codes: Integers, weights: Array | None, p: Array, all_rows: bool
) -> LogOddsBeliefs:
    """What labels say about the scale and the roughness of log-odds, and how they would move them.

    The evidence is that of one Newton step of logistic regression, each class against the rest,
    from the probabilities given: log-odds eta, with information w = p (1 - p), become targets eta +
    (y - p) / w with the noise 1 / w. Where the fitted log-odds are not where it ends, they are
    not known better than that.

    Parameters
    ----------
    vectors : ndarray of shape (n, M)
        Whitened kernel vectors of some training rows, of a kernel of variance 1.
    codes, weights : ndarray of shape (n,)
        Their classes, and weights in the statistics (None: 1).
    p : ndarray of shape (n, C)
        Their class probabilities, predicted without them.
    all_rows : bool
        Whether there are no others. A step on some of many rows says nothing about the fit to all.
    """
    own = np.ones(len(codes)) if weights is None else weights
    counts = np.bincount(codes, own, p.shape[1])
    values, directions = _main_directions(vectors * np.sqrt(own)[:, None])
    features = np.column_stack([vectors @ directions, np.ones(len(vectors))])
    priors = [
        np.append(prior_variances(values, scale, power), _OF_CONSTANT)
        for scale in SCALES
        for power in POWERS
    ]
    most = 1 if p.shape[1] == 2 else _CLASSES  # the other of two classes says the same
    chosen = [c for c in np.argsort(-counts, kind="stable")[:most] if 0 < counts[c] < counts.sum()]
    steps = [_NewtonStep.of_rows(features, codes == c, own, p[:, c]) for c in chosen]
    if not steps:
        return LogOddsBeliefs.by_evidence(np.zeros(len(priors)))
    evidence = np.mean([[step.evidence(prior) for prior in priors] for step in steps], axis=0)
    beliefs = LogOddsBeliefs.by_evidence(evidence)
    if not all_rows:
        return beliefs
    share = zip(priors, beliefs.settings.ravel().tolist(), strict=True)
    believed = [(prior, belief) for prior, belief in share if belief >= _NEGLIGIBLE]
    departure = float(np.mean([step.departure(features, believed) for step in steps]))
    return replace(beliefs, departure=departure)


def _main_directions(rows: Array) -> tuple[Array, Array]:
    """The largest eigenvalues (r,) of the Gram of rows (n, M), and their eigenvectors (M, r)."""
    few = len(rows) < rows.shape[1]
    gram = rows @ rows.T if few else rows.T @ rows
    last = len(gram) - 1
    values, basis = eigh(gram, subset_by_index=(max(0, last + 1 - _DIRECTIONS), last))
    kept = values > SMALLEST_SHARE**2 * values[-1]
    values, basis = values[kept], basis[:, kept]
    return values, rows.T @ (basis / np.sqrt(values)) if few else basis


class _NewtonStep(NamedTuple):
    """A step of logistic regression of one class against the rest, on r features of rows.

    Attributes
    ----------
    log_odds, information : ndarray of shape (n,)
        Where it starts, and the information of each label there.
    gram : ndarray of shape (r, r)
        Of the features, weighted by information.
    pull : ndarray of shape (r,)
        Sum of targets times information.
    """

    log_odds: Array
    information: Array
    gram: Array
    pull: Array

    @classmethod
    def of_rows(cls, features: Array, inside: Booleans, weights: Array, p: Array) -> "_NewtonStep":
        p = np.clip(p, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        information = weights * p * (1.0 - p)
        frequency = np.average(inside, weights=weights)
        log_odds = np.log(p / (1.0 - p)) - np.log(frequency / (1.0 - frequency))
        gram = (features * information[:, None]).T @ features
        pull = (information * log_odds + weights * (inside - p)) @ features
        return cls(log_odds, information, gram, pull)

    def evidence(self, prior: Array) -> float:
        """Log evidence of prior variances (r,) of the coefficients, up to a constant."""
        factor, half = self._solved(prior)
        return float(0.5 * half @ half - np.log(np.diag(factor)).sum())

    def departure(self, features: Array, believed: list[tuple[Array, float]]) -> float:
        """Mean square change of the log-odds, where labels tell, under priors with beliefs."""
        coefficients = np.zeros(len(self.pull))
        for prior, belief in believed:
            factor, half = self._solved(prior)
            coefficients += belief * np.sqrt(prior) * solve_rows_transposed(factor, half[None])[0]
        total = sum(belief for _, belief in believed)
        change = features @ (coefficients / total) - self.log_odds
        return float(np.average(np.square(change), weights=self.information))

    def _solved(self, prior: Array) -> tuple[Array, Array]:
        """The factor (r, r) of the whitened precision, and its solution for the pull (r,)."""
        root = np.sqrt(prior)
        factor = cholesky(plus_identity(root[:, None] * self.gram * root), overwrite=True)
        return factor, solve_rows(factor, (root * self.pull)[None])[0]
