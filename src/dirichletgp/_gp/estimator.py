"""What all classifiers here share: checked rows, weights, scaling, and threads over blocks of rows."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .core.arguments import KernelSettings, class_factors, sample_weights
from .core.kernels import Kernel
from .core.threads import Workers, row_slices
from .rows.in_memory import ArrayRows, prediction_block_size
from .rows.scaling import fit_scaler, scaling_function

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
AnySettings = TypeVar("AnySettings", bound=KernelSettings)


class InducingPointClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers: a subclass learns in `_fit` and predicts blocks of scaled rows.

    A subclass has the parameters `scaler`, `n_jobs` and, if it wants, `class_weight`.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Class labels of any type.
        sample_weight : array-like of shape (n,) or None
            A weight of 2 means the same as the row given twice; rows of weight 0 are ignored.

        Returns
        -------
        self
            A fit that fails or is interrupted leaves the estimator as it was.
        """
        with self._as_it_was_on_failure():
            self._fit(X, y, sample_weight)
        return self

    @contextmanager
    def _as_it_was_on_failure(self) -> Iterator[None]:
        """Take back all that was set inside if it fails or is interrupted."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        raise NotImplementedError

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities (n, n_classes) of rows (n, n_features)."""
        raise NotImplementedError

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of the class probabilities, of shape (n, n_classes)."""
        with np.errstate(
            divide="ignore"
        ):  # the logarithm of a clipped zero is the -inf it should be
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each row, of shape (n,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def _training_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        rng: np.random.RandomState,
    ) -> ArrayRows:
        """Check and scale training rows; sets `classes_` and `scaler_`."""
        rows, labels = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(labels)
        weights = sample_weights(sample_weight, len(rows))
        if weights is not None and not np.all(weights > 0):
            kept = weights > 0
            rows, labels, weights = rows[kept], labels[kept], weights[kept]
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only ({classes.tolist()[0]!r}, among rows with a positive weight); "
                "pass rows of at least two classes."
            )
        self.classes_ = classes
        return self._scaled_rows(rows, np.searchsorted(classes, labels), weights, rng)

    def _scaled_rows(
        self, rows: NDArray[Any], codes: Integers, weights: Array | None, rng: np.random.RandomState
    ) -> ArrayRows:
        """Checked training rows with their class and sample weights, scaled as they are read; sets `scaler_`."""
        totals = np.bincount(codes, weights, len(self.classes_)).astype(np.float64)
        self._class_factors = class_factors(
            getattr(self, "class_weight", None), self.classes_, totals
        )
        weights = self._times_class_weight(codes, weights)
        self.scaler_ = fit_scaler(self.scaler, rows, self.classes_[codes], weights, rng)
        return ArrayRows(rows, codes, weights, len(self.classes_), scaling_function(self.scaler_))

    def _times_class_weight(self, codes: Integers, weights: Array | None) -> Array | None:
        """Sample weights times the class weights of the fit; None if every row counts once."""
        if self._class_factors is None:
            return weights
        factors: Array = self._class_factors[codes]
        return factors if weights is None else factors * weights

    def _trained_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[Any], Integers, Array | None]:
        """Rows that the model was fitted to, their class codes, and their weights in the fit."""
        check_is_fitted(self)
        rows, labels = validate_data(self, X, y, reset=False, dtype=[np.float64, np.float32])
        codes = self._codes(labels)
        weights = sample_weights(sample_weight, len(rows))
        return rows, codes, self._times_class_weight(codes, weights)

    def _codes(self, labels: NDArray[Any], advice: str = "") -> Integers:
        """Codes (n,) of labels (n,) that must be among `classes_`."""
        words = [array.dtype.kind not in "biuf" for array in (labels, self.classes_)]
        known = (
            np.isin(labels, self.classes_)
            if words[0] == words[1]
            else np.zeros(len(labels), dtype=bool)
        )
        if not np.all(known):
            unknown = np.unique(labels[~known])[:5].tolist()
            raise ValueError(
                f"y holds labels that the model was not fitted with: {unknown}.{advice}"
            )
        return np.searchsorted(self.classes_, labels)

    def _new_rows(self, X: ArrayLike) -> NDArray[Any]:
        """Rows to predict, checked."""
        check_is_fitted(self)
        rows: NDArray[Any] = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return rows

    def _of_blocks(self, rows: NDArray[Any], function: Callable[[Array, slice], Array]) -> Array:
        """A function of scaled rows, block by block in threads; results are stacked.

        The function gets blocks of one size, of which the last may be padded, and the slice of rows
        they begin with.
        """
        scale, size = (
            scaling_function(self.scaler_),
            prediction_block_size(len(self.inducing_points_)),
        )

        def of_block(place: slice) -> Array:
            block = scale(np.asarray(rows[place], dtype=np.float64))
            padding = np.zeros((size - len(block), block.shape[1]))
            return function(np.concatenate([block, padding]), place)

        with Workers(self.n_jobs) as workers:
            return np.concatenate(list(workers.map(of_block, row_slices(len(rows), size))))

    def _with_scaled_points(self, settings: AnySettings) -> AnySettings:
        """Settings whose inducing points, if given in the units of X, are scaled, each once."""
        points = settings.inducing
        if isinstance(points, str):
            return settings
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"inducing has {points.shape[1]} columns, but X has {self.n_features_in_}; "
                "pass points in the units of X."
            )
        return replace(settings, inducing=np.unique(scaling_function(self.scaler_)(points), axis=0))

    def _keep_kernel(self, kernel: Kernel, points: Array) -> None:
        """Set the attributes of a learned kernel (of an estimator with `ard`) and its scaled inducing points."""
        self.inducing_points_ = self._unscaled_points(points)
        self.lengthscale_ = kernel.lengthscale if self.ard else float(kernel.lengthscale[0])
        self.variance_ = kernel.variance

    def _unscaled_points(self, points: Array) -> Array:
        """Scaled points in the units of X, where the scaler can be inverted."""
        inverse = getattr(self.scaler_, "inverse_transform", None)
        return points.copy() if inverse is None else np.asarray(inverse(points), dtype=np.float64)
