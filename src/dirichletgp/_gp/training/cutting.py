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
from ..core.regional import RegionalBasis
from ..core.regressions import Basis, LabelTransform, Posterior
from ..core.statistics import ClassStatistics
from ..rows.door import PassObserver
from ..rows.in_memory import InMemoryRows, folds_of
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

    Attributes
    ----------
    best : Proposal or None
    decided : bool
        Whether the best proposal needs no further comparison.
    """

    def __init__(self, rows: Any, settings: DirichletSettings, resources: Resources):
        self.rows = rows
        self.settings = settings
        # Numbers of its own: rows that are not cut have the model of n_regions=1, to the last bit.
        rng = np.random.RandomState()
        rng.set_state(resources.rng.get_state())
        self.resources = resources._replace(rng=rng)
        self.decided = False
        self.best: Proposal | None = None
        reason = self._obstacle()
        self._asked_for = not isinstance(settings.n_regions, str) and settings.n_regions > 1
        if self._asked_for and reason:
            raise ValueError(
                f"n_regions={settings.n_regions} is not possible {reason}; pass n_regions=1."
            )
        self._possible = not reason

    def _obstacle(self) -> str:
        """Why rows cannot be cut, or nothing."""
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
                if self.best is None and not self._asked_for:
                    first = self._log_probabilities_of_first(state, pool, found.judges)
                    loss = _loss(first, found.judges)
                    progress.note(f"{len(state.points)} points without regions: {loss:.4f}")
                    enough = _FAR_BETTER * loss
                if self.best is None or found.loss < self.best.loss:
                    self.best = found
                taken = self._asked_for or (
                    may_decide and found.loss < enough and _is_sure(found, first, 3.0)
                )
                if taken:
                    self.decided = True
                    break
            if self.best is None:
                progress.note("the rows cannot be cut")

    def take_up(self, best: Proposal | None, decided: bool) -> None:
        """Go on with what was proposed before a fit was stopped."""
        self.best, self.decided = best, decided

    def is_better_than(self, model: Model) -> bool:
        """Whether the best proposal is worth more than a finished model without regions."""
        if self.best is None:
            return False
        with self.resources.progress.stage(Stage.REGIONS, "regions compared"):
            judges = self.best.judges

            def latent(rows: slice) -> tuple[Array, Array]:
                vectors = model.basis.vectors(judges.X[rows])
                return model.posterior.latent_without_votes(
                    vectors, judges.votes(rows), fold=folds_of(judges.X[rows])
                )

            without = self._log_probabilities(judges, latent)
            loss = _loss(without, judges)
            better = self.best.loss < (1.0 - _GAIN) * loss and _is_sure(self.best, without, 1.0)
            chosen = f"{self.best.cutting.regions.number} regions" if better else "no regions"
            self.resources.progress.note(
                f"{chosen}: left-out rows {self.best.loss:.4f} with, {loss:.4f} without"
            )
        return better

    def basis(self) -> RegionalBasis:
        """The bases of the best proposal."""
        assert self.best is not None
        progress = self.resources.progress
        number = self.best.cutting.regions.number
        with progress.stage(Stage.POINTS, f"points of {number} regions"):
            basis = self.best.basis(self.resources.workers)
            progress.note(f"{len(basis.points)} in all")
        return basis

    def model(
        self, basis: RegionalBasis, alpha_epsilon: float, observer: PassObserver
    ) -> RegionalModel:
        """The model of the best proposal, on all rows."""
        assert self.best is not None
        everything, number = self.rows.everything, basis.regions.number
        constants = self.best.transform, self.settings.class_prior, alpha_epsilon
        make = partial(_model_of_region, constants)
        with self.resources.progress.stage(
            Stage.STATISTICS, f"statistics: {number} regions, all rows"
        ):
            if hasattr(everything, "solved_regions"):
                # Rows on a cluster: regions are solved where their sums are.
                solved = everything.solved_regions(basis, partial(_solved_region, make))
                parts, posteriors = zip(*solved, strict=True)
                counts = everything.class_weights
            else:
                statistics = everything.class_statistics(basis, self.resources.workers, observer)
                parts, posteriors = statistics.parts, (None,) * number
                counts = statistics.counts
        own = zip(basis.bases, basis.jitters, parts, posteriors, strict=True)
        return RegionalModel(
            basis.regions, tuple(make(*each) for each in own), counts, self.rows.prior
        )

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


def _model_of_region(
    constants: tuple[LabelTransform, Any, float],
    basis: Basis,
    jitter: float,
    statistics: ClassStatistics,
    solved: Posterior | None = None,
) -> Model:
    """The model of a region, for label transform, `class_prior` and alpha_epsilon."""
    transform, prior, alpha_epsilon = constants
    return Model(
        basis=basis,
        jitter=jitter,
        statistics=statistics,
        transform=transform,
        prior=class_prior(prior, statistics.counts),
        alpha_epsilon=alpha_epsilon,
        solved=solved,
    )


def _solved_region(
    make: Callable[..., Model], basis: Basis, jitter: float, statistics: ClassStatistics
) -> Posterior:
    """The solved regressions of a region."""
    return make(basis, jitter, statistics).posterior


def _loss(log_probabilities: Array, judges: InMemoryRows) -> float:
    """Mean negative log-likelihood of rows."""
    return -float(np.average(log_probabilities, weights=judges.weights))


def _is_sure(proposal: Proposal, other: Array, errors: float) -> bool:
    """Whether rows gain over other log probabilities (n,) by so many standard errors."""
    gain = proposal.log_probabilities - other
    return bool(gain.mean() > errors * gain.std() / np.sqrt(len(gain)))
