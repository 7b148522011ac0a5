"""Search for the kernel's parameters: L-BFGS on a bound, at a fixed jitter, over a sample of rows.

An evaluation is two passes over the rows, with M-sized algebra between. The first pass sums the
statistics, the second contracts the derivative of every row's kernel vector with the derivative of
the kernel. The kernel values are computed again rather than kept, so memory does not grow with the
rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..core.arrays import Array
from ..core.bound import bound_and_derivatives
from ..core.fields import VARIANCE
from ..core.kernels import Kernel, KernelGradient
from ..core.parallel import Workers, cholesky
from ..core.regressions import Basis, LabelTransform, make_basis, points_covariance
from ..core.statistics import sum_of_gradients
from ..rows.door import BoundRows
from ..rows.in_memory import InMemoryRows
from .descent import descend
from .settings import KernelSettings, Progress, Resources, Stage, warn_caller

JITTER = 1e-6
# A search ends when an iteration gains less than this per row.
TOLERANCE = 1e-7
_LARGEST_JITTER = 1e-2
# Hyperparameters may move by this much (in logarithms) in one optimisation.
_LOG_RANGE = 7.0
# An evaluation of the bound touches as many rows as keep n M^2 near this, within limits.
_ROW_BUDGET, _FEWEST_ROWS, _MOST_ROWS = 2e9, 4_000, 50_000
# With more classes than this the M-sized work per class counts, and a sample is made smaller.
_MANY_CLASSES = 12
# Points are so far apart, to this power of their number: as in four dimensions. Lengthscales follow
# where few points leave this part of the label noise or more unexplained, as a variance.
_NEARNESS, _MUCH_UNEXPLAINED = -0.25, 0.15


@dataclass(frozen=True)
class State:
    """What is searched for, and what the stages of a fit hand on to each other.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
    noise : float or None
        Noise variance, of models that learn it.
    jitter : float
        Relative to the kernel's variance.
    n_iter : int
        Evaluations so far.
    curvature : ndarray or None
        The inverse Hessian that the last search ended with, for the next one to begin with.
    """

    kernel: Kernel
    points: Array
    noise: float | None = None
    jitter: float = JITTER
    n_iter: int = 0
    curvature: Array | None = field(default=None, repr=False)


AnyState = TypeVar("AnyState", bound=State)


class Objective(Protocol):
    """A function of a state to be maximised."""

    @property
    def rows(self) -> Any:
        """The rows it is a function of, with their `class_weights`."""

    def evaluate(self, state: Any) -> tuple[float, KernelGradient, float]:
        """Its value, and its gradient with respect to kernel and points, and to log noise."""


@dataclass(frozen=True)
class BoundObjective:
    """The collapsed bound of labelled rows.

    Attributes
    ----------
    rows : BoundRows
    transform : LabelTransform
    prior : ndarray of shape (C,)
    jitter : float
        Relative to the kernel's variance.
    workers : Workers
    """

    rows: BoundRows
    transform: LabelTransform
    prior: Array
    jitter: float
    workers: Workers

    def evaluate(self, state: State) -> tuple[float, KernelGradient, float]:
        """The bound and its gradient; there is no noise to learn."""
        return *self.value_and_gradient(state.kernel, state.points), 0.0

    def value_and_gradient(self, kernel: Kernel, points: Array) -> tuple[float, KernelGradient]:
        """The bound, and its gradient by the kernel's parameters, log variance and points."""
        covariance = points_covariance(kernel, points, self.jitter)
        factor = cholesky(covariance)
        pooled = self.transform.is_even
        statistics = self.rows.bound_statistics(kernel, points, self.workers, pooled)
        bound = bound_and_derivatives(
            statistics, factor, kernel.variance, self.transform, self.prior, self.workers
        )

        def by_points() -> KernelGradient:
            return gradient_of_points(bound.points, bound.variance, kernel, points, covariance)

        with self.workers.meanwhile(by_points) as of_points:
            by_rows = self.rows.pull_back(bound.by_row, kernel, points, self.workers)
            return bound.value, sum_of_gradients([by_rows, of_points()])


@dataclass(frozen=True)
class WithBelief:
    """An objective plus what is believed of its kernel before any row is seen.

    The bound sums the likelihoods of C regressions of the same labels: with two classes they are
    mirror images, and every row counts twice. So the belief is weighed C-fold against it. It acts
    like one shared lengthscale where rows are few, and vanishes where they are many.

    Attributes
    ----------
    objective : Objective
    typical : Kernel
        What the kernel is expected to be.
    weight : float
        The number of classes.
    """

    objective: Objective
    typical: Kernel
    weight: float

    @property
    def rows(self) -> Any:
        """The rows it is a function of."""
        return self.objective.rows

    def evaluate(self, state: State) -> tuple[float, KernelGradient, float]:
        """Value and gradient of the sum."""
        value, gradient, by_log_noise = self.objective.evaluate(state)
        belief = state.kernel.belief(self.typical)
        gradient = KernelGradient(
            gradient.parameters + self.weight * belief.parameters,
            gradient.log_variance + self.weight * belief.log_variance,
            gradient.points,
        )
        return value + self.weight * belief.value, gradient, by_log_noise


