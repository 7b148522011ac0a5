"""What the stages of a fit hand on to each other, and what a long fit writes down on its way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.arrays import Array, Integers
from ..core.kernels import Kernel
from ..core.parallel import Workers
from ..core.regional import RegionalBasis, RegionalStatistics
from ..core.regressions import LabelTransform
from ..core.statistics import ClassStatistics
from ..rows.in_memory import InMemoryRows
from .kernel_search import State
from .region_search import Proposal
from .settings import Progress

# The kernel is learned as if labels were noisy: where they are not, little is lost; where they are
# and the noise is too small, lengthscales become so short that every row explains itself, and
# nothing later gets them out of it.
FIRST_ALPHA = 0.3


@dataclass(frozen=True)
class DirichletState(State):
    """Kernel, points, and the constant of the label transform."""

    alpha_epsilon: float = FIRST_ALPHA
    even_for: Array | None = None
    """The prior (C,) of many classes, which have one noise; None: two, as the transform says."""
    labels: LabelTransform | None = None
    """The label transform that was best with few points, if it was looked for."""

    @property
    def transform(self) -> LabelTransform:
        """The Dirichlet transform, or one with equal noises."""
        if self.even_for is not None:
            return LabelTransform.even(self.alpha_epsilon, self.even_for)
        return LabelTransform.dirichlet(self.alpha_epsilon)


class Expected(NamedTuple):
    """What a fit knows of a model before it is trained, to compare a record with.

    Attributes
    ----------
    kernel : type of Kernel
    n_classes : int
    n_features : int
        Scaled.
    categories : ndarray of shape (D,) or None
        How many categories each scaled feature has, 0 for numbers; None: all are numbers.
    even_for : ndarray of shape (C,) or None
        The prior of many classes, which have one Gram.
    """

    kernel: type[Kernel]
    n_classes: int
    n_features: int
    categories: Integers | None
    even_for: Array | None = None


class TrainingRecord(Protocol):
    """What a long fit writes down on its way."""

    def trained(self, rng: np.random.RandomState, expected: Expected) -> DirichletState | None:
        """What training found before it was stopped; `rng` is set to what it was then."""

    def proposal(
        self, rows: InMemoryRows, expected: Expected, workers: Workers
    ) -> tuple[Proposal | None, bool]:
        """The regions that were proposed for the rows to learn from, and whether they are taken."""

    def keep_trained(
        self,
        state: DirichletState,
        rng: np.random.RandomState,
        proposal: Proposal | None = None,
        decided: bool = False,
    ) -> None:
        """Write down what training found, and which regions it proposed."""

    def keep_decision(self) -> None:
        """Write down that the regions are taken: a pass over all rows begins anew."""

    def statistics(self) -> tuple[ClassStatistics, int] | None:
        """The statistics of the first rows, and how many these are."""

    def regional_statistics(self, n_points: Sequence[int]) -> tuple[RegionalStatistics, int] | None:
        """The same of regions that have so many points each."""

    def keep_statistics(self, statistics: ClassStatistics | RegionalStatistics, done: int) -> None:
        """Write down the statistics of the first rows, if it is time to."""


class Watcher:
    """Tells progress and record how far the pass over all rows has come."""

    def __init__(
        self,
        progress: Progress,
        record: TrainingRecord | None,
        regions: RegionalBasis | None = None,
    ):
        self._progress = progress
        self._record = record
        self._regions = regions

    def resumed(self) -> tuple[Any, int] | None:
        if self._record is None:
            return None
        if self._regions is None:
            return self._record.statistics()
        return self._record.regional_statistics([len(b.points) for b in self._regions.bases])

    def begin(self, done: int, total: int) -> None:
        self._progress.begin_rows(done, total)

    def advance(self, statistics: ClassStatistics, done: int) -> None:
        self._progress.rows(done)
        if self._record is not None:
            self._record.keep_statistics(statistics, done)
