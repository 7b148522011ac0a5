"""The schedule: from labelled rows to a fitted model.

1. Kernel, few points: L-BFGS on the bound and what is believed of the kernel beforehand, with few
   inducing points and a sample of the rows, as if labels were noisy (alpha_epsilon 0.3).
2. alpha_epsilon by leave-one-out; where another is better, the kernel follows, and is kept if
   left-out rows gain. Then a first label transform, to begin 6 with.
3. Points: with more points wanted, they are placed by k-means in the metric of the kernel, weighted
   by how badly the first model predicts each row when it is left out. Points are worth most where
   the classes meet.
4. Kernel, all points: shorter lengthscales, because those found with few points are too smooth for
   many. By how much follows from what few points leave unexplained; where the bound decides about
   labels too, or points move, a few more steps with the curvature found before.
5. Statistics: one pass over all rows.
6. Labels: the constants of the label transform by leave-one-out, on a sample of the rows.
7. Correction: the means are moved towards the likelihood of labels, if left-out rows gain.

With few rows 2 and 4 are skipped, the model has to beat plainer ones, and as much of its log-odds
is believed as left-out rows let one (`few_rows.py`). If many rows are predicted better by plain
models, all is learned again from longer lengthscales.
Where there are no more rows than points, the rows themselves are the points: the exact model.
Many classes share one noise and one Gram (`even_labels.py`): 2, the steps of 4 and the comparison
are skipped. Many rows may be cut into regions (`cutting.py`): these are proposed after 2 and
compared with the model of 7.
"""

from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.kernels import Kernel
from ..core.parallel import Workers
from ..core.regressions import Basis, LabelTransform, Posterior
from ..core.statistics import ClassStatistics
from ..rows.door import LabelledRows
from ..rows.in_memory import InMemoryRows, are_mostly_alone
from . import few_rows
from .cutting import Cutter
from .even_labels import EvenLabelSearch, rows_for_many_classes
from .fitted import LeftOut, Model
from .inducing_points import FEW_POINTS, POOL_ROWS, PointPlacer, left_out_surprise
from .kernel_search import (
    TOLERANCE,
    BoundObjective,
    KernelTraining,
    WithBelief,
    basis_of,
    kernel_for_more_points,
    warn_of_jitter,
)
from .label_search import MIDDLE_ALPHA, LabelSearch, rows_that_score, scoring_rows
from .likelihood import Judges, corrected_by
from .log_odds import learned_beliefs
from .plain_models import FREQUENCIES, Loss, plain_losses, warn_of_plain_model
from .record import FIRST_ALPHA, DirichletState, Expected, TrainingRecord, Watcher
from .region_search import Proposal
from .regional import AnyModel
from .remembered import SetScores, set_scores
from .settings import DirichletSettings, Resources, Stage

SOME_ROWS = 30_000
"""So many rows are cut into regions if these are better than the finished model."""
MANY_ROWS = 100_000
"""So many are cut without finishing one, if regions are far better than the first model."""
# Weight of a row that the first model predicts perfectly, next to 1 for one it gets all wrong.
_SURPRISE_FLOOR = 0.05
# Of very many classes a pool has a row or two each, which are all as surprising.
_MOST_PROBABILITIES = 50_000_000
# Where there are fewer rows than this, or many are alone in their class, rows left out cannot
# choose. Then labels are taken to be so noisy (of many classes: `benchmarks/bench_alone.py`).
_HANDFUL = 7
_ALPHA_OF_ALONE, _ALPHA_OF_MANY_ALONE = 0.1, 0.003
# Up to so many rows, and so many probabilities of them, the kernel has to be learned with care, and
# can be: with so many points, even if the final model is exact.
_FEW_ROWS, _FEW_PROBABILITIES, _POINTS_FOR_FEW_ROWS = 1_500, 30_000, 256
# A search for the kernel ends when a step gains less than this part of the bound.
_ENOUGH = 3e-5
# A search with all points may take this part of max_iter: three times as many steps left the MNLL
# of six datasets where it was.
_SHARE_WITH_ALL_POINTS = 33
# Rows that tell how much few points leave unexplained.
_ROWS_EXPLAINED = 1_000
# Evaluations of the first search for the label transform; the last begins where it ends.
_FIRST_EVALUATIONS = 10
# Where a model that does not beat plain ones begins again: so many typical lengthscales.
_LONG = 3.0


