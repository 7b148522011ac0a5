"""Means that the likelihood of labels asks for: what the regressions lack, learned and judged.

A Newton step of multinomial logistic regression begins at the probabilities that the model
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
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array, Integers
from ..core.correction import Correction
from ..core.parallel import Workers, cholesky, solve_rows, solve_rows_transposed
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import LabelTransform, class_factor, right_hand_sides, shared_matrix
from ..rows.in_memory import FOLDS, InMemoryRows, folds_of
from .fitted import Model
from .log_odds import Directions, main_directions, predicted
from .settings import Progress, Stage

# Prior variances of what is added to log-odds.
_TAUS = (0.1, 0.3, 1.0, 3.0, 10.0)
# Directions of the correction. More of them gained nothing on 13 tables.
_DIRECTIONS = 100
_LEAST_PROBABILITY = 1e-9
# Left-out loss (of all rows together, in nats) that a correction must gain, for its tau was chosen.
_WORTHWHILE = 1.0
# Of several classes, rows whose labels say less than this of one, next to the mean, are passed by.
_LEAST_SHARE = 1e-3


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
        features, p = predicted(model, rows, directions, workers)
        fit = _Fit.of(model, rows, features, p, directions)

        def corrections(fold: int) -> Array:
            return np.stack(list(fit.corrections(fold)))

        try:
            # Of the fold after the last one there are no rows: that is the correction by all.
            found = np.stack(list(workers.map(corrections, range(FOLDS + 1))), axis=1)
        except np.linalg.LinAlgError:  # weights that are worlds apart
            progress.note("not found")
            return None
        projection = directions.vectors[:, -fit.n_directions :] / np.sqrt(s2)
        loss, losses = _losses(found, judges, projection)
        best = int(np.argmin(losses))
        said = f"left-out rows {loss:.4f}, corrected {losses[best]:.4f} (tau {_TAUS[best]:g})"
        gained = (loss - losses[best]) * len(rows) > _WORTHWHILE
        progress.note(said if gained else f"{said}: not kept")
        if not gained:
            return None
        of_folds = found[best] @ projection.T
        return Correction(of_folds[FOLDS], of_folds[:FOLDS])


def _losses(found: Array, judges: Judges, projection: Array) -> tuple[float, Array]:
    """The loss of rows that judge without a correction, and with those of each tau (T,)."""
    features = judges.vectors @ projection

    def loss(mean: Array) -> float:
        log_p = log_probability_of(judges.codes, mean, judges.variance, coarse=True)
        return -float(np.average(log_p, weights=judges.weights))

    def with_tau(of_folds: Array) -> float:
        added = np.empty(judges.mean.shape)
        for k in range(FOLDS):
            inside = np.flatnonzero(judges.fold == k)
            added[inside] = features[inside] @ of_folds[k].T
        return loss(judges.mean + added)

    return loss(judges.mean), np.array([with_tau(of_folds) for of_folds in found])


class _Fit(NamedTuple):
    """Rows that corrections are learned from, in the main directions.

    Attributes
    ----------
    features : ndarray of shape (n, r)
        Of a kernel of variance one.
    log_p : ndarray of shape (n, C)
        Logarithms of predicted probabilities.
    codes, weights, fold : ndarray of shape (n,)
        Classes, weights in the statistics and folds.
    sums : ndarray of shape (C, r)
        Class sums of features of all rows that the model stands on.
    grams : ndarray of shape (C, r, r)
        Their class Grams.
    variance : float
        That of the kernel.
    transform : LabelTransform
    prior : ndarray of shape (C,)
    repetition : float
        How often each row is there: copies of all rows are no more rows to learn from.
    """

    features: Array
    log_p: Array
    codes: Integers
    weights: Array
    fold: Integers
    sums: Array
    grams: Array
    variance: float
    transform: LabelTransform
    prior: Array
    repetition: float

    @classmethod
    def of(
        cls, model: Model, rows: InMemoryRows, features: Array, p: Array, directions: Directions
    ) -> "_Fit":
        s2, statistics = model.kernel.variance, model.statistics
        vectors = directions.vectors / np.sqrt(s2)
        return cls(
            features,
            np.log(np.maximum(p, _LEAST_PROBABILITY)),
            rows.codes,
            np.ones(len(rows)) if rows.weights is None else rows.weights,
            folds_of(rows.X),
            statistics.sums @ vectors,
            np.stack([vectors.T @ gram @ vectors for gram in statistics.grams]),
            s2,
            model.transform,
            model.prior,
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
        features = self.features[:, -self.n_directions :]
        step = _Step(features, log_p, self.codes, np.where(inside, 0.0, self.weights))
        found = np.zeros((log_p.shape[1], self.n_directions))
        for tau in _TAUS:
            found = step.taken(found, tau / self.repetition)
            yield found

    def _change_without(self, inside: Array) -> Array:
        """What the regressions' coefficients (C, r) change by if some rows are taken away."""
        grams, sums = self.grams.copy(), self.sums.copy()
        for c in range(len(sums)):
            members = np.flatnonzero(inside & (self.codes == c))
            weighted = self.weights[members, None] * self.features[members]
            grams[c] -= weighted.T @ self.features[members]
            sums[c] -= weighted.sum(axis=0)
        return self._regressions(sums, grams) - self._regressions(self.sums, self.grams)

    def _regressions(self, sums: Array, grams: Array) -> Array:
        """Coefficients (C, r) of features in the regressions, from class sums and Grams."""
        # In the units of the whitened vectors, whose prior variance is one.
        root = np.sqrt(self.variance)
        b = right_hand_sides(root * sums, self.transform, self.prior)
        shared = shared_matrix(self.variance * grams.sum(axis=0), self.transform)
        found = np.empty(b.shape)
        for c, gram in enumerate(grams):
            factor = class_factor(shared, self.variance * gram, self.transform)
            found[c] = solve_rows_transposed(factor, solve_rows(factor, b[c : c + 1].copy()))[0]
        return root * found


