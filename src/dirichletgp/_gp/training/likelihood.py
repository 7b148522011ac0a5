"""Means that the likelihood of labels asks for: what the regressions lack, learned and judged.

Multinomial logistic regression begins at the probabilities that the model
predicts. What it may add to their logarithms is a function in the main directions of the total
Gram, with the prior variance tau of a Gaussian process of the same kernel. Small tau add next to
nothing. They are tried from small to large, each with one step from where the last one has ended,
which is close enough to the best place of each.

By which tau left-out rows are predicted best says whether there is anything to be gained, and how
much. It takes honest predictions of rows that neither the regressions nor the correction saw. The
regressions leave rows out in closed form. The correction is learned without a fold of the rows,
from the log-odds of regressions without that fold: those fitted to all rows lean towards the rows
of the fold, and a correction that knows this would make up for it. For that difference alone, the
regressions are solved again in the main directions, from Grams of that size.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Booleans, Integers
from ..core.correction import Correction
from ..core.parallel import Workers, cholesky, coarse_gram, solve_rows, solve_rows_transposed
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import Posterior, plus_identity
from ..core.statistics import ClassStatistics
from ..rows.in_memory import FOLDS, InMemoryRows, folds_of
from .fitted import Model
from .label_search import cautious_loss
from .log_odds import Directions, main_directions, predicted
from .settings import Progress, Stage

# Prior variances of what is added to log-odds.
_TAUS = (0.1, 0.3, 1.0, 3.0, 10.0)
# Directions of the correction: 50, 100 and 200 were as good on eight tables.
_DIRECTIONS = 100
_LEAST_PROBABILITY = 1e-9
# How far off the probabilities may be that it begins with: where a class is as unlikely as that,
# its labels, not its probability, are what moves the means.
_TOLERANCE = 5e-3
# Left-out loss of all rows together, in nats, that a correction must gain, because its tau was
# chosen. All rows are taken to gain as those that judge do.
_WORTHWHILE = 1.0
# Rows whose labels say less than this of a class, next to the mean of all rows, are passed by.
_LEAST_SHARE = 0.02


class Judges(NamedTuple):
    """Training rows whose labels tell whether a correction is worth something.

    Attributes
    ----------
    vectors : ndarray of shape (n, M)
        Whitened kernel vectors.
    codes, weights : ndarray of shape (n,)
        Classes and weights.
    mean, variance : ndarray of shape (n, C)
        Latents, each as if the row had not been there.
    fold : ndarray of shape (n,)
        Which correction did not see them.
    """

    vectors: Array
    codes: Integers
    weights: Array
    mean: Array
    variance: Array
    fold: Integers


def learned_correction(
    model: Model, pool: InMemoryRows, judges: Judges, workers: Workers, progress: Progress
) -> Correction | None:
    """What the likelihood of labels adds to the means of a model; None if it adds nothing.

    Parameters
    ----------
    model : Model
        Solved, not corrected.
    pool : InMemoryRows
        Scaled rows that it was fitted to.
    judges : Judges
        Some of them.
    workers : Workers
    progress : Progress
    """
    with progress.stage(Stage.CORRECTION):
        s2 = model.kernel.variance
        directions = main_directions(model.statistics.grams.sum(axis=0) / s2)
        rows = pool.take(np.arange(len(pool)))
        predictions = predicted(model, rows, directions, workers, _TOLERANCE)
        evidence = _Evidence.of(model, rows, predictions, directions, workers)

        def corrections(fold: int) -> Array:
            return np.stack(list(evidence.corrections(fold)))

        # Of the fold after the last one there are no rows: that is the correction by all.
        found = np.stack(list(workers.map(corrections, range(FOLDS + 1))), axis=1)
        projection = directions.vectors[:, -evidence.n_directions :]
        n_rows = float(rows.class_weights.sum()) / rows.repetition
        loss, losses = _losses(found, judges, projection, n_rows, workers)
        best = int(np.argmin(losses))
        said = f"left-out rows {loss:.4f}, corrected {losses[best]:.4f} (tau {_TAUS[best]:g})"
        gained = (loss - losses[best]) * n_rows > _WORTHWHILE
        progress.note(said if gained else f"{said}: not kept")
        if not gained:
            return None
        of_folds = found[best] @ projection.T
        weight = float(model.statistics.counts.sum())
        return Correction(of_folds[FOLDS], of_folds[:FOLDS], weight)


def corrected_by(
    judges: Judges, model: Model, pool: InMemoryRows, workers: Workers, progress: Progress
) -> tuple[Model, Array]:
    """The model with its correction, if it is worth one, and the left-out means (n, C) of judges.

    Parameters are those of `learned_correction`.
    """
    correction = learned_correction(model, pool, judges, workers, progress)
    if correction is None:
        return model, judges.mean
    assert model.solved is not None
    solved = model.solved.corrected(correction, correction.weight)
    mean = judges.mean + correction.without_fold(judges.vectors, judges.fold)
    return replace(model, correction=correction, solved=solved), mean


def _losses(
    found: Array, judges: Judges, projection: Array, n_rows: float, workers: Workers
) -> tuple[float, Array]:
    """The loss of rows that judge without a correction, and with those of each tau (T,)."""
    features = judges.vectors @ projection

    def loss(mean: Array) -> float:
        log_p = log_probability_of(judges.codes, mean, judges.variance, coarse=True)
        return cautious_loss(log_p, judges.weights, n_rows)

    def with_tau(of_folds: Array) -> float:
        if not np.isfinite(of_folds).all():
            return np.inf
        correction = Correction(of_folds[FOLDS], of_folds[:FOLDS], n_rows)
        return loss(judges.mean + correction.without_fold(features, judges.fold))

    return loss(judges.mean), np.array(list(workers.map(with_tau, found)))


class _Evidence(NamedTuple):
    """Rows that corrections are learned from, in the main directions.

    Attributes
    ----------
    features : ndarray of shape (n, r)
        Whitened kernel vectors in these directions.
    log_p : ndarray of shape (n, C)
        Logarithms of predicted probabilities.
    codes, weights, fold : ndarray of shape (n,)
        Classes, weights in the statistics and folds.
    statistics : ClassStatistics
        Of features of all rows that the model stands on.
    regressions : Posterior
        What follows from these statistics.
    repetition : float
        How often each row is there: copies of all rows are no more rows to learn from.
    """

    features: Array
    log_p: Array
    codes: Integers
    weights: Array
    fold: Integers
    statistics: ClassStatistics
    regressions: Posterior
    repetition: float

    @classmethod
    def of(
        cls,
        model: Model,
        rows: InMemoryRows,
        predictions: tuple[Array, Array],
        directions: Directions,
        workers: Workers,
    ) -> "_Evidence":
        """What corrections of a model follow from; predictions are those of `predicted`."""
        features, p = predictions
        s2, of_all, vectors = model.kernel.variance, model.statistics, directions.vectors
        grams = workers.map(lambda gram: vectors.T @ gram @ vectors, of_all.grams)
        statistics = ClassStatistics(of_all.counts, of_all.sums @ vectors, np.stack(list(grams)))
        return cls(
            np.sqrt(s2) * features,
            np.log(np.maximum(p, _LEAST_PROBABILITY)),
            rows.codes,
            np.ones(len(rows)) if rows.weights is None else rows.weights,
            folds_of(rows.X),
            statistics,
            Posterior.from_statistics(statistics, s2, model.transform, model.prior, workers),
            rows.repetition,
        )

    @property
    def n_directions(self) -> int:
        """How many directions corrections have: those with most rows."""
        return min(_DIRECTIONS, self.features.shape[1])

    def corrections(self, fold: int) -> Iterator[Array]:
        """Coefficients (C, n_directions) for each tau, learned without the rows of a fold."""
        inside = self.fold == fold
        log_p = self.log_p
        if inside.any():
            log_p = log_p + self.features @ self._change_without(inside).T
        features = self.features[:, -self.n_directions :].astype(np.float32)
        weights = np.where(inside, 0.0, self.weights)
        regression = _Regression(features, log_p, self.codes, weights)
        found = np.zeros((log_p.shape[1], self.n_directions))
        unit = self.repetition * self.regressions.variance
        for tau in _TAUS:
            try:
                found = regression.after_step(found, tau / unit)
            except np.linalg.LinAlgError:  # weights that are worlds apart: no further
                found = np.full(found.shape, np.nan)
            yield found

    def _change_without(self, inside: Booleans) -> Array:
        """What the regressions' coefficients (C, r) change by if some rows are taken away."""
        every = self.regressions
        n_classes, n_features = every.coefficients.shape
        alone = Workers(1)
        rows = InMemoryRows(
            self.features[inside], self.codes[inside], self.weights[inside], n_classes
        )
        taken = ClassStatistics.empty(n_classes, n_features).add_rows(rows, np.asarray, alone)
        others = Posterior.from_statistics(
            self.statistics - taken, every.variance, every.transform, every.prior, alone
        )
        return others.coefficients - every.coefficients


