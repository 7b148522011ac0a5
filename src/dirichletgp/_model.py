"""A fitted model: kernel, inducing points, class statistics, label transform and prior. M-sized, no rows inside."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kernels import Kernel
from ._labels import LabelTransform
from ._linalg import symmetrise
from ._posterior import Basis, Posterior, make_basis
from ._statistics import ClassStatistics
from ._workers import Workers

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
    """

    kernel: Kernel
    points: Array
    jitter: float
    statistics: ClassStatistics
    transform: LabelTransform
    prior: Array

    @cached_property
    def basis(self) -> Basis:
        """The whitened kernel vectors."""
        return make_basis(self.kernel, self.points, self.jitter)

    @cached_property
    def posterior(self) -> Posterior:
        """The solved regressions."""
        with Workers(1) as workers:
            return self._solve(workers)

    def solved(self, workers: Workers) -> "Model":
        """The model with its posterior solved, by the threads at hand."""
        self.__dict__["posterior"] = self._solve(workers)
        return self

    def _solve(self, workers: Workers) -> Posterior:
        return Posterior.from_statistics(self.statistics, self.kernel.variance, self.transform, self.prior, workers)

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Latent mean and variance (n, C) of scaled rows (n, D): the third function that touches rows."""
        return self.posterior.latent(self.basis.vectors(rows))

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what can be derived, with symmetric matrices stored by their lower triangles."""
        state = {name: value for name, value in vars(self).items() if name not in ("basis", "posterior")}
        lower = np.tril_indices(len(self.points))
        statistics = state.pop("statistics")
        state["statistics"] = (statistics.counts, statistics.sums, statistics.grams[:, *lower])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        counts, sums, packed = state["statistics"]
        grams = np.zeros((*sums.shape, sums.shape[1]))
        grams[:, *np.tril_indices(sums.shape[1])] = packed
        for gram in grams:
            symmetrise(gram)
        vars(self).update(state, statistics=ClassStatistics(counts, sums, grams))
