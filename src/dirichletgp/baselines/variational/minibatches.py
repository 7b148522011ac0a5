"""Minibatches: natural-gradient steps of the belief and Adam for the kernel, for more rows than full batches can take.

Each batch gives an unbiased estimate of the bound of all rows. Step lengths are halved when a few
epochs, each of which sees every row once, did not improve on the best before them; the search ends
when that has happened a few times.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._gp.core.threads import Workers
from ..._gp.rows.in_memory import ArrayRows
from ..._gp.training.kernel_search import Coordinates, State
from ..._gp.training.progress import Progress
from .belief import Belief, solved
from .inference import Fit, Inference, moved
from .likelihoods import Likelihood
from .objective import KernelView

Array = NDArray[np.float64]

_BELIEF_STEP, _KERNEL_STEP = 0.1, 0.02
_PATIENCE, _HALVINGS = 3, 3


class Adam:
    """Kingma and Ba's rule: steps of about equal length in every coordinate, whatever the size of its derivative."""

    def __init__(self, size: int):
        self._first, self._second, self._count = np.zeros(size), np.zeros(size), 0

    def step(self, gradient: Array, length: float) -> Array:
        """A step up the gradient."""
        self._count += 1
        self._first = 0.9 * self._first + 0.1 * gradient
        self._second = 0.999 * self._second + 0.001 * gradient**2
        first = self._first / (1.0 - 0.9**self._count)
        second = self._second / (1.0 - 0.999**self._count)
        return length * first / (np.sqrt(second) + 1e-12)


@dataclass
class StochasticSearch:
    """Maximises the bound of all rows over belief and kernel, batch by batch.

    Attributes
    ----------
    rows : ArrayRows
    likelihood : Likelihood
    coordinates : Coordinates
    batch_size : int
    tolerance : float
        An epoch must gain more than this per row to count as progress.
    workers : Workers
    rng : RandomState
    progress : Progress
    """

    rows: ArrayRows
    likelihood: Likelihood
    coordinates: Coordinates
    batch_size: int
    tolerance: float
    workers: Workers
    rng: np.random.RandomState
    progress: Progress

    def run(
        self, state: State, belief: Belief, max_epochs: int
    ) -> tuple[State, Belief, list[float], bool]:
        """Kernel and belief, the estimated bound of every epoch, and whether the search came to its end."""
        adam = Adam(len(self.coordinates.vector(state)))
        history: list[float] = []
        halvings, waited, total = 0, 0, float(self.rows.class_weights.sum())
        for epoch in range(max_epochs):
            state, belief, bound = self._epoch(state, belief, adam, 0.5**halvings)
            waited = (
                0 if not history or bound > max(history) + self.tolerance * total else waited + 1
            )
            history.append(bound)
            if waited == _PATIENCE:
                halvings, waited = halvings + 1, 0
            self.progress.evaluation(epoch + 1, bound / total)
            if halvings > _HALVINGS:
                break
        return (
            replace(state, n_iter=state.n_iter + len(history)),
            belief,
            history,
            halvings > _HALVINGS,
        )

    def _epoch(
        self, state: State, belief: Belief, adam: Adam, length: float
    ) -> tuple[State, Belief, float]:
        """Every row once, in random order; the mean of the estimated bounds is that of the epoch."""
        order, bounds = self.rng.permutation(len(self.rows)), []
        n_batches = max(1, len(self.rows) // self.batch_size)
        for positions in np.array_split(order, n_batches):
            batch = self.rows.take(np.sort(positions))
            view = KernelView(state.kernel, state.points, state.jitter, self.workers)
            scale = len(self.rows) / len(batch)
            chunk = view.chunk(batch.X, batch.codes, batch.weights)
            inference = Inference(
                [chunk], self.likelihood, state.kernel.variance, self.workers, scale=scale
            )
            fit = inference.measure(belief)
            bounds.append(fit.bound)
            vector = self.coordinates.vector(state)
            gradient = self.coordinates.gradient(view.gradient(fit, batch.X), 0.0)
            belief = _natural_step(inference, fit, length * _BELIEF_STEP)
            state = replace(
                self.coordinates.state(vector + adam.step(gradient, length * _KERNEL_STEP)),
                n_iter=state.n_iter,
            )
        return state, belief, float(np.mean(bounds))


def _natural_step(inference: Inference, fit: Fit, length: float) -> Belief:
    """A natural-gradient step from a fit."""
    target = fit.precision
    try:
        after = Belief(fit.belief.mean, (1.0 - length) * fit.belief.precision + length * target)
        return Belief(after.mean + length * solved(after.factors, fit.by_mean), after.precision)
    except np.linalg.LinAlgError:
        return moved(fit.belief, inference.step_from(fit), length)