class _Regression(NamedTuple):
    """Multinomial logistic regression of rows on features (n, r), from log probabilities (n, C).

    Features are of single precision, which is all that a few steps need.
    """

    features: AnyArray
    log_p: Array
    codes: Integers
    weights: Array

    def after_step(self, coefficients: Array, tau: float) -> Array:
        """Coefficients (C, r) after a Newton step from some, for the prior variance tau.

        Classes take it one by one. What one gains others lose, often a single one: so the curvature
        of each counts twice, which is exact for two classes, and no step of several is too long.
        """
        n_classes = len(coefficients)
        p = self.log_p + self.features @ coefficients.T.astype(np.float32)
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        if n_classes == 2:
            of_second = self._class_after(1, p[:, 1], coefficients[1], tau)
            return np.stack([-of_second, of_second])
        after = np.stack(
            [self._class_after(c, p[:, c], coefficients[c], tau) for c in range(n_classes)]
        )
        return np.asarray(after - after.mean(axis=0))

    def _class_after(self, c: int, p: Array, at: Array, tau: float) -> Array:
        """Coefficients (r,) of a class after a step; rows have its probability p (n,)."""
        inside = self.codes == c
        information = self.weights * p * (1.0 - p)
        surprise = np.maximum(information, self.weights * np.square(inside - p))
        informative = np.flatnonzero(surprise > _LEAST_SHARE * surprise.mean())
        features = self.features[informative]
        pull = self.weights[informative] * (inside[informative] - p[informative])
        roots = np.sqrt(2.0 * information[informative]).astype(np.float32)
        curvature = plus_identity(coarse_gram(features * roots[:, None]), 1.0 / tau)
        factor = cholesky(curvature, overwrite=True)
        gradient = (pull.astype(np.float32) @ features - at / tau)[None]
        return at + solve_rows_transposed(factor, solve_rows(factor, gradient))[0]
