"""A fitted classifier: its public attributes, and functions of its latent posterior at rows."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .core.arrays import AnyArray, Array, Integers
from .core.kernels import Kernel
from .core.parallel import Workers
from .core.probabilities.dirichlet import (
    dirichlet_draws,
    dirichlet_interval,
    dirichlet_uncertainty,
)
from .core.probabilities.softmax import (
    checked_tolerance,
    class_probabilities,
    log_class_probabilities,
)
from .core.probabilities.uncertainty import (
    probability_interval,
    sample_probabilities,
    uncertainty,
)
from .core.regressions import LabelTransform
from .core.warning import warn_caller
from .rows.arrays import are_votes, checked_labels, refuse_missing_labels
from .rows.columns import Columns, Matrix
from .rows.door import FLOATS, is_dask, is_tensor, missing_in, refuse_repeated_names
from .rows.in_memory import folds_of
from .rows.scaling import of_pieces, of_scaled_blocks, scaling_function
from .rows.weights import sample_weights
from .training.fitted import Fitted, Waiting
from .training.regional import RegionalModel
from .training.remembered import Strangers
from .training.settings import choice, count, fraction

_KINDS = ("dirichlet", "latent")


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """The methods and attributes of `DirichletGPClassifier` that only ask the fitted value.

    Everything that a fit leaves behind is one frozen value, `_result`; the public attributes are
    properties of it.
    """

    n_jobs: int | None
    tolerance: float
    _result: Fitted | Waiting | None = None

    @property
    def _fitted(self) -> Fitted:
        """The fitted value; `NotFittedError` if there is none."""
        if not isinstance(self._result, Fitted):
            check_is_fitted(self)
        assert isinstance(self._result, Fitted)
        return self._result

    def _learning(self, method: str) -> Fitted:
        """The fitted value of a model that is not compact, for a method that needs its sums."""
        fitted = self._fitted
        if not fitted.model.learns:
            raise ValueError(
                f"{method} needs what a compact model has left behind: it predicts and no longer "
                f"learns. Keep the model that compact() was called on, or the file that save "
                "wrote without compact=True, and call it there."
            )
        return fitted

    def __sklearn_is_fitted__(self) -> bool:
        """A stream of a single class has classes but no model yet."""
        return isinstance(self._result, Fitted)

    def _known(self, name: str) -> Fitted:
        """The fitted value, for an attribute that does not exist before there is one."""
        if not isinstance(self._result, Fitted):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return self._result

    @property
    def classes_(self) -> AnyArray:
        """Labels of the classes, of shape (n_classes,)."""
        return (self._result or self._known("classes_")).classes

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return (self._result or self._known("n_features_in_")).features.number

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of the columns of X, of shape (n_features,), if they are all strings."""
        names = (self._result or self._known("feature_names_in_")).features.names
        if names is None:
            raise AttributeError("X had no names of columns that are all strings.")
        return np.array(names, dtype=object)

    @property
    def columns_(self) -> dict[str, str]:
        """What each column of X was taken for, in words; columns without names are x0, x1, ...

        Examples
        --------
        >>> import pandas as pd
        >>> from dirichletgp import DirichletGPClassifier
        >>> X = pd.DataFrame({"price": ["$1,200", "$90", None, "$7"] * 9, "size": list("SMLM") * 9})
        >>> classifier = DirichletGPClassifier(max_iter=2).fit(X, X["size"] == "M")
        >>> classifier.columns_
        {'price': 'number, missing is a value of its own', 'size': '3 categories'}
        """
        return dict(self._known("columns_").features.columns.described())

    @property
    def inducing_points_(self) -> Array:
        """Inducing points in the units of X, or scaled if the scaler has no inverse."""
        return self._known("inducing_points_").inducing_points

    def fitted_kernel(self) -> tuple[Kernel, Array]:
        """The kernel, and the inducing points (M, D) as it sees them: scaled; for displays."""
        model = self._fitted.model
        return model.kernel, model.points

    def fitted_columns(self) -> Columns:
        """What the columns of X are; for displays."""
        return self._fitted.features.columns

    def rows_seen_in(self, X: Any, y: Any) -> str | None:
        """A sentence if rows with labels seem to be rows that the model was fitted to; for reports.

        A model knows this as long as no rows are added or taken away.
        """
        fitted = self._fitted
        if fitted.seen is None:
            return None
        rows, labels = self._matrix_and_labels(X, y)
        return fitted.seen.about_copies(rows, fitted.encoder.codes(labels))

    def rows_not_seen_in(self, X: Any, y: Any) -> Strangers | None:
        """Rows with labels that seem to be none of the fit; for commands.

        None where a model cannot tell: after rows were added or taken away, and of fewer than half
        of the rows once it was fitted to more than 4,096.
        """
        fitted = self._fitted
        if fitted.seen is None:
            return None
        rows, labels = self._matrix_and_labels(X, y)
        return fitted.seen.strangers(rows, fitted.encoder.codes(labels))

    def fitted_names(self) -> list[str]:
        """For each scaled column the name of the column of X that it comes from; for displays."""
        fitted = self._fitted
        columns, scaler = fitted.features.columns, fitted.encoder.scaler
        given = columns.names_in or [f"x{j}" for j in range(columns.n_in)]
        if not hasattr(scaler, "feature_names"):
            return given
        return list(scaler.feature_names([given[j] for j in columns.origin]))

    def fitted_regions(self, X: Any) -> tuple[RegionalModel, AnyArray, Array]:
        """The model of regions, and rows of X as a matrix and scaled; for displays."""
        fitted = self._fitted
        assert isinstance(fitted.model, RegionalModel)
        matrix = self._matrix(X)
        scale = scaling_function(fitted.encoder.scaler)
        return fitted.model, matrix, scale(np.asarray(matrix, dtype=np.float64))

    @property
    def kernel_(self) -> str:
        """Name of the kernel in use, which "auto" chose."""
        return self._known("kernel_").model.kernel.name

    @property
    def lengthscale_(self) -> Any:
        """Learned lengthscale, in units of the scaled features: a float or one per feature."""
        return self._known("lengthscale_").model.kernel.shown_lengthscale

    @property
    def variance_(self) -> float:
        """Learned variance of the kernel."""
        return self._known("variance_").model.kernel.variance

    @property
    def alpha_epsilon_(self) -> float:
        """Constant of the Dirichlet transform in use, or that the learned one started from."""
        return self._known("alpha_epsilon_").model.alpha_epsilon

    @property
    def label_transform_(self) -> LabelTransform:
        """Targets and noises in use."""
        return self._known("label_transform_").model.transform

    @property
    def class_prior_(self) -> Array:
        """Class probabilities that latent means return to far from the data, (n_classes,)."""
        return self._known("class_prior_").model.prior

    @property
    def bound_(self) -> float:
        """Lower bound of the log marginal likelihood of all rows, under the Dirichlet transform."""
        return self._known("bound_").model.bound

    @property
    def class_count_(self) -> Array:
        """Total weight of the rows of each class, of shape (n_classes,)."""
        return self._known("class_count_").model.statistics.counts.copy()

    @property
    def scaler_(self) -> Any:
        """The fitted scaler."""
        return self._known("scaler_").encoder.scaler

    @property
    def n_regions_(self) -> int:
        """Number of regions that the rows were cut into; 1 if they were not."""
        model = self._known("n_regions_").model
        return model.regions.number if isinstance(model, RegionalModel) else 1

    @property
    def n_remembered_rows_(self) -> int:
        """Number of distinct training rows whose labels vote for their copies; 0 if none do."""
        copies = self._known("n_remembered_rows_").copies
        return 0 if copies is None else len(copies.keys)

    @property
    def regions_(self) -> dict[str, Any] | None:
        """How many regions, points and rows of a region there are; None without regions.

        "regions", "of one class", "points", "rows of a region" (fewest, median, most), "overlap":
        how many regions a row is in, on average.
        """
        model = self._known("regions_").model
        return model.summary() if isinstance(model, RegionalModel) else None

    @property
    def n_iter_(self) -> int:
        """Evaluations of the bound that training took."""
        return self._known("n_iter_").n_iter

    @property
    def history_(self) -> list[dict[str, Any]]:
        """The stages of the fit: "stage", "seconds", "note" and "bound_per_row"."""
        return self._known("history_").history

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities, averaged over the posterior by quadrature.

        Within `tolerance` of the exact ones. Where `n_remembered_rows_` is not 0, the labels of the
        training rows that a row equals vote beside them.

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
            return self._lazily(self.predict_proba, X, (len(self._fitted.classes),))
        copies = self._fitted.copies
        if copies is None:
            return self._probabilities(X)
        rows = self._rows_here(X)
        return copies.probabilities(self._probabilities(rows), copies.of_rows(rows))

    def _probabilities(self, X: Any) -> Array:
        """The class probabilities (n, C) of the model, without what copies of a row say."""
        tolerance = checked_tolerance(self.tolerance)
        fitted = self._fitted
        model = fitted.model
        if is_tensor(X) or isinstance(model, RegionalModel):
            return self._of_latent(X, class_probabilities)
        if tolerance == 0 and model.learns:
            return self._of_latent(X, class_probabilities)
        predictor = model.predictor(self.n_jobs)
        values = model.at_points.values
        return of_pieces(
            lambda rows: predictor.probabilities(values(rows), tolerance),
            self._matrix(X),
            fitted.encoder.scaler,
            max(len(model.points), len(model.prior)),
            self.n_jobs,
        )

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of the class probabilities, right however small the probability.

        Computed exactly, whatever `tolerance` is: a small absolute error would be a large one here.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        if is_dask(X):
            return self._lazily(self.predict_log_proba, X, (len(self._fitted.classes),))
        copies = self._fitted.copies
        if copies is None:
            return self._of_latent(X, log_class_probabilities)
        rows = self._rows_here(X)
        of_model = self._of_latent(rows, log_class_probabilities)
        return copies.log_probabilities(of_model, copies.of_rows(rows))

    def predict(self, X: ArrayLike) -> AnyArray:
        """The likeliest class of each row, of shape (n,)."""
        if is_dask(X):
            return self._lazily(self.predict, X, (), self._fitted.classes.dtype)
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows whose likeliest class is their label.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows that the model was not fitted to.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        float
            `sklearn.metrics.accuracy_score`.
        """
        if not is_tensor(y) and not is_dask(y):
            refuse_missing_labels(y)
        return float(super().score(X, y, sample_weight))

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent functions, each of shape (n, n_classes)."""
        mean, variance = self._of_latent(
            X, lambda mean, variance: np.stack([mean, variance], axis=1)
        ).swapaxes(0, 1)
        return np.ascontiguousarray(mean), np.ascontiguousarray(variance)

    def predict_dirichlet(self, X: ArrayLike) -> Array:
        """What is known of the class probabilities: parameters of a Dirichlet distribution.

        Its mean is `predict_proba`. The sum of a row is the number of labels that the prediction is
        worth: it would be known as well from so many labels with these very probabilities.
        `predict_interval`, `predict_uncertainty` and `sample_proba` follow from it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Or a Dask array or dataframe: the result is then a Dask array.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Columns in the order of `classes_`.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = make_moons(200, noise=0.3, random_state=0)
        >>> classifier = DirichletGPClassifier("rbf", max_iter=5, random_state=0).fit(X, y)
        >>> near, far = classifier.predict_dirichlet([[0.5, 0.3], [9.0, 9.0]]).sum(axis=1)
        >>> bool(near > 10 * far)
        True
        """
        if is_dask(X):
            return self._lazily(self.predict_dirichlet, X, (len(self._fitted.classes),))
        rows = self._rows_here(X)
        copies = self._fitted.copies
        found = self._concentrations(rows)
        return found if copies is None else copies.concentrations(found, copies.of_rows(rows))

    def _rows_here(self, X: Any) -> Matrix:
        """The matrix (n, D) of rows of X, in memory if they are on a device."""
        if is_tensor(X):
            from .rows.device import checked_device

            X = checked_device(X, self._fitted.features.number).host(X)
        return Matrix.of(self._matrix(X))

    def _concentrations(self, rows: Matrix) -> Array:
        """`predict_dirichlet` of the model, without what copies of a row say."""
        model = self._fitted.model
        if isinstance(model, RegionalModel):
            scale = scaling_function(self._fitted.encoder.scaler)
            return model.concentrations(rows, scale, self.n_jobs)
        posterior = model.prepared(self.n_jobs)
        basis, concentration = model.basis, model.concentration

        def of_block(block: Array, place: slice) -> Array:
            vectors = basis.vectors(block)
            p = class_probabilities(*posterior.latent(vectors))
            return (concentration.at(vectors, p)[:, None] * p)[: place.stop - place.start]

        return self._of_blocks(of_block, rows)

    def predict_interval(
        self, X: ArrayLike, level: float = 0.95, kind: str = "dirichlet"
    ) -> tuple[Array, Array]:
        """Credible intervals of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        level : float, default=0.95
            Posterior probability that each interval holds.
        kind : {"dirichlet", "latent"}, default="dirichlet"
            "dirichlet": how well the probabilities are known, by the likelihood of labels; see
            `predict_dirichlet`. "latent": the paper's, the spread of the latent functions under the
            noises of the label transform, which are chosen to predict well: such intervals are
            mostly too narrow.

        Returns
        -------
        lower, upper : ndarray of shape (n, n_classes)
            Intervals of kind "dirichlet" contain `predict_proba`.
        """
        level = fraction("level", level)
        if choice("kind", kind, _KINDS) == "dirichlet":
            return dirichlet_interval(self.predict_dirichlet(X), level)
        both = self._of_latent(
            X, lambda mean, variance: np.stack(probability_interval(mean, variance, level), axis=1)
        )
        return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])

    def predict_uncertainty(
        self, X: ArrayLike, kind: str = "dirichlet"
    ) -> tuple[Array, Array, Array]:
        """How uncertain each prediction is, and why, in nats.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        kind : {"dirichlet", "latent"}, default="dirichlet"
            What the probabilities are thought to vary by; see `predict_interval`.

        Returns
        -------
        total : ndarray of shape (n,)
            Entropy of the averaged class probabilities.
        aleatoric : ndarray of shape (n,)
            Entropy expected to remain if the class probabilities were known: labels are noisy here.
        epistemic : ndarray of shape (n,)
            The difference: too little was seen here.
        """
        if choice("kind", kind, _KINDS) == "dirichlet":
            return dirichlet_uncertainty(self.predict_dirichlet(X))
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
        kind: str = "dirichlet",
    ) -> Array:
        """Draw class probabilities from their posterior, row by row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        n_samples : int, default=100
        random_state : int, RandomState instance or None
        kind : {"dirichlet", "latent"}, default="dirichlet"
            What they are drawn from; see `predict_interval`.

        Returns
        -------
        ndarray of shape (n_samples, n, n_classes)
        """
        n_samples = count("n_samples", n_samples, smallest=1)
        kind = choice("kind", kind, _KINDS)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        if kind == "dirichlet":
            return dirichlet_draws(self.predict_dirichlet(X), n_samples, rng)
        return sample_probabilities(*self.latent_mean_and_variance(X), n_samples, rng)

    def loo_proba(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Array:
        """Class probabilities of training rows, each as if it had not been trained on.

        Closed form, at the price of a prediction; what the likelihood of labels adds to the means
        is that of a fold without the row. Honest given the scaler, inducing points, kernel and
        label transform, which did see the rows. With up to 1,500 training rows that would
        flatter the model: then the kernel, too, was learned without the row (four folds, when the
        model was fitted), until rows are added or taken away.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows that the model was fitted to, all or some.
        y : array-like of shape (n,) or (n, n_classes)
            Their labels, or their votes, which are then all left out.
        sample_weight : array-like of shape (n,) or None
            Their weights in the fit.

        Returns
        -------
        ndarray of shape (n, n_classes)

        Warns
        -----
        UserWarning
            If rows are not those that the model was fitted to, with these labels: what was never
            there cannot be left out. A model remembers marks of up to 4,096 rows for this; of more
            rows it tells only if about half of them are others, and none once rows were added or
            taken away.
        """
        fitted = self._learning("loo_proba")
        if are_votes(y):
            return self._loo_of_votes(X, y, sample_weight)
        rows, labels = self._matrix_and_labels(X, y)
        codes = fitted.encoder.codes(labels)
        weights = sample_weights(sample_weight, len(rows))
        weights = fitted.encoder.whole_weights(codes, weights)
        there = slice(None) if weights is None else np.flatnonzero(weights > 0)
        _warn_of_strangers(fitted, rows[there], codes[there])

        def without(
            posterior: Any, vectors: Array, place: slice | Integers, fold: Integers | None = None
        ) -> tuple[Array, Array]:
            own = None if weights is None else weights[place]
            latents: tuple[Array, Array] = posterior.latent_without_row(
                vectors, codes[place], own, fold
            )
            return latents

        found = self._left_out(rows, codes, without)
        if fitted.copies is None:
            return found
        votes = fitted.copies.of_rows(rows)
        votes[np.arange(len(codes)), codes] -= 1.0 if weights is None else weights
        return fitted.copies.probabilities(found, np.maximum(votes, 0.0))

    def _loo_of_votes(self, X: Any, Y: Any, sample_weight: Any) -> Array:
        """`loo_proba` of rows that were fitted with votes for classes."""
        from .rows.soft_labels import votes_of

        fitted = self._fitted
        rows = self._matrix(X)
        labels, votes = votes_of(Y, part=True)
        codes = fitted.encoder.codes(labels)
        if len(codes) != len(fitted.classes) or len(votes) != len(rows):
            raise ValueError(
                f"y has shape {votes.shape}; pass votes of shape "
                f"({len(rows)}, {len(fitted.classes)})."
            )
        if fitted.encoder.class_factors is not None:
            votes = votes * fitted.encoder.class_factors
        weights = sample_weights(sample_weight, len(rows))
        if weights is not None:
            votes = votes * weights[:, None]
        row, code = np.nonzero(votes)
        _warn_of_strangers(fitted, rows[row], code)

        def without(
            posterior: Any, vectors: Array, place: slice | Integers, fold: Integers | None = None
        ) -> tuple[Array, Array]:
            latents: tuple[Array, Array] = posterior.latent_without_votes(
                vectors, votes[place], fold=fold
            )
            return latents

        # What is kept of left-out rows is the same for each class that a row has votes for.
        found = self._left_out(rows, codes[votes.argmax(axis=1)], without)
        if fitted.copies is None:
            return found
        others = np.maximum(fitted.copies.of_rows(rows) - votes, 0.0)
        return fitted.copies.probabilities(found, others)

    def _left_out(
        self, rows: AnyArray, codes: Integers, without: Callable[..., tuple[Array, Array]]
    ) -> Array:
        """Class probabilities of training rows; `without` says what a posterior predicts of them.

        It is given the posterior, the whitened vectors of some rows, their place among all, and
        where means are corrected, their folds.
        """
        fitted = self._fitted
        model = fitted.model
        if isinstance(model, RegionalModel):
            scale = fitted.encoder.scale
            return model.of_left_out(class_probabilities, rows, scale, self.n_jobs, without)
        posterior = model.prepared(self.n_jobs)

        def of_block(block: Array, place: slice) -> Array:
            block = block[: place.stop - place.start]
            fold = None if model.correction is None else folds_of(block)
            latents = without(posterior, model.basis.vectors(block), place, fold)
            if model.left_out is not None:
                latents = model.left_out.replaced(block, codes[place], *latents)
            return class_probabilities(*latents)

        return self._of_blocks(of_block, rows, of_training_rows=True)

    def __sklearn_tags__(self) -> Any:
        """scikit-learn is told that values may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _matrix(self, X: Any, *, raw: bool = False) -> AnyArray:
        """The matrix (n, D) of rows of X, checked against the columns that the model knows.

        Where values are missing for the first time they become typical ones, unless it is `raw`.
        """
        state = self._result
        if state is None:
            check_is_fitted(self)
        assert state is not None
        columns = state.features.columns
        rows: AnyArray
        if isinstance(X, Matrix):
            return np.asarray(X)
        if not columns.is_plain:
            matrix = columns.matrix(X)
            if not len(matrix):
                raise ValueError(
                    f"Found array with 0 sample(s) (shape=(0, {columns.n_in})) while a minimum of "
                    f"1 is required by {type(self).__name__}."
                )
            return matrix
        if type(X) is np.ndarray and _is_plainly_right(X, columns):
            rows = X
        else:
            refuse_repeated_names(X)
            try:
                rows = validate_data(self, X, reset=False, dtype=FLOATS, ensure_all_finite=False)
            except ValueError as error:
                if "could not convert" in str(error):
                    columns.matrix(X)  # its error says in which column the texts are
                raise
        whole = missing_in(rows, columns.names_in) is None
        return rows if raw or whole else self._fitted.filled(rows)

    def _matrix_and_labels(self, X: Any, y: Any, *, raw: bool = False) -> tuple[AnyArray, AnyArray]:
        """The matrix (n, D) of rows, and their labels (n,)."""
        rows = self._matrix(X, raw=raw)
        return rows, checked_labels(y, rows)

    def _of_latent(self, X: ArrayLike, function: Callable[[Array, Array], Array]) -> Array:
        """A function of latent means and variances, for each row of X."""
        if is_tensor(X):
            return self._of_tensor(X, function)
        model = self._fitted.model
        rows = self._matrix(X)
        if isinstance(model, RegionalModel):
            scale = scaling_function(self._fitted.encoder.scaler)
            return model.of_latent(function, rows, scale, self.n_jobs)
        latent = model.latent(self.n_jobs)

        def of_block(block: Array, place: slice) -> Array:
            mean, variance = latent(block)
            n = place.stop - place.start
            return function(mean[:n], variance[:n])

        return self._of_blocks(of_block, rows)

    def _of_blocks(
        self,
        function: Callable[[Array, slice], Array],
        rows: AnyArray,
        of_training_rows: bool = False,
    ) -> Array:
        fitted = self._fitted
        n_points = len(fitted.model.basis.points)
        scaler = fitted.encoder.scaler
        return of_scaled_blocks(function, rows, scaler, n_points, self.n_jobs, of_training_rows)

    def _of_tensor(self, X: Any, function: Callable[[Array, Array], Array]) -> Array:
        """`_of_latent` of a tensor: latent functions where it lives, the rest here."""
        from .rows.device import checked_device
        from .rows.on_device import latent_blocks
        from .rows.regions_on_device import regional_latent_blocks

        fitted = self._fitted
        device = checked_device(X, fitted.features.number)
        model = fitted.model
        columns = fitted.features.columns
        here = not model.learns or not columns.is_plain
        if here or bool(device.xp.any(device.xp.isnan(X))):
            return self._of_latent(Matrix.of(self._matrix(device.host(X))), function)
        scaler = fitted.encoder.scaler
        if isinstance(model, RegionalModel):
            parts = regional_latent_blocks(device, model.regions, model.solved, scaler, X)
        else:
            posterior = model.prepared(self.n_jobs)
            parts = latent_blocks(device, model.basis, posterior, scaler, X)
        with Workers(self.n_jobs) as workers:
            return np.concatenate(list(workers.map(lambda latent: function(*latent), parts)))

    def _lazily(
        self, predict: Callable[[Any], AnyArray], X: Any, shape: tuple[int, ...], dtype: Any = float
    ) -> Any:
        """A Dask array of predictions (n, *shape), computed when they are asked for."""
        from .rows.on_dask import lazily

        return lazily(predict, X, shape, dtype)


def _warn_of_strangers(fitted: Fitted, rows: AnyArray, codes: Integers) -> None:
    """Say so if rows (n, D) with classes (n,) are to be left out that were never there."""
    strangers = None if fitted.seen is None else fitted.seen.strangers(rows, codes)
    if strangers is not None:
        warn_caller(
            f"{strangers.said}: what was never there cannot be left out, and these probabilities "
            "are wrong. For new rows use predict_proba, or threshold with left_out=False.",
            UserWarning,
        )


def _is_plainly_right(X: AnyArray, columns: Columns) -> bool:
    """Whether there is nothing in an array that scikit-learn's checks would change or refuse."""
    right_shape = X.ndim == 2 and X.shape[1] == columns.n_in and len(X) > 0
    return right_shape and X.dtype in FLOATS and columns.names_in is None
