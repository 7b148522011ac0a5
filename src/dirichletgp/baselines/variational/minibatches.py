"""Minibatches: natural-gradient steps of the belief and Adam for the kernel.

Each batch gives an unbiased estimate of the bound of all rows. Step lengths are halved when a few
epochs, each of which sees every row once, did not improve on the best before them; the search ends
when that has happened a few times.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._gp.core.arrays import Array
from ..._gp.rows.in_memory import InMemoryRows
from ..._gp.training.kernel_search import Coordinates, State
from ..._gp.training.settings import Resources
from .belief import Belief, solved
from .inference import Fit, Inference, Share, moved
from .likelihoods import Likelihood
from .objective import KernelView

_BELIEF_STEP, _KERNEL_STEP = 0.1, 0.02
_PATIENCE, _HALVINGS = 3, 3


class Adam:
    """Kingma and Ba's rule: steps of about equal length in every coordinate."""

    def __init__(self, size: int):
        self._first = np.zeros(size)
        self._second = np.zeros(size)
        self._count = 0

    def step(self, gradient: Array, length: float) -> Array:
        """A step up the gradient."""
        self._count += 1
        self._first = 0.9 * self._first + 0.1 * gradient
        self._second = 0.999 * self._second + 0.001 * gradient**2
        first = self._first / (1.0 - 0.9**self._count)
        second = self._second / (1.0 - 0.999**self._count)
        return length * first / (np.sqrt(second) + 1e-12)


class _Outcome(NamedTuple):
    """Kernel and belief, the number of epochs, and whether the search came to its end."""

    state: State
    belief: Belief
    n_epochs: int
    converged: bool


@dataclass(frozen=True)
class StochasticSearch:
    """Maximises the bound of all rows over belief and kernel, batch by batch.

    Attributes
    ----------
    rows : InMemoryRows
    likelihood : Likelihood
    batch_size : int
    tolerance : float
        An epoch must gain more than this per row to count as progress.
    resources : Resources
    """

    rows: InMemoryRows
    likelihood: Likelihood
    batch_size: int
    tolerance: float
    resources: Resources

    def run(self, coordinates: Coordinates, belief: Belief, max_epochs: int) -> _Outcome:
        """From the state that the coordinates start from."""
        state = coordinates.start
        adam = Adam(len(coordinates.vector(state)))
        total = float(self.rows.class_weights.sum())
        best = -np.inf
        n_epochs = halvings = waited = 0
        while n_epochs < max_epochs and halvings <= _HALVINGS:
            state, belief, bound = self._epoch(coordinates, state, belief, adam, 0.5**halvings)
            n_epochs += 1
            waited = 0 if bound > best + self.tolerance * total else waited + 1
            best = max(best, bound)
            if waited == _PATIENCE:
                halvings += 1
                waited = 0
            self.resources.progress.evaluation(n_epochs, bound / total)
        state = replace(state, n_iter=state.n_iter + n_epochs)
        return _Outcome(state, belief, n_epochs, halvings > _HALVINGS)

    def _epoch(
        self,
        coordinates: Coordinates,
        state: State,
        belief: Belief,
        adam: Adam,
        length: float,
    ) -> tuple[State, Belief, float]:
        """Every row once, in random order; the mean of the estimated bounds is the epoch's."""
        workers, rng, _ = self.resources
        order = rng.permutation(len(self.rows))
        bounds = []
        n_batches = max(1, len(self.rows) // self.batch_size)
        for positions in np.array_split(order, n_batches):
            batch = self.rows.take(np.sort(positions))
            view = KernelView(state.kernel, state.points, state.jitter, workers)
            scale = len(self.rows) / len(batch)
            rows = view.whitened(batch.X, batch.codes, batch.weights)
            variance = state.kernel.variance
            inference = Inference([rows], self.likelihood, variance, workers, Share(scale=scale))
            fit = inference.measure(belief)
            bounds.append(fit.bound)
            vector = coordinates.vector(state)
            gradient = coordinates.gradient(view.gradient(fit, batch.X), 0.0)
            belief = _natural_step(inference, fit, length * _BELIEF_STEP)
            moved_to = vector + adam.step(gradient, length * _KERNEL_STEP)
            state = replace(coordinates.state(moved_to), n_iter=state.n_iter)
        return state, belief, float(np.mean(bounds))


def _natural_step(inference: Inference, fit: Fit, length: float) -> Belief:
    """A natural-gradient step from a fit."""
    target = fit.precision
    try:
        after = Belief(fit.belief.mean, (1.0 - length) * fit.belief.precision + length * target)
        return Belief(after.mean + length * solved(after.factors, fit.by_mean), after.precision)
    except np.linalg.LinAlgError:
        return moved(fit.belief, inference.step_from(fit), length)
