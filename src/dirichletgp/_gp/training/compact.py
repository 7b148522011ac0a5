"""Compact models: what predictions need and no more, in about M^2 / 2 + C M numbers.

Two classes keep one triangle and one vector (`core/predictor.py`). More classes keep one triangle,
their coefficients, and a thin matrix per class (`core/low_rank.py`), whose width and rounding
follow from the tolerance: the coarsest is taken that leaves all probabilities at the inducing
points, of which there are most where classes meet, within half of it. The other half is for
predictions. Regions have few points: there, rows between points are compared too.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.concentration import Concentration
from ..core.low_rank import Rounded, Rounding, SharedPosterior, eigenvectors
from ..core.parallel import Workers, cholesky, inverse_triangle, multiply_rows
from ..core.predictor import (
    Halves,
    ManyClassPredictor,
    Predictor,
    TwoClassPredictor,
    two_class_predictor,
)
from ..core.probabilities.softmax import class_probabilities
from ..core.regional import apart
from ..core.regressions import Basis, Posterior, plus_identity, shared_matrix
from ..core.statistics import ClassStatistics
from .fitted import Model, basis_again
from .regional import AnyModel

# The part of the tolerance that rounding may cost at the inducing points.
_MARGIN = 0.5
# The same for regions: they have few points, which say little of other rows.
_MARGIN_OF_REGIONS = 0.1
# From coarse to fine, for usual tolerances and for small ones.
_COARSE = [
    Rounding(0.1, 1.0),
    Rounding(0.07, 0.92),
    Rounding(0.05, 0.85),
    Rounding(0.03, 0.9),
    Rounding(0.03, 0.7),
    Rounding(0.01, 0.3),
]
_FINE = [Rounding(1e-3, 0.01), Rounding(1e-5, 0.0)]
_USUAL = 1e-5


@dataclass(frozen=True)
class TwoClassForm:
    """Two classes: the fields of `TwoClassPredictor`, and R; triangles perhaps in float32."""

    coefficients: Array
    offset: float
    triangle: AnyArray
    shared: AnyArray

    def predictor(self, model: "CompactModel") -> TwoClassPredictor:
        """From kernel vectors to probabilities."""
        triangle = np.ascontiguousarray(self.triangle, dtype=np.float64)
        s2 = model.kernel.variance
        return TwoClassPredictor(self.coefficients, self.offset, triangle, 2.0 * s2)


@dataclass(frozen=True)
class ManyClassForm:
    """More classes.

    Attributes
    ----------
    coefficients : ndarray of shape (C, M)
    shared : ndarray of shape (M, M)
        R, the Cholesky factor of I + u0 G^, perhaps in float32.
    corrections : list of Rounded
    handicaps : ndarray of shape (C,) or None
        What is taken off the offsets.
    """

    coefficients: Array
    shared: AnyArray
    corrections: list[Rounded]
    handicaps: Array | None = None

    def predictor(self, model: "CompactModel") -> ManyClassPredictor:
        """From kernel vectors to probabilities."""
        shared = np.ascontiguousarray(self.shared, dtype=np.float64)
        ratio = model.transform.ratio
        offsets = model.transform.offsets(model.prior)
        if self.handicaps is not None:
            offsets = offsets - self.handicaps
        posterior = SharedPosterior(
            model.kernel.variance,
            offsets,
            self.coefficients,
            inverse_triangle(shared),
            ratio,
            [rounded.correction() for rounded in self.corrections],
        )
        return ManyClassPredictor.of(model.basis, posterior, shared, ratio, 1.0 - _MARGIN)


@dataclass(frozen=True)
class CompactModel(Model):
    """A model that predicts and no longer learns; of the statistics only the counts are left.

    Attributes
    ----------
    form : TwoClassForm or ManyClassForm
    known_bound : float
        The bound of the model that it was made of.
    """

    form: Any = field(default=None)
    known_bound: float = field(default=np.nan)

    learns = False

    @property
    def bound(self) -> float:
        """The bound of the model that it was made of."""
        return self.known_bound

    @cached_property
    def concentration(self) -> Concentration:
        """How well the class probabilities are known; G^ = (R R' - I) / u0."""
        shared = np.asarray(self.form.shared, dtype=np.float64)
        with Workers(1):
            total = plus_identity(shared @ shared.T, -1.0) / self.transform.precision_out
            alone = ClassStatistics(self.statistics.counts, self.statistics.sums, total[None])
            return Concentration.from_statistics(
                alone, self.kernel.variance, self.prior, self.beliefs
            )

    def predictor(self, n_jobs: int | None) -> Predictor:
        """What gives probabilities within a tolerance from kernel vectors."""
        with self._lock:
            found: Predictor | None = vars(self).get("_predictor")
            if found is None:
                found = vars(self)["_predictor"] = self.form.predictor(self)
            return found

    def prepared(self, n_jobs: int | None) -> Any:
        """The posterior in its compact form; of two classes only their difference is known."""
        predictor: Any = self.predictor(n_jobs)
        if isinstance(predictor, TwoClassPredictor):
            return Halves(predictor, self.basis)
        return predictor.posterior

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what can be derived."""
        derived = ("_lock", "_predictor", "at_points", "basis", "concentration")
        state = {name: value for name, value in vars(self).items() if name not in derived}
        return {**state, "basis": (self.kernel, self.points)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kernel, points = state["basis"]
        basis = basis_again(kernel, points, state["jitter"])
        vars(self).update(state, basis=basis, _lock=Lock())


def counts_only(counts: Array) -> ClassStatistics:
    """Statistics of which only the counts (C,) are left."""
    return ClassStatistics(counts, np.empty((len(counts), 0)), np.empty((0, 0, 0)))


def compacted(model: AnyModel, tolerance: float, n_jobs: int | None) -> AnyModel:
    """The compact form of a model; a compact model is its own.

    Regions have their compact forms each; those that only count are small already.
    """
    if not model.learns:
        return model
    if isinstance(model, Model):
        # The whitened vectors of the points are the rows of L.
        judges = _Judges(model.basis.factor, _MARGIN * tolerance)
        return _compact_model(model, tolerance, judges, n_jobs)

    def of_region(part: Model) -> Model:
        if len(part.points) == 0:
            return part
        vectors = np.concatenate([part.basis.factor, _between_points(part)])
        allowed = _MARGIN_OF_REGIONS * tolerance
        return _compact_model(part, tolerance, _Judges(vectors, allowed), 1)

    with Workers(n_jobs) as workers:
        parts = tuple(workers.map(of_region, model.models))
    return replace(model, models=parts, learns=False)


class _Judges(NamedTuple):
    """Whitened vectors (n, M) of rows, and by how much their probabilities may be off."""

    vectors: Array
    allowed: float

    def accept(self, exact: Array, rounded: Array) -> bool:
        """Whether probabilities (n, C) are what they should be."""
        return bool(np.abs(rounded - exact).max() <= self.allowed)


def _between_points(model: Model) -> Array:
    """Whitened vectors (2 M, M) of rows halfway between points and others."""
    points = model.points
    rows = np.concatenate([0.5 * (points + np.roll(points, k, axis=0)) for k in (1, 2)])
    return apart(model.basis).vectors(rows)


def _compact_model(
    model: Model, tolerance: float, judges: _Judges, n_jobs: int | None
) -> CompactModel:
    """The compact form of one model, rounded as far as some rows allow."""
    posterior = model.prepared(n_jobs)
    with Workers(n_jobs) as workers:
        basis = model.basis
        shared = cholesky(shared_matrix(model.statistics.total, model.transform))
        if len(posterior.offsets) == 2:
            form: Any = _two_classes(basis, posterior, shared, judges)
        else:
            form = _many_classes(posterior, shared, judges, tolerance, workers)
    return CompactModel(
        basis=basis,
        jitter=model.jitter,
        statistics=counts_only(model.statistics.counts),
        transform=model.transform,
        prior=model.prior,
        alpha_epsilon=model.alpha_epsilon,
        beliefs=model.concentration.beliefs,
        form=form,
        known_bound=model.bound,
    )


def _two_classes(
    basis: Basis, posterior: Posterior, shared: Array, judges: _Judges
) -> TwoClassForm:
    exact = two_class_predictor(basis, posterior)
    single = exact.triangle.astype(np.float32)
    values = judges.vectors @ basis.factor.T
    rounded = TwoClassPredictor(
        exact.coefficients, exact.offset, single.astype(np.float64), exact.variance
    )
    right = exact.probabilities(values.copy(), 0.0)
    enough = judges.accept(right, rounded.probabilities(values, 0.0))
    triangle = single if enough else exact.triangle
    # R says how well probabilities are known (`core/concentration.py`), no more.
    return TwoClassForm(exact.coefficients, exact.offset, triangle, shared.astype(np.float32))


def _many_classes(
    posterior: Posterior, shared: Array, judges: _Judges, tolerance: float, workers: Workers
) -> ManyClassForm:
    mean, variance = posterior.latent(judges.vectors)
    exact = class_probabilities(mean, variance)
    usual = tolerance >= _USUAL
    choices = _COARSE if usual else _FINE
    found = eigenvectors(posterior, shared, 0.3 * choices[-1].least, workers)
    triangle: AnyArray = shared.astype(np.float32) if usual else shared
    kept = triangle.astype(np.float64)
    root = inverse_triangle(kept)
    halves = multiply_rows(root, judges.vectors.copy())
    for rounding in choices:
        corrections = [Rounded.of(own, rounding, halves) for own in found]
        trial = SharedPosterior(
            posterior.variance,
            posterior.offsets,
            posterior.coefficients,
            root,
            posterior.transform.ratio,
            [rounded.correction() for rounded in corrections],
        )
        variance = trial.latent(judges.vectors)[1]
        if judges.accept(exact, class_probabilities(mean, variance)):
            break
    handicaps = None if posterior.handicaps is None else posterior.handicaps.values
    return ManyClassForm(posterior.coefficients, triangle, corrections, handicaps)
