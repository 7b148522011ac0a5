"""A fitted model: kernel, inducing points, class statistics, label transform and prior. M-sized, no rows inside."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bound import collapsed_bound
from .kernels import Kernel
from .labels import LabelTransform
from .linalg import symmetrise
from .posterior import Basis, Posterior, make_basis
from .statistics import ClassStatistics
from .threads import Workers

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """What a fit leaves behind; basis and posterior are derived from it.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
        Scaled inducing points.
    jitter : float
        Relative to the kernel's variance.
    statistics : ClassStatistics
        In the whitened basis of kernel, points and jitter.
    transform : LabelTransform
    prior : ndarray of shape (C,)
    alpha_epsilon : float
        Constant of the Dirichlet transform that the bound belongs to.
    """

    kernel: Kernel
    points: Array
    jitter: float
    statistics: ClassStatistics
    transform: LabelTransform
    prior: Array
    alpha_epsilon: float

    @cached_property
    def basis(self) -> Basis:
        """The whitened kernel vectors."""
        return make_basis(self.kernel, self.points, self.jitter)

    @cached_property
    def posterior(self) -> Posterior:
        """The solved regressions."""
        with Workers(1) as workers:
            return self._solve(self.transform, workers)

    @cached_property
    def bound(self) -> float:
        """The collapsed bound under the Dirichlet transform: that of another would be the density of other targets."""
        transform = LabelTransform.dirichlet(self.alpha_epsilon)
        with Workers(1) as workers:
            return collapsed_bound(self.statistics, self._solve(transform, workers))

    def with_statistics(self, statistics: ClassStatistics, prior: Array) -> "Model":
        """The model of other rows; its posterior is solved when it is asked for."""
        other = replace(self, statistics=statistics, prior=prior)
        other.__dict__["basis"] = self.basis
        return other

    def solve(self, workers: Workers) -> None:
        """Compute the posterior now, by the threads at hand."""
        if "posterior" not in self.__dict__:
            self.__dict__["posterior"] = self._solve(self.transform, workers)

    def _solve(self, transform: LabelTransform, workers: Workers) -> Posterior:
        return Posterior.from_statistics(
            self.statistics, self.kernel.variance, transform, self.prior, workers
        )

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Latent mean and variance (n, C) of scaled rows (n, D): the third function that touches rows."""
        return self.posterior.latent(self.basis.vectors(rows))

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what can be derived, with symmetric matrices stored by their lower triangles."""
        state = {
            name: value
            for name, value in vars(self).items()
            if name not in ("basis", "posterior", "bound")
        }
        statistics = state.pop("statistics")
        state["statistics"] = (statistics.counts, statistics.sums, packed_grams(statistics.grams))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        counts, sums, packed = state["statistics"]
        statistics = ClassStatistics(counts, sums, unpacked_grams(packed, sums.shape[1]))
        vars(self).update(state, statistics=statistics)


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
