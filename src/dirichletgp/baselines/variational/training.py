"""Training of the variational classifier: the kernel first, then the belief."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._gp.core.parallel import Workers, block_size, row_slices
from ..._gp.core.regressions import Basis
from ..._gp.rows.in_memory import InMemoryRows
from ..._gp.training.inducing_points import PointPlacer
from ..._gp.training.kernel_search import (
    Coordinates,
    KernelTraining,
    State,
    WithBelief,
    basis_of,
    warn_of_jitter,
)
from ..._gp.training.settings import KernelSettings, Resources, Stage
from .belief import Belief
from .inference import Inference, Share, WhitenedRows
from .likelihoods import Likelihood
from .minibatches import StochasticSearch
from .model import VariationalModel
from .objective import VariationalObjective

_START_VARIANCE = 2.0
# Latent variances of hundreds are common here, and jitter is relative to them.
_JITTER = 1e-8
_AUTOMATIC_BATCH, _AUTOMATIC_EPOCHS = 4_096, 5
_CHUNK_NUMBERS = 2**22  # numbers in the kernel vectors of a chunk of rows: 32 MB
_KEPT_NUMBERS = 2**24  # numbers that are kept of the rows between passes: 128 MB
# A step of the belief may be left out if it gains less than this share of the tolerance on the
# bound.
_INNER = 0.3


@dataclass(frozen=True)
class WhitenedPasses:
    """All rows in the whitened basis, chunk by chunk, computed anew in every pass."""

    rows: InMemoryRows
    basis: Basis
    workers: Workers

    def __iter__(self) -> Iterator[WhitenedRows]:
        n_points = len(self.basis.points)
        for rows, codes, weights in self.rows.in_order(max(1, _CHUNK_NUMBERS // n_points)):
            slices = [rows[place] for place in row_slices(len(rows), block_size(n_points))]
            yield WhitenedRows(
                np.concatenate(list(self.workers.map(self.basis.vectors, slices))), codes, weights
            )


@dataclass(frozen=True)
class VariationalSettings:
    """What training needs to know of the parameters of `VariationalGPClassifier`.

    Attributes
    ----------
    kernel : KernelSettings
    tolerance : float
        Gain of the bound per row below which the kernel is settled.
    batch_size : int, "auto" or None
    """

    kernel: KernelSettings
    tolerance: float
    batch_size: int | str | None


class Trained(NamedTuple):
    """The fitted model, its bound, evaluations and epochs it took, and whether it settled."""

    model: VariationalModel
    bound: float
    n_iter: int
    converged: bool


class VariationalTrainer:
    """Kernel with the belief at its best throughout, or by minibatches; then the belief for all.

    Parameters
    ----------
    rows : InMemoryRows
    likelihood : Likelihood
    settings : VariationalSettings
    resources : Resources
    """

    def __init__(
        self,
        rows: InMemoryRows,
        likelihood: Likelihood,
        settings: VariationalSettings,
        resources: Resources,
    ):
        self.rows = rows
        self.likelihood = likelihood
        self.settings = settings
        self.resources = resources
        self._placer = PointPlacer(rows, settings.kernel, resources)
        self._training = KernelTraining(rows, settings.kernel, resources)
        self._converged = True
        self._belief: Belief | None = None

    def run(self) -> Trained:
        """All stages."""
        workers, _, progress = self.resources
        kernel = self._training.start_kernel(self._placer.pool, _START_VARIANCE)
        state = State(kernel, self._placer.first_points(kernel), jitter=_JITTER)
        if self.settings.kernel.max_iter > 0:
            state = self._searched(state)
        else:
            state = self._with_all_points(state)
        basis, state = basis_of(state)
        n_points = len(basis.points)
        name = f"belief: {n_points} points, {len(self.rows)} rows"
        with progress.stage(Stage.BELIEF, name):
            passes_over_rows = WhitenedPasses(self.rows, basis, workers)
            numbers = len(self.rows) * (n_points + 2 * self.likelihood.n_latents)
            stride = -(-numbers // _KEPT_NUMBERS)
            variance = state.kernel.variance
            share = Share(stride=stride)
            inference = Inference(passes_over_rows, self.likelihood, variance, workers, share)
            fit, passes = inference.settle(self._start_belief(n_points), self._inner(self.rows))
            progress.note(f"{passes} passes")
        warn_of_jitter(state.jitter)
        model = VariationalModel(
            state.kernel, state.points, state.jitter, self.likelihood, fit.belief
        )
        return Trained(model, fit.bound, state.n_iter, self._converged)

    def _inner(self, rows: InMemoryRows) -> float:
        """What a step of the belief must gain, for all of these rows together."""
        return _INNER * self.settings.tolerance * float(rows.class_weights.sum())

    def _searched(self, state: State) -> State:
        max_iter = self.settings.kernel.max_iter
        batch_size = self.settings.batch_size
        if isinstance(batch_size, int):
            return self._by_minibatches(self._with_all_points(state), batch_size, max_iter)
        state, sampled = self._by_full_batches(state, max_iter)
        if len(state.points) < self._placer.n_points:
            state = self._with_all_points(state)
            state, sampled = self._by_full_batches(state, max(1, max_iter // 10))
        if batch_size == "auto" and sampled:
            # These epochs refine what the sample taught: that it taught enough is for it to say.
            converged = self._converged
            epochs = min(max_iter, _AUTOMATIC_EPOCHS)
            state = self._by_minibatches(state, _AUTOMATIC_BATCH, epochs)
            self._converged = converged
        return state

    def _with_all_points(self, state: State) -> State:
        if len(state.points) == self._placer.n_points:
            return state
        return replace(state, points=self._placer.all_points(state.kernel))

    def _start_belief(self, n_points: int) -> Belief:
        if self._belief is None or self._belief.mean.shape[1] != n_points:
            return Belief.prior(self.likelihood.n_latents, n_points)
        return self._belief

    def _by_full_batches(self, state: State, max_iter: int) -> tuple[State, bool]:
        """The state found, and whether it was learned from a sample of the rows."""
        made: list[VariationalObjective] = []
        typical = self._training.typical_kernel(self._placer.pool, _START_VARIANCE)

        def objective(sample: InMemoryRows, state: State) -> WithBelief:
            tolerance = self._inner(sample)
            workers = self.resources.workers
            made.append(
                VariationalObjective(sample, self.likelihood, state.jitter, tolerance, workers)
            )
            return WithBelief(made[-1], typical, 1.0)

        found = self._training.run(state, objective, max_iter, self.settings.tolerance)
        self._belief = made[-1].belief
        self._converged = found.converged
        return found.state, found.sampled

    def _by_minibatches(self, state: State, batch_size: int, max_epochs: int) -> State:
        coordinates = Coordinates(state, self.settings.kernel.optimize_inducing)
        tolerance = self.settings.tolerance
        search = StochasticSearch(self.rows, self.likelihood, batch_size, tolerance, self.resources)
        progress = self.resources.progress
        with progress.stage(Stage.KERNEL, f"minibatches of {batch_size} rows"):
            belief = self._start_belief(len(state.points))
            outcome = search.run(coordinates, belief, max_epochs)
            progress.note(f"{outcome.n_epochs} epochs")
        self._belief = outcome.belief
        self._converged = outcome.converged
        return outcome.state
