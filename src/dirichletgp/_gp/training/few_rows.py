"""Few rows: the model has to beat plainer ones on rows that its kernel did not see.

Closed-form leave-one-out takes a row out of the posterior, but the kernel was learned from all
rows: with few of them that row still speaks through the lengthscales. So the rows are dealt into
folds, the kernel is learned again without each fold, and the rows of the fold are left out one by
one under that kernel. By these predictions the learned model competes with one that is all but
linear and with the class frequencies, and gives way to them where they are better. They have no
kernel to learn, so their own leave-one-out is honest.

A model that wins may still owe a part of its gain to chance. How much of its log-odds is right is
a number between nothing (the frequencies) and all, with a posterior that left-out rows give. The
mean of that is believed of gains that chance may have brought, and more of larger ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np

from ..core.arrays import Array, Integers
from ..core.kernels import Kernel
from ..core.parallel import Workers
from ..core.regressions import Basis, LabelTransform, Posterior
from ..core.statistics import ClassStatistics
from ..rows.in_memory import InMemoryRows, fingerprints, folds_of
from .fitted import LeftOut, Model
from .inducing_points import PointPlacer
from .kernel_search import KernelTraining, Objective, State, basis_of, searched
from .label_search import LabelSearch, rows_that_score, scoring_rows
from .likelihood import Judges
from .plain_models import given_labels, linear_kernel
from .settings import Progress, Stage, warn_caller

AnyState = TypeVar("AnyState", bound=State)

# Points that models are compared with, even if the final one is exact.
_POINTS = 256
# Fewer rows than this cannot judge.
_FEWEST_ROWS = 20
_FOLDS = 4
# Kernels of folds start with all features alike: which of them matter they find out themselves.
_FOLD_ITERATIONS, _FOLD_TOLERANCE = 15, 1e-4
# Evaluations of the label search of a plainer model, which usually loses; of several classes each
# takes long.
_EVALUATIONS, _EVALUATIONS_FOR_MANY, _SOME_CLASSES = 10, 6, 8
NOTHING = 1e-8
"""Variance of an all but constant model."""
# Left-out loss (of all rows together, in nats) that a model must gain to be chosen: one for every
# number that these very rows have chosen, as in Akaike's criterion. A label transform is three.
_OF_LABELS, _OF_FREQUENCY = 3.0, 1.0
# Before left-out rows are seen, all shares of the log-odds are as likely, but for one in five that
# all of them are right.
_SHARES, _OF_ALL = np.linspace(0.0, 1.0, 21), 0.2
# Chance gains up to about so much left-out loss, in nats. A model that gains more is doubted less,
# and one that gains far more is not doubted.
_OF_CHANCE, _BEYOND_CHANCE = 10.0, 200.0
# The least share, with which a model can still be computed, and one that is as good as all.
_LEAST_SHARE, _AS_GOOD_AS_ALL = 0.02, 0.995
# Losses this close are those of one and the same prediction.
_TIE = 1e-6


@dataclass(frozen=True)
class FewRows:
    """Models of few rows, which are all in the pool of the placer.

    Attributes
    ----------
    placer : PointPlacer
    training : KernelTraining
    prior : ndarray of shape (C,)
    typical : Kernel
        What a kernel is expected to be.
    folds : Workers
        Threads that folds, and the classes of a label search, are shared out to. A fold itself
        takes too little for several.
    """

    placer: PointPlacer
    training: KernelTraining
    prior: Array
    typical: Kernel
    folds: Workers

    @property
    def _pool(self) -> InMemoryRows:
        return self.placer.pool

    @property
    def can_judge(self) -> bool:
        """Whether there are rows enough to leave some out."""
        return len(self._pool) >= _FEWEST_ROWS

    @cached_property
    def points(self) -> Array:
        """Points of kernels that are learned for comparison only."""
        return self.placer.points_for_comparison(self.typical, _POINTS)

    def label_search(self, basis: Basis, statistics: ClassStatistics) -> LabelSearch:
        """A search for the label transform of a model; few points do, where rows are few."""
        if len(basis.points) > len(self.points):
            basis, _ = basis_of(State(basis.kernel, self.points))
            statistics = self._statistics(basis)
        resources = self.training.resources
        size = scoring_rows(len(self.prior))
        rows = rows_that_score(self._pool, basis, size, resources)
        s2 = basis.kernel.variance
        return LabelSearch(statistics, s2, self.prior, rows, self.folds)

    def left_out(
        self,
        state: AnyState,
        objective: Callable[[InMemoryRows, AnyState], Objective],
        transform: LabelTransform,
    ) -> LeftOut:
        """Predictions of all rows without them, with kernels that did not see them either."""
        kernel = state.kernel.pulled_together()
        start = replace(state, kernel=kernel, points=self.points, curvature=None)

        def learn(rows: InMemoryRows) -> Basis:
            found = searched(
                partial(objective, rows), start, _FOLD_ITERATIONS, _FOLD_TOLERANCE, Progress(0)
            )
            return basis_of(found)[0]

        with self.training.resources.progress.stage(
            Stage.COMPARISON, "left-out predictions, cross-fitted"
        ):
            return cross_fitted(self._pool, learn, transform, self.prior, self.folds)

    def judges(self, model: Model) -> Judges:
        """All rows, each as the model has left it out, or as closed forms leave it out."""
        pool = self._pool
        vectors = model.basis.vectors(pool.X)
        if model.left_out is None:
            latents = model.posterior.latent_without_votes(vectors, pool.votes())
        else:
            place = model.left_out.places(pool.X, pool.codes)
            latents = model.left_out.mean[place], model.left_out.variance[place]
        own = np.ones(len(pool)) if pool.weights is None else pool.weights
        return Judges(vectors, pool.codes, own, *latents, folds_of(pool.X))

    def best(self, learned: Model) -> Model:
        """The model, or a plainer one that predicts rows left out better."""
        progress = self.training.resources.progress
        with progress.stage(Stage.COMPARISON, "plainer models"):
            models = {
                "learned": learned,
                "linear": self._linear(learned),
                "linear, given labels": self._linear(learned, given_labels(self._pool.repetition)),
            }
            losses = {name: self._loss(model) for name, model in models.items()}
            losses["constant"] = self._constant_left_out(learned).loss(self._pool)
            progress.note(", ".join(f"{name} {loss:.4f}" for name, loss in losses.items()))
        n = float(self._pool.class_weights.sum()) / self._pool.repetition
        chosen = {
            "learned": _OF_LABELS,
            "linear": _OF_LABELS,
            "linear, given labels": 0.0,
            "constant": _OF_FREQUENCY * (len(self.prior) - 1),
        }
        best = min(losses, key=lambda name: losses[name] + chosen[name] / n)
        if abs(losses[best] - losses["constant"]) < _TIE:
            best = "constant"
        if best == "constant":
            _warn_of_frequencies(losses["learned"], losses["constant"])
            return self._constant(learned)
        return models[best]

    def doubted(self, model: Model) -> Model:
        """The model with as much of its log-odds as left-out rows let one believe."""
        assert model.left_out is not None
        share = self._right_share(model.left_out, model.transform.offsets(self.prior))
        return model if share > _AS_GOOD_AS_ALL else model.scaled(share)

    def _right_share(self, left_out: LeftOut, offsets: Array) -> float:
        """How much of left-out log-odds, less the offsets (C,), is to be believed."""
        pool = self._pool

        def loss(share: float) -> float:
            return left_out.scaled(share, offsets).loss(pool)

        n = float(self._pool.class_weights.sum()) / self._pool.repetition
        gain = n * (loss(0.0) - loss(1.0))
        if gain > _BEYOND_CHANCE:
            return 1.0
        losses = n * np.array([loss(share) for share in _SHARES])
        prior = np.full(len(_SHARES), (1.0 - _OF_ALL) / len(_SHARES))
        prior[-1] += _OF_ALL
        belief = prior * np.exp(losses.min() - losses)
        doubt = 1.0 - float(_SHARES @ belief / belief.sum())
        return max(1.0 - doubt * min(1.0, _OF_CHANCE / max(gain, 1.0)), _LEAST_SHARE)

    def _loss(self, model: Model) -> float:
        assert model.left_out is not None
        return model.left_out.loss(self._pool)

    @cached_property
    def _linear_basis(self) -> tuple[Basis, float]:
        """The basis of linear models, and its jitter."""
        basis, state = basis_of(State(linear_kernel(self.typical), self.points))
        return basis, state.jitter

    @cached_property
    def _linear_statistics(self) -> ClassStatistics:
        return self._statistics(self._linear_basis[0])

    def _linear(self, learned: Model, transform: LabelTransform | None = None) -> Model:
        """A kernel so long that its functions are linear over the rows; it is not learned.

        The label transform is, unless it is given.
        """
        workers = self.training.resources.workers
        basis, jitter = self._linear_basis
        statistics = self._linear_statistics
        if transform is None:
            start = LabelTransform.dirichlet(learned.alpha_epsilon)
            search = self.label_search(basis, statistics)
            several = len(self.prior) > _SOME_CLASSES
            evaluations = _EVALUATIONS_FOR_MANY if several else _EVALUATIONS
            transform = search.best_transform(start, evaluations)
        posterior = Posterior.from_statistics(
            statistics, basis.kernel.variance, transform, self.prior, workers
        )
        pool = self._pool
        vectors = basis.vectors(pool.X)
        latents = posterior.latent_without_votes(vectors, pool.votes())
        return replace(
            learned,
            basis=basis,
            jitter=jitter,
            statistics=statistics,
            transform=transform,
            left_out=LeftOut.of(pool, *latents),
            solved=posterior,
        )

    def _constant(self, learned: Model) -> Model:
        """A model that says the prior everywhere: its kernel has next to no variance."""
        kernel = learned.kernel.with_parameters(learned.kernel.parameters, NOTHING)
        basis, state = basis_of(State(kernel, self.points, jitter=learned.jitter))
        return replace(
            learned,
            basis=basis,
            jitter=state.jitter,
            statistics=self._statistics(basis),
            left_out=self._constant_left_out(learned),
            solved=None,
        )

    def _constant_left_out(self, learned: Model) -> LeftOut:
        """What such a model predicts of rows that are left out."""
        offsets = np.tile(learned.transform.offsets(self.prior), (len(self._pool), 1))
        return LeftOut.of(self._pool, offsets, np.full(offsets.shape, NOTHING))

    def _statistics(self, basis: Basis) -> ClassStatistics:
        return self._pool.class_statistics(basis, self.training.resources.workers)


def fold_of_each_row(rows: InMemoryRows) -> Integers:
    """A fold for each row, every class spread over all; it depends on rows, not on their order.

    Identical rows are in one fold, whatever their class: that of the first class they have.
    """
    keys = fingerprints(rows.X, rows.codes)
    fold = np.empty(len(rows), dtype=np.intp)
    dealt = 0
    for code in range(rows.n_classes):
        members = np.flatnonzero(rows.codes == code)
        members = members[np.argsort(keys[members], kind="stable")]
        fold[members] = (dealt + np.arange(len(members))) % _FOLDS
        dealt += len(members)
    order = np.lexsort([rows.codes, rows.places])
    _, first, place = np.unique(rows.places[order], return_index=True, return_inverse=True)
    fold[order] = fold[order[first[place.ravel()]]]
    return fold


def cross_fitted(
    rows: InMemoryRows,
    learn: Callable[[InMemoryRows], Basis],
    transform: LabelTransform,
    prior: Array,
    workers: Workers,
) -> LeftOut:
    """Leave every row out, under a kernel that was learned without its fold.

    Parameters
    ----------
    rows : InMemoryRows
        Scaled and merged.
    learn : callable
        From some of the rows to the basis of a kernel learned from them.
    transform : LabelTransform
    prior : ndarray of shape (C,)
    workers : Workers
        Threads that folds are shared out to.
    """
    fold = fold_of_each_row(rows)
    mean = np.empty((len(rows), rows.n_classes))
    variance = np.empty_like(mean)
    alone = Workers(1)

    def of_fold(inside: Integers) -> tuple[Array, Array]:
        basis = learn(rows.take(np.setdiff1d(np.arange(len(rows)), inside)))
        statistics = rows.class_statistics(basis, alone)
        s2 = basis.kernel.variance
        posterior = Posterior.from_statistics(statistics, s2, transform, prior, alone)
        vectors = basis.vectors(rows.X[inside])
        return posterior.latent_without_votes(vectors, rows.votes(inside))

    folds = [np.flatnonzero(fold == j) for j in np.unique(fold)]
    for inside, latents in zip(folds, workers.map(of_fold, folds), strict=True):
        mean[inside], variance[inside] = latents
    return LeftOut.of(rows, mean, variance)


def _warn_of_frequencies(loss: float, of_frequencies: float) -> None:
    """Say that the features did not help."""
    warn_caller(
        f"Rows left out of training are predicted no better (MNLL {loss:.4f}) than by the class "
        f"frequencies ({of_frequencies:.4f}): the model predicts the frequencies. The features may "
        "say nothing about the labels, or more rows are needed.",
        RuntimeWarning,
    )