def _are_few(rows: InMemoryRows, pool: InMemoryRows) -> bool:
    """Whether rows are few, repetitions not counted: a row says no more if it is said again."""
    n = len(pool)
    all_there = len(rows) <= POOL_ROWS
    return all_there and n <= _FEW_ROWS and n * rows.n_classes <= _FEW_PROBABILITIES


class TrainingRows(NamedTuple):
    """All rows, and what is known of them.

    Attributes
    ----------
    everything : LabelledRows
    sample : InMemoryRows
        Those to learn from.
    prior : ndarray of shape (C,)
        The class probabilities far from all rows.
    class_factors : ndarray of shape (C,) or None
        Class weights, which are part of the weights of rows.
    """

    everything: LabelledRows
    sample: InMemoryRows
    prior: Array
    class_factors: Array | None = None


class Trained(NamedTuple):
    """The outcome of the schedule."""

    model: AnyModel
    n_iter: int
    scores: SetScores


class Trainer:
    """Runs the schedule.

    Parameters
    ----------
    rows : TrainingRows
    settings : DirichletSettings
    resources : Resources
    """

    def __init__(self, rows: TrainingRows, settings: DirichletSettings, resources: Resources):
        self.rows = rows
        self.settings = settings
        self.placer = PointPlacer(rows.sample, settings, resources)
        self._pooled = settings.pooled
        self._rows_are_few = not self._pooled and _are_few(rows.sample, self.placer.pool)
        self._threads = resources.workers
        if self._rows_are_few:
            # What few rows take is too little to be shared out, but for whole folds of them.
            resources = resources._replace(workers=Workers(1))
        self.resources = resources
        self.training = KernelTraining(rows.sample, settings, resources)
        self._search: LabelSearch | None = None
        self._last_search: tuple[Kernel, Array, LabelSearch] | None = None
        self._seed = int(resources.rng.randint(2**31))

    def run(
        self,
        record: TrainingRecord | None = None,
        start: Kernel | None = None,
        settled: bool = True,
    ) -> Trained:
        """All stages, or those that are left to do after a record of the first ones.

        The search for the kernel begins at `start`; None: where the settings say. Rows that are not
        `settled`, the first of a stream, do not decide for a plainer model.
        """
        cutter = None
        if self._may_cut and not self._pooled:
            cutter = Cutter(self.rows, self.settings, self.resources)
        state = None if record is None else self._taken_up(record, cutter)
        if state is None:
            state = self._learn_kernel(start)
            if cutter is not None:
                cutter.propose(state, self.placer.pool, may_decide=self._rows_are_many)
            if cutter is None or not cutter.decided:
                state = self._with_all_points(state)
            if record is not None:
                found = (None, False) if cutter is None else (cutter.best, cutter.decided)
                record.keep_trained(state, self.resources.rng, *found)
        if cutter is not None and cutter.decided:
            return self._cut(cutter, state, record)
        model = finished = self._finish(state, Watcher(self.resources.progress, record))
        corrected = None
        if cutter is not None and cutter.best is not None:
            corrected = self._corrected(finished, state)
            if cutter.is_better_than(corrected):
                if record is not None:
                    record.keep_decision()
                return self._cut(cutter, state, record)
        compared = self.settings.max_iter > 0 and settled and not self._labels_are_guessed
        if compared:
            if self._rows_are_few:
                model = self._compared(model, state)
            elif self._may_be_plainer:
                model, state = self._guarded(model, state)
        if model.solved is None:
            solved = self._posterior(model.statistics, model.kernel.variance, model.transform)
            model = replace(model, solved=solved)
        if corrected is None or model is not finished:
            corrected = self._corrected(model, state)
        model = corrected
        if compared and self._rows_are_few and self._may_be_plainer:
            model = self._doubted(model)
        with self.resources.progress.stage(Stage.INTERVALS):
            beliefs = learned_beliefs(model, self.placer.pool, self.resources, self._pooled)
        model = replace(model, beliefs=beliefs)
        warn_of_jitter(state.jitter)
        return Trained(model, state.n_iter, self._scores(model))

    @property
    def _may_cut(self) -> bool:
        """Whether regions are asked for, or there are rows enough to try them."""
        if self.settings.n_regions != "auto":
            return self.settings.n_regions != 1
        return len(self.rows.sample) >= SOME_ROWS

    @property
    def _rows_are_many(self) -> bool:
        """Whether a model without regions is unlikely to do."""
        return len(self.rows.sample) >= MANY_ROWS

    def _taken_up(self, record: TrainingRecord, cutter: Cutter | None) -> DirichletState | None:
        """What training found before it was stopped, regions included."""
        state = record.trained(self.resources.rng, self._expected)
        if state is None:
            return None
        if cutter is not None:
            found = record.proposal(self.rows.sample, self._expected, self.resources.workers)
            cutter.take_up(*found)
        return replace(state, even_for=self._even_for)

    def _cut(self, cutter: Cutter, state: DirichletState, record: TrainingRecord | None) -> Trained:
        """The model of the regions that were proposed."""
        basis = cutter.basis()
        watcher = Watcher(self.resources.progress, record, basis)
        model = cutter.model(basis, state.alpha_epsilon, watcher)
        warn_of_jitter(model.jitter)
        return Trained(model, state.n_iter, self._scores(model, cutter.best))

    @property
    def _expected(self) -> Expected:
        n_features = self.rows.sample.take(np.arange(1)).X.shape[1]
        return Expected(
            self.settings.kernel,
            len(self.rows.prior),
            n_features,
            self.settings.categories,
            self._even_for,
        )

    @property
    def _even_for(self) -> Array | None:
        return self.rows.prior if self._pooled else None

    @property
    def _steps(self) -> int:
        """How far the kernel may be learned.

        The only row of a class says nothing about what rows of a class have in common: a handful of
        rows are likeliest under a kernel for which they have nothing in common.
        """
        return 0 if self._labels_are_guessed else self.settings.max_iter

    def _learn_kernel(self, start: Kernel | None) -> DirichletState:
        """The kernel with few points, and alpha_epsilon, from samples of the rows."""
        state = self._start(start)
        if self._steps > 0:
            state = self._searched(state, self._steps)
        if self._alpha_is_open:
            state = self._choose_alpha(state)
            if self._steps > 0 and self.settings.label_transform == "learned":
                state = self._with_first_labels(state)
        return state

    def _with_first_labels(self, state: DirichletState) -> DirichletState:
        """A first label transform: the search for the last one begins where this one ends."""
        with self.resources.progress.stage(Stage.LABELS, "label transform, few points"):
            found = self._search_of_pool(state).best_transform(state.transform, _FIRST_EVALUATIONS)
            self._say_labels(found)
        self._last_search = None  # all points follow: what it holds is not asked for again
        return replace(state, labels=found)

    def _with_all_points(self, state: DirichletState) -> DirichletState:
        """All points, and the kernel that suits them."""
        max_iter = self._steps
        if len(state.points) < self.placer.n_points:
            importance = self._importance(state)
            points = self.placer.all_points(state.kernel, importance)
            # Of many classes the kernel stays: the search took a quarter of the time of a fit.
            if max_iter == 0 or self._rows_are_few or self._pooled:
                return replace(state, points=points)
            if self.settings.label_transform == "learned" and not self.settings.optimize_inducing:
                pool = self.placer.pool
                some = pool.sample(_ROWS_EXPLAINED, np.random.RandomState(self._seed))
                noise = (state.labels or state.transform).noise_in
                kernel = kernel_for_more_points(state, len(points), pool.X[some], noise)
                return replace(state, points=points, kernel=kernel)
            state = replace(state, points=points)
            state = self._searched(state, max(1, max_iter // _SHARE_WITH_ALL_POINTS))
        return state

    def _searched(self, state: DirichletState, max_iter: int) -> DirichletState:
        # Where left-out rows choose the label transform in the end, they make up for what the last
        # steps along a flat bound would gain. Otherwise the bound is all there is.
        learned = self.settings.label_transform == "learned"
        tolerance = _ENOUGH if learned else TOLERANCE
        # Few rows too: here nothing else runs beside it, as folds do when they are left out.
        objective = partial(self._objective, workers=self._threads)
        return self.training.run(state, objective, max_iter, tolerance).state

    def _objective(
        self, sample: InMemoryRows, state: DirichletState, workers: Workers | None = None
    ) -> WithBelief:
        """The collapsed bound, and what is believed of the kernel."""
        wanted = self.settings.n_subsample or 0
        rows = self.rows.everything.bound_rows(sample.each_once(), wanted)
        prior, workers = self.rows.prior, workers or self.resources.workers
        bound = BoundObjective(rows, state.transform, prior, state.jitter, workers)
        return WithBelief(bound, self._typical_kernel(state.transform), len(prior))

    def _typical_kernel(self, transform: LabelTransform) -> Kernel:
        """What a kernel is expected to be, from the spread of features and targets."""
        variance = transform.target_variance(self.rows.prior)
        return self.training.typical_kernel(self.placer.pool, variance)

    def _start(self, kernel: Kernel | None) -> DirichletState:
        alpha = self.settings.alpha_epsilon
        if isinstance(alpha, str):
            alpha = FIRST_ALPHA
            if self._labels_are_guessed:
                alpha = _ALPHA_OF_MANY_ALONE if self._pooled else _ALPHA_OF_ALONE
        transform = LabelTransform.dirichlet(alpha)
        if self._pooled:
            transform = LabelTransform.even(alpha, self.rows.prior)
        target_variance = transform.target_variance(self.rows.prior)
        of_rows = self.training.start_kernel(self.placer.pool, target_variance)
        kernel = of_rows if kernel is None else of_rows.beginning_at(kernel)
        points = self.placer.first_points(
            kernel, _POINTS_FOR_FEW_ROWS if self._rows_are_few else FEW_POINTS
        )
        return DirichletState(kernel, points, alpha_epsilon=alpha, even_for=self._even_for)

    @property
    def _leave_out(self) -> bool:
        """Whether left-out rows choose alpha_epsilon; the paper's rule does not leave them out."""
        return self.settings.alpha_epsilon != "training"

    @cached_property
    def _labels_are_guessed(self) -> bool:
        """Whether no row left out can say how noisy labels are."""
        # Of many classes a pool may have one row each where there are more.
        rows = self.rows.sample if self._pooled else self.placer.pool
        a_handful = len(rows) < _HANDFUL
        return self._leave_out and (a_handful or are_mostly_alone(rows.class_sizes))

    @property
    def _alpha_is_open(self) -> bool:
        """Whether left-out rows decide about alpha_epsilon.

        Few rows cannot; only the label transform, three constants, follows them.
        """
        if not isinstance(self.settings.alpha_epsilon, str) or self._labels_are_guessed:
            return False
        if self._pooled:
            return False
        return not self._rows_are_few or self.settings.label_transform == "dirichlet"

    def _choose_alpha(self, state: DirichletState) -> DirichletState:
        """alpha_epsilon by the likelihood of rows; the kernel follows if that pays."""
        loss, alpha = self._best_alpha(state)
        if alpha == state.alpha_epsilon:
            return state
        changed = self._with_alpha(state, alpha)
        if self.settings.max_iter == 0:
            return changed
        followed = self._searched(changed, max(1, self.settings.max_iter // 4))
        new_loss, _ = self._best_alpha(followed, near=alpha)
        return followed if new_loss < loss else replace(state, n_iter=followed.n_iter)

    def _with_alpha(self, state: DirichletState, alpha: float) -> DirichletState:
        """The state with another alpha_epsilon; in units of the targets the kernel stays."""
        prior = self.rows.prior
        after = LabelTransform.dirichlet(alpha).target_variance(prior)
        stretch = after / state.transform.target_variance(prior)
        kernel = state.kernel
        kernel = kernel.with_parameters(kernel.parameters, stretch * kernel.variance)
        return replace(state, kernel=kernel, alpha_epsilon=alpha)

    def _best_alpha(self, state: DirichletState, near: float = MIDDLE_ALPHA) -> tuple[float, float]:
        """The smallest loss of rows of the pool under a kernel, and its alpha_epsilon."""
        with self.resources.progress.stage(Stage.ALPHA):
            loss, alpha = self._search_of_pool(state).best_alpha(near)
            self.resources.progress.note(f"{alpha:g}")
        return loss, alpha

    def _search_of_pool(self, state: DirichletState) -> LabelSearch:
        """A search for the label transform on rows of the pool alone; the last one is kept."""
        if self._last_search is not None:
            kernel, points, search = self._last_search
            if kernel is state.kernel and points is state.points:
                return search
        basis, _ = basis_of(state)
        statistics = self.placer.pool.class_statistics(basis, self.resources.workers)
        search = self._label_search(basis, statistics, self._leave_out, at_first=True)
        self._last_search = state.kernel, state.points, search
        return search

    def _say_labels(self, found: LabelTransform) -> None:
        self.resources.progress.note(
            f"separation {found.separation:.3g}, noises {found.noise_in:.3g} {found.noise_out:.3g}"
        )

    def _importance(self, state: DirichletState) -> Array | None:
        """How much each row of the pool matters for the place of the points, of shape (n,)."""
        if not isinstance(self.settings.inducing, str) or self.settings.inducing != "kmeans":
            return None
        if len(self.placer.pool) * len(self.rows.prior) > _MOST_PROBABILITIES:
            return None
        with self.resources.progress.stage(Stage.LEFT_OUT):
            basis, state = basis_of(state)
            model = basis, state.transform, self.rows.prior
            surprise = left_out_surprise(self.placer.pool, *model, self.resources.workers)
            return surprise + _SURPRISE_FLOOR

    def _finish(self, state: DirichletState, watcher: Watcher) -> Model:
        """The pass over all rows, and the label transform."""
        progress = self.resources.progress
        state = replace(state, kernel=state.kernel.refined(self.placer.pool.X))
        basis, state = basis_of(state)
        with progress.stage(Stage.STATISTICS, f"statistics: {len(basis.points)} points, all rows"):
            everything = self.rows.everything
            statistics = everything.class_statistics(
                basis, self.resources.workers, watcher, self._pooled
            )
        alpha, transform = self._labels(state, basis, statistics)
        with progress.stage(Stage.POSTERIOR):
            posterior = self._posterior(statistics, state.kernel.variance, transform)
            return Model(
                basis=basis,
                jitter=state.jitter,
                statistics=statistics,
                transform=transform,
                prior=self.rows.prior,
                alpha_epsilon=alpha,
                solved=posterior,
            )

    def _labels(
        self, state: DirichletState, basis: Basis, statistics: ClassStatistics
    ) -> tuple[float, LabelTransform]:
        """alpha_epsilon and the label transform of the finished model."""
        progress = self.resources.progress
        if self._labels_are_guessed:
            return state.alpha_epsilon, state.transform
        if self.settings.label_transform == "learned":
            with progress.stage(Stage.LABELS):
                if self._rows_are_few:
                    search = self._few_rows.label_search(basis, statistics)
                else:
                    search = self._label_search(basis, statistics, leave_out=True)
                if state.labels is None:
                    found = search.best_transform(state.transform)
                else:
                    found = search.improved_transform(state.labels)
                self._search = search
                self._say_labels(found)
            return state.alpha_epsilon, found
        alpha = state.alpha_epsilon
        if isinstance(self.settings.alpha_epsilon, str):
            with progress.stage(Stage.ALPHA):
                search = self._label_search(basis, statistics, self._leave_out)
                _, alpha = search.best_alpha()
                progress.note(f"{alpha:g}")
        return alpha, LabelTransform.dirichlet(alpha)

    def _label_search(
        self, basis: Basis, statistics: ClassStatistics, leave_out: bool, at_first: bool = False
    ) -> LabelSearch:
        """A search for the label transform, scored on a sample of the pool."""
        prior = self.rows.prior
        pool = self.placer.pool
        many = self._pooled
        n_classes = len(prior)
        size = rows_for_many_classes(n_classes) if many else scoring_rows(n_classes, at_first)
        # Always the same rows: what is compared is compared on them.
        resources = self.resources._replace(rng=np.random.RandomState(self._seed))
        rows = rows_that_score(pool, basis, size, resources, leave_out)
        kind = EvenLabelSearch if many else LabelSearch
        return kind(statistics, basis.kernel.variance, prior, rows, self.resources.workers)

    def _scores(self, model: AnyModel, regions: Proposal | None = None) -> SetScores:
        """How likely the labels of left-out rows are, for prediction sets."""
        if regions is not None:
            codes, weights = regions.judges.codes, regions.judges.weights
            log_p = regions.log_probabilities
        elif model.left_out is not None:
            pool = self.placer.pool
            codes, weights = pool.codes, pool.weights
            log_p = model.left_out.log_probabilities(pool)
        else:
            assert isinstance(model, Model)
            search = self._search
            if search is None:
                search = self._label_search(model.basis, model.statistics, True)
            codes, weights = search.rows.codes, search.rows.weights
            log_p = search.log_probabilities(model.transform, model.correction)
        own = np.ones(len(codes)) if weights is None else weights
        if self.rows.class_factors is not None:
            # A class weight makes rows count for more, but does not make them more frequent.
            own = own / self.rows.class_factors[codes]
        # A kernel that was learned from few rows flatters them, unless they were left out of that.
        few = self._rows_are_few and self.settings.max_iter > 0
        honest = model.left_out is not None or not few
        return set_scores(np.exp(np.minimum(log_p, 0.0)), codes, own, len(self.rows.prior), honest)

    @cached_property
    def _few_rows(self) -> few_rows.FewRows:
        typical = self._typical_kernel(LabelTransform.dirichlet(FIRST_ALPHA))
        return few_rows.FewRows(self.placer, self.training, self.rows.prior, typical, self._threads)

    def _compared(self, model: Model, state: DirichletState) -> Model:
        """The model with honest left-out predictions, or a plainer one that has better ones."""
        if not self._few_rows.can_judge:
            return model
        left_out = self._few_rows.left_out(state, self._objective, model.transform)
        model = replace(model, left_out=left_out)
        return self._few_rows.best(model) if self._may_be_plainer else model

    def _guarded(self, model: Model, state: DirichletState) -> tuple[Model, DirichletState]:
        """The model, if it beats plain ones; otherwise the better of two, and a warning.

        A kernel that is hardly better than the class frequencies may have given up on labels that
        are merely noisy: the bound of transformed labels likes a constant then. A typical kernel,
        with as much noise as left-out rows ask for, sees what there is to be seen.
        """
        typical = self._typical_kernel(LabelTransform.dirichlet(FIRST_ALPHA))
        pool, progress = self.placer.pool, self.resources.progress
        with progress.stage(Stage.COMPARISON, "plain models"):
            plain = plain_losses(pool, typical, self.rows.prior, self.resources.workers)
            loss = self._left_out_loss(model)
            said = [f"{name} {found.mean:.4f}" for name, found in plain.items()]
            progress.note(f"learned {loss.mean:.4f}, {', '.join(said)}")
        best = min(plain, key=lambda name: plain[name].mean)
        fails = loss.is_worse_than(plain[best])
        if fails:
            longer = typical.stretched(_LONG, _LONG**2 * typical.variance)
            again = self._with_all_points(self._learn_kernel(longer))
        elif not plain[FREQUENCIES].is_worse_than(loss):
            typical = self._typical_kernel(state.transform)
            again = replace(state, kernel=typical, labels=None, n_iter=0)
        else:
            return model, state
        search = self._search
        again = replace(again, n_iter=state.n_iter + again.n_iter)
        other = self._finish(again, Watcher(progress, None))
        gain = self._gain(model, other)
        # What chance would have gained is no reason to give up a kernel that was learned.
        if gain.mean > (0.0 if fails else gain.error):
            model, state, loss = other, again, self._left_out_loss(other)
        else:
            self._search = search
            state = replace(state, n_iter=again.n_iter)
        if loss.is_worse_than(plain[best]):
            warn_of_plain_model(loss.mean, best, plain[best].mean)
        return model, state

    def _corrected(self, model: Model, state: DirichletState) -> Model:
        """The model with the means that the likelihood of labels asks for, if that pays."""
        judges = self._judges(model, state)
        if judges is None or not model.kernel.variance > few_rows.NOTHING:
            return model
        pool, progress = self.placer.pool, self.resources.progress
        corrected, mean = corrected_by(judges, model, pool, self._threads, progress)
        if self._rows_are_few:
            # What was predicted of rows without them is worth keeping.
            corrected = replace(corrected, left_out=LeftOut.of(pool, mean, judges.variance))
        return corrected

    def _doubted(self, model: Model) -> Model:
        """The model with as much of its log-odds as rows that it left out let one believe."""
        if model.left_out is None or not model.kernel.variance > few_rows.NOTHING:
            return model
        with self.resources.progress.stage(Stage.COMPARISON, "share of log-odds believed"):
            model = self._few_rows.doubted(model)
            self.resources.progress.note(f"{model.transform.believed:.2f}")
            model.prepared(1)
        return model

    def _judges(self, model: Model, state: DirichletState) -> Judges | None:
        """Rows left out of a model; None if there are none, or labels are the paper's."""
        if self.settings.label_transform != "learned" or self._pooled:
            return None
        if self._rows_are_few:
            if self._labels_are_guessed or not self._few_rows.can_judge:
                return None
            if model.left_out is None and self._steps > 0:
                # A kernel that was learned from the rows must not flatter them.
                left_out = self._few_rows.left_out(state, self._objective, model.transform)
                model = replace(model, left_out=left_out)
            return self._few_rows.judges(model)
        search = self._search
        if search is None or search.rows.fold is None:
            return None
        rows, fold = search.rows, search.rows.fold
        latents = search.latents(model.transform)
        return Judges(rows.vectors, rows.codes, rows.weights, *latents, fold)

    def _gain(self, model: Model, other: Model) -> Loss:
        """How much less left-out rows cost under another model, the same rows for both."""
        pool, resources = self.placer.pool, self.resources
        size = 2 * scoring_rows(len(self.rows.prior))
        log_p = []
        for each in (other, model):
            same = resources._replace(rng=np.random.RandomState(0))
            rows = rows_that_score(pool, each.basis, size, same)
            search = LabelSearch(
                each.statistics, each.kernel.variance, each.prior, rows, resources.workers
            )
            log_p.append(search.log_probabilities(each.transform))
        return Loss.of(log_p[1] - log_p[0], rows.weights)

    def _left_out_loss(self, model: Model) -> Loss:
        """The loss of rows that the model leaves out, under a kernel that was learned from them."""
        search = self._search
        assert search is not None  # it has just chosen the label transform
        return Loss.of(search.log_probabilities(model.transform), search.rows.weights)

    @property
    def _may_be_plainer(self) -> bool:
        """Whether nothing that a plainer model would set aside was asked for."""
        settings = self.settings
        own_kernel = settings.lengthscale is None and settings.variance is None
        own_labels = settings.label_transform == "learned"
        own_labels = own_labels and isinstance(settings.alpha_epsilon, str)
        own_labels = own_labels and not self._pooled
        return own_kernel and own_labels and isinstance(settings.inducing, str)

    def _posterior(
        self, statistics: ClassStatistics, variance: float, transform: LabelTransform
    ) -> Posterior:
        workers = self.resources.workers
        return Posterior.from_statistics(statistics, variance, transform, self.rows.prior, workers)