class _Step(NamedTuple):
    """Multinomial logistic regression of rows on features (n, r), from log probabilities (n, C)."""

    features: Array
    log_p: Array
    codes: Integers
    weights: Array

    def taken(self, coefficients: Array, tau: float) -> Array:
        """A Newton step from coefficients (C, r), for the prior variance tau, class by class.

        What one class gains the others lose: so its own curvature counts C / (C - 1) times.
        """
        n_classes = len(coefficients)
        p = self.log_p + self.features @ coefficients.T
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        if n_classes == 2:
            of_second = self._of_class(1, p[:, 1], coefficients[1], 2.0, tau)
            return np.stack([-of_second, of_second])
        more = n_classes / (n_classes - 1.0)
        after = np.stack(
            [self._of_class(c, p[:, c], coefficients[c], more, tau) for c in range(n_classes)]
        )
        return np.asarray(after - after.mean(axis=0))

    def _of_class(self, c: int, p: Array, at: Array, more: float, tau: float) -> Array:
        """The step of the coefficients (r,) of one class, of which rows have probabilities (n,)."""
        inside = self.codes == c
        information = self.weights * p * (1.0 - p)
        surprise = np.maximum(information, self.weights * np.square(inside - p))
        told = np.flatnonzero(surprise > _LEAST_SHARE * surprise.mean())
        features = self.features[told]
        gradient = (self.weights[told] * (inside[told] - p[told])) @ features - at / tau
        weighted = features * (more * information[told])[:, None]
        curvature = weighted.T @ features
        curvature.flat[:: len(at) + 1] += 1.0 / tau
        factor = cholesky(curvature, overwrite=True)
        return at + solve_rows_transposed(factor, solve_rows(factor, gradient[None]))[0]
