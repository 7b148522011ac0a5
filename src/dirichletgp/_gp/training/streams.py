"""Rows that come and go: the class statistics are sums, so rows are added, taken away, faded and pooled exactly.

Scaling, inducing points, kernel and label transform are settled by the first rows (see `WarmUp`);
all later rows cost one pass over themselves. The posterior is solved again when a prediction asks
for it, not before.
"""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arguments import (
    class_factors,
    class_prior,
    default_points,
    points_wanted,
    rows_to_learn_from,
    sample_weights,
)
from ..core.model import Model
from ..core.statistics import ClassStatistics
from ..core.threads import Workers
from ..estimator import InducingPointClassifier
from ..rows.in_memory import ArrayRows
from ..rows.scaling import same_scaling, scaling_function
from .forgetting import without
from .progress import Progress, Stage
from .warm_up import WarmUp, warm_up_rows

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

_ADVICE = " Declare new labels once, with all others, in the argument classes of partial_fit."


class Stream(InducingPointClassifier):
    """The methods of `DirichletGPClassifier` that change which rows the model stands on."""

    _model: Model
    _warm_up: WarmUp | None

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add labelled rows to the model, exactly as if it had been fitted to them too.

        The first rows settle scaling, inducing points, kernel and label transform, by the same
        training as `fit`. The first call trains at once. While only few rows were seen they are
        kept, and whenever their number has doubled everything is learned from them anew, until they
        are `n_subsample` rows, by default 4,000 or ten per inducing point if that is more. From
        then on nothing is kept or learned again, and a row costs one pass over itself. A first call
        with that many rows is the same as `fit`; after `fit` no training takes place. With rows of
        a single class so far, training waits for a second one.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        classes : array-like of shape (n_classes,) or None
            All labels known so far and any new ones, which need not have rows yet. The first call
            without it takes the labels in `y`.
        sample_weight : array-like of shape (n,) or None
            A weight of 2 means the same as the row given twice; rows of weight 0 are ignored.

        Returns
        -------
        self
            A call that fails or is interrupted leaves the model as it was. `class_prior_` follows
            the rows if `class_prior` is "empirical"; the label transform stays.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = make_moons(600, noise=0.2, random_state=0)
        >>> stream = DirichletGPClassifier(n_inducing=40, n_subsample=200, random_state=0)
        >>> for rows in np.split(np.arange(600), 6):
        ...     stream = stream.partial_fit(X[rows], y[rows], classes=[0, 1])
        >>> stream.class_count_.tolist()
        [300.0, 300.0]
        """
        with self._as_it_was_on_failure():
            first = "classes_" not in vars(self)
            rows, labels = validate_data(self, X, y, reset=first, dtype=[np.float64, np.float32])
            check_classification_targets(labels)
            if first:
                self._warm_up = WarmUp.empty(rows.shape[1], rows.dtype)
            if first or classes is not None:
                self._declare(np.unique(labels if classes is None else np.asarray(classes)))
            codes = self._codes(labels, _ADVICE)
            weights = sample_weights(sample_weight, len(rows), part=True)
            rows, codes, weights = _without_zeros(rows, codes, weights)
            if self._warm_up is None:
                self._add(rows, codes, weights)
            else:
                self._warm(self._warm_up, rows, codes, weights)
        return self

    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows away again, exactly as if the model had never been given them.

        Scaling, inducing points, kernel and label transform stay, even if they were learned from
        these rows. `partial_fit` keeps no more rows to learn them anew from.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows that were given to `fit` or `partial_fit` before.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,) or None
            The weights they were given with.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The rows cannot all have been added before: a class would be left with less than
            nothing. The model does not know its rows, so not every such mistake can be noticed. The
            model is left as it was.
        """
        check_is_fitted(self)
        with self._as_it_was_on_failure():
            rows, codes, weights = self._trained_rows(X, y, sample_weight)
            taken = self._statistics_of(*_without_zeros(rows, codes, weights))
            self._update(
                without(self._model.statistics, taken, self._model.kernel.variance, self.classes_)
            )
            self._warm_up = None
        return self

    def merge(self, other: Stream) -> Self:
        """Add all rows that another model has seen, exactly as if this one had seen them too.

        The two must share scaling, inducing points and kernel: copies of one model
        (``copy.deepcopy``, `save`, a pickle) that each saw rows of their own, or fits with the same
        given `inducing`, `lengthscale` and `variance`, ``max_iter=0`` and ``scaler=None``. To send
        out a copy without rows, ``decay(0)`` it first.

        Parameters
        ----------
        other : DirichletGPClassifier
            Fitted; it is not changed.

        Returns
        -------
        self
            With the classes of both. The label transform is the one it had.
        """
        check_is_fitted(self)
        if not isinstance(other, Stream):
            raise TypeError(
                f"merge takes another DirichletGPClassifier, got {type(other).__name__}."
            )
        check_is_fitted(other)
        differing = _differences(self, other)
        if differing:
            raise ValueError(
                f"merge: the models differ in {' and '.join(differing)}, so their statistics cannot be added; "
                "merge copies of one fitted model, or fits with the same scaler, inducing points and kernel."
            )
        with self._as_it_was_on_failure():
            self._declare(np.union1d(self.classes_, other.classes_))
            places = np.searchsorted(self.classes_, other.classes_).tolist()
            self._update(
                self._model.statistics + other._model.statistics.among(len(self.classes_), places)
            )
            self._warm_up = None
        return self

    def decay(self, factor: float) -> Self:
        """Multiply the weight of every row seen so far, so that later rows count for more.

        For a drifting stream, call it before each `partial_fit`: with ``factor = 0.5 ** (1 / 20)``
        a batch counts half as much after 20 more. ``decay(0)`` forgets all rows and keeps what was
        learned besides.

        Parameters
        ----------
        factor : float
            From 0 to 1.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if (
            isinstance(factor, bool)
            or not isinstance(factor, int | float | np.number)
            or not 0 <= factor <= 1
        ):
            raise ValueError(
                f"factor={factor!r} is not valid; pass a number from 0 to 1, such as 0.99."
            )
        with self._as_it_was_on_failure():
            self._update(self._model.statistics.times(float(factor)))
            if self._warm_up is not None:
                self._warm_up = self._warm_up.times(float(factor)) if factor > 0 else None
        return self

    def refresh(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn scaling, inducing points, kernel and label transform anew from recent rows.

        The search for the kernel starts from the present one. The model then stands on these rows
        alone: sums over older rows are written in the old points and cannot be translated. Give the
        older rows to `partial_fit` again if they should count.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Labels among `classes_`, which stay as they are.
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
            A call that fails or is interrupted leaves the model as it was.
        """
        check_is_fitted(self)
        with self._as_it_was_on_failure():
            rows, labels = validate_data(self, X, y, reset=False, dtype=[np.float64, np.float32])
            codes = self._codes(labels, _ADVICE)
            rows, codes, weights = _without_zeros(
                rows, codes, sample_weights(sample_weight, len(rows))
            )
            self._train_on(rows, codes, weights, start=self._model.kernel)
            self._warm_up = None
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """A stream of a single class has classes but no model yet."""
        return "_model" in vars(self)

    def _declare(self, classes: NDArray[Any]) -> None:
        """Take new classes in; those known so far must be among them."""
        if len(classes) < 2:
            raise ValueError(
                f"the stream has one class only ({classes.tolist()[0]!r}); pass all labels that may come in classes."
            )
        if "classes_" not in vars(self):
            self.classes_ = classes
            return
        old = self.classes_
        if np.array_equal(classes, old):
            return
        missing = np.setdiff1d(old, classes)
        if len(missing):
            raise ValueError(
                f"classes lacks {missing[:5].tolist()}, which the model knows; pass old and new labels."
            )
        places = np.searchsorted(classes, old)
        self.classes_ = classes
        if self._warm_up is not None:
            self._warm_up = self._warm_up.recoded(places)
        if "_model" in vars(self):
            if self._class_factors is not None:
                given = self.class_weight if not isinstance(self.class_weight, str) else {}
                factors = class_factors(given, classes, np.ones(len(classes)))
                factors[places] = self._class_factors  # type: ignore[index]
                self._class_factors = factors
            self._update(self._model.statistics.among(len(classes), places.tolist()))

    def _warm(
        self, buffer: WarmUp, rows: NDArray[Any], codes: Integers, weights: Array | None
    ) -> None:
        """Add rows while they are still kept: train if their number has doubled."""
        buffer, limit = buffer.plus(rows, codes, weights), self._rows_to_settle()
        if len(np.unique(buffer.codes)) < 2:
            if len(buffer) >= limit:
                raise ValueError(
                    f"the first {len(buffer)} rows are all of one class; mix the classes, or fit a sample first."
                )
            self._warm_up = buffer
        elif len(buffer) >= min(limit, 2 * buffer.trained_at):
            self._train_on(
                buffer.X, buffer.codes, None if np.all(buffer.weights == 1) else buffer.weights
            )
            trained = WarmUp(buffer.X, buffer.codes, buffer.weights, len(buffer))
            self._warm_up = trained if len(buffer) < limit else None
        else:
            self._add(rows, codes, weights)
            self._warm_up = buffer

    def _rows_to_settle(self) -> int:
        n_points = points_wanted(self, default_points(len(self.classes_)))
        return warm_up_rows(rows_to_learn_from(self), n_points)

    def _train_on(
        self, rows: NDArray[Any], codes: Integers, weights: Array | None, **start: Any
    ) -> None:
        rng, progress = check_random_state(self.random_state), Progress(self.verbose)
        with progress.stage(Stage.SCALING):
            scaled = self._scaled_rows(rows, codes, weights, rng)
        self._train(scaled, rng, progress, **start)

    def _add(self, rows: NDArray[Any], codes: Integers, weights: Array | None) -> None:
        total = ClassStatistics(*(part.copy() for part in vars(self._model.statistics).values()))
        self._update(
            self._statistics_of(rows, codes, self._times_class_weight(codes, weights), total)
        )

    def _statistics_of(
        self,
        rows: NDArray[Any],
        codes: Integers,
        weights: Array | None,
        total: ClassStatistics | None = None,
    ) -> ClassStatistics:
        """Statistics of rows with their whole weights, added to a total in place if there is one."""
        labelled = ArrayRows(
            rows, codes, weights, len(self.classes_), scaling_function(self.scaler_)
        )
        basis = self._model.basis
        with Workers(self.n_jobs) as workers:
            return ClassStatistics.accumulate(
                labelled, basis.vectors, len(basis.points), workers, total=total
            )

    def _update(self, statistics: ClassStatistics) -> None:
        """Let the model stand on other rows."""
        self.class_prior_ = class_prior(self.class_prior, statistics.counts)
        self._model = self._model.with_statistics(statistics, self.class_prior_)


def _without_zeros(
    rows: NDArray[Any], codes: Integers, weights: Array | None
) -> tuple[NDArray[Any], Integers, Array | None]:
    if weights is None or np.all(weights > 0):
        return rows, codes, weights
    kept = weights > 0
    return rows[kept], codes[kept], weights[kept]


def _differences(one: Stream, other: Stream) -> list[str]:
    """What two models should share to be merged, and do not."""
    mine, theirs = one._model, other._model
    differing = [] if same_scaling(one.scaler_, other.scaler_) else ["scaling"]
    if (one.classes_.dtype.kind in "biuf") != (other.classes_.dtype.kind in "biuf"):
        differing.append("the type of the labels")
    if not np.array_equal(mine.points, theirs.points):
        differing.append("inducing points")
    kernels = [(m.kernel.family, m.kernel.variance, m.jitter) for m in (mine, theirs)]
    if kernels[0] != kernels[1] or not np.array_equal(
        mine.kernel.lengthscale, theirs.kernel.lengthscale
    ):
        differing.append("kernel")
    return differing
