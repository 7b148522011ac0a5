"""What a fit leaves behind: one frozen value, M-sized, with no rows inside but a stream's first."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..core.bound import collapsed_bound
from ..core.concentration import Concentration
from ..core.correction import Correction
from ..core.counted import CountedPosterior
from ..core.kernels import Kernel
from ..core.kernels.kernel import KernelAt
from ..core.parallel import Workers, symmetrise
from ..core.predictor import Predictor, make_predictor
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import Basis, LabelTransform, LogOddsBeliefs, Posterior, make_basis
from ..core.statistics import ClassStatistics
from ..rows.columns import Columns
from ..rows.in_memory import Encoder, InMemoryRows, Keys, fingerprints
from ..rows.mixed import MixedScaler
from ..rows.target_codes import ScalerWithTargetCodes
from .remembered import SeenRows, SetScores

if TYPE_CHECKING:
    from .copies import Copies
    from .regional import RegionalModel


@dataclass(frozen=True)
class LeftOut:
    """Latent functions at training rows, predicted without them.

    Kept row by row, and found again by a fingerprint of row and class.

    Attributes
    ----------
    keys : ndarray of shape (n,), uint64
        Fingerprints of the rows, increasing.
    mean, variance : ndarray of shape (n, C)
    """

    keys: Keys
    mean: Array
    variance: Array

    @classmethod
    def of(cls, rows: InMemoryRows, mean: Array, variance: Array) -> "LeftOut":
        """Keep the latents (n, C) of scaled rows."""
        keys = fingerprints(rows.X, rows.codes)
        order = np.argsort(keys)
        return cls(keys[order], mean[order], variance[order])

    def scaled(self, share: float, before: Array, after: Array | None = None) -> "LeftOut":
        """With a share of what latents depart from offsets (C,) by; other offsets may follow."""
        mean = share * (self.mean - before) + (before if after is None else after)
        return LeftOut(self.keys, mean, share**2 * self.variance)

    def log_probabilities(self, rows: InMemoryRows) -> Array:
        """Log probabilities (n,) of the classes of rows that are all kept."""
        place = self.places(rows.X, rows.codes)
        return log_probability_of(rows.codes, self.mean[place], self.variance[place])

    def loss(self, rows: InMemoryRows) -> float:
        """Mean negative log-likelihood of rows that are all kept."""
        return -float(np.average(self.log_probabilities(rows), weights=rows.weights))

    def places(self, rows: Array, codes: Integers) -> Integers:
        """Where scaled rows of given classes are among those kept; -1 for rows that are not."""
        wanted = fingerprints(rows, codes)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, place, -1)

    def replaced(
        self, rows: Array, codes: Integers, mean: Array, variance: Array
    ) -> tuple[Array, Array]:
        """Latents (n, C) of scaled rows, with those that are kept in the place of those given."""
        place = self.places(rows, codes)
        kept = (place >= 0)[:, None]
        return np.where(kept, self.mean[place], mean), np.where(
            kept, self.variance[place], variance
        )


@dataclass(frozen=True)
class Model:
    """Basis, class statistics, label transform and prior; the posterior follows from them.

    Attributes
    ----------
    basis : Basis
        Kernel, scaled inducing points, and the triangle that whitens kernel vectors.
    jitter : float
        Relative to the kernel's variance.
    statistics : ClassStatistics
        Of vectors in the basis.
    transform : LabelTransform
    prior : ndarray of shape (C,)
    alpha_epsilon : float
        Constant of the Dirichlet transform that the bound belongs to.
    left_out : LeftOut or None
        Predictions of training rows without them, where rows are so few that the closed form would
        flatter the model.
    beliefs : LogOddsBeliefs or None
        How far and how roughly log-odds vary, as labels say; None in files of earlier versions.
    correction : Correction or None
        What the likelihood of labels adds to the means; None if nothing, as in earlier versions.
    solved : Posterior or None
        The solved regressions, where they are known already.

    What follows from these is computed when it is first asked for, by one thread while others wait,
    and never changes: any number of threads may share a model.
    """

    basis: Basis
    jitter: float
    statistics: ClassStatistics
    transform: LabelTransform
    prior: Array
    alpha_epsilon: float
    left_out: LeftOut | None = None
    beliefs: LogOddsBeliefs | None = None
    correction: Correction | None = None
    solved: Posterior | None = field(default=None, compare=False, repr=False)
    _lock: Any = field(default_factory=Lock, init=False, compare=False, repr=False)

    learns = True
    """Whether rows can be added: not to a compact model (`compact.py`)."""

    @property
    def kernel(self) -> Kernel:
        """The kernel of the basis."""
        return self.basis.kernel

    @property
    def points(self) -> Array:
        """The scaled inducing points of the basis, of shape (M, D)."""
        return self.basis.points

    def scaled(self, share: float) -> "Model":
        """The model whose latents depart from the log prior by a share of what they do here.

        With kernel and noises share^2 times as large, and targets share times, all coefficients
        stay: rows are added, taken away and left out as ever.
        """
        kernel = self.kernel.with_parameters(
            self.kernel.parameters, share**2 * self.kernel.variance
        )
        sums, grams = share * self.statistics.sums, share**2 * self.statistics.grams
        transform = self.transform.scaled(share)
        left_out = self.left_out
        if left_out is not None:
            before, after = (each.offsets(self.prior) for each in (self.transform, transform))
            left_out = left_out.scaled(share, before, after)
        return replace(
            self,
            basis=make_basis(kernel, self.points, self.jitter),
            statistics=ClassStatistics(self.statistics.counts, sums, grams),
            transform=transform,
            left_out=left_out,
            solved=None,
        )

    @property
    def posterior(self) -> Posterior:
        """The solved regressions."""
        return self.prepared(1)

    def prepared(self, n_jobs: int | None) -> Posterior:
        """The posterior, solved by several threads if it was not yet."""
        with self._lock:
            if self.solved is None:
                posterior = self.solve(self.transform, n_jobs)
                if self.correction is not None:
                    weight = float(self.statistics.counts.sum())
                    posterior = posterior.corrected(self.correction, weight)
                vars(self)["solved"] = posterior
            assert self.solved is not None
            return self.solved

    @cached_property
    def concentration(self) -> Concentration:
        """How well the class probabilities are known: with one BLAS thread, bit for bit alike."""
        with Workers(1):
            return Concentration.from_statistics(
                self.statistics, self.kernel.variance, self.prior, self.beliefs
            )

    def predictor(self, n_jobs: int | None) -> Predictor:
        """What gives probabilities within a tolerance from kernel vectors."""
        found: Predictor | None = vars(self).get("_predictor")
        if found is None:
            posterior = self.prepared(n_jobs)
            with self._lock, Workers(1):
                found = vars(self).get("_predictor")
                if found is None:
                    found = make_predictor(self.basis, posterior, self.statistics.grams)
                    vars(self)["_predictor"] = found
        return found

    def latent(self, n_jobs: int | None) -> Callable[[Array], tuple[Array, Array]]:
        """The function from scaled rows to latent means and variances (n, C)."""
        posterior = self.prepared(n_jobs)
        return lambda rows: posterior.latent(self.basis.vectors(rows))

    @cached_property
    def at_points(self) -> KernelAt:
        """The kernel at the inducing points."""
        return self.kernel.at(self.points)

    @cached_property
    def bound(self) -> float:
        """The collapsed bound under the Dirichlet transform: others mean other targets.

        Where a share of the log-odds is believed, it is that of the model before: densities of
        targets that are share times as large are 1 / share times as large.
        """
        transform = LabelTransform.dirichlet(self.alpha_epsilon)
        if self.statistics.is_pooled:
            transform = LabelTransform.even(self.alpha_epsilon, self.prior)
        share = self.transform.believed
        if share == 1.0:
            return collapsed_bound(self.statistics, self.solve(transform))
        solved = self.solve(transform.scaled(share))
        n_targets = float(self.statistics.counts.sum()) * len(self.prior)
        return collapsed_bound(self.statistics, solved) + n_targets * float(np.log(share))

    def solve(self, transform: LabelTransform, n_jobs: int | None = 1) -> Posterior:
        """The regressions for a transform, solved."""
        if len(self.points) == 0:
            counts = self.statistics.counts
            return CountedPosterior.of(counts, self.kernel.variance, transform, self.prior)
        with Workers(n_jobs) as workers:
            return Posterior.from_statistics(
                self.statistics, self.kernel.variance, transform, self.prior, workers
            )

    def standing_on(
        self, statistics: ClassStatistics, prior_of: Callable[[Array], Array]
    ) -> "Model":
        """The model of other rows; its posterior is solved when it is asked for.

        `prior_of` gives class probabilities (C,) for class weights (C,).
        """
        prior = prior_of(statistics.counts)
        return replace(self, statistics=statistics, prior=prior, left_out=None, solved=None)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what can be derived, with symmetric matrices as their lower triangles."""
        basis, statistics = self.basis, self.statistics
        packed = statistics.counts, statistics.sums, packed_grams(statistics.grams)
        return {
            "basis": (basis.kernel, basis.points),
            "jitter": self.jitter,
            "statistics": packed,
            "transform": self.transform,
            "prior": self.prior,
            "alpha_epsilon": self.alpha_epsilon,
            "left_out": self.left_out,
            "beliefs": self.beliefs,
            "correction": self.correction,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        counts, sums, packed = state["statistics"]
        statistics = ClassStatistics(counts, sums, unpacked_grams(packed, sums.shape[1]))
        kernel, points = state["basis"]
        basis = basis_again(kernel, points, state["jitter"])
        vars(self).update(state, statistics=statistics, basis=basis, solved=None, _lock=Lock())


def basis_again(kernel: Kernel, points: Array, jitter: float) -> Basis:
    """The basis that a fit had: with one BLAS thread, as there, so that no bit differs."""
    with Workers(1):
        return make_basis(kernel, points, jitter)


def packed_grams(grams: Array) -> Array:
    """The lower triangles (C, M (M + 1) / 2) of symmetric matrices (C, M, M)."""
    return np.asarray(grams[:, *np.tril_indices(grams.shape[1])])


def unpacked_grams(packed: Array, n_points: int) -> Array:
    """The symmetric matrices (C, M, M) with given lower triangles (C, M (M + 1) / 2)."""
    grams = np.zeros((len(packed), n_points, n_points))
    grams[:, *np.tril_indices(n_points)] = packed
    for gram in grams:
        symmetrise(gram)
    return grams


@dataclass(frozen=True)
class Features:
    """What the columns of X are, how many, and their names if they have some."""

    columns: Columns

    @property
    def number(self) -> int:
        """Number of columns of X as it is given."""
        return self.columns.n_in

    @property
    def names(self) -> list[str] | None:
        """Names of the columns of X, if they have some."""
        return self.columns.names_in


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a stream, kept as they came until everything is learned.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        Sample weights, without the class weights.
    trained_at : int
        Number of rows when the model was last trained; 0 before that.
    """

    X: AnyArray
    codes: Integers
    weights: Array
    trained_at: int = 0

    def plus(self, X: AnyArray, codes: Integers, weights: Array | None) -> "FirstRows":
        """With more rows."""
        more = np.ones(len(X)) if weights is None else weights
        return replace(
            self,
            X=np.concatenate([self.X, X]),
            codes=np.concatenate([self.codes, codes]),
            weights=np.concatenate([self.weights, more]),
        )

    def times(self, factor: float) -> "FirstRows":
        """With the weight of every row multiplied."""
        return replace(self, weights=factor * self.weights)

    def recoded(self, places: Integers) -> "FirstRows":
        """With class k called places[k]."""
        return replace(self, codes=places[self.codes])

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Waiting:
    """A stream whose rows are all of one class so far: nothing could be learned yet."""

    classes: AnyArray
    features: Features
    first_rows: FirstRows


@dataclass(frozen=True)
class Fitted:
    """Everything that a fit of `DirichletGPClassifier` leaves behind.

    Attributes
    ----------
    encoder : Encoder
        Classes, class weights and scaler: how rows become what the model sees.
    features : Features
    model : Model
    n_iter : int
        Evaluations of the bound that training took.
    history : list of dict
        The stages of the fit.
    first_rows : FirstRows or None
        Of a stream that may still learn everything anew.
    scores : SetScores or None
        How likely the labels of left-out training rows were; None in files of earlier versions.
    seen : SeenRows or None
        Marks of the training rows; None in files of earlier versions, and once rows were added or
        taken away.
    background : ndarray of shape (B, D) or None
        How the columns of scaled training rows are spread, each by itself: no line of it is a row.
        None in files of earlier versions.
    copies : Copies or None
        Labels of rows that may be met again, where they say more than the model.
    """

    encoder: Encoder
    features: Features
    model: Union[Model, "RegionalModel"]
    n_iter: int
    history: list[dict[str, Any]]
    first_rows: FirstRows | None = None
    scores: SetScores | None = None
    seen: SeenRows | None = None
    background: Array | None = None
    copies: Union["Copies", None] = None

    @property
    def classes(self) -> AnyArray:
        """Labels of the classes, of shape (C,)."""
        return self.encoder.classes

    @property
    def origin(self) -> Integers | None:
        """For each scaled column the column of X that it is a part of; None if they are mixed."""
        if self.background is None:
            return None
        return self.encoder.origin(self.features.columns, self.background.shape[1])

    @property
    def inducing_points(self) -> Array:
        """Inducing points in the units of X, where the scaler can be inverted."""
        return self.encoder.unscaled(self.model.points)

    def filled(self, rows: AnyArray) -> AnyArray:
        """Rows (n, D) of numbers, of which none was missing in training, as the scaler takes them.

        If it takes no holes, a missing value becomes that of the inducing point in the middle, or
        of the background where regions only count and have no points.
        """
        if isinstance(self.encoder.scaler, MixedScaler | ScalerWithTargetCodes):
            return rows
        if not hasattr(self.encoder.scaler, "inverse_transform"):
            raise ValueError(
                "X has missing values, but the model was fitted without any, and its scaler has no "
                "inverse that would say what is typical; fill them, or fit such rows too."
            )
        typical = self.model.points
        if len(typical) == 0:
            nothing = np.zeros((1, typical.shape[1]))
            typical = nothing if self.background is None else self.background
        middle = np.median(self.encoder.unscaled(typical), axis=0)
        return np.where(np.isnan(rows), middle, rows)
