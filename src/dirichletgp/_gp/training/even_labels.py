"""The label transform of many classes: one noise for all rows, chosen by leave-one-out.

With equal noises all regressions share B = I + u G^, and one eigendecomposition of G^ serves every
candidate. With whitened vectors k^ and right-hand sides b_c written in its eigenvectors
(eigenvalues lambda_j),

    k^' B^-1 k^ = sum_j k^_j^2 / (1 + u lambda_j)    k^' beta_c = sum_j k^_j b_cj / (1 + u lambda_j)

so a candidate costs one product of the scoring rows with the class sums, n M C, and no
factorisation. The leverage of a row is the same in all regressions.

The noise is found by steps, up or down, for as long as they pay. Where classes overlap little, it
may be a thousand times what it starts with: the regressions then do no more than add up the rows of
a class, and handicaps (`core/handicaps.py`) make that a discriminant.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from ..core.arrays import Array
from ..core.handicaps import LeftOutRows, mean_levels
from ..core.parallel import Workers
from ..core.regressions import LabelTransform, leverage, mean_without_row
from ..core.statistics import ClassStatistics
from .label_search import LabelSearch, Predicted, ScoringRows

# Where the noise is looked for, in logarithms from where it starts, and then around the best.
_STEP, _FARTHEST = 2.0, 10.0
_BETWEEN = (-1.0, 1.0)
_EVALUATIONS = 10
# Shares of the handicaps that are compared with all of them.
_SHARES = (0.0, 0.5, 0.8)
# What a row's own class is ahead of all others together, with the first separation that is tried;
# others are tried around it, in logarithms.
_LEAD, _AROUND, _LEAST_SLOPE = 2.0, 1.5, 1e-5
# Scoring rows times classes, and how many rows that may be.
_PROBABILITIES, _FEWEST_ROWS, _MOST_ROWS = 800_000, 300, 1_600


def rows_for_many_classes(n_classes: int) -> int:
    """How many rows score a transform of many classes."""
    return int(np.clip(_PROBABILITIES // n_classes, _FEWEST_ROWS, _MOST_ROWS))


class EvenLabelSearch(LabelSearch):
    """Scores label transforms with equal noises, from pooled statistics."""

    separation_range = (0.5, 1e5)

    def __init__(
        self,
        statistics: ClassStatistics,
        kernel_variance: float,
        prior: Array,
        rows: ScoringRows,
        workers: Workers,
    ):
        super().__init__(statistics, kernel_variance, prior, rows, workers)
        self._coarse = True  # however few the rows: there are many classes of them
        values, directions = eigh(statistics.total)
        self._eigenvalues = np.maximum(values, 0.0)
        self._vectors = rows.vectors @ directions
        self._sums = statistics.sums @ directions

    def best_transform(
        self, start: LabelTransform, evaluations: int = _EVALUATIONS
    ) -> LabelTransform:
        """Separation, noise and share of the handicaps with the smallest loss.

        Fewer evaluations than usual look for the noise alone.
        """
        losses: dict[float, tuple[float, LabelTransform]] = {}

        def look_at(step: float) -> float:
            if step not in losses and len(losses) < evaluations:
                noise = float(self._repetition * start.noise_out * np.exp(step))
                losses[step] = self._best_of_noise(start.separation, noise, 1.0)
            return losses[step][0] if step in losses else np.inf

        step = min((0.0, -_STEP, _STEP), key=look_at)
        direction = step
        while direction and abs(step) < _FARTHEST and look_at(step + direction) < losses[step][0]:
            step += direction
        step = min((step, step + _BETWEEN[0], step + _BETWEEN[1]), key=look_at)
        found = [losses[step]]
        noise = found[0][1].noise_out
        for share in _SHARES if evaluations >= _EVALUATIONS else ():
            found.append(self._best_of_noise(found[0][1].separation, noise, share))
        loss, best = min(found, key=lambda each: each[0])
        return start if self.score(start) <= loss else best

    def _best_of_noise(
        self, separation: float, noise: float, handicap: float
    ) -> tuple[float, LabelTransform]:
        """The smallest loss for a noise and a share of the handicaps, and its transform."""
        transform = LabelTransform.from_constants(separation, noise, noise, handicap)
        loss, found = self._best_separation(self.predicted(transform), separation)
        return loss, LabelTransform.from_constants(found, noise, noise, handicap)

    def _best_separation(self, predicted: Predicted, separation: float) -> tuple[float, float]:
        """The smallest loss of predictions, and the separation that has it.

        It is looked for around one with which the latent of a typical row's own class makes up for
        the number of the others.
        """
        own = predicted.slope[np.arange(len(self.rows.codes)), self.rows.codes]
        wanted = np.log(len(self.prior)) + _LEAD
        low, high = np.log(self.separation_range)
        guess = np.log(wanted / max(float(np.median(own)), _LEAST_SLOPE))

        def loss(log_separation: float) -> float:
            return self._loss(predicted, float(np.exp(np.clip(log_separation, low, high))))

        lowest = min(guess - _AROUND, float(np.log(separation)))
        bounds = (lowest, guess + _AROUND)
        options = {"maxiter": 7, "xatol": 0.05}
        found = minimize_scalar(loss, bounds=bounds, method="bounded", options=options)
        return float(found.fun), float(np.exp(np.clip(found.x, low, high)))

    def predicted(self, transform: LabelTransform) -> Predicted:
        """Solve the regressions for the noise of a transform and predict the scoring rows."""
        u = transform.precision_out
        share = 1.0 / len(self.prior)
        log_prior = np.log(self.prior)
        centred = log_prior - log_prior.mean()
        shrunk = self._vectors / (1.0 + u * self._eigenvalues)
        quadratic = np.einsum("nm,nm->n", shrunk, self._vectors)[:, None]
        all_sums = self._sums.sum(axis=0)
        by_separation = self._sums - share * all_sums
        slope = u * (shrunk @ by_separation.T)
        of_all = shrunk @ all_sums
        intercept = np.outer(-u * of_all, centred)
        levels = self._levels(u, by_separation, all_sums, centred)
        unexplained = self._unexplained[:, None]
        shape = slope.shape
        taken = 0.5 * transform.handicap
        if not self.rows.leave_out:
            slope -= taken * mean_levels(levels[0], self.statistics.counts)
            intercept -= taken * mean_levels(levels[1], self.statistics.counts)
            variance = np.broadcast_to(unexplained + quadratic, shape)
            return Predicted(slope, intercept + centred, variance)
        votes = self.rows.votes
        total = votes.sum(axis=1, keepdims=True)
        h = leverage(u * total, quadratic, self.kernel_variance)
        targets = votes / total - share, -centred
        parts = [
            mean_without_row(fitted, target, h)
            for fitted, target in zip((slope, intercept), targets, strict=True)
        ]
        if taken:
            cross = slope / u + share * of_all[:, None]
            left = LeftOutRows(votes, u * total, quadratic, h, cross)
            counts = self.statistics.counts
            for part, of_classes, fitted, target in zip(
                parts, levels, (slope, intercept), targets, strict=True
            ):
                part -= taken * left.levels(of_classes, counts, fitted, target)
        variance = np.broadcast_to(unexplained + quadratic / (1.0 - h), shape)
        return Predicted(parts[0], parts[1] + centred, variance)

    def _levels(
        self, u: float, by_separation: Array, all_sums: Array, centred: Array
    ) -> tuple[Array, Array]:
        """S^_c' beta_c of all classes, (C,): the part by which the separation multiplies, the rest.

        `by_separation` (C, M) and `all_sums` (M,) are in the eigenvectors of G^.
        """
        weight = u / (1.0 + u * self._eigenvalues)
        slope = np.einsum("cm,m,cm->c", self._sums, weight, by_separation)
        return slope, -centred * (self._sums @ (weight * all_sums))
