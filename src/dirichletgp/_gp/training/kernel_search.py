"""Search for the kernel's parameters: L-BFGS on the bound, at a fixed jitter."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..core.kernels import Kernel, KernelGradient
from ..rows.in_memory import ArrayRows
from .progress import Progress

Array = NDArray[np.float64]

JITTER = 1e-6
# A search ends when an iteration gains less than this per row.
TOLERANCE = 1e-7
_LARGEST_JITTER = 1e-2
# Hyperparameters may move by this much (in logarithms) in one optimisation.
_LOG_RANGE = 7.0


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
    """

    kernel: Kernel
    points: Array
    noise: float | None = None
    jitter: float = JITTER
    n_iter: int = 0


AnyState = TypeVar("AnyState", bound=State)


class Objective(Protocol):
    """A function of a state to be maximised."""

    @property
    def rows(self) -> ArrayRows:
        """The rows it is a function of."""

    def evaluate(self, state: Any) -> tuple[float, KernelGradient, float]:
        """Its value, and its gradient with respect to kernel and points, and to log noise."""


class Coordinates:
    """A state as a vector: logarithms of lengthscales, variance and noise, then the points if they move.

    Parameters
    ----------
    state : State
        What vectors leave alone is taken from here.
    ard : bool
        Whether every feature has its own lengthscale.
    move_points : bool
    """

    def __init__(self, state: State, ard: bool, move_points: bool):
        self.start, self.ard, self.move_points = state, ard, move_points

    def vector(self, state: State) -> Array:
        """The coordinates of a state."""
        logs = [
            *(state.kernel.lengthscale if self.ard else state.kernel.lengthscale[:1]),
            state.kernel.variance,
        ]
        if state.noise is not None:
            logs.append(state.noise)
        return np.concatenate([np.log(logs), state.points.ravel() if self.move_points else []])

    def state(self, vector: Array) -> State:
        """The state with given coordinates."""
        n_features = self.start.points.shape[1]
        n_lengthscales = n_features if self.ard else 1
        lengthscale = np.broadcast_to(np.exp(vector[:n_lengthscales]), n_features).copy()
        variance, *rest = vector[n_lengthscales:]
        noise, points = self.start.noise, self.start.points
        if noise is not None:
            noise, *rest = float(np.exp(rest[0])), *rest[1:]
        if self.move_points:
            points = np.array(rest).reshape(points.shape)
        kernel = self.start.kernel.with_parameters(lengthscale, float(np.exp(variance)))
        return replace(self.start, kernel=kernel, points=points, noise=noise)

    def gradient(self, by_kernel: KernelGradient, by_log_noise: float) -> Array:
        """Derivatives with respect to the coordinates."""
        by_lengthscale = (
            by_kernel.log_lengthscale if self.ard else by_kernel.log_lengthscale.sum(keepdims=True)
        )
        noise = [] if self.start.noise is None else [by_log_noise]
        points = by_kernel.points.ravel() if self.move_points else np.empty(0)
        return np.concatenate([by_lengthscale, [by_kernel.log_variance], noise, points])


class KernelSearch:
    """Maximises an objective over log lengthscales, log variance, log noise and points, as far as wanted."""

    def __init__(
        self, objective: Objective, state: State, ard: bool, move_points: bool, progress: Progress
    ):
        self.objective, self.state, self.progress = objective, state, progress
        self.coordinates = Coordinates(state, ard, move_points)
        self.best, self.best_value, self.n_evaluations = state, -np.inf, 0

    def run(self, max_iter: int, tolerance: float = TOLERANCE) -> State:
        """The best state found."""
        start = self.coordinates.vector(self.state)
        n_logs = len(start) - self.coordinates.move_points * self.state.points.size
        around = [(value - _LOG_RANGE, value + _LOG_RANGE) for value in start[:n_logs]]
        anywhere = [(None, None)] * (len(start) - n_logs)
        options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 5, "ftol": tolerance, "gtol": 1e-5}
        found = minimize(
            self._loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=around + anywhere,
            options=options,
        )
        self.converged = (
            found.status != 1
        )  # that is max_iter; a line search that finds nothing better is an end
        return replace(self.best, n_iter=self.state.n_iter + self.n_evaluations)

    def _loss(self, vector: Array) -> tuple[float, Array]:
        """Minus the objective per row, and its gradient."""
        state, n = self.coordinates.state(vector), float(self.objective.rows.class_weights.sum())
        value, by_kernel, by_log_noise = self.objective.evaluate(state)
        self.n_evaluations += 1
        if value > self.best_value:
            self.best, self.best_value = state, value
        self.progress.evaluation(self.n_evaluations, value / n)
        return -value / n, -self.coordinates.gradient(by_kernel, by_log_noise) / n


def more_jitter(state: AnyState) -> AnyState:
    """Ten times the jitter, while that is still a small part of the kernel's variance."""
    if state.jitter >= _LARGEST_JITTER:
        raise np.linalg.LinAlgError(
            f"The kernel matrix of the inducing points cannot be factored even with a jitter of {state.jitter:g} "
            "times the kernel variance. Check X for values that are huge or all but identical and sample_weight for "
            "huge values, or pass a smaller n_inducing."
        )
    return replace(state, jitter=10.0 * state.jitter)


def warn_of_jitter(jitter: float) -> None:
    warnings.warn(
        f"The kernel matrix of the inducing points was close to singular: its diagonal was raised by {jitter:g} times "
        f"the kernel variance (usually {JITTER:g}). Predictions are a little smoother for it; fewer inducing points "
        "avoid it.",
        RuntimeWarning,
        stacklevel=6,
    )
