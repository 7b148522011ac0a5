"""Choice of the label transform by leave-one-out log-likelihood.

The class statistics do not depend on the transform, so a candidate costs M-sized factorisations and
a prediction of the rows that score it. Two of its three constants, the noises, enter the matrices
B_c; the third, the separation of the targets, only scales one part of the means,

    mean = separation * slope + intercept        (rows x classes, for given noises)

so the best separation for given noises needs no further factorisation.

The likelihood of left-out rows alone would make a separable problem infinitely sure of itself. As
in the rule of succession, one more mistake than was seen is assumed, spread over all rows: with e =
1 / (n + 2) the loss of a row of probability p is -(1 - e) log p - e log(1 - p), whose best p is 1 -
e. Next to mistakes that were seen it is nothing.
"""

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..core.arrays import AnyArray, Array, Integers
from ..core.correction import Correction
from ..core.parallel import (
    Workers,
    cholesky,
    coarse_squares,
    inverse_triangle,
    multiply_rows,
    multiply_rows_transposed,
    row_slices,
    solve_rows,
    solve_rows_transposed,
)
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import (
    Basis,
    LabelTransform,
    class_factor,
    leverage,
    mean_without_row,
    plus_identity,
    right_hand_sides,
    shared_matrix,
)
from ..core.statistics import ClassStatistics
from ..rows.in_memory import InMemoryRows, folds_of, repetition_of
from .settings import Resources

ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
MIDDLE_ALPHA = 0.01  # where the best of them is looked for first

# With more classes than this, only the likeliest ones of a row get their variance computed anew for
# each candidate.
_ACTIVE_CLASSES = 4
_NOISE_RANGE = (1e-3, 30.0)
_EVALUATIONS = 20
_BLOCK_ROWS = 512
# Rows whose probabilities are computed at once: with fewer the grouping of rows takes longer.
_SCORED_ROWS = 1_024
# Few rows, and few classes of them, deserve (and can afford) the exact probabilities.
_FEW_ROWS, _FEW_PROBABILITIES = 1_000, 3_000
_LEAST_DOUBT = 1e-12
# Where the best noises usually lie from those of a Dirichlet transform, in logarithms (noise_in,
# noise_out): the search starts around there.
_USUAL_STEPS = np.array([[-1.2, 0.0], [-2.4, -0.5], [-1.8, -1.5]])
_SMALL_STEPS = np.array([[0.0, 0.0], [-0.5, 0.0], [0.0, -0.5]])
# The second search begins where the first has ended. With many classes that was by fewer rows.
_FEW_EVALUATIONS, _FEW_EVALUATIONS_OF_MANY = 3, 6
# Steps of log separation: to the neighbours of a parabola, and at most at once.
_STEP, _FARTHEST = 0.2, 0.8
_PARABOLAS = 3


