"""What the rivals of `DirichletGPClassifier` share: checked rows, predictions in blocks."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._gp.core.arrays import AnyArray, Array
from .._gp.core.kernels import Kernel
from .._gp.rows.arrays import ArrayRows, checked_numbers, new_numbers, refuse_missing_labels
from .._gp.rows.columns import Columns
from .._gp.rows.door import SampleSize
from .._gp.rows.in_memory import Chunk, Encoder, InMemoryRows
from .._gp.rows.scaling import of_scaled_blocks
from .._gp.rows.weights import sample_weights


class Prepared(NamedTuple):
    """Training rows, coded and scaled, how they became so, and the names of their features."""

    rows: InMemoryRows
    encoder: Encoder
    feature_names: list[str] | None

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.rows.X.shape[1])

    @property
    def n_scaled_features(self) -> int:
        """Number of columns after scaling."""
        return int(self.rows.take(np.arange(1)).X.shape[1])


class RivalClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with `scaler`, `n_jobs` and, if it wants, `class_weight`."""

    scaler: Any
    n_jobs: int | None
    classes_: AnyArray
    scaler_: Any
    inducing_points_: Array
    n_features_in_: int
    _model: Any

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities (n, n_classes) of rows (n, n_features)."""
        raise NotImplementedError

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of the class probabilities, of shape (n, n_classes)."""
        with np.errstate(divide="ignore"):  # the logarithm of a clipped zero is -inf, as it should
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: ArrayLike) -> AnyArray:
        """The likeliest class of each row, of shape (n,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows (n, n_features) whose likeliest class is their label (n,)."""
        refuse_missing_labels(y)
        return float(super().score(X, y, sample_weight))

    def _prepared(self, X: Any, y: Any, sample_weight: Any, rng: np.random.RandomState) -> Prepared:
        """Training rows, checked; nothing of the estimator changes."""
        checked, labels, names = checked_numbers(X, y, type(self).__name__)
        weights = None if sample_weight is None else sample_weights(sample_weight, len(checked))
        chunk = Chunk(checked, labels, weights).of_positive_weight()
        source = ArrayRows(chunk, Columns(checked.shape[1], names))
        summary = source.summary(SampleSize(0, 0), 0)
        encoder = Encoder.learned(summary.classes, summary.class_totals, summary.sample, self, rng)
        return Prepared(encoder.rows(summary.sample), encoder, names)

    def _remember(self, prepared: Prepared, points: Array) -> None:
        """Set what is known of rows and scaled inducing points after a fit."""
        self.classes_ = prepared.encoder.classes
        self.scaler_ = prepared.encoder.scaler
        self.n_features_in_ = prepared.n_features
        self.__dict__.pop("feature_names_in_", None)
        if prepared.feature_names is not None:
            self.feature_names_in_ = np.array(prepared.feature_names, dtype=object)
        self.inducing_points_ = prepared.encoder.unscaled(points)

    def _remember_kernel(self, kernel: Kernel) -> None:
        self.lengthscale_ = kernel.shown_lengthscale
        self.variance_ = kernel.variance

    def fitted_kernel(self) -> tuple[Kernel, Array]:
        """The kernel, and the inducing points (M, D) as it sees them: scaled; for displays."""
        check_is_fitted(self)
        return self._model.kernel, self._model.points

    def _new_rows(self, X: ArrayLike) -> AnyArray:
        """Rows to predict, checked."""
        check_is_fitted(self)
        return new_numbers(self, X)

    def _of_blocks(self, rows: AnyArray, function: Callable[[Array, slice], Array]) -> Array:
        """A function of scaled rows, block by block in threads; results are stacked."""
        n_points = len(self.inducing_points_)
        return of_scaled_blocks(function, rows, self.scaler_, n_points, self.n_jobs)
