"""Whether to cut the rows into regions, how far, and with which kernel: by leave-one-out.

A proposal is judged on some rows of a few regions. Only the regions that hold these rows are
solved, so a proposal costs little however many rows and regions there are; the rows are left out in
closed form, and their latents averaged over their regions as in the finished model. The label
transform is the one that is best for them.

Few points make a kernel smooth. Regions have more points where the rows are, so kernels that are
the first one made shorter are tried, as long as left-out rows gain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from ..core.arrays import Array, Integers
from ..core.counted import CountedPosterior
from ..core.kernels import Kernel
from ..core.parallel import Workers, row_slices
from ..core.regional import RegionalBasis
from ..core.regions import Places, Regions, grown
from ..core.regressions import Basis, LabelTransform
from ..core.statistics import ClassStatistics
from ..rows.in_memory import InMemoryRows
from .inducing_points import POOL_ROWS, choose_points
from .kernel_search import JITTER, State, basis_of
from .label_search import LabelSearch, Predicted, ScoringRows
from .settings import Resources, class_prior

# Rows for each region, before those of its border zones.
_ROWS_OF_A_REGION = 500
_MOST_POINTS, _FEWEST_POINTS = 256, 96
_TIMES_AS_MANY_POINTS = 2
# Rows that the tree is learned from.
_ROWS_OF_THE_TREE = 100_000
# Rows that judge, and the regions that they are taken from.
_JUDGES, _REGIONS_OF_JUDGES = 1_500, 10
_STRETCHES = (1.0, 0.6, 0.36, 0.22, 0.13)
# A shorter kernel, or coarser regions, must gain this part of the loss.
_WORTHWHILE = 0.003
EVALUATIONS = 12
_ROUTED_AT_ONCE = 4_096


class Size(NamedTuple):
    """How many regions, and how many points in each at most."""

    regions: int
    points: int


def affordable(n_regions: int, most_points: int, n_classes: int, memory_limit: float) -> Size:
    """At most so many regions, and as many points, as fit into memory.

    A region with M points takes 16 C M^2 bytes: statistics, and factors when it is solved.
    """
    fewest = min(_FEWEST_POINTS, most_points)
    n_regions = max(1, min(n_regions, int(memory_limit / (16 * n_classes * fewest**2))))
    points = int(np.sqrt(memory_limit / (16 * n_classes * n_regions)))
    return Size(n_regions, max(1, min(points, most_points)))


def sizes_to_try(n_rows: int, most_points: int, n_classes: int, memory_limit: float) -> list[Size]:
    """Sizes for many rows, the finest first; none if there is nothing to cut.

    Regions that have hardly more points in all than a model without regions are not worth a try.
    """
    enough_points = _TIMES_AS_MANY_POINTS * most_points
    most_points = min(most_points, _MOST_POINTS)
    finest = affordable(n_rows // _ROWS_OF_A_REGION, most_points, n_classes, memory_limit)
    coarser = affordable(finest.regions // 4, most_points, n_classes, memory_limit)
    return [
        size
        for size in (finest, coarser)
        if size.regions > 1 and size.regions * size.points >= enough_points
    ]


def size_asked_for(n_regions: int, most_points: int, n_classes: int, memory_limit: float) -> Size:
    """The size for a number of regions; `ValueError` if memory does not suffice for any points."""
    most_points = min(most_points, _MOST_POINTS)
    size = Size(n_regions, int(np.sqrt(memory_limit / (16 * n_classes * n_regions))))
    if size.points < 2:
        raise ValueError(
            f"n_regions={n_regions} needs more than memory_limit={memory_limit:g} bytes, at 16 "
            f"bytes for each of {n_classes} classes and each pair of points of a region; pass a "
            "smaller n_regions or a larger memory_limit."
        )
    return Size(n_regions, min(size.points, most_points))


class Member(Protocol):
    """A region that predicts some of the rows that score."""

    def predicted(self, transform: LabelTransform) -> Predicted:
        """Predictions of its rows, for the noises of a transform."""

    def keep_active_classes(self, transform: LabelTransform) -> Predicted:
        """The same, and fix which classes of a row matter."""


class Counted:
    """A region of one class: what it predicts does not depend on the transform."""

    def __init__(self, statistics: ClassStatistics, rows: ScoringRows):
        counts = statistics.counts
        even = np.full(len(counts), 1.0 / len(counts))
        no_shift = LabelTransform(0.0, 0.0, 1.0, 1.0)
        posterior = CountedPosterior.of(counts, 1.0, no_shift, even)
        mean, variance = posterior.latent_without_row(rows.vectors, rows.codes, rows.weights)
        self._predicted = Predicted(np.zeros(mean.shape), mean, variance)

    def predicted(self, transform: LabelTransform) -> Predicted:
        """Always the same."""
        return self._predicted

    def keep_active_classes(self, transform: LabelTransform) -> Predicted:
        """Nothing is computed anew."""
        return self.predicted(transform)


class BlendedSearch(LabelSearch):
    """Scores label transforms by rows that several regions predict together.

    Parameters
    ----------
    members : dict from int to Member
        By the number of the region, each for those of the rows that it holds.
    places : Places
        Of the rows.
    prior : ndarray of shape (C,)
    rows : ScoringRows
        Without vectors: there is no basis for all.
    workers : Workers
    """

    def __init__(
        self,
        members: Mapping[int, Member],
        places: Places,
        prior: Array,
        rows: ScoringRows,
        workers: Workers,
    ):
        super().__init__(ClassStatistics.empty(len(prior), 0), 1.0, prior, rows, workers)
        self.members = members
        self.places = places

    def predicted(self, transform: LabelTransform) -> Predicted:
        """Predictions of the members, averaged: means stay linear in the separation."""
        return self._averaged(lambda member: member.predicted(transform))

    def keep_active_classes(self, transform: LabelTransform) -> Predicted:
        """The same, and every region fixes which classes of a row matter."""
        return self._averaged(lambda member: member.keep_active_classes(transform))

    def _averaged(self, predicted: Callable[[Member], Predicted]) -> Predicted:
        shape = (len(self.rows.codes), len(self.prior))
        slope, intercept, variance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        parts = self.places.by_region()

        def of_part(part: tuple[int, Integers, Array]) -> Predicted:
            return predicted(self.members[part[0]])

        for (_, rows, share), found in zip(parts, self.workers.map(of_part, parts), strict=True):
            slope[rows] += share[:, None] * found.slope
            intercept[rows] += share[:, None] * found.intercept
            variance[rows] += share[:, None] * found.variance
        return Predicted(slope, intercept, variance)


@dataclass(frozen=True)
class Proposal:
    """A tree, a kernel and points that were judged.

    Attributes
    ----------
    cutting : Cutting
    kernel : Kernel
    transform : LabelTransform
        Chosen by left-out rows.
    loss : float
        Mean negative log-likelihood of left-out rows.
    stretch : float
        How long the kernel is, next to the one that was given.
    judged : ndarray of shape (n,)
        Positions of the left-out rows.
    log_probabilities : ndarray of shape (n,)
        Of their labels.
    """

    cutting: "Cutting"
    kernel: Kernel
    transform: LabelTransform
    loss: float
    stretch: float
    judged: Integers
    log_probabilities: Array

    @cached_property
    def judges(self) -> InMemoryRows:
        """The left-out rows."""
        return self.cutting.rows.take(self.judged)

    def basis(self, workers: Workers) -> RegionalBasis:
        """The bases of all regions."""
        cutting = self.cutting
        made = list(
            workers.map(
                lambda region: cutting.basis(region, self.kernel), range(cutting.regions.number)
            )
        )
        bases, jitters = zip(*made, strict=True)
        return RegionalBasis(cutting.regions, tuple(bases), tuple(jitters))


class Cutting:
    """Rows cut into regions: which rows each holds, and its points.

    Parameters
    ----------
    rows : InMemoryRows
        All rows, or a sample of them.
    regions : Regions
    most_points : int
    seed : int
        Decides which rows are points.
    workers : Workers

    Attributes
    ----------
    rows : InMemoryRows
        The same, each once if they are few.
    members : list of ndarray
        Positions of the rows of each region.
    """

    def __init__(
        self, rows: InMemoryRows, regions: Regions, most_points: int, seed: int, workers: Workers
    ):
        self.rows = without_repetition(rows)
        self.regions = regions
        self.most_points = most_points
        self.seed = seed
        self.workers = workers
        self.members = self._placed()

    def _placed(self) -> list[Integers]:
        """Positions of the rows of each region."""

        def placed(place: slice) -> Places:
            X = self.rows.scaled(place.start, place.stop)[0]
            found = self.regions.places(X)
            return found._replace(rows=place.start + found.rows)

        parts = list(self.workers.map(placed, row_slices(len(self.rows), _ROUTED_AT_ONCE)))
        region = np.concatenate([part.regions.astype(np.int32) for part in parts])
        row = np.concatenate([part.rows.astype(np.int32) for part in parts])
        order = np.argsort(region, kind="stable")
        ends = np.cumsum(np.bincount(region, minlength=self.regions.number))
        return [part.astype(np.intp) for part in np.split(row[order], ends[:-1])]

    def part(self, region: int) -> InMemoryRows:
        """The rows of a region, scaled."""
        return self.rows.take(self.members[region])

    def basis(self, region: int, kernel: Kernel) -> tuple[Basis, float]:
        """The basis of a region and its jitter: points are rows of it, drawn at random.

        Rows of one class need none.
        """
        positions = self.members[region]
        n_features = len(kernel.feature_weights())
        if len(positions) == 0 or np.ptp(self.rows.codes[positions]) == 0:
            nothing = np.empty((0, n_features))
            return Basis(kernel, nothing, np.empty((0, 0))), JITTER
        rng = np.random.RandomState((self.seed + region) % 2**31)
        some = rng.permutation(len(positions))[: 4 * self.most_points]
        distinct = np.unique(self.rows.take(positions[np.sort(some)]).X, axis=0)
        even = np.ones(len(distinct))
        points = choose_points("random", distinct, even, self.most_points, kernel, rng)
        basis, state = basis_of(State(kernel, points))
        return basis, state.jitter


def without_repetition(rows: InMemoryRows) -> InMemoryRows:
    """Few rows, scaled and each once: a weight must mean the same as a repetition."""
    if len(rows) > POOL_ROWS:
        return rows
    return rows.take(np.arange(len(rows))).merged()


LabelChoice = Callable[[LabelSearch], LabelTransform]


def proposals(
    rows: InMemoryRows,
    kernel: Kernel,
    choose: LabelChoice,
    sizes: Sequence[Size],
    resources: Resources,
) -> Iterator[Proposal]:
    """A proposal of each size, judged by the same rows; none where nothing can be cut.

    Parameters
    ----------
    rows : InMemoryRows
        All rows, or a sample of them.
    kernel : Kernel
        Learned with few points.
    choose : callable
        From a search to the label transform.
    sizes : sequence of Size
    resources : Resources
    """
    rows = without_repetition(rows)
    some = rows.take(rows.stratified_sample(_ROWS_OF_THE_TREE, resources.rng))
    judged: Integers | None = None
    for size in sizes:
        fewest = min(2 * size.points, len(some) // 2)
        regions = grown(some.X, some.codes, kernel.feature_weights(), size.regions, fewest)
        if regions is None:
            return
        seed = resources.rng.randint(2**31)
        cutting = Cutting(rows, regions, size.points, seed, resources.workers)
        if judged is None:
            judged = _judges(cutting, resources.rng)
        yield _with_best_kernel(cutting, kernel, choose, judged, resources)


def _judges(cutting: Cutting, rng: np.random.RandomState) -> Integers:
    """Positions of rows of a few regions, of which all together hold them."""
    occupied = np.flatnonzero([len(members) > 0 for members in cutting.members])
    chosen = rng.choice(occupied, min(_REGIONS_OF_JUDGES, len(occupied)), replace=False)
    each = -(-_JUDGES // len(chosen))
    parts = []
    for region in chosen.tolist():
        members = cutting.members[region]
        parts.append(members[rng.permutation(len(members))[:each]])
    return np.unique(np.concatenate(parts))


def _with_best_kernel(
    cutting: Cutting, first: Kernel, choose: LabelChoice, judged: Integers, resources: Resources
) -> Proposal:
    """The best of ever shorter kernels, for rows at given positions, which judge."""
    best: Proposal | None = None
    judges = cutting.rows.take(judged)
    places = cutting.regions.places(judges.X)
    for stretch in _STRETCHES:
        kernel = first.stretched(stretch, first.variance)
        search = _search(cutting, kernel, judges, places, resources)
        transform = choose(search)
        loss = search.score(transform)
        if best is not None and loss > (1.0 - _WORTHWHILE) * best.loss:
            break
        log_p = search.log_probabilities(transform)
        best = Proposal(cutting, kernel, transform, loss, stretch, judged, log_p)
    assert best is not None
    return best


def _search(
    cutting: Cutting, kernel: Kernel, judges: InMemoryRows, places: Places, resources: Resources
) -> BlendedSearch:
    """A search for the label transform of a proposal, scored on the rows that judge."""
    alone = Workers(1)
    weights = np.ones(len(judges)) if judges.weights is None else judges.weights
    votes = judges.votes()
    n_rows = float(cutting.rows.class_weights.sum())

    def member(part: tuple[int, Integers, Array]) -> tuple[int, Member]:
        region, positions, _ = part
        basis, _ = cutting.basis(region, kernel)
        rows = cutting.part(region)
        statistics = rows.class_statistics(basis, alone)
        prior = class_prior("empirical", statistics.counts)
        scoring = ScoringRows(
            basis.vectors(judges.X[positions]),
            judges.codes[positions],
            weights[positions],
            votes[positions],
            n_rows,
        )
        if len(basis.points) == 0:
            return region, Counted(statistics, scoring)
        return region, LabelSearch(statistics, kernel.variance, prior, scoring, alone)

    found = dict(resources.workers.map(member, places.by_region()))
    scoring = ScoringRows(np.empty((len(judges), 0)), judges.codes, weights, votes, n_rows)
    prior = class_prior("empirical", cutting.rows.class_weights)
    return BlendedSearch(found, places, prior, scoring, resources.workers)