def scoring_rows(n_classes: int, at_first: bool = False) -> int:
    """How many rows score a transform: enough for a steady choice, fewer if each costs more.

    A first search among several classes, which another follows, has half of them.
    """
    wanted = max(1_500, 8_000 // min(n_classes, _ACTIVE_CLASSES + 1))
    return wanted // 2 if at_first and n_classes > _ACTIVE_CLASSES else wanted


class ScoringRows(NamedTuple):
    """Training rows whose likelihood scores a transform.

    Attributes
    ----------
    vectors : ndarray of shape (n, M)
        Whitened kernel vectors.
    codes, weights : ndarray of shape (n,)
        Classes, and weights in the statistics.
    votes : ndarray of shape (n, C)
        Weights in the statistics of all rows that are where a row is, by class: they are left out
        together.
    n_rows : float
        Weight of the rows that these were drawn from.
    leave_out : bool, default=True
        False scores rows without leaving them out and without the extra mistake: the paper's
        criterion.
    fold : ndarray of shape (n,) or None
        Which correction did not see them (`likelihood.py`); None: it is not asked for.
    """

    vectors: Array
    codes: Integers
    weights: Array
    votes: Array
    n_rows: float
    leave_out: bool = True
    fold: Integers | None = None


@dataclass(frozen=True)
class Predicted:
    """Predictions of scoring rows for given noises: means are separation * slope + intercept."""

    slope: Array
    intercept: Array
    variance: Array


def rows_that_score(
    pool: InMemoryRows, basis: Basis, size: int, resources: Resources, leave_out: bool = True
) -> ScoringRows:
    """A sample of a pool of training rows, in a basis."""
    chosen = pool.sample(size, resources.rng)
    sample = pool.take(chosen)
    places = row_slices(len(sample), _BLOCK_ROWS)
    vectors = resources.workers.map(lambda rows: basis.vectors(sample.X[rows]), places)
    return ScoringRows(
        np.concatenate(list(vectors)),
        sample.codes,
        np.ones(len(sample)) if sample.weights is None else sample.weights,
        pool.votes(chosen),
        float(pool.class_weights.sum()),
        leave_out,
        folds_of(sample.X),
    )


def cautious_loss(log_p: Array, weights: Array, n_rows: float) -> float:
    """Mean loss of rows, with one more mistake than was seen among `n_rows`: see above.

    Parameters
    ----------
    log_p : ndarray of shape (n,)
        Log probabilities of the rows' own classes.
    weights : ndarray of shape (n,)
    n_rows : float
        How many rows these were drawn from; infinite: no more mistakes than were seen.
    """
    mistakes = 1.0 / (n_rows + 2.0)
    log_p = np.minimum(log_p, -_LEAST_DOUBT)
    loss = -(1.0 - mistakes) * log_p - mistakes * np.log(-np.expm1(log_p))
    return float(np.average(loss, weights=weights))


class LabelSearch:
    """Scores label transforms by the mean negative log-likelihood of left-out (or training) rows.

    Parameters
    ----------
    statistics : ClassStatistics
        Whitened, of all training rows.
    kernel_variance : float
    prior : ndarray of shape (C,)
    rows : ScoringRows
        Among the training rows.
    workers : Workers
    """

    separation_range = (0.5, 60.0)

    def __init__(
        self,
        statistics: ClassStatistics,
        kernel_variance: float,
        prior: Array,
        rows: ScoringRows,
        workers: Workers,
    ):
        self.statistics = statistics
        self.kernel_variance = kernel_variance
        self.prior = prior
        self.rows = rows
        self.workers = workers
        # If every row is there many times, noises as many times as large give the same model as
        # once.
        self._repetition = repetition_of(rows.weights, rows.codes)
        self._n_rows = rows.n_rows / self._repetition if rows.leave_out else np.inf
        n = len(rows.codes)
        self._coarse = n > _FEW_ROWS or n * len(prior) > _FEW_PROBABILITIES
        self._inside = rows.codes[:, None] == np.arange(len(prior))
        explained = np.square(rows.vectors).sum(axis=1)
        self._unexplained = np.maximum(kernel_variance - explained, 0.0)
        self._total = statistics.grams.sum(axis=0)
        # Variances q / (1 - h) of left-out rows, of classes that are not computed anew.
        self._inactive: Array | None = None
        self._active = np.ones(self._inside.shape, dtype=bool)
        self._found: tuple[LabelTransform, Predicted] | None = None
        self._active_under: LabelTransform | None = None
        self._of_thread = threading.local()

    def score(self, transform: LabelTransform) -> float:
        """Mean negative log-likelihood under a transform."""
        return self._loss(self._known(transform), transform.separation)

    def log_probabilities(
        self, transform: LabelTransform, correction: Correction | None = None
    ) -> Array:
        """Log probabilities of the scoring rows' own classes under a transform, (n,)."""
        mean, variance = self.latents(transform)
        if correction is not None:
            assert self.rows.fold is not None
            mean = mean + correction.without_fold(self.rows.vectors, self.rows.fold)
        return self._log_probabilities(mean, variance)

    def latents(self, transform: LabelTransform) -> tuple[Array, Array]:
        """Means and variances (n, C) of the latents of the scoring rows under a transform."""
        predicted = self._known(transform)
        return transform.separation * predicted.slope + predicted.intercept, predicted.variance

    def best_alpha(self, near: float = MIDDLE_ALPHA) -> tuple[float, float]:
        """The smallest loss of a Dirichlet transform, and the alpha_epsilon that has it.

        The loss falls to one lowest place and rises again: it is followed downhill from the one
        that is nearest to a given alpha.
        """
        losses: dict[int, float] = {}

        def loss(i: int) -> float:
            if i not in losses:
                inside = 0 <= i < len(ALPHAS)
                losses[i] = self.score(LabelTransform.dirichlet(ALPHAS[i])) if inside else np.inf
            return losses[i]

        best = int(np.argmin(np.abs(np.log(ALPHAS) - np.log(near))))
        for step in (-1, 1):
            while loss(best + step) < loss(best):
                best += step
        return loss(best), ALPHAS[best]

    def best_transform(
        self, start: LabelTransform, evaluations: int = _EVALUATIONS
    ) -> LabelTransform:
        """The three constants with the smallest loss: Nelder-Mead over the noises from `start`."""
        return self._minimised(start, _USUAL_STEPS, evaluations)

    def improved_transform(self, start: LabelTransform) -> LabelTransform:
        """The same, where `start` was the best one of a similar model."""
        many = len(self.prior) > _ACTIVE_CLASSES
        evaluations = _FEW_EVALUATIONS_OF_MANY if many else _FEW_EVALUATIONS
        return self._minimised(start, _SMALL_STEPS, evaluations)

    def _minimised(self, start: LabelTransform, steps: Array, evaluations: int) -> LabelTransform:
        best = start
        at_start = self.keep_active_classes(start)
        best_loss = self._loss(at_start, start.separation)
        self._found = best, at_start
        low, high = np.log(_NOISE_RANGE) + np.log(self._repetition)

        def loss(log_noises: Array) -> float:
            nonlocal best, best_loss
            noise_in, noise_out = np.exp(np.clip(log_noises, low, high)).tolist()
            if np.array_equal(log_noises, log_start):
                predicted = at_start
            else:
                transform = LabelTransform.from_constants(best.separation, noise_in, noise_out)
                predicted = self.predicted(transform)
            value, separation = self._best_separation(predicted, best.separation)
            if value < best_loss:
                best = LabelTransform.from_constants(separation, noise_in, noise_out)
                best_loss = value
                self._found = best, predicted
            return value

        log_start = np.log([start.noise_in, start.noise_out])
        origin = np.clip(log_start + np.log(self._repetition), low, high)
        simplex = np.clip(origin + steps, low, high)
        options = {"maxfev": evaluations, "initial_simplex": simplex, "xatol": 0.25, "fatol": 2e-4}
        minimize(loss, origin, method="Nelder-Mead", options=options)
        return best

    def _best_separation(self, predicted: Predicted, separation: float) -> tuple[float, float]:
        """The smallest loss of predictions, and the separation that has it, looked for near one."""
        low, high = np.log(self.separation_range)
        guess = float(np.clip(np.log(separation), low + _STEP, high - _STEP))

        def loss(log_separation: float) -> float:
            return self._loss(predicted, float(np.exp(log_separation)))

        value = loss(guess)
        for _ in range(_PARABOLAS):
            # The loss is all but a parabola near its lowest place.
            left, right = loss(guess - _STEP), loss(guess + _STEP)
            curvature = right - 2.0 * value + left
            away = _FARTHEST * np.sign(left - right)
            if curvature > 0:
                vertex = _STEP * (left - right) / (2.0 * curvature)
                away = np.clip(vertex, -_FARTHEST, _FARTHEST)
            place = float(np.clip(guess + away, low + _STEP, high - _STEP))
            found = loss(place)
            if found >= value:
                break
            moved = abs(place - guess)
            guess, value = place, found
            if moved <= _STEP:
                break
        return value, float(np.exp(guess))

    def _loss(self, predicted: Predicted, separation: float) -> float:
        mean = separation * predicted.slope + predicted.intercept
        log_p = self._log_probabilities(mean, predicted.variance)
        return cautious_loss(log_p, self.rows.weights, self._n_rows)

    def _log_probabilities(self, mean: Array, variance: Array) -> Array:
        """Log probabilities of the scoring rows' own classes, for latents (n, C)."""

        def of_rows(rows: slice) -> Array:
            return log_probability_of(
                self.rows.codes[rows], mean[rows], variance[rows], self._coarse
            )

        parts = self.workers.map(of_rows, row_slices(len(mean), _SCORED_ROWS))
        # Rounding may leave the logarithm of a probability of one above zero.
        return np.minimum(np.concatenate(list(parts)), 0.0)

    def _known(self, transform: LabelTransform) -> Predicted:
        """Predictions under a transform; those of the one that a search has found are kept."""
        if self._found is not None and self._found[0] == transform:
            return self._found[1]
        return self.predicted(transform)

    def predicted(self, transform: LabelTransform) -> Predicted:
        """Solve the C regressions for the noises of a transform and predict the scoring rows."""
        u1, u0 = transform.precision_in, transform.precision_out
        n_classes = len(self.prior)
        log_prior = np.log(self.prior)
        centred = log_prior - log_prior.mean()
        # Residuals are separation * (1 - 1/C or -1/C) minus what counts of the centred log prior.
        counted = transform.believed * centred
        share = 1.0 / n_classes
        shared = shared_matrix(self._total, transform)
        sums = self.statistics.sums
        all_sums = sums.sum(axis=0)
        votes = self.rows.votes
        inside = u1 * votes
        precision = inside + u0 * (votes.sum(axis=1, keepdims=True) - votes)
        quadratic = np.zeros(self._inside.shape)
        if self._inactive is not None:
            # q / (1 - w u q) = q_loo, solved for q
            quadratic = self._inactive
            if self.rows.leave_out:
                quadratic = quadratic / (1.0 + precision * quadratic)
            else:
                quadratic = quadratic.copy()

        def of_class(c: int) -> Array:
            gram = self.statistics.grams[c]
            factor = class_factor(shared, gram, transform, out=self._scratch(gram.shape))
            inside = u1 * sums[c]
            outside = u0 * (all_sums - sums[c])
            by_separation = (1.0 - share) * inside - share * outside
            b = np.stack([by_separation, -counted[c] * (inside + outside)])
            coefficients = solve_rows_transposed(factor, solve_rows(factor, b))
            rows = np.flatnonzero(self._active[:, c])
            quadratic[rows, c] = self._squares(factor, rows)
            return self.rows.vectors @ coefficients.T

        if self._coarse:
            _ = self._in_single  # by this thread, for all
        values = np.stack(list(self.workers.map(of_class, range(n_classes))), axis=1)
        slope, intercept = values[..., 0], values[..., 1]
        unexplained = self._unexplained[:, None]
        if not self.rows.leave_out:
            return Predicted(slope, intercept + centred, unexplained + quadratic)
        h = leverage(precision, quadratic, self.kernel_variance)
        return Predicted(
            mean_without_row(slope, inside / np.where(precision > 0, precision, 1.0) - share, h),
            mean_without_row(intercept, -counted, h) + centred,
            unexplained + quadratic / (1.0 - h),
        )

    def _squares(self, factor: Array, rows: Integers) -> Array:
        """The form q of some scoring rows in a regression; its factor (M, M) is overwritten.

        Where rows are many they are as good in single precision, by the inverse of the factor.
        """
        if len(rows) < len(factor):
            return np.square(solve_rows(factor, self.rows.vectors[rows])).sum(axis=1)
        inverse = inverse_triangle(factor, overwrite=True)
        if self._coarse:
            return coarse_squares(inverse.astype(np.float32), self._in_single[rows])
        return np.square(multiply_rows(inverse, self.rows.vectors[rows])).sum(axis=1)

    @cached_property
    def _in_single(self) -> AnyArray:
        """The vectors of the scoring rows in single precision."""
        return self.rows.vectors.astype(np.float32)

    def _scratch(self, shape: tuple[int, ...]) -> Array:
        """A matrix of this thread: to make one anew for every class costs as much as to fill it."""
        kept: Array | None = vars(self._of_thread).get("matrix")
        if kept is None:
            kept = self._of_thread.matrix = np.empty(shape)
        return kept

    def keep_active_classes(self, transform: LabelTransform) -> Predicted:
        """Fix which classes of each scoring row matter, and predict under a transform.

        These are its own and the likeliest others, as one matrix for all classes has it, the mean
        of theirs. The variances of the rest, which have no rows near, stay those of I + u0 G^.
        """
        if self._found is not None and self._found[0] == transform == self._active_under:
            return self._found[1]
        self._active_under = transform
        if len(self.prior) > _ACTIVE_CLASSES:
            mean, quadratic = self._with_one_matrix(transform)
            rank = np.argsort(np.argsort(-mean, axis=1), axis=1)
            self._inactive = quadratic
            self._active = (rank < _ACTIVE_CLASSES) | self._inside
        predicted = self.predicted(transform)
        self._found = transform, predicted
        return predicted

    def _with_one_matrix(self, transform: LabelTransform) -> tuple[Array, Array]:
        """Means (n, C) with the mean of all B_c, and left-out variances (n, C) with I + u0 G^.

        The latter are q / (1 - w u q), without what no point explains.
        """
        u1, u0 = transform.precision_in, transform.precision_out
        mean_precision = u0 + (u1 - u0) / len(self.prior)
        of_all = cholesky(plus_identity(mean_precision * self._total), overwrite=True)
        root = inverse_triangle(of_all, overwrite=True)
        b = right_hand_sides(self.statistics.sums, transform, self.prior)
        coefficients = multiply_rows_transposed(root, multiply_rows(root, b))
        vectors = self.rows.vectors
        mean = vectors @ coefficients.T + transform.offsets(self.prior)
        shared = cholesky(shared_matrix(self._total, transform), overwrite=True)
        half = multiply_rows(inverse_triangle(shared, overwrite=True), vectors.copy())
        quadratic = np.repeat(np.square(half).sum(axis=1)[:, None], len(self.prior), axis=1)
        if not self.rows.leave_out:
            return mean, quadratic
        votes = self.rows.votes
        precision = u1 * votes + u0 * (votes.sum(axis=1, keepdims=True) - votes)
        h = leverage(precision, quadratic, self.kernel_variance)
        return mean, quadratic / (1.0 - h)
