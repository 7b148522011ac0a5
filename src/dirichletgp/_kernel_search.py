"""Search for the kernel's parameters: L-BFGS on the bound, at a fixed jitter."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ._kernels import Kernel
from ._labels import LabelTransform
from ._objective import Objective
from ._progress import Progress

Array = NDArray[np.float64]

JITTER = 1e-6
_LARGEST_JITTER = 1e-2
# Hyperparameters may move by this much (in logarithms) in one optimisation.
_LOG_RANGE = 7.0


@dataclass(frozen=True)
class State:
    """What the stages hand on to each other."""

    kernel: Kernel
    points: Array
    alpha_epsilon: float
    jitter: float = JITTER
    n_iter: int = 0

    @property
    def transform(self) -> LabelTransform:
        return LabelTransform.dirichlet(self.alpha_epsilon)


class KernelSearch:
    """Maximises the bound over log lengthscales, log variance and, if wanted, the points."""

    def __init__(self, objective: Objective, state: State, ard: bool, move_points: bool, progress: Progress):
        self.objective, self.state, self.progress = objective, state, progress
        self.ard, self.move_points = ard, move_points
        self.best, self.best_value, self.n_evaluations = state, -np.inf, 0

    def run(self, max_iter: int) -> State:
        """The best state found."""
        start = self._pack(self.state.kernel.lengthscale, np.log(self.state.kernel.variance), self.state.points)
        n_hyper = len(start) - self.move_points * self.state.points.size
        around = [(value - _LOG_RANGE, value + _LOG_RANGE) for value in start[:n_hyper]]
        anywhere = [(None, None)] * (len(start) - n_hyper)
        options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 5, "ftol": 1e-7, "gtol": 1e-5}
        minimize(
            self._negative_bound,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=around + anywhere,
            options=options,
        )
        return replace(self.best, n_iter=self.state.n_iter + self.n_evaluations)

    def _pack(self, lengthscale: Array, log_variance: Any, points: Array) -> Array:
        logs = np.log(lengthscale if self.ard else lengthscale[:1])
        return np.concatenate([logs, [log_variance], points.ravel() if self.move_points else []])

    def _unpack(self, vector: Array) -> State:
        n_features = self.state.points.shape[1]
        n_lengthscales = n_features if self.ard else 1
        lengthscale = np.broadcast_to(np.exp(vector[:n_lengthscales]), n_features).copy()
        kernel = self.state.kernel.with_parameters(lengthscale, float(np.exp(vector[n_lengthscales])))
        points = self.state.points
        if self.move_points:
            points = vector[n_lengthscales + 1 :].reshape(points.shape)
        return replace(self.state, kernel=kernel, points=points)

    def _negative_bound(self, vector: Array) -> tuple[float, Array]:
        state, n = self._unpack(vector), float(self.objective.rows.class_weights.sum())
        value, gradient = self.objective.value_and_gradient(state.kernel, state.points)
        self.n_evaluations += 1
        if value > self.best_value:
            self.best, self.best_value = state, value
        self.progress.evaluation(self.n_evaluations, value / n)
        lengthscale = gradient.log_lengthscale if self.ard else gradient.log_lengthscale.sum(keepdims=True)
        moved = gradient.points.ravel() if self.move_points else np.empty(0)
        return -value / n, -np.concatenate([lengthscale, [gradient.log_variance], moved]) / n


def more_jitter(state: State) -> State:
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
