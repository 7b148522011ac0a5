"""The schedule: from scaled rows to a fitted model.

1. Kernel, few points: L-BFGS on the bound with at most `FEW_POINTS` inducing points and a sample of the rows;
   alpha_epsilon is chosen by leave-one-out along the way.
2. Points: with more points wanted, they are placed by k-means in the metric of the kernel, weighted by how badly
   the first model predicts each row when it is left out. Points are worth most where the classes meet.
3. Kernel, all points: a few more steps of L-BFGS, because lengthscales found with few points are too smooth for many.
4. Statistics: one pass over all rows.
5. Labels: the constants of the label transform by leave-one-out, on a sample of the rows.

Small problems (no more rows than points) go the same way with the rows themselves as points: the exact model.
"""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._blocks import ArrayRows
from ._bound import collapsed_bound
from ._inducing import choose_points
from ._kernel_search import JITTER, KernelSearch, State, more_jitter, warn_of_jitter
from ._kernels import Kernel
from ._label_search import LabelSearch, scoring_rows
from ._labels import LabelTransform
from ._leave_one_out import leave_one_out_latent
from ._model import Model
from ._objective import Objective
from ._parameters import Settings
from ._posterior import Basis, Posterior, make_basis
from ._probabilities import log_probability_of
from ._progress import Progress
from ._statistics import ClassStatistics
from ._workers import Workers, row_slices

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

FEW_POINTS = 400
# Rows of a sample that stands for all of them: to place points, and to score label transforms with some of it.
_POOL_ROWS = 20_000
# An evaluation of the bound touches as many rows as keep n M^2 near this, within limits.
_ROW_BUDGET, _FEWEST_ROWS, _MOST_ROWS = 2e9, 4_000, 50_000
# Weight of a row that the first model predicts perfectly, next to 1 for one it gets entirely wrong.
_SURPRISE_FLOOR = 0.05
# With more classes than this the M-sized work per class counts, and a sample is made smaller for it.
_MANY_CLASSES = 8
_FIRST_ALPHA = 0.01


class Trained(NamedTuple):
    """The outcome of the schedule."""

    model: Model
    alpha_epsilon: float
    bound: float
    n_iter: int


