"""What labels say about log-odds beyond the fitted ones: their scale, their roughness, their error.

Intervals stand on it (`core/concentration.py`). All of it follows from one Newton step of logistic
regression, each class against the rest, from the probabilities that the model predicts, in the
directions of the total Gram that matter most.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..core.arrays import Array, Booleans, Integers
from ..core.parallel import Workers, cholesky, row_slices, solve_rows, solve_rows_transposed
from ..core.predictor import make_predictor
from ..core.probabilities.softmax import class_probabilities
from ..core.probabilities.tolerance import probabilities_within
from ..core.regressions import (
    POWERS,
    SCALES,
    SMALLEST_SHARE,
    LogOddsBeliefs,
    plus_identity,
    prior_variances,
)
from ..rows.in_memory import InMemoryRows, folds_of
from .fitted import Model
from .settings import Resources

# Directions and classes that scale and roughness of log-odds are judged by: those with most rows.
_DIRECTIONS, _CLASSES = 200, 6
# Directions beyond those wanted that a search for them begins with; with few more it is no search.
_SPARE_DIRECTIONS = 20
# Prior variance of the constant that the log-odds vary about.
_OF_CONSTANT = 4.0
_LEAST_PROBABILITY = 1e-9
# Up to so many rows, fewer if there are many classes, are all asked, each as if left out.
_FEW_ROWS, _FEWEST_ROWS, _FEW_PROBABILITIES = 2_000, 300, 10_000
# So many probabilities are computed exactly.
_EXACT_PROBABILITIES = 4_000
# Of more rows so many are asked.
_SOME_ROWS, _SOME_PROBABILITIES = 5_000, 30_000
_BLOCK_ROWS, _TOLERANCE = 512, 1e-4
# Rows whose labels have less information than this, next to the mean of all, move nothing.
_LEAST_SHARE = 1e-3
# A setting that is believed less than this changes nothing.
_NEGLIGIBLE = 0.005


class Believed(NamedTuple):
    """Prior variances (r,) of coefficients, and how much they are believed."""

    prior: Array
    belief: float


class Directions(NamedTuple):
    """Some directions in the space of whitened kernel vectors.

    Attributes
    ----------
    values : ndarray of shape (r,)
        Eigenvalues of the total Gram.
    vectors : ndarray of shape (M, r)
        Its eigenvectors.
    """

    values: Array
    vectors: Array


def learned_beliefs(
    model: Model, pool: InMemoryRows, resources: Resources, pooled: bool = False
) -> LogOddsBeliefs:
    """What some training rows, or all if they are few, say about log-odds beyond the fitted ones.

    Parameters
    ----------
    model : Model
        Solved.
    pool : InMemoryRows
        Scaled rows that it was fitted to.
    resources : Resources
    pooled : bool
        Whether there are so many classes that they share one Gram.
    """
    n_classes = pool.n_classes
    directions = main_directions(model.statistics.grams.sum(axis=0) / model.basis.kernel.variance)
    few = min(max(_FEWEST_ROWS, _FEW_PROBABILITIES // n_classes), _FEW_ROWS)
    all_there = pool.class_weights.sum() >= 0.999 * model.statistics.counts.sum()
    if all_there and len(pool) <= few:
        return _beliefs_of_all(model, pool, directions, resources.workers, pooled)
    size = min(max(_FEWEST_ROWS, _SOME_PROBABILITIES // n_classes), _SOME_ROWS)
    rows = pool.take(pool.sample(size, resources.rng))
    features, p = predicted(model, rows, directions, resources.workers)
    beliefs = log_odds_beliefs(features, directions.values, rows.codes, rows.weights, p)
    if pooled:
        return beliefs
    moves = log_odds_moves(
        features, directions.values, rows.codes, rows.weights, p, beliefs, resources.workers
    )
    return replace(beliefs, moves=moves @ directions.vectors.T)


def _beliefs_of_all(
    model: Model, pool: InMemoryRows, directions: Directions, workers: Workers, pooled: bool
) -> LogOddsBeliefs:
    """Beliefs by all rows, each predicted as if it had been left out."""
    posterior = model.solved
    assert posterior is not None
    rows = pool.take(np.arange(len(pool)))

    def of_rows(place: slice) -> tuple[Array, Array]:
        vectors = model.basis.vectors(rows.X[place])
        latent = posterior.latent_without_votes(
            vectors, pool.votes(place), fold=folds_of(rows.X[place])
        )
        if model.left_out is not None:
            latent = model.left_out.replaced(rows.X[place], rows.codes[place], *latent)
        features = vectors @ (directions.vectors / np.sqrt(posterior.variance))
        if pooled:
            return features, probabilities_within(*latent, _TOLERANCE)
        return features, class_probabilities(*latent)

    parts = workers.map(of_rows, row_slices(len(rows), _BLOCK_ROWS))
    features, p = (np.concatenate(part) for part in zip(*parts, strict=True))
    return log_odds_beliefs(
        features, directions.values, rows.codes, rows.weights, p, with_departure=True
    )


def predicted(
    model: Model,
    rows: InMemoryRows,
    directions: Directions,
    workers: Workers,
    tolerance: float = _TOLERANCE,
) -> tuple[Array, Array]:
    """Features (n, r) of rows in some directions, and their class probabilities (n, C).

    Where these are many, no probability is off by more than the tolerance; few are exact.
    """
    posterior, basis = model.solved, model.basis
    assert posterior is not None
    # From kernel vectors to features, without whitening in between.
    projection = basis.of_kernel_vectors(directions.vectors.T).T
    projection /= np.sqrt(posterior.variance)
    predictor = None
    if len(rows) * rows.n_classes > _EXACT_PROBABILITIES:
        predictor = make_predictor(basis, posterior, model.statistics.grams)

    def of_rows(place: slice) -> tuple[Array, Array]:
        of_points = basis.kernel.values(rows.X[place], basis.points)
        features = of_points @ projection
        if predictor is not None:
            return features, predictor.probabilities(of_points, tolerance)
        return features, class_probabilities(*posterior.latent(basis.whitened(of_points)))

    parts = workers.map(of_rows, row_slices(len(rows), _BLOCK_ROWS))
    features, p = (np.concatenate(part) for part in zip(*parts, strict=True))
    return features, p


def main_directions(gram: Array) -> Directions:
    """Eigenvectors of the largest eigenvalues of a Gram (M, M), all but exactly if M is large."""
    size = len(gram)
    if size <= 2 * _DIRECTIONS:
        values, vectors = eigh(gram)
    else:
        # Subspace iteration: what it mixes up are directions of nearly the same eigenvalue.
        random = np.random.RandomState(0)
        start = gram @ random.standard_normal((size, _DIRECTIONS + _SPARE_DIRECTIONS))
        space, _ = np.linalg.qr(gram @ start)
        values, within = eigh(space.T @ (gram @ space))
        vectors = space @ within
    kept = values > SMALLEST_SHARE**2 * values[-1]
    kept[:-_DIRECTIONS] = False
    return Directions(values[kept], vectors[:, kept])


def log_odds_beliefs(
    features: Array,
    eigenvalues: Array,
    codes: Integers,
    weights: Array | None,
    p: Array,
    with_departure: bool = False,
) -> LogOddsBeliefs:
    """What labels say about the scale and the roughness of log-odds, and how they would move them.

    The evidence is that of one Newton step of logistic regression, each class against the rest,
    from the probabilities given: log-odds eta, with information w = p (1 - p), become targets eta +
    (y - p) / w with the noise 1 / w. Where the fitted log-odds are not where it ends, they are
    not known better than that.

    Parameters
    ----------
    features : ndarray of shape (n, r)
        Of training rows, in directions of the total Gram (of a kernel of variance 1).
    eigenvalues : ndarray of shape (r,)
        Of these directions.
    codes, weights : ndarray of shape (n,)
        Their classes, and weights in the statistics (None: 1).
    p : ndarray of shape (n, C)
        Their class probabilities.
    with_departure : bool
        Whether to say how far the labels would move the log-odds. A step on some of many rows says
        nothing about the fit to all.
    """
    own = np.ones(len(codes)) if weights is None else weights
    counts = np.bincount(codes, own, p.shape[1])
    features = np.column_stack([features, np.ones(len(features))])
    priors = [np.append(prior, _OF_CONSTANT) for prior in _priors(eigenvalues)]
    most = 1 if p.shape[1] == 2 else _CLASSES  # the other of two classes says the same
    chosen = [c for c in np.argsort(-counts, kind="stable")[:most] if 0 < counts[c] < counts.sum()]
    steps = [_NewtonStep.of_rows(features, codes == c, own, p[:, c]) for c in chosen]
    if not steps:
        return LogOddsBeliefs.by_evidence(np.zeros(len(priors)))
    of_one = np.mean([[step.evidence(prior) for prior in priors] for step in steps], axis=0)
    # C classes have C - 1 log-odds: each class against the rest would count one too many.
    beliefs = LogOddsBeliefs.by_evidence(min(p.shape[1] - 1, len(steps)) * of_one)
    if not with_departure:
        return beliefs
    believed = _believed(priors, beliefs)
    departure = float(np.mean([step.departure(features, believed) for step in steps]))
    return replace(beliefs, departure=departure)


def _priors(eigenvalues: Array) -> list[Array]:
    """Prior variances (r,) of coefficients in all settings."""
    return [prior_variances(eigenvalues, scale, power) for scale in SCALES for power in POWERS]


def _believed(priors: list[Array], beliefs: LogOddsBeliefs) -> list[Believed]:
    """Priors of all settings with how much they are believed, without those that are not."""
    pairs = zip(priors, beliefs.settings.ravel().tolist(), strict=True)
    return [Believed(prior, belief) for prior, belief in pairs if belief >= _NEGLIGIBLE]


def log_odds_moves(
    features: Array,
    eigenvalues: Array,
    codes: Integers,
    weights: Array | None,
    p: Array,
    beliefs: LogOddsBeliefs,
    workers: Workers,
) -> Array:
    """What labels would change about fitted log-odds, as coefficients (C, r) of features.

    With W = diag(p (1 - p)), features F and the mean D of prior variances, as they are believed:
    D^1/2 (I + D^1/2 F'WF D^1/2)^-1 D^1/2 F'(y - p). That is the best linear estimate whatever the
    setting: a mixture of settings has the mean of their covariances.

    Parameters
    ----------
    features : ndarray of shape (n, r)
        Of rows that the log-odds were fitted to.
    eigenvalues : ndarray of shape (r,)
        Of the directions that they belong to.
    codes, weights : ndarray of shape (n,)
        Classes, and weights in the statistics (None: 1).
    p : ndarray of shape (n, C)
        What is predicted of them.
    beliefs : LogOddsBeliefs
    workers : Workers
    """
    own = np.ones(len(codes)) if weights is None else weights
    prior = np.asarray(beliefs.settings.ravel() @ np.stack(_priors(eigenvalues)))

    def of_class(c: int) -> Array:
        inside = codes == c
        # Of many classes most rows say nothing about one of them.
        surprise = np.maximum(p[:, c] * (1.0 - p[:, c]), np.square(inside - p[:, c]))
        told = surprise > _LEAST_SHARE * surprise.mean()
        step = _NewtonStep.from_fit(features[told], inside[told], own[told], p[told, c])
        return step.coefficients([Believed(prior, 1.0)])

    if p.shape[1] == 2:
        move = of_class(1)
        return np.stack([-move, move])
    return np.stack(list(workers.map(of_class, range(p.shape[1]))))


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
        """From the log-odds of p, less those of the frequency of the class."""
        p = np.clip(p, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        frequency = np.average(inside, weights=weights)
        log_odds = np.log(p / (1.0 - p)) - np.log(frequency / (1.0 - frequency))
        return cls._from(log_odds, features, inside, weights, p)

    @classmethod
    def from_fit(cls, features: Array, inside: Booleans, weights: Array, p: Array) -> "_NewtonStep":
        """From the log-odds of p, counted from there: what they are is no part of the move."""
        return cls._from(np.zeros(len(p)), features, inside, weights, p)

    @classmethod
    def _from(
        cls, log_odds: Array, features: Array, inside: Booleans, weights: Array, p: Array
    ) -> "_NewtonStep":
        information = weights * p * (1.0 - p)
        gram = (features * information[:, None]).T @ features
        pull = (information * log_odds + weights * (inside - p)) @ features
        return cls(log_odds, information, gram, pull)

    def evidence(self, prior: Array) -> float:
        """Log evidence of prior variances (r,) of the coefficients, up to a constant."""
        factor, half = self._solved(prior)
        return float(0.5 * half @ half - np.log(np.diag(factor)).sum())

    def departure(self, features: Array, believed: list[Believed]) -> float:
        """Mean square change of the log-odds, where labels tell, under priors with beliefs."""
        total = 0.0
        for prior, belief in believed:
            change = features @ self._coefficients(prior) - self.log_odds
            total += belief * float(np.average(np.square(change), weights=self.information))
        return total / sum(belief for _, belief in believed)

    def coefficients(self, believed: list[Believed]) -> Array:
        """Where it ends (r,), averaged over priors with beliefs."""
        total = sum(belief * self._coefficients(prior) for prior, belief in believed)
        return np.asarray(total / sum(belief for _, belief in believed))

    def _coefficients(self, prior: Array) -> Array:
        factor, half = self._solved(prior)
        return np.asarray(np.sqrt(prior) * solve_rows_transposed(factor, half[None])[0])

    def _solved(self, prior: Array) -> tuple[Array, Array]:
        """The factor (r, r) of the whitened precision, and its solution for the pull (r,)."""
        root = np.sqrt(prior)
        factor = cholesky(plus_identity(root[:, None] * self.gram * root), overwrite=True)
        return factor, solve_rows(factor, (root * self.pull)[None])[0]
