"""The parts of a training schedule that all models share: a pool of rows, inducing points, a search for the kernel."""

from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import KernelSettings
from ..core.kernels import Kernel
from ..core.posterior import Basis, make_basis
from ..core.threads import Workers
from ..rows.in_memory import ArrayRows
from .inducing_points import choose_points
from .kernel_search import TOLERANCE, KernelSearch, Objective, State, more_jitter
from .progress import Progress, Stage

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
AnyState = TypeVar("AnyState", bound=State)

FEW_POINTS = 400
# Rows of a sample that stands for all of them: to place points, and to score label transforms with
# some of it.
POOL_ROWS = 20_000
# An evaluation of the bound touches as many rows as keep n M^2 near this, within limits.
_ROW_BUDGET, _FEWEST_ROWS, _MOST_ROWS = 2e9, 4_000, 50_000
# With more classes than this the M-sized work per class counts, and a sample is made smaller for
# it.
_MANY_CLASSES = 8


class Schedule:
    """Base of the schedules, which say in what order the parts are played.

    Parameters
    ----------
    rows : ArrayRows
        All training rows.
    settings : KernelSettings
    workers : Workers
    rng : RandomState
    progress : Progress
    """

    def __init__(
        self,
        rows: ArrayRows,
        settings: KernelSettings,
        workers: Workers,
        rng: np.random.RandomState,
        progress: Progress,
    ):
        self.rows, self.kernel_settings = rows, settings
        self.workers, self.rng, self.progress = workers, rng, progress
        size = max(POOL_ROWS, 4 * settings.n_inducing)
        self.pool = rows.take(rows.stratified_sample(size, rng)).merged()

    def objective(self, sample: ArrayRows, state: Any) -> Objective:
        """What is maximised over a sample of the rows."""
        raise NotImplementedError

    def start_kernel(self, target_variance: float) -> Kernel:
        """Starting values: the user's, or the authors' (from the spread of features and targets)."""
        settings, X = self.kernel_settings, self.pool.X
        lengthscale, variance = settings.lengthscale, settings.variance
        if lengthscale is None:
            lengthscale = float(X.std(axis=0).mean() * np.sqrt(X.shape[1])) or 1.0
        if variance is None:
            variance = max(1e-3, target_variance)
        return Kernel(settings.family, np.full(X.shape[1], lengthscale), variance)

    def first_points(self, kernel: Kernel) -> Array:
        """All inducing points if they are few; otherwise a few to learn the kernel with."""
        settings, n_points = self.kernel_settings, min(self.n_points, FEW_POINTS)
        if n_points == self.n_points and not isinstance(settings.inducing, str):
            return settings.inducing
        method = settings.inducing if isinstance(settings.inducing, str) else "kmeans"
        with self.progress.stage(Stage.POINTS, f"{n_points} inducing points"):
            return choose_points(
                method, *self.candidates(np.ones(len(self.pool))), n_points, kernel, self.rng
            )

    def all_points(self, kernel: Kernel, importance: Array) -> Array:
        """All inducing points: the user's, or placed for a kernel and importances of the rows of the pool."""
        inducing = self.kernel_settings.inducing
        if not isinstance(inducing, str):
            return inducing
        with self.progress.stage(Stage.POINTS, f"{self.n_points} inducing points"):
            return choose_points(
                inducing, *self.candidates(importance), self.n_points, kernel, self.rng
            )

    @property
    def n_points(self) -> int:
        """How many inducing points the finished model has."""
        if not isinstance(self.kernel_settings.inducing, str):
            return len(self.kernel_settings.inducing)
        return min(self.kernel_settings.n_inducing, len(self._distinct[0]))

    @cached_property
    def _distinct(self) -> tuple[Array, Integers]:
        """Rows of the pool without regard to class, each once, and where each row of the pool is among them."""
        rows, inverse = np.unique(self.pool.X, axis=0, return_inverse=True)
        return rows, inverse.ravel()

    def candidates(self, importance: Array) -> tuple[Array, Array]:
        """Distinct rows of the pool (n, D) and their weights (n,), for importances of all rows of the pool."""
        rows, inverse = self._distinct
        weights = importance if self.pool.weights is None else importance * self.pool.weights
        return rows, np.bincount(inverse, weights).astype(np.float64)

    def optimise(self, state: AnyState, max_iter: int, tolerance: float = TOLERANCE) -> AnyState:
        """L-BFGS on the objective, over a sample of the rows; restarted with more jitter if K_mm will not factor."""
        settings, n_points = self.kernel_settings, len(state.points)
        size = settings.n_subsample
        if size is None:
            wanted = _ROW_BUDGET / n_points**2 * min(1.0, _MANY_CLASSES / self.rows.n_classes)
            size = int(np.clip(wanted, _FEWEST_ROWS, _MOST_ROWS))
        # Merged, so that a weight and a repetition take the search along the same path, to the last
        # bit.
        sample = self.rows.take(self.rows.stratified_sample(size, self.rng)).merged()
        self.sampled = size < len(self.rows)
        with self.progress.stage(Stage.KERNEL, f"kernel: {n_points} points, {len(sample)} rows"):
            while True:
                objective = self.objective(sample, state)
                search = KernelSearch(
                    objective, state, settings.ard, settings.optimize_inducing, self.progress
                )
                try:
                    found: AnyState = search.run(max_iter, tolerance)  # type: ignore[assignment]
                    break
                except np.linalg.LinAlgError:
                    best: AnyState = search.best  # type: ignore[assignment]
                    state = more_jitter(replace(best, n_iter=state.n_iter + search.n_evaluations))
            self.converged = search.converged
            self.progress.note(f"{search.n_evaluations} evaluations")
        return found

    def basis(self, state: AnyState) -> tuple[Basis, AnyState]:
        """The whitened basis, with more jitter if K_mm will not factor."""
        while True:
            try:
                return make_basis(state.kernel, state.points, state.jitter), state
            except np.linalg.LinAlgError:
                state = more_jitter(state)