class Trainer:
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
    """

    def __init__(
        self,
        rows: ArrayRows,
        prior: Array,
        settings: Settings,
        workers: Workers,
        rng: np.random.RandomState,
        progress: Progress,
    ):
        self.rows, self.prior, self.settings = rows, prior, settings
        self.workers, self.rng, self.progress = workers, rng, progress
        size = max(_POOL_ROWS, 4 * settings.n_inducing)
        self.pool = rows.take(rows.stratified_sample(size, rng)).merged()

    def run(self) -> Trained:
        """All stages."""
        settings = self.settings
        state = self._start()
        if settings.max_iter > 0:
            state = self._optimise(state, settings.max_iter)
        state = self._choose_alpha(state)
        if len(state.points) < self._n_points:
            state = self._place_points(state)
            if settings.max_iter > 0:
                state = self._optimise(state, max(1, settings.max_iter // 10))
        return self._finish(state)

    def _start(self) -> State:
        """Starting values: the user's, or the authors' (from the spread of features and targets)."""
        settings, X = self.settings, self.pool.X
        alpha = settings.alpha_epsilon if isinstance(settings.alpha_epsilon, float) else _FIRST_ALPHA
        lengthscale, variance = settings.lengthscale, settings.variance
        if lengthscale is None:
            lengthscale = float(X.std(axis=0).mean() * np.sqrt(X.shape[1])) or 1.0
        if variance is None:
            spread = LabelTransform.dirichlet(alpha).separation ** 2
            variance = max(1e-3, spread * float(np.mean(self.prior * (1.0 - self.prior))))
        kernel = Kernel(settings.family, np.full(X.shape[1], lengthscale), variance)
        n_points = min(self._n_points, FEW_POINTS)
        with self.progress.stage(f"{n_points} inducing points"):
            if n_points == self._n_points and not isinstance(settings.inducing, str):
                points = settings.inducing
            else:
                method = settings.inducing if isinstance(settings.inducing, str) else "kmeans"
                points = choose_points(method, *self._candidates(np.ones(len(self.pool))), n_points, kernel, self.rng)
        return State(kernel, points, alpha)

    @property
    def _leave_out(self) -> bool:
        """Whether alpha_epsilon is chosen by left-out rows; the paper's rule does not leave them out."""
        return self.settings.alpha_epsilon != "training"

    @property
    def _n_points(self) -> int:
        """How many inducing points the finished model has."""
        if not isinstance(self.settings.inducing, str):
            return len(self.settings.inducing)
        return min(self.settings.n_inducing, len(self._distinct[0]))

    @cached_property
    def _distinct(self) -> tuple[Array, Integers]:
        """Rows of the pool without regard to class, each once, and where each row of the pool is among them."""
        rows, inverse = np.unique(self.pool.X, axis=0, return_inverse=True)
        return rows, inverse.ravel()

    def _candidates(self, importance: Array) -> tuple[Array, Array]:
        """Distinct rows of the pool (n, D) and their weights (n,), for importances of all rows of the pool."""
        rows, inverse = self._distinct
        weights = importance if self.pool.weights is None else importance * self.pool.weights
        return rows, np.bincount(inverse, weights).astype(np.float64)

    def _optimise(self, state: State, max_iter: int) -> State:
        """L-BFGS on the bound, over a sample of the rows; restarted with more jitter if K_mm will not factor."""
        n_points, n_classes = len(state.points), len(self.prior)
        size = self.settings.n_subsample
        if size is None:
            wanted = _ROW_BUDGET / n_points**2 * min(1.0, _MANY_CLASSES / n_classes)
            size = int(np.clip(wanted, _FEWEST_ROWS, _MOST_ROWS))
        sample = self.rows.take(self.rows.stratified_sample(size, self.rng))
        with self.progress.stage(f"kernel: {n_points} points, {len(sample)} rows"):
            while True:
                objective = Objective(sample, state.transform, self.prior, state.jitter, self.workers)
                search = KernelSearch(
                    objective, state, self.settings.ard, self.settings.optimize_inducing, self.progress
                )
                try:
                    found = search.run(max_iter)
                    break
                except np.linalg.LinAlgError:
                    state = more_jitter(replace(search.best, n_iter=state.n_iter + search.n_evaluations))
            self.progress.note(f"{search.n_evaluations} evaluations")
        return found

    def _choose_alpha(self, state: State) -> State:
        """alpha_epsilon by the likelihood of left-out (or training) rows; the kernel follows if it changed."""
        if not isinstance(self.settings.alpha_epsilon, str):
            return state
        with self.progress.stage("alpha_epsilon"):
            basis, state = self._basis(state)
            statistics = ClassStatistics.accumulate(self.pool, basis.vectors, len(basis.points), self.workers)
            alpha = self._search(basis, statistics, self._leave_out).best_alpha()
            self.progress.note(f"{alpha:g}")
        changed = replace(state, alpha_epsilon=alpha)
        if alpha == state.alpha_epsilon or self.settings.max_iter == 0:
            return changed
        return self._optimise(changed, max(1, self.settings.max_iter // 4))

    def _place_points(self, state: State) -> State:
        """All inducing points: the user's, or placed with the kernel of the first stage."""
        settings = self.settings
        if not isinstance(settings.inducing, str):
            return replace(state, points=settings.inducing)
        with self.progress.stage(f"{self._n_points} inducing points"):
            importance = np.ones(len(self.pool))
            if settings.inducing == "kmeans":
                importance = self._surprise(state) + _SURPRISE_FLOOR
            candidates = self._candidates(importance)
            points = choose_points(settings.inducing, *candidates, self._n_points, state.kernel, self.rng)
        return replace(state, points=points)

    def _surprise(self, state: State) -> Array:
        """One minus the probability of each pool row's own class when it is left out, of shape (n,)."""
        basis, state = self._basis(state)
        pool = self.pool
        statistics = ClassStatistics.accumulate(pool, basis.vectors, len(basis.points), self.workers)
        posterior = self._posterior(statistics, state.kernel, state.transform)

        def of_rows(rows: slice) -> Array:
            codes, weights = pool.codes[rows], None if pool.weights is None else pool.weights[rows]
            mean, variance = leave_one_out_latent(posterior, basis.vectors(pool.X[rows]), codes, weights)
            return 1.0 - np.exp(log_probability_of(codes, mean, variance, coarse=True))

        return np.maximum(np.concatenate(list(self.workers.map(of_rows, row_slices(len(pool), 512)))), 0.0)

    def _finish(self, state: State) -> Trained:
        """The pass over all rows, and the label transform."""
        settings = self.settings
        basis, state = self._basis(state)
        with self.progress.stage(f"statistics: {len(basis.points)} points, {len(self.rows)} rows"):
            statistics = ClassStatistics.accumulate(self.rows, basis.vectors, len(basis.points), self.workers)
        alpha, transform = state.alpha_epsilon, state.transform
        if settings.label_transform == "learned":
            with self.progress.stage("label transform"):
                transform = self._search(basis, statistics, leave_out=True).best_transform(transform)
                self.progress.note(
                    f"separation {transform.separation:.3g}, noises {transform.noise_in:.3g} {transform.noise_out:.3g}"
                )
        elif isinstance(settings.alpha_epsilon, str):
            with self.progress.stage("alpha_epsilon"):
                alpha = self._search(basis, statistics, self._leave_out).best_alpha()
                transform = LabelTransform.dirichlet(alpha)
                self.progress.note(f"{alpha:g}")
        with self.progress.stage("posterior"):
            # The bound of another transform would be the density of other targets.
            dirichlet = self._posterior(statistics, state.kernel, LabelTransform.dirichlet(alpha))
            bound = collapsed_bound(statistics, dirichlet)
            model = Model(state.kernel, state.points, state.jitter, statistics, transform, self.prior)
            model.solved(self.workers)
        if state.jitter > JITTER:
            warn_of_jitter(state.jitter)
        return Trained(model, alpha, bound, state.n_iter)

    def _search(self, basis: Basis, statistics: ClassStatistics, leave_out: bool) -> LabelSearch:
        """A search for the label transform, scored on a sample of the pool."""
        sample = self.pool.take(self.pool.stratified_sample(scoring_rows(len(self.prior)), self.rng))
        parts = self.workers.map(lambda rows: basis.vectors(sample.X[rows]), row_slices(len(sample), 512))
        return LabelSearch(
            statistics,
            basis.kernel.variance,
            self.prior,
            np.concatenate(list(parts)),
            sample.codes,
            np.ones(len(sample)) if sample.weights is None else sample.weights,
            self.workers,
            leave_out,
        )

    def _posterior(self, statistics: ClassStatistics, kernel: Kernel, transform: LabelTransform) -> Posterior:
        return Posterior.from_statistics(statistics, kernel.variance, transform, self.prior, self.workers)

    def _basis(self, state: State) -> tuple[Basis, State]:
        """The whitened basis, with more jitter if K_mm will not factor."""
        while True:
            try:
                return make_basis(state.kernel, state.points, state.jitter), state
            except np.linalg.LinAlgError:
                state = more_jitter(state)
