"""Training of the variational classifier: kernel by L-BFGS on the bound or by minibatches, then the belief."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._gp.core.arguments import KernelSettings
from ..._gp.core.posterior import Basis
from ..._gp.core.threads import Workers, row_slices
from ..._gp.rows.in_memory import ArrayRows, block_size
from ..._gp.training.kernel_search import JITTER, Coordinates, State, warn_of_jitter
from ..._gp.training.progress import Progress, Stage
from ..._gp.training.schedule import Schedule
from .belief import Belief
from .inference import Chunk, Inference
from .likelihoods import Likelihood
from .minibatches import StochasticSearch
from .model import VariationalModel
from .objective import VariationalObjective

Array = NDArray[np.float64]

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
class WhitenedChunks:
    """All rows in the whitened basis, chunk by chunk, computed anew in every pass."""

    rows: ArrayRows
    basis: Basis
    workers: Workers

    def __iter__(self) -> Iterator[Chunk]:
        n_points = len(self.basis.points)
        for rows, codes, weights in self.rows.chunks(max(1, _CHUNK_NUMBERS // n_points)):
            slices = [rows[place] for place in row_slices(len(rows), block_size(n_points))]
            yield Chunk(
                np.concatenate(list(self.workers.map(self.basis.vectors, slices))), codes, weights
            )


class VariationalTrainer(Schedule):
    """Kernel with the belief at its best throughout, or by minibatches; then the belief for all rows.

    Parameters
    ----------
    rows, settings, workers, rng, progress
        As in `Schedule`.
    likelihood : Likelihood
    tolerance : float
        Gain of the bound per row below which the kernel is settled.
    batch_size : int, "auto" or None
    """

    def __init__(
        self,
        rows: ArrayRows,
        settings: KernelSettings,
        likelihood: Likelihood,
        tolerance: float,
        batch_size: int | str | None,
        workers: Workers,
        rng: np.random.RandomState,
        progress: Progress,
    ):
        super().__init__(rows, settings, workers, rng, progress)
        self.likelihood, self.tolerance, self.batch_size = likelihood, tolerance, batch_size
        self.converged = True
        self._belief: Belief | None = None

    def objective(self, sample: ArrayRows, state: State) -> VariationalObjective:
        """The bound with the belief at its best."""
        tolerance = _INNER * self.tolerance * float(sample.class_weights.sum())
        self._objective = VariationalObjective(
            sample, self.likelihood, state.jitter, tolerance, self.workers
        )
        return self._objective

    def run(self) -> tuple[VariationalModel, float, int]:
        """The fitted model, its bound, and the number of evaluations and epochs it took."""
        kernel = self.start_kernel(_START_VARIANCE)
        state = State(kernel, self.first_points(kernel), jitter=_JITTER)
        if self.kernel_settings.max_iter > 0:
            state = self._searched(state)
        elif len(state.points) < self.n_points:
            state = self._with_all_points(state)
        basis, state = self.basis(state)
        with self.progress.stage(
            Stage.BELIEF, f"belief: {len(basis.points)} points, {len(self.rows)} rows"
        ):
            chunks = WhitenedChunks(self.rows, basis, self.workers)
            numbers = len(self.rows) * (len(basis.points) + 2 * self.likelihood.n_latents)
            stride = -(-numbers // _KEPT_NUMBERS)
            inference = Inference(
                chunks, self.likelihood, state.kernel.variance, self.workers, stride
            )
            tolerance = _INNER * self.tolerance * float(self.rows.class_weights.sum())
            fit, passes = inference.settle(self._start_belief(len(basis.points)), tolerance)
            self.progress.note(f"{passes} passes")
        if state.jitter > JITTER:
            warn_of_jitter(state.jitter)
        model = VariationalModel(
            state.kernel, state.points, state.jitter, self.likelihood, fit.belief
        )
        return model, fit.bound, state.n_iter

    def _searched(self, state: State) -> State:
        max_iter = self.kernel_settings.max_iter
        if isinstance(self.batch_size, int):
            if len(state.points) < self.n_points:
                state = self._with_all_points(state)
            return self._by_minibatches(state, self.batch_size, max_iter)
        state = self._by_full_batches(state, max_iter)
        if len(state.points) < self.n_points:
            state = self._by_full_batches(self._with_all_points(state), max(1, max_iter // 10))
        if self.batch_size == "auto" and self.sampled:
            # These epochs refine what the sample taught: that it taught enough is for it to say.
            converged = self.converged
            state = self._by_minibatches(state, _AUTOMATIC_BATCH, min(max_iter, _AUTOMATIC_EPOCHS))
            self.converged = converged
        return state

    def _with_all_points(self, state: State) -> State:
        return replace(state, points=self.all_points(state.kernel, np.ones(len(self.pool))))

    def _start_belief(self, n_points: int) -> Belief:
        if self._belief is None or self._belief.mean.shape[1] != n_points:
            return Belief.prior(self.likelihood.n_latents, n_points)
        return self._belief

    def _by_full_batches(self, state: State, max_iter: int) -> State:
        state = self.optimise(state, max_iter, self.tolerance)
        self._belief = self._objective.belief
        return state

    def _by_minibatches(self, state: State, batch_size: int, max_epochs: int) -> State:
        settings = self.kernel_settings
        coordinates = Coordinates(state, settings.ard, settings.optimize_inducing)
        search = StochasticSearch(
            self.rows,
            self.likelihood,
            coordinates,
            batch_size,
            self.tolerance,
            self.workers,
            self.rng,
            self.progress,
        )
        with self.progress.stage(Stage.KERNEL, f"minibatches of {batch_size} rows"):
            belief = self._start_belief(len(state.points))
            state, self._belief, history, self.converged = search.run(state, belief, max_epochs)
            self.progress.note(f"{len(history)} epochs")
        return state
