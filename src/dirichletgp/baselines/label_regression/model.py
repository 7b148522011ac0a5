"""Regression on labels: the model that Gaussian-process and ridge regression share."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ..._gp.core.arrays import AnyArray, Array
from ..._gp.core.kernels import Kernel
from ..._gp.core.parallel import (
    cholesky,
    inverse_triangle,
    multiply_rows,
    solve_rows,
    solve_rows_transposed,
)
from ..._gp.core.regressions import Basis, make_basis, plus_identity
from ..._gp.core.statistics import ClassStatistics
from ..._gp.rows.in_memory import InMemoryRows
from ..._gp.rows.scaling import of_scaled_blocks
from ..._gp.training.settings import choice, fraction
from ..rival import Prepared, RivalClassifier
from .platt import PlattScaling, hold_out


@dataclass(frozen=True)
class LabelModel:
    """C regressions that share kernel, points and noise; M-sized, no rows inside.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
    jitter, noise : float
    frequencies : ndarray of shape (C,)
        Class frequencies, which were taken off the labels.
    statistics : ClassStatistics
        Whitened, with one Gram for all classes.
    """

    kernel: Kernel
    points: Array
    jitter: float
    noise: float
    frequencies: Array
    statistics: ClassStatistics

    @cached_property
    def basis(self) -> Basis:
        """The whitened kernel vectors."""
        return make_basis(self.kernel, self.points, self.jitter)

    @cached_property
    def _solution(self) -> tuple[Array, Array]:
        """Cholesky factor of B = I + G^ / noise, and coefficients beta (C, M)."""
        factor = cholesky(plus_identity(self.statistics.grams[0] / self.noise))
        sums = self.statistics.sums
        targets = (sums - self.frequencies[:, None] * sums.sum(axis=0)) / self.noise
        return factor, solve_rows_transposed(factor, solve_rows(factor, targets))

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean (n, C) and variance (n,), the same for every class, at scaled rows."""
        vectors = self.basis.vectors(rows)
        factor, coefficients = self._solution
        mean = vectors @ coefficients.T + self.frequencies
        unexplained = self.kernel.variance - np.square(vectors).sum(axis=1)
        half = multiply_rows(inverse_triangle(factor), vectors)
        return mean, np.maximum(unexplained, 0.0) + np.square(half).sum(axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name not in ("basis", "_solution")
        }


class LabelClassifier(RivalClassifier):
    """Predictions of regressions on labels, clipped or Platt-scaled."""

    calibration: str | None
    _model: LabelModel
    _platt: PlattScaling | None

    def _split(
        self, rows: InMemoryRows, rng: np.random.RandomState
    ) -> tuple[InMemoryRows, InMemoryRows | None]:
        """Rows to train with, and to calibrate with if that is wanted."""
        if self.calibration is None:
            return rows, None
        choice("calibration", self.calibration, ("platt",))
        train, held = hold_out(rows, rng)
        return rows.part(train), rows.part(held)

    def _keep(self, model: LabelModel, prepared: Prepared, held_out: InMemoryRows | None) -> None:
        """Set the attributes of a fitted model, calibrated on rows that were held out."""
        platt = None
        if held_out is not None:
            mean, _ = _latent(model, held_out.X, prepared.encoder.scaler, self.n_jobs)
            platt = PlattScaling(mean, held_out.codes, held_out.weights)
        self._remember(prepared, model.points)
        self._model = model
        self._platt = platt
        self.noise_ = model.noise

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent functions, each of shape (n, n_classes)."""
        rows = self._new_rows(X)
        return _latent(self._model, rows, self.scaler_, self.n_jobs)

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores (n, n_classes) that `predict` takes the largest of.

        Latent means, or log-probabilities if calibrated. For two classes, the score of the second
        less that of the first, of shape (n,).
        """
        scores, _ = self.latent_mean_and_variance(X)
        if self._platt is not None:
            smallest = np.finfo(np.float64).tiny
            scores = np.log(np.maximum(self._platt.probabilities(scores), smallest))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities (n, n_classes): clipped and normalised means, or their sigmoids."""
        mean, _ = self.latent_mean_and_variance(X)
        return self._probabilities(mean)

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """The probabilities of the classifiers at the quantiles of the posterior.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        level : float, default=0.95

        Returns
        -------
        lower, upper : ndarray of shape (n, n_classes)
            For each class, its probability when its own latent function is at its lower or upper
            quantile and the others are at the opposite one.
        """
        reach = ndtri(0.5 + fraction("level", level) / 2)
        mean, variance = self.latent_mean_and_variance(X)
        lower = np.empty_like(mean)
        upper = np.empty_like(mean)
        for c in range(mean.shape[1]):
            sign = np.where(np.arange(mean.shape[1]) == c, 1.0, -1.0)
            lower[:, c] = self._probabilities(mean - reach * sign * np.sqrt(variance))[:, c]
            upper[:, c] = self._probabilities(mean + reach * sign * np.sqrt(variance))[:, c]
        return np.minimum(lower, upper), np.maximum(lower, upper)

    def _probabilities(self, mean: Array) -> Array:
        if self._platt is not None:
            return self._platt.probabilities(mean)
        clipped = np.clip(mean, 0.0, 1.0)
        total = clipped.sum(axis=1, keepdims=True)
        normalised = clipped / np.where(total > 0, total, 1.0)
        return np.where(total > 0, normalised, self._model.frequencies)


def _latent(
    model: LabelModel, rows: AnyArray, scaler: Any, n_jobs: int | None
) -> tuple[Array, Array]:
    """Mean and variance (n, C) of the latent functions at raw rows."""

    def of_block(block: Array, place: slice) -> Array:
        mean, variance = model.latent(block)
        return np.column_stack([mean, variance])[: place.stop - place.start]

    both = of_scaled_blocks(of_block, rows, scaler, len(model.points), n_jobs)
    mean = np.ascontiguousarray(both[:, :-1])
    return mean, np.repeat(both[:, -1:], mean.shape[1], axis=1)
