"""The decision for or against regions, and their model.

Proposals are compared with a model without regions on the same left-out rows. The first such model,
that of the search for the kernel, has few points; where there are many rows and regions are far
better than that, nothing else is tried. Otherwise the model without regions is finished, and the
better of the two is kept: regions must gain enough to be worth their memory.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.parallel import row_slices
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import LabelTransform, Posterior
from ..rows.door import PassObserver
from ..rows.in_memory import InMemoryRows
from .fitted import Model
from .kernel_search import State, basis_of
from .label_search import LabelSearch, rows_that_score, scoring_rows
from .region_search import (
    EVALUATIONS,
    Proposal,
    Size,
    proposals,
    size_asked_for,
    sizes_to_try,
)
from .regional import RegionalModel
from .settings import DirichletSettings, Resources, Stage, class_prior

# Regions whose loss is below this part of that of the first model need no further comparison.
_FAR_BETTER = 0.85
# What regions must gain over the finished model, as a part of its loss.
_GAIN = 0.005
_BLOCK_ROWS = 512


class Cutter:
    """Proposes regions, and makes their model.

    Parameters
    ----------
    rows : TrainingRows
    settings : DirichletSettings
    resources : Resources
    in_pieces : bool
        Whether the fit may be stopped and taken up again, which regions cannot be.
    """

    def __init__(
        self,
        rows: Any,
        settings: DirichletSettings,
        resources: Resources,
        in_pieces: bool,
    ):
        self.rows = rows
        self.settings = settings
        self.resources = resources
        self.decided = False
        self._best: Proposal | None = None
        reason = self._obstacle(in_pieces)
        self._asked_for = not isinstance(settings.n_regions, str) and settings.n_regions > 1
        if self._asked_for and reason:
            raise ValueError(
                f"n_regions={settings.n_regions} is not possible {reason}; pass n_regions=1."
            )
        self._possible = not reason

    def _obstacle(self, in_pieces: bool) -> str:
        """Why rows cannot be cut, or nothing."""
        if in_pieces:
            return "with a checkpoint"
        if not getattr(self.rows.everything, "takes_regions", False):
            return "with rows on a device"
        if not isinstance(self.settings.inducing, str):
            return "with given inducing points"
        if self.settings.optimize_inducing:
            return "with optimize_inducing=True"
        return ""

    def propose(self, state: State, pool: InMemoryRows, may_decide: bool = True) -> None:
        """Judge proposals beside the first model, which has the kernel of a state and few points.

        Parameters
        ----------
        state : State
        pool : InMemoryRows
            Rows for the first model to stand on.
        may_decide : bool, default=True
            Whether regions that are far better than the first model are taken. Where rows are not
            many, the model with all points may be better still.
        """
        if not self._possible:
            return
        progress = self.resources.progress
        with progress.stage(Stage.REGIONS):
            choose = partial(self._labels, state)
            sample = self.rows.sample
            enough, first = np.inf, np.empty(0)
            for found in proposals(sample, state.kernel, choose, self._sizes(), self.resources):
                progress.note(
                    f"{found.cutting.regions.number} regions: {found.loss:.4f}, "
                    f"with lengthscales times {found.stretch:g}"
                )
                if self._best is None and not self._asked_for:
                    first = self._log_probabilities_of_first(state, pool, found.judges)
                    loss = _loss(first, found.judges)
                    progress.note(f"{len(state.points)} points without regions: {loss:.4f}")
                    enough = _FAR_BETTER * loss
                if self._best is None or found.loss < self._best.loss:
                    self._best = found
                taken = self._asked_for or (
                    may_decide and found.loss < enough and _is_sure(found, first, 3.0)
                )
                if taken:
                    self.decided = True
                    break
            if self._best is None:
                progress.note("the rows cannot be cut")

    def is_better_than(self, model: Model) -> bool:
        """Whether the best proposal is worth more than a finished model without regions."""
        if self._best is None:
            return False
        with self.resources.progress.stage(Stage.REGIONS, "regions compared"):
            judges = self._best.judges

            def latent(rows: slice) -> tuple[Array, Array]:
                vectors = model.basis.vectors(judges.X[rows])
                return model.posterior.latent_without_votes(vectors, judges.votes(rows))

            without = self._log_probabilities(judges, latent)
            loss = _loss(without, judges)
            better = self._best.loss < (1.0 - _GAIN) * loss and _is_sure(self._best, without, 1.0)
            chosen = f"{self._best.cutting.regions.number} regions" if better else "no regions"
            self.resources.progress.note(
                f"{chosen}: left-out rows {self._best.loss:.4f} with, {loss:.4f} without"
            )
        return better

    @property
    def search(self) -> LabelSearch:
        """What judged the best proposal."""
        assert self._best is not None
        return self._best.search

    def model(self, alpha_epsilon: float, observer: PassObserver) -> RegionalModel:
        """The model of the best proposal, on all rows."""
        best = self._best
        assert best is not None
        progress, workers = self.resources.progress, self.resources.workers
        number = best.cutting.regions.number
        with progress.stage(Stage.POINTS, f"points of {number} regions"):
            basis = best.basis(workers)
            progress.note(f"{len(basis.points)} in all")
        with progress.stage(Stage.STATISTICS, f"statistics: {number} regions, all rows"):
            statistics: Any = self.rows.everything.class_statistics(basis, workers, observer)
        transform = best.transform
        models = tuple(
            Model(
                basis=of_region,
                jitter=jitter,
                statistics=part,
                transform=transform,
                prior=class_prior(self.settings.class_prior, part.counts),
                alpha_epsilon=alpha_epsilon,
            )
            for of_region, jitter, part in zip(
                basis.bases, basis.jitters, statistics.parts, strict=True
            )
        )
        regional = RegionalModel(basis.regions, models, statistics.counts, self.rows.prior)
        return regional

    def _sizes(self) -> list[Size]:
        settings = self.settings
        given = settings.n_inducing, len(self.rows.prior), settings.memory_limit
        if isinstance(settings.n_regions, str):
            return sizes_to_try(len(self.rows.sample), *given)
        return [size_asked_for(settings.n_regions, *given)]

    def _labels(self, state: Any, search: LabelSearch) -> LabelTransform:
        """The label transform that a search chooses, as far as it may."""
        if self.settings.label_transform == "learned":
            return search.best_transform(state.transform, EVALUATIONS)
        if isinstance(self.settings.alpha_epsilon, str):
            return LabelTransform.dirichlet(search.best_alpha()[1])
        return LabelTransform.dirichlet(self.settings.alpha_epsilon)

    def _log_probabilities_of_first(
        self, state: State, pool: InMemoryRows, judges: InMemoryRows
    ) -> Array:
        """Log probabilities (n,) under the first model, most of whose rows are others."""
        workers = self.resources.workers
        basis, state = basis_of(state)
        statistics = pool.class_statistics(basis, workers)
        prior, variance = self.rows.prior, basis.kernel.variance
        rows = rows_that_score(pool, basis, scoring_rows(len(prior)), self.resources)
        transform = self._labels(state, LabelSearch(statistics, variance, prior, rows, workers))
        posterior = Posterior.from_statistics(statistics, variance, transform, prior, workers)
        return self._log_probabilities(
            judges, lambda rows: posterior.latent(basis.vectors(judges.X[rows]))
        )

    def _log_probabilities(
        self, judges: InMemoryRows, latent: Callable[[slice], tuple[Array, Array]]
    ) -> Array:
        """Log probabilities (n,) of labels, for a function from places to latents."""
        parts = self.resources.workers.map(
            lambda rows: log_probability_of(judges.codes[rows], *latent(rows)),
            row_slices(len(judges), _BLOCK_ROWS),
        )
        return np.concatenate(list(parts))


def _loss(log_probabilities: Array, judges: InMemoryRows) -> float:
    """Mean negative log-likelihood of rows."""
    return -float(np.average(log_probabilities, weights=judges.weights))


def _is_sure(proposal: Proposal, other: Array, errors: float) -> bool:
    """Whether rows gain over other log probabilities (n,) by so many standard errors."""
    gain = proposal.search.log_probabilities(proposal.transform) - other
    return bool(gain.mean() > errors * gain.std() / np.sqrt(len(gain)))