def gradient_of_points(
    by_covariance: Array, by_variance: float, kernel: Kernel, points: Array, covariance: Array
) -> KernelGradient:
    """The part of the gradient that goes through K_mm + jitter (M, M), and through s2 by itself."""
    of_points = kernel.of_points(points)
    values = of_points.values(points, points)
    through = of_points.pull_back(points, points, values, by_covariance.copy())
    return KernelGradient(
        through.parameters,
        # jitter and diagonal scale with the variance too: all of K_mm + jitter does
        float(np.vdot(by_covariance, covariance)) + kernel.variance * by_variance,
        # K_mm depends on a point through its row and its column alike
        2.0 * through.points,
    )


class Coordinates:
    """A state as a vector: parameters of the kernel, log variance, log noise, points if they move.

    Parameters
    ----------
    state : State
        What vectors leave alone is taken from here.
    move_points : bool
    """

    def __init__(self, state: State, move_points: bool):
        self.start = state
        self.move_points = move_points
        self._n_parameters = len(state.kernel.parameters)

    def vector(self, state: State) -> Array:
        """The coordinates of a state."""
        logs = [state.kernel.variance]
        if state.noise is not None:
            logs.append(state.noise)
        points = state.points.ravel() if self.move_points else np.empty(0)
        return np.concatenate([state.kernel.parameters, np.log(logs), points])

    def state(self, vector: Array) -> State:
        """The state with given coordinates."""
        parameters, (log_variance, *rest) = np.split(vector, [self._n_parameters])
        noise, points = self.start.noise, self.start.points
        if noise is not None:
            noise, *rest = float(np.exp(rest[0])), *rest[1:]
        if self.move_points:
            points = np.array(rest).reshape(points.shape)
        variance = min(float(np.exp(log_variance)), VARIANCE[1])
        kernel = self.start.kernel.with_parameters(parameters, variance)
        return replace(self.start, kernel=kernel, points=points, noise=noise)

    def gradient(self, by_kernel: KernelGradient, by_log_noise: float) -> Array:
        """Derivatives with respect to the coordinates."""
        noise = [] if self.start.noise is None else [by_log_noise]
        points = by_kernel.points.ravel() if self.move_points else np.empty(0)
        return np.concatenate([by_kernel.parameters, [by_kernel.log_variance], noise, points])


class KernelSearch:
    """Maximises an objective over the coordinates of a state."""

    def __init__(self, objective: Objective, state: State, move_points: bool, progress: Progress):
        self.objective = objective
        self.state = state
        self.progress = progress
        self.coordinates = Coordinates(state, move_points)
        self.best = state
        self.best_value = -np.inf
        self.n_evaluations = 0
        self.converged = False

    def run(self, max_iter: int, tolerance: float = TOLERANCE) -> State:
        """The best state found."""
        start = self.coordinates.vector(self.state)
        reach = np.full(len(start), _LOG_RANGE)
        if self.coordinates.move_points:
            reach[-self.state.points.size :] = np.inf
        curvature = self.state.curvature
        if curvature is not None and len(curvature) != len(start):
            curvature = None
        found = descend(self._loss, start, reach, curvature, max_iter, tolerance)
        self.converged = found.converged
        n_iter = self.state.n_iter + self.n_evaluations
        return replace(self.best, n_iter=n_iter, curvature=found.curvature)

    def _loss(self, vector: Array) -> tuple[float, Array]:
        """Minus the objective per row, and its gradient."""
        state = self.coordinates.state(vector)
        n = float(self.objective.rows.class_weights.sum())
        value, by_kernel, by_log_noise = self.objective.evaluate(state)
        self.n_evaluations += 1
        if value > self.best_value:
            self.best, self.best_value = state, value
        self.progress.evaluation(self.n_evaluations, value / n)
        return -value / n, -self.coordinates.gradient(by_kernel, by_log_noise) / n


def searched(
    objective: Callable[[AnyState], Objective],
    state: AnyState,
    max_iter: int,
    tolerance: float,
    progress: Progress,
) -> AnyState:
    """A short search at fixed points, begun anew with more jitter if K_mm won't factor."""
    while True:
        search = KernelSearch(objective(state), state, False, progress)
        try:
            found: AnyState = search.run(max_iter, tolerance)  # type: ignore[assignment]
            return found
        except np.linalg.LinAlgError:
            state = more_jitter(state)


class Found(NamedTuple, Generic[AnyState]):
    """The outcome of a search: the state, whether it settled, whether rows were left out."""

    state: AnyState
    converged: bool
    sampled: bool


