"""The label transform of many classes: one noise for all rows, chosen by leave-one-out.

With equal noises all regressions share B = I + u G^, and one eigendecomposition of G^ serves every
candidate. With whitened vectors k^ and right-hand sides b_c written in its eigenvectors
(eigenvalues lambda_j),

    k^' B^-1 k^ = sum_j k^_j^2 / (1 + u lambda_j)    k^' beta_c = sum_j k^_j b_cj / (1 + u lambda_j)

so a candidate costs one product of the scoring rows with the class sums, n M C, and no
factorisation. The leverage of a row is the same in all regressions.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from ..core.arrays import Array
from ..core.parallel import Workers
from ..core.regressions import LabelTransform, leverage, mean_without_row
from ..core.statistics import ClassStatistics
from .label_search import LabelSearch, Predicted, ScoringRows

# Where the noise is looked for, in logarithms from where it starts, and then around the best.
_STEPS = (0.0, -1.5, -3.0, -4.5, -6.0, -7.5)
_BETWEEN = (-0.75, 0.75)
# What a row's own class is ahead of all others together, with the first separation that is tried;
# others are tried around it, in logarithms.
_LEAD, _AROUND, _LEAST_SLOPE = 2.0, 1.5, 0.01
# Scoring rows times classes, and how many rows that may be.
_PROBABILITIES, _FEWEST_ROWS, _MOST_ROWS = 800_000, 300, 1_600


def rows_for_many_classes(n_classes: int) -> int:
    """How many rows score a transform of many classes."""
    return int(np.clip(_PROBABILITIES // n_classes, _FEWEST_ROWS, _MOST_ROWS))


class EvenLabelSearch(LabelSearch):
    """Scores label transforms with equal noises, from pooled statistics."""

    separation_range = (0.5, 1_000.0)

    def __init__(
        self,
        statistics: ClassStatistics,
        kernel_variance: float,
        prior: Array,
        rows: ScoringRows,
        workers: Workers,
    ):
        super().__init__(statistics, kernel_variance, prior, rows, workers)
        values, directions = eigh(statistics.total)
        self._eigenvalues = np.maximum(values, 0.0)
        self._vectors = rows.vectors @ directions
        self._sums = statistics.sums @ directions

    def best_transform(
        self, start: LabelTransform, evaluations: int = len(_STEPS) + 2
    ) -> LabelTransform:
        """Separation and noise with the smallest loss: on a grid, and between its best places."""
        origin = float(np.log(self._repetition * start.noise_out))
        losses: dict[float, tuple[float, float]] = {}

        def look_at(log_noise: float) -> None:
            noise = float(np.exp(log_noise))
            transform = LabelTransform.from_constants(start.separation, noise, noise)
            losses[log_noise] = self._best_separation(transform)

        for step in _STEPS[:evaluations]:
            look_at(origin + step)
        middle = min(losses, key=lambda place: losses[place][0])
        for step in _BETWEEN[: max(0, evaluations - len(_STEPS))]:
            look_at(middle + step)
        best = min(losses, key=lambda place: losses[place][0])
        if self.score(start) <= losses[best][0]:
            return start
        noise = float(np.exp(best))
        return LabelTransform.from_constants(losses[best][1], noise, noise)

    def _best_separation(self, transform: LabelTransform) -> tuple[float, float]:
        """The smallest loss for the noise of a transform, and the separation that has it.

        It is looked for around one with which the latent of a typical row's own class makes up for
        the number of the others.
        """
        predicted = self.predicted(transform)
        own = predicted.slope[np.arange(len(self.rows.codes)), self.rows.codes]
        wanted = np.log(len(self.prior)) + _LEAD
        low, high = np.log(self.separation_range)
        guess = np.log(wanted / max(float(np.median(own)), _LEAST_SLOPE))

        def loss(log_separation: float) -> float:
            return self._loss(predicted, float(np.exp(np.clip(log_separation, low, high))))

        lowest = min(guess - _AROUND, float(np.log(transform.separation)))
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
        slope = u * (shrunk @ (self._sums - share * all_sums).T)
        intercept = np.outer(-u * (shrunk @ all_sums), centred)
        unexplained = self._unexplained[:, None]
        shape = slope.shape
        if not self.rows.leave_out:
            variance = np.broadcast_to(unexplained + quadratic, shape)
            return Predicted(slope, intercept + centred, variance)
        votes = self.rows.votes
        total = votes.sum(axis=1, keepdims=True)
        h = leverage(u * total, quadratic, self.kernel_variance)
        return Predicted(
            mean_without_row(slope, votes / total - share, h),
            mean_without_row(intercept, -centred, h) + centred,
            np.broadcast_to(unexplained + quadratic / (1.0 - h), shape),
        )
