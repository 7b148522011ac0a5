"""The schedule: from labelled rows to a fitted model.

1. Kernel, few points: L-BFGS on the bound with few inducing points and a sample of the rows;
   alpha_epsilon is chosen by leave-one-out along the way.
2. Points: with more points wanted, they are placed by k-means in the metric of the kernel, weighted
   by how badly the first model predicts each row when it is left out. Points are worth most where
   the classes meet.
3. Kernel, all points: a few more steps of L-BFGS, because lengthscales found with few points are
   too smooth for many.
4. Statistics: one pass over all rows.
5. Labels: the constants of the label transform by leave-one-out, on a sample of the rows.

Small problems (no more rows than points) go the same way with the rows themselves as points: the
exact model.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from ..core.arrays import Array
from ..core.kernels import Kernel
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import Basis, LabelTransform, Posterior
from ..core.statistics import ClassStatistics
from ..core.threads import row_slices
from ..rows.door import LabelledRows
from ..rows.in_memory import InMemoryRows
from .fitted import Model
from .inducing_points import PointPlacer
from .kernel_search import BoundObjective, KernelTraining, State, basis_of, warn_of_jitter
from .label_search import LabelSearch, ScoringRows, scoring_rows
from .progress import Progress, Resources, Stage
from .settings import DirichletSettings

# Weight of a row that the first model predicts perfectly, next to 1 for one it gets all wrong.
_SURPRISE_FLOOR = 0.05
_FIRST_ALPHA = 0.01
_BLOCK_ROWS = 512


@dataclass(frozen=True)
class DirichletState(State):
    """Kernel, points, and the constant of the label transform."""

    alpha_epsilon: float = _FIRST_ALPHA

    @property
    def transform(self) -> LabelTransform:
        """The Dirichlet transform."""
        return LabelTransform.dirichlet(self.alpha_epsilon)


class TrainingRecord(Protocol):
    """What a long fit writes down on its way."""

    def trained(self, rng: np.random.RandomState) -> DirichletState | None:
        """What training found before it was stopped; `rng` is set to what it was then."""

    def keep_trained(self, state: DirichletState, rng: np.random.RandomState) -> None:
        """Write down what training found."""

    def statistics(self) -> tuple[ClassStatistics, int] | None:
        """The statistics of the first rows, and how many these are."""

    def keep_statistics(self, statistics: ClassStatistics, done: int) -> None:
        """Write down the statistics of the first rows, if it is time to."""


class TrainingRows(NamedTuple):
    """All rows, those of them to learn from, and the class probabilities far from them (C,)."""

    everything: LabelledRows
    sample: InMemoryRows
    prior: Array


class Trained(NamedTuple):
    """The outcome of the schedule."""

    model: Model
    n_iter: int


class _Watcher:
    """Tells progress and record how far the pass over all rows has come."""

    def __init__(self, progress: Progress, record: TrainingRecord | None):
        self._progress = progress
        self._record = record

    def resumed(self) -> tuple[ClassStatistics, int] | None:
        return None if self._record is None else self._record.statistics()

    def begin(self, done: int, total: int) -> None:
        self._progress.begin_rows(done, total)

    def advance(self, statistics: ClassStatistics, done: int) -> None:
        self._progress.rows(done)
        if self._record is not None:
            self._record.keep_statistics(statistics, done)


class Trainer:
    """Runs the schedule.

    Parameters
    ----------
    rows : TrainingRows
    settings : DirichletSettings
    resources : Resources
    """

    def __init__(self, rows: TrainingRows, settings: DirichletSettings, resources: Resources):
        self.rows = rows
        self.settings = settings
        self.resources = resources
        self.placer = PointPlacer(rows.sample, settings, resources)
        self.training = KernelTraining(rows.sample, settings, resources)

    def run(self, record: TrainingRecord | None = None, start: Kernel | None = None) -> Trained:
        """All stages, or those that are left to do after a record of the first ones.

        The search for the kernel begins at `start`, or where the settings say.
        """
        state = None if record is None else record.trained(self.resources.rng)
        if state is None:
            state = self._learn(start)
            if record is not None:
                record.keep_trained(state, self.resources.rng)
        return self._finish(state, _Watcher(self.resources.progress, record))

    def _learn(self, start: Kernel | None) -> DirichletState:
        """Kernel and points, from samples of the rows."""
        max_iter = self.settings.max_iter
        state = self._start(start)
        if max_iter > 0:
            state = self._searched(state, max_iter)
        state = self._choose_alpha(state)
        if len(state.points) < self.placer.n_points:
            importance = self._importance(state)
            state = replace(state, points=self.placer.all_points(state.kernel, importance))
            if max_iter > 0:
                state = self._searched(state, max(1, max_iter // 10))
        return state

    def _searched(self, state: DirichletState, max_iter: int) -> DirichletState:
        def objective(sample: InMemoryRows, state: DirichletState) -> BoundObjective:
            wanted = self.settings.n_subsample or 0
            rows = self.rows.everything.bound_rows(sample, wanted)
            workers = self.resources.workers
            return BoundObjective(rows, state.transform, self.rows.prior, state.jitter, workers)

        return self.training.run(state, objective, max_iter).state

    def _start(self, kernel: Kernel | None) -> DirichletState:
        alpha = self.settings.alpha_epsilon
        alpha = alpha if isinstance(alpha, float) else _FIRST_ALPHA
        if kernel is None:
            spread = LabelTransform.dirichlet(alpha).separation ** 2
            prior = self.rows.prior
            target_variance = spread * float(np.mean(prior * (1.0 - prior)))
            kernel = self.training.start_kernel(self.placer.pool, target_variance)
        return DirichletState(kernel, self.placer.first_points(kernel), alpha_epsilon=alpha)

    @property
    def _leave_out(self) -> bool:
        """Whether left-out rows choose alpha_epsilon; the paper's rule does not leave them out."""
        return self.settings.alpha_epsilon != "training"

    def _choose_alpha(self, state: DirichletState) -> DirichletState:
        """alpha_epsilon by the likelihood of rows; the kernel follows if it changed."""
        if not isinstance(self.settings.alpha_epsilon, str):
            return state
        with self.resources.progress.stage(Stage.ALPHA):
            basis, state = basis_of(state)
            statistics = self.placer.pool.class_statistics(basis, self.resources.workers)
            alpha = self._label_search(basis, statistics, self._leave_out).best_alpha()
            self.resources.progress.note(f"{alpha:g}")
        changed = replace(state, alpha_epsilon=alpha)
        if alpha == state.alpha_epsilon or self.settings.max_iter == 0:
            return changed
        return self._searched(changed, max(1, self.settings.max_iter // 4))

    def _importance(self, state: DirichletState) -> Array | None:
        """How much each row of the pool matters for the place of the points, of shape (n,)."""
        if not isinstance(self.settings.inducing, str) or self.settings.inducing != "kmeans":
            return None
        with self.resources.progress.stage(Stage.LEFT_OUT):
            return self._surprise(state) + _SURPRISE_FLOOR

    def _surprise(self, state: DirichletState) -> Array:
        """One minus the probability of each pool row's own class when it is left out, (n,)."""
        pool = self.placer.pool
        workers = self.resources.workers
        basis, state = basis_of(state)
        statistics = pool.class_statistics(basis, workers)
        posterior = self._posterior(statistics, state.kernel.variance, state.transform)

        def of_rows(rows: slice) -> Array:
            codes = pool.codes[rows]
            weights = None if pool.weights is None else pool.weights[rows]
            latent = posterior.latent_without_row(basis.vectors(pool.X[rows]), codes, weights)
            return 1.0 - np.exp(log_probability_of(codes, *latent, coarse=True))

        parts = workers.map(of_rows, row_slices(len(pool), _BLOCK_ROWS))
        return np.maximum(np.concatenate(list(parts)), 0.0)

    def _finish(self, state: DirichletState, watcher: _Watcher) -> Trained:
        """The pass over all rows, and the label transform."""
        progress = self.resources.progress
        basis, state = basis_of(state)
        with progress.stage(Stage.STATISTICS, f"statistics: {len(basis.points)} points, all rows"):
            everything = self.rows.everything
            statistics = everything.class_statistics(basis, self.resources.workers, watcher)
        alpha, transform = self._labels(state, basis, statistics)
        with progress.stage(Stage.POSTERIOR):
            posterior = self._posterior(statistics, state.kernel.variance, transform)
            model = Model(
                basis=basis,
                jitter=state.jitter,
                statistics=statistics,
                transform=transform,
                prior=self.rows.prior,
                alpha_epsilon=alpha,
                solved=posterior,
            )
        warn_of_jitter(state.jitter)
        return Trained(model, state.n_iter)

    def _labels(
        self, state: DirichletState, basis: Basis, statistics: ClassStatistics
    ) -> tuple[float, LabelTransform]:
        """alpha_epsilon and the label transform of the finished model."""
        progress = self.resources.progress
        if self.settings.label_transform == "learned":
            with progress.stage(Stage.LABELS):
                search = self._label_search(basis, statistics, leave_out=True)
                found = search.best_transform(state.transform)
                progress.note(
                    f"separation {found.separation:.3g}, "
                    f"noises {found.noise_in:.3g} {found.noise_out:.3g}"
                )
            return state.alpha_epsilon, found
        alpha = state.alpha_epsilon
        if isinstance(self.settings.alpha_epsilon, str):
            with progress.stage(Stage.ALPHA):
                alpha = self._label_search(basis, statistics, self._leave_out).best_alpha()
                progress.note(f"{alpha:g}")
        return alpha, LabelTransform.dirichlet(alpha)

    def _label_search(
        self, basis: Basis, statistics: ClassStatistics, leave_out: bool
    ) -> LabelSearch:
        """A search for the label transform, scored on a sample of the pool."""
        pool = self.placer.pool
        workers = self.resources.workers
        size = scoring_rows(len(self.rows.prior))
        sample = pool.take(pool.stratified_sample(size, self.resources.rng))
        places = row_slices(len(sample), _BLOCK_ROWS)
        vectors = workers.map(lambda rows: basis.vectors(sample.X[rows]), places)
        rows = ScoringRows(
            np.concatenate(list(vectors)),
            sample.codes,
            np.ones(len(sample)) if sample.weights is None else sample.weights,
            float(pool.class_weights.sum()),
            leave_out,
        )
        return LabelSearch(statistics, basis.kernel.variance, self.rows.prior, rows, workers)

    def _posterior(
        self, statistics: ClassStatistics, variance: float, transform: LabelTransform
    ) -> Posterior:
        workers = self.resources.workers
        return Posterior.from_statistics(statistics, variance, transform, self.rows.prior, workers)
