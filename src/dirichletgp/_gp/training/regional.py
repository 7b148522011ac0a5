"""A fitted model of regions: a tree, and a model of its own in each of them.

The latents of a row are those of its regions, averaged with the row's weights:

    mean = sum_r weight_r mean_r        variance = sum_r weight_r variance_r

Weights change smoothly across the borders, so all that follows from latents does: probabilities,
intervals, uncertainties, left-out predictions. A prediction touches the few regions that hold the
row. All regions share the kernel and the label transform; points, statistics and class frequencies
are their own. A region with rows of one class has no points: it counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..core.kernels import Kernel
from ..core.parallel import Workers, row_slices
from ..core.probabilities.softmax import class_probabilities
from ..core.regional import RegionalBasis, RegionalStatistics, apart, rows_at_once
from ..core.regions import Regions
from ..core.regressions import Basis, LabelTransform, LogOddsBeliefs, Posterior
from .fitted import LeftOut, Model

# Rows of a region are predicted so many at a time, the last ones padded: the bits of a prediction
# do not depend on the rows that come with it.
_TILE = 24
_MOST_TILES = 20
_SCALED_AT_ONCE = 2_048


@dataclass(frozen=True)
class RegionalModel:
    """A tree of regions with a `Model` for each.

    Attributes
    ----------
    regions : Regions
    models : tuple of Model
        With one kernel and one label transform for all.
    counts : ndarray of shape (C,)
        Weight of the rows of each class, every row once.
    prior : ndarray of shape (C,)
        Class probabilities of all rows.
    learns : bool, default=True
        Whether rows can be added: not to compact models (`compact.py`).
    """

    regions: Regions
    models: tuple[Model, ...]
    counts: Array
    prior: Array
    learns: bool = True

    @property
    def kernel(self) -> Kernel:
        """The kernel of all regions."""
        return self.models[0].kernel

    @property
    def transform(self) -> LabelTransform:
        """The label transform of all regions."""
        return self.models[0].transform

    @property
    def alpha_epsilon(self) -> float:
        """Constant of the Dirichlet transform that the bound belongs to."""
        return self.models[0].alpha_epsilon

    @property
    def jitter(self) -> float:
        """The largest one of any region, relative to the kernel's variance."""
        return max(model.jitter for model in self.models)

    @property
    def left_out(self) -> LeftOut | None:
        """Rows are too many for anything but the closed form."""
        return None

    @property
    def beliefs(self) -> LogOddsBeliefs | None:
        """What labels say about log-odds: each region asks its own sums."""
        return None

    @cached_property
    def points(self) -> Array:
        """The scaled inducing points of all regions, of shape (M, D)."""
        return np.concatenate([model.points for model in self.models])

    @property
    def basis(self) -> RegionalBasis:
        """The bases of all regions."""
        bases = tuple(model.basis for model in self.models)
        return RegionalBasis(self.regions, bases, tuple(model.jitter for model in self.models))

    @property
    def statistics(self) -> RegionalStatistics:
        """The class statistics of all regions."""
        return RegionalStatistics(self.counts, tuple(model.statistics for model in self.models))

    @cached_property
    def bound(self) -> float:
        """Sum of the bounds of the regions; rows in border zones are in several of them."""
        return float(sum(model.bound for model in self.models if len(model.points)))

    def standing_on(
        self, statistics: RegionalStatistics, prior_of: Callable[[Array], Array]
    ) -> "RegionalModel":
        """The model of other rows; `prior_of` gives class probabilities for class weights.

        Regions whose rows did not change keep what they have solved.
        """
        pairs = zip(self.models, statistics.parts, strict=True)
        models = tuple(
            model if part is model.statistics else model.standing_on(part, prior_of)
            for model, part in pairs
        )
        prior = prior_of(statistics.counts)
        return RegionalModel(self.regions, models, statistics.counts, prior)

    def solved(self, region: int) -> tuple[Basis, Posterior]:
        """The basis of a region, and its solved regressions."""
        model = self.models[region]
        return model.basis, model.posterior

    def of_latent(
        self,
        function: Callable[[Array, Array], Array],
        rows: AnyArray,
        scale: Callable[[Array], Array],
        n_jobs: int | None,
    ) -> Array:
        """A function of the latents (m, C) of raw rows (n, D), piece by piece."""

        def latent(model: Model, vectors: Array, positions: Integers) -> Array:
            return np.concatenate(model.posterior.latent(vectors), axis=1)

        return self._averaged(latent, _of_two(function), rows, scale, n_jobs)

    def of_left_out(
        self,
        function: Callable[[Array, Array], Array],
        rows: AnyArray,
        scale: Callable[[Array], Array],
        n_jobs: int | None,
        without: Callable[[Posterior, Array, Integers], tuple[Array, Array]],
    ) -> Array:
        """The same of training rows, each predicted without it.

        `without` takes a posterior, vectors (m, M) and the positions (m,) of rows among all, and
        gives their latents.
        """

        def latent(model: Model, vectors: Array, positions: Integers) -> Array:
            n = len(positions)
            return np.concatenate(without(model.posterior, vectors[:n], positions), axis=1)

        return self._averaged(latent, _of_two(function), rows, scale, n_jobs)

    def concentrations(
        self, rows: AnyArray, scale: Callable[[Array], Array], n_jobs: int | None
    ) -> Array:
        """Parameters (n, C) of Dirichlet distributions: the number of labels is a geometric mean.

        Of a region that only counts, a prediction is worth all its labels, and one more.
        """

        def latent(model: Model, vectors: Array, positions: Integers) -> Array:
            mean, variance = model.posterior.latent(vectors)
            if len(model.points):
                labels = model.concentration.at(vectors, class_probabilities(mean, variance))
            else:
                labels = np.full(len(mean), model.statistics.counts.sum() + 1.0)
            return np.column_stack([mean, variance, np.log(labels)])

        def of_averages(averages: Array) -> Array:
            mean, variance = np.split(averages[:, :-1], 2, axis=1)
            return np.exp(averages[:, -1:]) * class_probabilities(mean, variance)

        return self._averaged(latent, of_averages, rows, scale, n_jobs)

    def _averaged(
        self,
        at_rows: Callable[[Model, Array, Integers], Array],
        function: Callable[[Array], Array],
        rows: AnyArray,
        scale: Callable[[Array], Array],
        n_jobs: int | None,
    ) -> Array:
        """A function of averages over regions, for many rows at a time.

        `at_rows` takes a model, vectors (m, M), of which the last may be padding, and positions,
        and gives what is averaged (m, K).
        """
        found: list[Array] = []
        with Workers(n_jobs) as workers:
            for place in row_slices(len(rows), rows_at_once(rows.shape[1])):
                averages = self._averages(at_rows, rows[place], place.start, scale, workers)
                parts = [averages[part] for part in row_slices(len(averages), _SCALED_AT_ONCE)]
                found += workers.map(function, parts)
        return np.concatenate(found)

    def _averages(
        self,
        at_rows: Callable[[Model, Array, Integers], Array],
        rows: AnyArray,
        start: int,
        scale: Callable[[Array], Array],
        workers: Workers,
    ) -> Array:
        """Averages over regions (n, K) for raw rows, the first of which is row `start` of all."""

        def scaled(place: slice) -> Array:
            return scale(np.asarray(rows[place], dtype=np.float64))

        X = np.concatenate(list(workers.map(scaled, row_slices(len(rows), _SCALED_AT_ONCE))))

        def of_part(part: tuple[int, Integers, Array]) -> tuple[Integers, Array]:
            region, positions, share = part
            model = self.models[region]
            basis = apart(model.basis)
            pieces = []
            for place in row_slices(len(positions), _TILE * _MOST_TILES):
                chosen = positions[place]
                block = np.zeros((-(-len(chosen) // _TILE) * _TILE, X.shape[1]))
                np.take(X, chosen, axis=0, out=block[: len(chosen)])
                values = at_rows(model, basis.vectors(block), start + chosen)
                pieces.append(values[: len(chosen)])
            return positions, share[:, None] * np.concatenate(pieces)

        averages: Array | None = None
        # Results come in the order of the regions, so that sums are always taken in the same order.
        for positions, part in workers.map(of_part, self.regions.places(X).by_region()):
            if averages is None:
                averages = np.zeros((len(X), part.shape[1]))
            averages[positions] += part
        assert averages is not None
        return averages

    def summary(self) -> dict[str, Any]:
        """What there is to say of the regions, for people."""
        sizes = np.array([model.statistics.counts.sum() for model in self.models])
        counted = sum(len(model.points) == 0 for model in self.models)
        return {
            "regions": len(self.models),
            "of one class": counted,
            "points": sum(len(model.points) for model in self.models),
            "rows of a region": (float(sizes.min()), float(np.median(sizes)), float(sizes.max())),
            "overlap": float(sizes.sum() / max(self.counts.sum(), 1e-300)),
        }


def _of_two(function: Callable[[Array, Array], Array]) -> Callable[[Array], Array]:
    """A function of means and variances (m, C) as one of both side by side (m, 2 C)."""

    def of_both(both: Array) -> Array:
        mean, variance = np.split(both, 2, axis=1)
        return function(np.ascontiguousarray(mean), np.ascontiguousarray(variance))

    return of_both


AnyModel = Model | RegionalModel