@dataclass(frozen=True)
class KernelTraining:
    """Searches over samples of rows, as large as keep an evaluation fast."""

    rows: InMemoryRows
    settings: KernelSettings
    resources: Resources

    def run(
        self,
        state: AnyState,
        objective: Callable[[InMemoryRows, AnyState], Objective],
        max_iter: int,
        tolerance: float = TOLERANCE,
    ) -> Found[AnyState]:
        """L-BFGS on the objective of a sample; restarted with more jitter if K_mm won't factor."""
        progress = self.resources.progress
        size = self._sample_size(len(state.points))
        chosen = self.rows.sample_of_classes(size, self.resources.rng)
        # Merged, so that a weight and a repetition take the search along the same path, to the bit.
        sample = self.rows.take(chosen).merged()
        name = f"kernel: {len(state.points)} points, {len(sample)} rows"
        move_points = self.settings.optimize_inducing
        with progress.stage(Stage.KERNEL, name):
            while True:
                search = KernelSearch(objective(sample, state), state, move_points, progress)
                try:
                    found: AnyState = search.run(max_iter, tolerance)  # type: ignore[assignment]
                    break
                except np.linalg.LinAlgError:
                    n_iter = state.n_iter + search.n_evaluations
                    best: AnyState = search.best  # type: ignore[assignment]
                    state = more_jitter(replace(best, n_iter=n_iter, curvature=None))
            progress.note(f"{search.n_evaluations} evaluations")
        return Found(found, search.converged, size < len(self.rows))

    def _sample_size(self, n_points: int) -> int:
        if self.settings.n_subsample is not None:
            return self.settings.n_subsample
        wanted = _ROW_BUDGET / n_points**2 * min(1.0, _MANY_CLASSES / self.rows.n_classes)
        return int(np.clip(wanted, _FEWEST_ROWS, _MOST_ROWS))

    def start_kernel(self, pool: InMemoryRows, target_variance: float) -> Kernel:
        """Starting values: the user's, or from the spread of features and targets."""
        settings = self.settings
        variance = settings.variance
        if variance is None:
            variance = max(1e-3, target_variance)
        return self._starting(pool, settings.lengthscale, variance)

    def typical_kernel(self, pool: InMemoryRows, target_variance: float) -> Kernel:
        """What a kernel is expected to be, from the spread of features and targets alone."""
        return self._starting(pool, None, max(1e-3, target_variance))

    def _starting(
        self, pool: InMemoryRows, lengthscale: float | Array | None, variance: float
    ) -> Kernel:
        settings = self.settings
        return settings.kernel.starting(
            pool.X, lengthscale, variance, settings.ard, settings.categories
        )


def basis_of(state: AnyState) -> tuple[Basis, AnyState]:
    """The whitened basis, with more jitter if K_mm will not factor."""
    while True:
        try:
            return make_basis(state.kernel, state.points, state.jitter), state
        except np.linalg.LinAlgError:
            state = more_jitter(state)


def kernel_for_more_points(state: State, n_points: int, rows: Array, noise: float) -> Kernel:
    """The kernel that was learned with the points of a state, for more of them.

    The bound charges for what points leave unexplained, in units of the label noise. Where that is
    much, lengthscales were kept long for the few points to reach, and shrink with the distance of
    neighbouring points. Where labels are noisier than that, they are what they are. Steps along the
    bound of all points took a sixth to a third of a fit and led to no better place.

    Parameters
    ----------
    state : State
    n_points : int
    rows : ndarray of shape (n, D)
        Scaled rows that tell how much is left unexplained.
    noise : float
        Noise variance of the labels of a class.
    """
    basis, _ = basis_of(state)
    kernel = state.kernel
    explained = float(np.square(basis.vectors(rows)).sum(axis=1).mean())
    unexplained = max(kernel.variance - explained, 0.0)
    share = unexplained / (unexplained + _MUCH_UNEXPLAINED * noise)
    nearer = (n_points / len(state.points)) ** (_NEARNESS * share)
    return kernel.stretched(nearer, kernel.variance)


def more_jitter(state: AnyState) -> AnyState:
    """Ten times the jitter, while that is still a small part of the kernel's variance."""
    if state.jitter >= _LARGEST_JITTER:
        raise np.linalg.LinAlgError(
            "The kernel matrix of the inducing points cannot be factored even with a jitter of "
            f"{state.jitter:g} times the kernel variance. Check X for values that are huge or all "
            "but identical and sample_weight for huge values, or pass a smaller n_inducing."
        )
    return replace(state, jitter=10.0 * state.jitter)


def warn_of_jitter(jitter: float) -> None:
    """Say that more jitter than usual was needed, if it was."""
    if jitter <= JITTER:
        return
    warn_caller(
        "The kernel matrix of the inducing points was close to singular: its diagonal was raised "
        f"by {jitter:g} times the kernel variance (usually {JITTER:g}). Predictions are a little "
        "smoother for it; fewer inducing points avoid it.",
        RuntimeWarning,
    )
