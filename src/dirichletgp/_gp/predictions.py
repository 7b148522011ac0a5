"""Predictions of `DirichletGPClassifier`: functions of the latent posterior at new rows, or at rows left out."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .core.arguments import count, fraction
from .core.leave_one_out import leave_one_out_latent
from .core.model import Model
from .core.probabilities.softmax import (
    class_probabilities,
    log_class_probabilities,
    probability_interval,
    sample_probabilities,
    uncertainty,
)
from .core.threads import Workers
from .estimator import InducingPointClassifier
from .rows.device import checked_device, is_tensor
from .rows.on_dask import is_dask, lazily
from .rows.on_device import latent_blocks

Array = NDArray[np.float64]


class Predictions(InducingPointClassifier):
    """The methods of `DirichletGPClassifier` that ask the fitted model."""

    _model: Model

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities, averaged over the posterior by quadrature.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Or a Dask array or dataframe: the probabilities are then a Dask array, computed when
            they are asked for.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Columns in the order of `classes_`; rows sum to one.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self.predict_proba, X, (len(self.classes_),))
        return self._of_latent(X, class_probabilities)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`, accurate however small the probability; of shape (n, n_classes)."""
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self.predict_log_proba, X, (len(self.classes_),))
        return self._of_latent(X, log_class_probabilities)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each row, of shape (n,)."""
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self.predict, X, (), self.classes_.dtype)
        return super().predict(X)

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent functions, each of shape (n, n_classes)."""
        mean, variance = self._of_latent(
            X, lambda mean, variance: np.stack([mean, variance], axis=1)
        ).swapaxes(0, 1)
        return np.ascontiguousarray(mean), np.ascontiguousarray(variance)

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Credible intervals of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        level : float, default=0.95
            Posterior probability that each interval holds.

        Returns
        -------
        lower, upper : ndarray of shape (n, n_classes)
        """
        level = fraction("level", level)
        both = self._of_latent(
            X, lambda mean, variance: np.stack(probability_interval(mean, variance, level), axis=1)
        )
        return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])

    def predict_uncertainty(self, X: ArrayLike) -> tuple[Array, Array, Array]:
        """How uncertain each prediction is, and why, in nats.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        total : ndarray of shape (n,)
            Entropy of the averaged class probabilities.
        aleatoric : ndarray of shape (n,)
            Entropy expected to remain if the class probabilities were known: labels are noisy here.
        epistemic : ndarray of shape (n,)
            The difference: too little was seen here.
        """
        parts = self._of_latent(
            X, lambda mean, variance: np.stack(uncertainty(mean, variance), axis=1)
        )
        total, aleatoric, epistemic = np.ascontiguousarray(parts.T)
        return total, aleatoric, epistemic

    def sample_proba(
        self,
        X: ArrayLike,
        n_samples: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> Array:
        """Draw class probabilities from their posterior, row by row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        n_samples : int, default=100
        random_state : int, RandomState instance or None

        Returns
        -------
        ndarray of shape (n_samples, n, n_classes)
        """
        n_samples = count("n_samples", n_samples, smallest=1)
        mean, variance = self.latent_mean_and_variance(X)
        seed = check_random_state(random_state).randint(2**31)
        return sample_probabilities(mean, variance, n_samples, np.random.default_rng(seed))

    def loo_proba(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Array:
        """Class probabilities of training rows, each as if it had not been trained on.

        Closed form, at the price of a prediction. Honest given the scaler, inducing points, kernel
        and label transform, which did see the rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows that the model was fitted to, all or some.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,) or None
            Their weights in the fit.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        rows, codes, weights = self._trained_rows(X, y, sample_weight)
        self._solve()

        def of_block(block: Array, place: slice) -> Array:
            own = None if weights is None else weights[place]
            vectors = self._model.basis.vectors(block)[: place.stop - place.start]
            return class_probabilities(
                *leave_one_out_latent(self._model.posterior, vectors, codes[place], own)
            )

        return self._of_blocks(rows, of_block)

    def _of_latent(self, X: ArrayLike, function: Callable[[Array, Array], Array]) -> Array:
        """A function of latent means and variances, for each row of X."""
        if is_tensor(X):
            return self._of_tensor(X, function)
        rows = self._new_rows(X)
        self._solve()

        def of_block(block: Array, place: slice) -> Array:
            mean, variance = self._model.latent(block)
            n = place.stop - place.start
            return function(mean[:n], variance[:n])

        return self._of_blocks(rows, of_block)

    def _of_tensor(self, X: Any, function: Callable[[Array, Array], Array]) -> Array:
        """`_of_latent` of a tensor: latent functions where it lives, the rest here."""
        check_is_fitted(self)
        device = checked_device(X, self.n_features_in_)
        self._solve()
        parts = latent_blocks(device, self._model, self.scaler_, X)
        with Workers(self.n_jobs) as workers:
            return np.concatenate(list(workers.map(lambda latent: function(*latent), parts)))

    def _solve(self) -> None:
        """Solve for the posterior of the rows seen so far, if that was not done before."""
        with Workers(self.n_jobs) as workers:
            self._model.solve(workers)
