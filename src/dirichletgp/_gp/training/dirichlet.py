"""The schedule: from scaled rows to a fitted model.

1. Kernel, few points: L-BFGS on the bound with at most `FEW_POINTS` inducing points and a sample of
the rows;
   alpha_epsilon is chosen by leave-one-out along the way.
2. Points: with more points wanted, they are placed by k-means in the metric of the kernel, weighted
by how badly
   the first model predicts each row when it is left out. Points are worth most where the classes
   meet.
3. Kernel, all points: a few more steps of L-BFGS, because lengthscales found with few points are
too smooth for many. 4. Statistics: one pass over all rows. 5. Labels: the constants of the label
transform by leave-one-out, on a sample of the rows.

Small problems (no more rows than points) go the same way with the rows themselves as points: the
exact model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...persistence.checkpoint import Checkpoint
from ..core.arguments import Settings
from ..core.kernels import Kernel
from ..core.labels import LabelTransform
from ..core.leave_one_out import leave_one_out_latent
from ..core.model import Model
from ..core.posterior import Basis, Posterior
from ..core.probabilities.softmax import log_probability_of
from ..core.statistics import ClassStatistics
from ..core.threads import Workers, row_slices
from ..rows.in_memory import ArrayRows
from .kernel_search import JITTER, State, warn_of_jitter
from .label_search import LabelSearch, scoring_rows
from .objective import DirichletObjective
from .progress import Progress, Stage
from .schedule import Schedule

Array = NDArray[np.float64]
Whole = Callable[[Basis, Workers], ClassStatistics]

# Weight of a row that the first model predicts perfectly, next to 1 for one it gets entirely wrong.
_SURPRISE_FLOOR = 0.05
_FIRST_ALPHA = 0.01


class Trained(NamedTuple):
    """The outcome of the schedule."""

    model: Model
    n_iter: int


@dataclass(frozen=True)
class DirichletState(State):
    """Kernel, points, and the constant of the label transform."""

    alpha_epsilon: float = _FIRST_ALPHA

    @property
    def transform(self) -> LabelTransform:
        """The Dirichlet transform."""
        return LabelTransform.dirichlet(self.alpha_epsilon)


class Trainer(Schedule):
    """Runs the schedule on labelled rows.

    Parameters
    ----------
    rows : ArrayRows
        All training rows.
    prior : ndarray of shape (C,)
    settings : Settings
    workers : Workers
    rng : RandomState
    progress : Progress
    whole : callable or None
        From the final basis to the statistics of all rows, when `rows` are a sample of them.
    objective : callable
        Makes the objective of a sample of the rows, by `DirichletObjective` or another that takes
        its arguments.
    """

    def __init__(
        self,
        rows: ArrayRows,
        prior: Array,
        settings: Settings,
        workers: Workers,
        rng: np.random.RandomState,
        progress: Progress,
        whole: Whole | None = None,
        objective: Callable[..., DirichletObjective] = DirichletObjective,
    ):
        super().__init__(rows, settings, workers, rng, progress)
        self.prior, self.settings, self.whole, self._objective = prior, settings, whole, objective

    def run(self, checkpoint: Checkpoint | None = None) -> Trained:
        """All stages, or those that are left to do after a checkpoint."""
        if checkpoint is not None and checkpoint.is_trained:
            return self._finish(DirichletState(**checkpoint.trained(self.rng)))
        state = self._learn()
        if checkpoint is not None:
            fields = {
                "jitter": state.jitter,
                "n_iter": state.n_iter,
                "alpha_epsilon": state.alpha_epsilon,
            }
            checkpoint.keep_trained(state.kernel, state.points, self.rng, **fields)
        return self._finish(state)

    def _learn(self) -> DirichletState:
        """Kernel and points, from samples of the rows."""
        max_iter = self.settings.max_iter
        state = self._start()
        if max_iter > 0:
            state = self.optimise(state, max_iter)
        state = self._choose_alpha(state)
        if len(state.points) < self.n_points:
            state = replace(state, points=self.all_points(state.kernel, self._importance(state)))
            if max_iter > 0:
                state = self.optimise(state, max(1, max_iter // 10))
        return state

    def objective(self, sample: ArrayRows, state: DirichletState) -> DirichletObjective:
        """The collapsed bound."""
        return self._objective(sample, state.transform, self.prior, state.jitter, self.workers)

    def _start(self) -> DirichletState:
        alpha = self.settings.alpha_epsilon
        alpha = alpha if isinstance(alpha, float) else _FIRST_ALPHA
        spread = LabelTransform.dirichlet(alpha).separation ** 2
        kernel = self.start_kernel(spread * float(np.mean(self.prior * (1.0 - self.prior))))
        return DirichletState(kernel, self.first_points(kernel), alpha_epsilon=alpha)

    @property
    def _leave_out(self) -> bool:
        """Whether alpha_epsilon is chosen by left-out rows; the paper's rule does not leave them out."""
        return self.settings.alpha_epsilon != "training"

    def _choose_alpha(self, state: DirichletState) -> DirichletState:
        """alpha_epsilon by the likelihood of left-out (or training) rows; the kernel follows if it changed."""
        if not isinstance(self.settings.alpha_epsilon, str):
            return state
        with self.progress.stage(Stage.ALPHA):
            basis, state = self.basis(state)
            statistics = ClassStatistics.accumulate(
                self.pool, basis.vectors, len(basis.points), self.workers
            )
            alpha = self._search(basis, statistics, self._leave_out).best_alpha()
            self.progress.note(f"{alpha:g}")
        changed = replace(state, alpha_epsilon=alpha)
        if alpha == state.alpha_epsilon or self.settings.max_iter == 0:
            return changed
        return self.optimise(changed, max(1, self.settings.max_iter // 4))

    def _importance(self, state: DirichletState) -> Array:
        """How much each row of the pool matters for the place of the points, of shape (n,)."""
        if not isinstance(self.settings.inducing, str) or self.settings.inducing != "kmeans":
            return np.ones(len(self.pool))
        with self.progress.stage(Stage.LEFT_OUT):
            return self._surprise(state) + _SURPRISE_FLOOR

    def _surprise(self, state: DirichletState) -> Array:
        """One minus the probability of each pool row's own class when it is left out, of shape (n,)."""
        basis, state = self.basis(state)
        pool = self.pool
        statistics = ClassStatistics.accumulate(
            pool, basis.vectors, len(basis.points), self.workers
        )
        posterior = self._posterior(statistics, state.kernel, state.transform)

        def of_rows(rows: slice) -> Array:
            codes, weights = pool.codes[rows], None if pool.weights is None else pool.weights[rows]
            mean, variance = leave_one_out_latent(
                posterior, basis.vectors(pool.X[rows]), codes, weights
            )
            return 1.0 - np.exp(log_probability_of(codes, mean, variance, coarse=True))

        return np.maximum(
            np.concatenate(list(self.workers.map(of_rows, row_slices(len(pool), 512)))), 0.0
        )

    def _finish(self, state: DirichletState) -> Trained:
        """The pass over all rows, and the label transform."""
        settings = self.settings
        basis, state = self.basis(state)
        with self.progress.stage(
            Stage.STATISTICS, f"statistics: {len(basis.points)} points, all rows"
        ):
            statistics = self._statistics(basis)
        alpha, transform = state.alpha_epsilon, state.transform
        if settings.label_transform == "learned":
            with self.progress.stage(Stage.LABELS):
                transform = self._search(basis, statistics, leave_out=True).best_transform(
                    transform
                )
                self.progress.note(
                    f"separation {transform.separation:.3g}, noises {transform.noise_in:.3g} {transform.noise_out:.3g}"
                )
        elif isinstance(settings.alpha_epsilon, str):
            with self.progress.stage(Stage.ALPHA):
                alpha = self._search(basis, statistics, self._leave_out).best_alpha()
                transform = LabelTransform.dirichlet(alpha)
                self.progress.note(f"{alpha:g}")
        with self.progress.stage(Stage.POSTERIOR):
            model = Model(
                state.kernel, state.points, state.jitter, statistics, transform, self.prior, alpha
            )
            model.solve(self.workers)
        if state.jitter > JITTER:
            warn_of_jitter(state.jitter)
        return Trained(model, state.n_iter)

    def _statistics(self, basis: Basis) -> ClassStatistics:
        """The statistics of all rows."""
        if self.whole is not None:
            return self.whole(basis, self.workers)
        return ClassStatistics.accumulate(self.rows, basis.vectors, len(basis.points), self.workers)

    def _search(self, basis: Basis, statistics: ClassStatistics, leave_out: bool) -> LabelSearch:
        """A search for the label transform, scored on a sample of the pool."""
        sample = self.pool.take(
            self.pool.stratified_sample(scoring_rows(len(self.prior)), self.rng)
        )
        parts = self.workers.map(
            lambda rows: basis.vectors(sample.X[rows]), row_slices(len(sample), 512)
        )
        return LabelSearch(
            statistics,
            basis.kernel.variance,
            self.prior,
            np.concatenate(list(parts)),
            sample.codes,
            np.ones(len(sample)) if sample.weights is None else sample.weights,
            self.workers,
            float(self.pool.class_weights.sum()),
            leave_out,
        )

    def _posterior(
        self, statistics: ClassStatistics, kernel: Kernel, transform: LabelTransform
    ) -> Posterior:
        return Posterior.from_statistics(
            statistics, kernel.variance, transform, self.prior, self.workers
        )
