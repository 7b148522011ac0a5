"""Which kernel: the one that predicts best the rows that it was not learned from.

Every family is tried on the same rows, quickly: its parameters are learned from some of them, with
few points, and the others are left out one by one under that kernel. With many rows one such
division decides; with few, every row is judged once by a kernel that did not see it. Leaving rows
out under a kernel that was learned from them too would prefer the family with the most parameters.
A handful of rows cannot judge, nor can rows most of which are alone in their class: then it is the
plainest family, one lengthscale for all features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..core.kernels import KERNELS, Kernel
from ..core.parallel import Workers
from ..core.regressions import LabelTransform
from ..rows.columns import Columns
from ..rows.in_memory import (
    Chunk,
    Encoder,
    InMemoryRows,
    are_mostly_alone,
    fingerprints,
    repetition_of,
)
from .even_labels import EvenLabelSearch, rows_for_many_classes
from .inducing_points import choose_points
from .kernel_search import BoundObjective, State, WithBelief, basis_of, searched
from .label_search import ALPHAS, MIDDLE_ALPHA, LabelSearch, ScoringRows, scoring_rows
from .remembered import SeenRows
from .settings import Family, Progress, Resources, Stage, family_of, is_pooled

AUTO = "auto"
# With more columns than this a table per column takes too long.
_MOST_COLUMNS = 128
# Rows that families are compared on; with no more than so many, all are judged, in folds.
_ROWS, _FEW_ROWS = 8_000, 1_500
_FOLDS, _JUDGES = 3, 0.4
_EVALUATIONS = 12  # of label transforms, by families this close to the best one
_CLOSE = 1.02
_FEW_CLASSES = 4  # with more, trying label transforms takes longer than it helps
# What the final model gains from its points and steps beyond a trial of this kind, as a share of
# the loss: a lengthscale per feature more than one for all (EEG: a trial called them equal, the
# models were 20 % apart), the kernel for tables a little more than distances.
_GAIN_OF_FEATURES, _GAIN_OF_TABLES = 0.03, 0.002
_FEWEST_ROWS = 20
# With more classes a comparison takes minutes (10,000: it was not done after two).
_MOST_CLASSES = 2_000
_ROWS_PER_CLASS = 10
_POINTS, _POINTS_FOR_FEW = 256, 128
# Of more classes than this, each costs as much as the rows.
_SOME_CLASSES = 8
_ITERATIONS, _TOLERANCE = 12, 1e-4
# Several or many classes differ less in what they gain from a kernel; many classes have fewer rows.
_ROWS_OF_MANY, _ITERATIONS_FOR_MANY, _NOISES_OF_MANY = 4_000, 10, 4
# Rows of many classes and more columns than this are embeddings, whose columns are all of a kind:
# tables are not tried. Where columns are fewer and rows are not few, a lengthscale each is never
# much worse than one for all, which is not tried: in trials of twelve tables, five of them with
# categories, at most 1 %.
_MOST_FEW_COLUMNS = 32
_NOISY = 0.3  # the alpha_epsilon that kernels are learned with


@dataclass(frozen=True)
class Material:
    """What is known of rows before they are scaled.

    Attributes
    ----------
    classes : ndarray of shape (C,)
    totals : ndarray of shape (C,)
        Weight of all rows of each class.
    sample : Chunk
        Rows of positive weight.
    columns : Columns
    prior : ndarray of shape (C,)
    """

    classes: AnyArray
    totals: Array
    sample: Chunk
    columns: Columns
    prior: Array

    def encoder(self, family: Family, estimator: Any, rng: np.random.RandomState) -> Encoder:
        """How rows are coded and scaled for a family."""
        as_codes = family.kernel.takes_categories
        return Encoder.learned(
            self.classes, self.totals, self.sample, estimator, rng, self.columns, as_codes
        )

    def marked(self) -> SeenRows:
        """What tells whether rows are among these."""
        sample = self.sample
        codes = np.searchsorted(self.classes, sample.labels)
        weight = len(codes) if sample.weights is None else float(sample.weights.sum())
        share = min(weight / float(self.totals.sum()), 1.0)
        return SeenRows.of(sample.X, codes, share if share < 1.0 - 1e-9 else 1.0)


def families(estimator: Any, columns: Columns) -> list[Family]:
    """The kernels to choose from: the one that was asked for, or some, the plainest last."""
    ard = bool(estimator.ard)
    if estimator.kernel != AUTO:
        return [family_of(estimator, (AUTO,))]
    rbf = Family(KERNELS["rbf"], ard)
    n_columns = columns.n_in if columns.is_plain else len(columns.levels)
    has_categories = not columns.is_plain and bool(columns.levels.any())
    own_start = estimator.lengthscale is not None or estimator.max_iter == 0
    if own_start and not has_categories:
        # What was given is a lengthscale, and nothing is to be learned that could be compared.
        return [rbf]
    found = [rbf, Family(KERNELS["rbf"], False)] if ard else [rbf]
    if n_columns <= _MOST_COLUMNS:
        found.insert(0, Family(KERNELS["product"], ard))
    return found


class Choice(NamedTuple):
    """A family, and where there are many classes the kernel of it that was learned to judge it.

    Otherwise the search for the kernel begins anew: that of a trial was learned from some rows with
    fewer points, and the search depends on where it begins. On 38 cuts of 13 tables (validation
    rows) the MNLL is 0.4 % lower so, up to 10 % in either direction on one of them.

    Attributes
    ----------
    family : Family
    kernel : Kernel or None
    """

    family: Family
    kernel: Kernel | None = None


def choose_family(
    among: Sequence[Family], material: Material, estimator: Any, resources: Resources
) -> Choice:
    """The family with the smallest loss of rows left out; of a handful of rows the plainest."""
    if len(among) == 1:
        return Choice(among[0])
    with resources.progress.stage(Stage.CHOICE):
        if len(material.classes) > _MOST_CLASSES:
            resources.progress.note(f"{among[-1]} (too many classes to compare)")
            return Choice(among[-1])
        many = is_pooled(estimator, len(material.classes))
        few = _merged(material, _ROWS_OF_MANY if many else _ROWS)
        class_sizes = np.unique(few.sample.labels, return_counts=True)[1]
        if len(few.sample.X) < _FEWEST_ROWS or are_mostly_alone(class_sizes):
            resources.progress.note(f"{among[-1]} (too few rows to compare)")
            return Choice(among[-1])
        among = _worth_a_trial(among, few, many)
        trials = [_Trial(family, few, estimator, resources) for family in among]
        gains = np.array([trial.expected_gain for trial in trials])
        losses = _losses(trials, resources.workers)
        expected = losses * (1.0 - gains)
        close = np.flatnonzero(expected < _CLOSE * expected.min())
        for i in close if len(close) > 1 else []:
            losses[i] = trials[i].refined_loss(losses[i])
            expected[i] = losses[i] * (1.0 - gains[i])
        best = int(np.argmin(expected))
        said = [f"{family} {loss:.4f}" for family, loss in zip(among, losses, strict=True)]
        resources.progress.note(f"{among[best]} ({'; '.join(said)})")
    return Choice(among[best], trials[best].kernel)


def _worth_a_trial(among: Sequence[Family], few: Material, many: bool) -> Sequence[Family]:
    """The families that are tried on these rows; `many` says whether classes are many."""
    n_rows, n_columns = few.sample.X.shape
    has_few_columns = n_columns <= _MOST_FEW_COLUMNS
    if many and not has_few_columns and few.columns.is_plain:
        return [family for family in among if not family.kernel.takes_categories]
    if not many and has_few_columns and n_rows > _FEW_ROWS:
        return [family for family in among if family.ard] or among
    return among


def _losses(trials: Sequence["_Trial"], workers: Workers) -> Array:
    """The loss of each family; of few rows families and folds are units of work."""
    if not trials[0].is_folded:
        return np.array([trial.loss() for trial in trials])
    units = [(trial, judges) for trial in trials for judges in trial.folds()]
    found = workers.map(lambda unit: unit[0].losses_of_fold(unit[1]), units)
    by_family = np.reshape(list(found), (len(trials), _FOLDS, len(ALPHAS)))
    n = float(trials[0].rows.class_weights.sum())
    losses: Array = by_family.sum(axis=1).min(axis=1) / n
    return losses


def _merged(material: Material, most: int) -> Material:
    """The same with a sample of the rows, identical ones of a class as one with their weight.

    Copies of all rows are no more rows to learn from: they are counted once.
    They are in an order of their own, whatever order they came in and whatever classes are called.
    """
    classes, sample = material.classes, material.sample
    rows = Encoder(classes, None, None).codes(sample.labels)
    drawn = InMemoryRows(sample.X, rows, None, len(classes))
    sample = sample.part(drawn.sample_of_classes(most, np.random.RandomState(0)))
    keys = fingerprints(sample.X, np.searchsorted(classes, sample.labels))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.bincount(inverse, sample.weights).astype(np.float64)
    weights /= repetition_of(weights, np.searchsorted(classes, sample.labels[first]))
    own = None if np.all(weights == 1.0) else weights
    distinct = sample.part(first)._replace(weights=own)
    of_rows = fingerprints(distinct.X, np.zeros(len(first), dtype=np.intp))
    return replace(material, sample=distinct.part(np.argsort(of_rows, kind="stable")))


class _Trial:
    """A family on its way to a loss."""

    def __init__(self, family: Family, material: Material, estimator: Any, resources: Resources):
        self.family = family
        self.is_plain = material.columns.is_plain
        self.prior = material.prior
        encoder = material.encoder(family, estimator, np.random.RandomState(0))
        rows = encoder.rows(material.sample)
        self.rows = rows.take(np.arange(len(rows)))
        self.pooled = is_pooled(estimator, len(self.prior))
        # What few rows take is too little for two threads: folds are shared out instead.
        self.workers = Workers(1) if self.is_folded else resources.workers
        self.kernel: Kernel | None = None
        self.alpha_epsilon: float | None = None
        self.search: LabelSearch | None = None
        self.noisy = LabelTransform.dirichlet(_NOISY)
        if self.pooled:
            self.noisy = LabelTransform.even(_NOISY, self.prior)
        self.typical = family.kernel.starting(
            self.rows.X,
            None,
            max(1e-3, self.noisy.target_variance(self.prior)),
            family.ard,
            encoder.categories,
        )

    @property
    def expected_gain(self) -> float:
        """What the final model is expected to gain; of few rows it is all but the trial."""
        if len(self.rows) <= _FEW_ROWS:
            return 0.0
        of_tables = _GAIN_OF_TABLES if self.family.kernel.takes_categories else 0.0
        return of_tables + (_GAIN_OF_FEATURES if self.family.ard else 0.0)

    @property
    def is_folded(self) -> bool:
        """Whether rows are so few that all of them judge, in turn."""
        return len(self.rows) <= _FEW_ROWS and not self.pooled

    def loss(self) -> float:
        """Mean negative log-likelihood of some of many rows, which the kernel did not see."""
        search = self._search(self._some())
        if self.pooled:
            return search.score(search.best_transform(self.noisy, _NOISES_OF_MANY))
        search.keep_active_classes(LabelTransform.dirichlet(MIDDLE_ALPHA))
        loss, self.alpha_epsilon = search.best_alpha()
        self.search = search
        return loss

    def losses_of_fold(self, judges: Integers) -> Array:
        """Summed negative log-likelihood of some of few rows, by alpha_epsilon."""
        search = self._search(judges)
        losses = [search.score(LabelTransform.dirichlet(alpha)) for alpha in ALPHAS]
        return float(search.rows.weights.sum()) * np.array(losses)

    def refined_loss(self, loss: float) -> float:
        """The same where many rows choose the label transform freely; few do not."""
        if self.search is None or self.alpha_epsilon is None or self.rows.n_classes > _FEW_CLASSES:
            return loss
        start = LabelTransform.dirichlet(self.alpha_epsilon)
        return self.search.score(self.search.best_transform(start, _EVALUATIONS))

    @property
    def _places(self) -> Integers:
        """The place of each row among those of its class; identical rows have that of the first."""
        place = np.empty(len(self.rows), dtype=np.intp)
        for code in range(self.rows.n_classes):
            members = np.flatnonzero(self.rows.codes == code)
            # Classes of a row or two begin with different ones, or one fold would have them all.
            start = code if len(self.rows) < _ROWS_PER_CLASS * self.rows.n_classes else 0
            place[members] = start + np.arange(len(members))
        return place[self.rows.places]

    def _some(self) -> Integers:
        """Positions of rows that judge, where there are many."""
        n_classes = self.rows.n_classes
        size = rows_for_many_classes(n_classes) if self.pooled else scoring_rows(n_classes)
        share = min(_JUDGES, size / len(self.rows))
        found = np.flatnonzero(self._places % 10 < 10 * share)
        return found[:: max(1, len(found) // size)] if self.pooled else found

    def folds(self) -> list[Integers]:
        """Positions of rows that judge, in turn all of few."""
        place = self._places
        return [np.flatnonzero(place % _FOLDS == fold) for fold in range(_FOLDS)]

    def _search(self, judges: Integers) -> LabelSearch:
        """A search for the label transform of rows at some positions, learned from the others."""
        rows = self.rows
        others = np.setdiff1d(np.arange(len(rows)), judges)
        kernel, points, jitter = self._learned(rows.take(others))
        # Where categories are spread over columns, those of all rows are others than those of some.
        if self.pooled and (self.is_plain or kernel.takes_categories):
            self.kernel = kernel
        basis, _ = basis_of(State(kernel, points, jitter=jitter))
        statistics = rows.class_statistics(basis, self.workers, pooled=self.pooled)
        own = np.ones(len(judges)) if rows.weights is None else rows.weights[judges]
        n_rows = float(rows.class_weights.sum())
        vectors, codes = basis.vectors(rows.X[judges]), rows.codes[judges]
        scoring = ScoringRows(vectors, codes, own, rows.votes(judges), n_rows)
        kind = EvenLabelSearch if self.pooled else LabelSearch
        return kind(statistics, kernel.variance, self.prior, scoring, self.workers)

    def _learned(self, rows: InMemoryRows) -> tuple[Kernel, Array, float]:
        """Kernel, points and jitter, learned from some rows."""
        distinct = np.unique(rows.X, axis=0)
        n_points = _POINTS if len(self.rows) > _FEW_ROWS else _POINTS_FOR_FEW
        if self.rows.n_classes > _SOME_CLASSES:
            n_points = _POINTS_FOR_FEW
        rng = np.random.RandomState(0)
        even = np.ones(len(distinct))
        points = choose_points("kmeans", distinct, even, n_points, self.typical, rng)

        def objective(state: State) -> WithBelief:
            bound = BoundObjective(rows, self.noisy, self.prior, state.jitter, self.workers)
            return WithBelief(bound, self.typical, len(self.prior))

        start = State(self.typical, points)
        several = self.rows.n_classes > _SOME_CLASSES
        steps = _ITERATIONS_FOR_MANY if several else _ITERATIONS
        found = searched(objective, start, steps, _TOLERANCE, Progress(0))
        return found.kernel, points, found.jitter
