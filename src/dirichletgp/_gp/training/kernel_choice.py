"""Which kernel: the one that predicts best the rows that it was not learned from.

Every family is tried on the same rows, quickly: its parameters are learned from some of them, with
few points, and the others are left out one by one under that kernel. With many rows one such
division decides; with few, every row is judged once by a kernel that did not see it. Leaving rows
out under a kernel that was learned from them too would prefer the family with the most parameters.
A handful of rows cannot judge: then it is the plainest family, one lengthscale for all features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..core.kernels import KERNELS, Kernel
from ..core.regressions import LabelTransform
from ..rows.columns import Columns
from ..rows.in_memory import Chunk, Encoder, InMemoryRows, fingerprints
from .inducing_points import choose_points
from .kernel_search import BoundObjective, State, WithBelief, basis_of, searched
from .label_search import ALPHAS, LabelSearch, ScoringRows
from .settings import Family, Progress, Resources, Stage, family_of

AUTO = "auto"
# With more columns than this a table per column takes too long.
_MOST_COLUMNS = 128
# Rows that families are compared on; with no more than so many, all are judged, in folds.
_ROWS, _FEW_ROWS = 8_000, 1_500
_FOLDS, _JUDGES = 3, 0.4
_FEWEST_ROWS = 20
_POINTS, _POINTS_FOR_FEW = 256, 128
_ITERATIONS, _TOLERANCE = 20, 1e-5
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
    """A family, and the kernel of it that was learned to judge it, a good one to begin with."""

    family: Family
    kernel: Kernel | None = None


def choose_family(
    among: Sequence[Family], material: Material, estimator: Any, resources: Resources
) -> Choice:
    """The family with the smallest loss of rows left out; of a handful of rows the plainest."""
    if len(among) == 1:
        return Choice(among[0])
    with resources.progress.stage(Stage.CHOICE):
        few = _merged(material)
        if len(few.sample.X) < _FEWEST_ROWS:
            resources.progress.note(f"{among[-1]} (too few rows to compare)")
            return Choice(among[-1])
        trials = [_Trial(family, few, estimator, resources) for family in among]
        losses = [trial.loss() for trial in trials]
        best = int(np.argmin(losses))
        said = [f"{family} {loss:.4f}" for family, loss in zip(among, losses, strict=True)]
        resources.progress.note(f"{among[best]} ({'; '.join(said)})")
    return Choice(among[best], trials[best].kernel)


def _merged(material: Material) -> Material:
    """The same with a sample of the rows, identical ones of a class as one with their weight.

    They are in an order of their own, whatever order they came in and whatever classes are called.
    """
    classes, sample = material.classes, material.sample
    rows = Encoder(classes, None, None).codes(sample.labels)
    drawn = InMemoryRows(sample.X, rows, None, len(classes))
    sample = sample.part(drawn.stratified_sample(_ROWS, np.random.RandomState(0)))
    keys = fingerprints(sample.X, np.searchsorted(classes, sample.labels))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.bincount(inverse, sample.weights).astype(np.float64)
    own = None if np.all(weights == 1.0) else weights
    distinct = sample.part(first)._replace(weights=own)
    of_rows = fingerprints(distinct.X, np.zeros(len(first), dtype=np.intp))
    return replace(material, sample=distinct.part(np.argsort(of_rows, kind="stable")))


class _Trial:
    """A family on its way to a loss."""

    def __init__(self, family: Family, material: Material, estimator: Any, resources: Resources):
        self.family = family
        self.prior = material.prior
        self.workers = resources.workers
        encoder = material.encoder(family, estimator, np.random.RandomState(0))
        rows = encoder.rows(material.sample)
        self.rows = rows.take(np.arange(len(rows)))
        self.kernel: Kernel | None = None
        self.noisy = LabelTransform.dirichlet(_NOISY)
        self.typical = family.kernel.starting(
            self.rows.X,
            None,
            max(1e-3, self.noisy.target_variance(self.prior)),
            family.ard,
            encoder.categories,
        )

    def loss(self) -> float:
        """Mean negative log-likelihood of rows that the kernel was learned without.

        The label transform is the best of the Dirichlet ones, for all rows together.
        """
        losses = np.zeros(len(ALPHAS))
        n = 0.0
        for judges in self._divisions():
            more, weight = self._losses(judges)
            losses += weight * more
            n += weight
        return float(losses.min()) / n

    def _divisions(self) -> list[Integers]:
        """Positions of rows that judge: some of many, or in turn all of few."""
        codes = self.rows.codes
        place = np.empty(len(codes), dtype=np.intp)
        dealt = 0
        # Classes in the order of their first rows, so that their names do not matter.
        for first in np.sort(np.unique(codes, return_index=True)[1]):
            members = np.flatnonzero(codes == codes[first])
            place[members] = dealt + np.arange(len(members))
            dealt += len(members)
        if len(self.rows) > _FEW_ROWS:
            return [np.flatnonzero(place % 5 < 5 * _JUDGES)]
        return [np.flatnonzero(place % _FOLDS == fold) for fold in range(_FOLDS)]

    def _losses(self, judges: Integers) -> tuple[Array, float]:
        """Loss of the rows at some positions for every alpha_epsilon, and their weight."""
        rows = self.rows
        others = np.setdiff1d(np.arange(len(rows)), judges)
        kernel, points, jitter = self._learned(rows.take(others))
        # Kernels of folds are as many as folds, and none of them is from all rows.
        self.kernel = kernel if len(rows) > _FEW_ROWS else None
        basis, _ = basis_of(State(kernel, points, jitter=jitter))
        statistics = rows.class_statistics(basis, self.workers)
        own = np.ones(len(judges)) if rows.weights is None else rows.weights[judges]
        n_rows = float(rows.class_weights.sum())
        scoring = ScoringRows(basis.vectors(rows.X[judges]), rows.codes[judges], own, n_rows)
        search = LabelSearch(statistics, kernel.variance, self.prior, scoring, self.workers)
        losses = [search.score(LabelTransform.dirichlet(alpha)) for alpha in ALPHAS]
        return np.array(losses), float(own.sum())

    def _learned(self, rows: InMemoryRows) -> tuple[Kernel, Array, float]:
        """Kernel, points and jitter, learned from some rows."""
        distinct = np.unique(rows.X, axis=0)
        n_points = _POINTS if len(self.rows) > _FEW_ROWS else _POINTS_FOR_FEW
        rng = np.random.RandomState(0)
        even = np.ones(len(distinct))
        points = choose_points("kmeans", distinct, even, n_points, self.typical, rng)

        def objective(state: State) -> WithBelief:
            bound = BoundObjective(rows, self.noisy, self.prior, state.jitter, self.workers)
            return WithBelief(bound, self.typical, len(self.prior))

        start = State(self.typical, points)
        found = searched(objective, start, _ITERATIONS, _TOLERANCE, Progress(0))
        return found.kernel, points, found.jitter
