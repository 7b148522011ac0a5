"""`DirichletGPClassifier`: the estimator, in scikit-learn's manner."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from .. import persistence
from ..persistence.checkpoint import Checkpoint
from .core.arrays import AnyArray, Array
from .core.kernels import Kernel
from .core.parallel import Workers
from .core.probabilities.softmax import checked_tolerance
from .decisions.deciding import DecidingClassifier
from .rows.arrays import checked_rows
from .rows.columns import Columns, Matrix
from .rows.door import Given, LabelledRows, SampleSize, choose_rows, missing_in
from .rows.in_memory import Chunk, Encoder, InMemoryRows, are_often_copies
from .rows.weights import class_factors, sample_weights
from .training import streams
from .training.copies import MOST_VOTES, learned_copies
from .training.fitted import Features, FirstRows, Fitted, Waiting
from .training.inducing_points import POOL_ROWS
from .training.kernel_choice import AUTO, Material, choose_family, families
from .training.record import TrainingRecord
from .training.remembered import set_scores
from .training.schedule import Trainer, TrainingRows
from .training.settings import (
    DirichletSettings,
    Family,
    Progress,
    Resources,
    Stage,
    check_settings,
    check_sums_to_one,
    class_prior,
    default_points,
    is_pooled,
    points_wanted,
    rows_to_learn_from,
    with_scaled_points,
)

_ADVICE = " Declare new labels once, with all others, in the argument classes of partial_fit."
# Rows that say how likely labels are beside those of copies.
_SCORED_ROWS = 4_000


class DirichletGPClassifier(DecidingClassifier):
    """Calibrated classification with a Dirichlet-based Gaussian process.

    Labels become targets of one heteroskedastic Gaussian-process regression per class, all with the
    same kernel and the same inducing points. The posterior needs no iterations, class probabilities
    come with their own uncertainty, and the cost of a pass over the rows does not depend on the
    number of classes.

    Parameters
    ----------
    kernel : {"auto", "product", "rbf", "matern12", "matern32", "matern52"}, default="auto"
        Family of the kernel. "product" is made for tables: every feature has a share of its own,
        and categories and missing values need no encoding. The others are functions of a distance.
        "auto" tries "product", "rbf" and "rbf" with one lengthscale for all features quickly, and
        takes the one that predicts best rows that it was not learned from; `kernel_` says which.
    ard : bool, default=True
        One lengthscale per feature; False shares one among all.
    lengthscale : float, array of shape (n_features,) or None, default=None
        Starting value, in units of the scaled features. None: from the data.
    variance : float or None, default=None
        Starting value of the kernel's variance. None: from the data.
    n_inducing : int or None, default=None
        Number of inducing points M. More are slower (a pass costs n M^2) and better. None: 1,000,
        or fewer with so many classes that the model would take more than a gigabyte. With no more
        distinct rows than that, the rows themselves are the inducing points and the model is exact.
    inducing : {"kmeans", "rpcholesky", "random"} or array of shape (M, n_features),
    default="kmeans"
        How inducing points are chosen, or the points, in the units of `X`.
    optimize_inducing : bool, default=False
        Move the inducing points along with the kernel's parameters.
    label_transform : {"learned", "dirichlet"}, default="learned"
        "dirichlet" is the transform of the paper, with one constant, `alpha_epsilon`. "learned"
        starts there and chooses its three numbers freely by leave-one-out likelihood.
    alpha_epsilon : float, "auto" or "training", default="auto"
        Constant of the Dirichlet transform. "auto" chooses by leave-one-out likelihood, "training"
        by the likelihood of the training rows, as the paper does.
    class_prior : {"empirical", "uniform"} or array of shape (n_classes,), default="empirical"
        Class probabilities that latent means return to far from the data; they sum to one.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with the sample weights.
    categorical_features : "from_dtype", array-like of names, positions or bool, or None,
    default="from_dtype"
        Which columns hold categories. "from_dtype": columns of a frame whose type is that of
        categories or texts (texts that are numbers or dates are read as such). Otherwise exactly
        the columns that are named or numbered, or where the mask is true. None: none.
    n_regions : int or "auto", default="auto"
        Regions that the rows are cut into, each with inducing points of its own: as much model as
        there are rows. 1: none are cut. "auto" cuts 30,000 rows or more, if left-out
        rows are predicted better so; `n_regions_` and `history_` say what was chosen and why.
    memory_limit : float, default=1e9
        Most memory of a model with regions, in bytes, which regions, points and classes share:
        16 C M^2 for each region with M points. More rows than that allows for make regions larger.
    copies : {"auto", "ignore"}, default="auto"
        What is made of rows that are there several times. "auto": where left-out rows gain by it,
        the labels of the training rows that a row equals vote beside the model. The model, and its
        file, then hold 64 bits and the labels of each distinct training row, by which somebody who
        has a row can find out whether it was among them. "ignore": nothing of the kind.
    scaler : {"quantile", "standard", "minmax"}, transformer or None, default="quantile"
        How features are scaled: to normal scores, to unit variance, to [-1, 1], by a scikit-learn
        transformer, or not at all.
    max_iter : int, default=80
        Most L-BFGS iterations with few inducing points; a few of them again with all points. 0
        keeps the starting values.
    n_subsample : int or None, default=None
        Rows that the kernel's parameters are learned from. None: as many as keep an evaluation of
        the bound fast, but at least 4,000. The model itself always uses all rows.
    tolerance : float, default=1e-4
        How far any probability of `predict_proba` may be off, guaranteed. Variances that cannot
        move a probability by more are not computed, which makes predictions of many classes several
        times faster. 0: everything exactly. Two classes, and all other methods, are exact anyway.
    n_jobs : int or None, default=None
        Threads. None: as many as BLAS would use; -1: all cores.
    random_state : int, RandomState instance or None, default=None
        Decides subsamples and the start of k-means. Predictions are deterministic.
    verbose : int, default=0
        1 prints the stages of a fit with their times, 2 every evaluation.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    inducing_points_ : ndarray of shape (M, n_features)
        In the units of `X`, or of the scaled features if the scaler has no inverse.
    lengthscale_ : float or ndarray of shape (n_features,)
        Learned lengthscale, in units of the scaled features.
    variance_ : float
        Learned variance of the kernel.
    alpha_epsilon_ : float
        Constant of the Dirichlet transform in use, or that the learned transform started from.
    label_transform_ : LabelTransform
        Targets and noises in use.
    class_prior_ : ndarray of shape (n_classes,)
    bound_ : float
        Collapsed lower bound of the log marginal likelihood of all rows, under the Dirichlet
        transform.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the rows of each class.
    scaler_ : transformer
        The fitted scaler.
    n_remembered_rows_ : int
        Distinct training rows whose labels vote for their copies; see `copies`.
    n_regions_ : int
        Regions that the rows were cut into.
    regions_ : dict or None
        Numbers about them; None without regions.
    n_iter_ : int
        Evaluations of the bound that training took.
    history_ : list of dict
        The stages of the fit: "stage", "seconds", "note" and "bound_per_row", the bound at every
        evaluation.
    columns_ : dict of str to str
        What each column of `X` was taken for, in words: a number, a date, categories, a text, or
        why it is not used.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when `X` has column names that are all strings.

    See Also
    --------
    sklearn.gaussian_process.GaussianProcessClassifier : Laplace approximation, a few thousand rows.
    sklearn.calibration.CalibratedClassifierCV : Calibrates another classifier on held-out folds.
    sklearn.ensemble.HistGradientBoostingClassifier : Boosted trees.
    sklearn.ensemble.StackingClassifier : Trees that see these probabilities too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DirichletGPClassifier(random_state=0).fit(X, y)
    >>> classifier.predict_proba(X[:1]).round(2)
    array([[1., 0., 0.]])
    >>> bool(classifier.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: str = "auto",
        *,
        ard: bool = True,
        lengthscale: float | ArrayLike | None = None,
        variance: float | None = None,
        n_inducing: int | None = None,
        inducing: str | ArrayLike = "kmeans",
        optimize_inducing: bool = False,
        label_transform: str = "learned",
        alpha_epsilon: float | str = "auto",
        class_prior: str | ArrayLike = "empirical",
        class_weight: dict[Any, float] | str | None = None,
        categorical_features: str | ArrayLike | None = "from_dtype",
        n_regions: int | str = "auto",
        memory_limit: float = 1e9,
        copies: str = "auto",
        scaler: Any = "quantile",
        max_iter: int = 80,
        n_subsample: int | None = None,
        tolerance: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.ard = ard
        self.lengthscale = lengthscale
        self.variance = variance
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.label_transform = label_transform
        self.alpha_epsilon = alpha_epsilon
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_regions = n_regions
        self.memory_limit = memory_limit
        self.copies = copies
        self.scaler = scaler
        self.max_iter = max_iter
        self.n_subsample = n_subsample
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        columns: Sequence[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit to labelled rows: arrays, or files and blocks that need not fit into memory.

        Rows that are not arrays in memory are read twice. The first pass counts the classes and
        draws a random sample, from which scaling, inducing points and kernel are learned; the
        second sums the statistics of all rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), path, Arrow table or dataset, iterable of blocks,
        Dask collection
            Rows, in which values may be missing; frames of pandas and polars may hold categories,
            texts and dates too. Or the path or glob of Parquet or CSV files, a list of paths, a
            pyarrow Table or Dataset; or an iterable of (X, y) or (X, y, sample_weight) blocks that
            starts anew every time; or a Dask array or dataframe, whose chunks stay where they are;
            or a PyTorch tensor, whose device does what has the size of the rows. Memory maps are
            read piece by piece.
        y : array-like of shape (n,) or (n, n_classes), str, list of str or None
            Class labels of any type; the name of the label column of files and Arrow tables; None
            with blocks. With a column for each of several classes, labels that are not certain: a
            row with the numbers (3, 0, 1), votes or probabilities, is the same as the row given
            with the first label and weight 3 and with the third and weight 1. Classes are then
            called as the columns of a frame are, or 0, 1, ... Of files, the names of such columns.
        sample_weight : array-like of shape (n,), str or None
            A weight of 2 means the same as the row given twice; rows of weight 0 are ignored. The
            name of a column of files and Arrow tables.
        columns : list of str or None
            Features among the columns of files and Arrow tables. None: all but labels and weights.
        checkpoint : path or None
            File that a long fit writes its progress to. A fit that was killed goes on from there
            when it is repeated, and ends with the same model; the file is removed at the end.

        Returns
        -------
        self
            A fit that fails or is interrupted leaves the estimator as it was.

        Examples
        --------
        >>> import pandas as pd
        >>> from dirichletgp import DirichletGPClassifier
        >>> dose, sex = [1.5, None, 0.5, 2.5] * 10, ["f", "m", "m", "f"] * 10
        >>> rows = pd.DataFrame({"dose": dose, "sex": sex})
        >>> classifier = DirichletGPClassifier(random_state=0).fit(rows, [1, 0, 0, 1] * 10)
        >>> classifier.predict(pd.DataFrame({"sex": ["f", "m"], "dose": [2.0, None]}))
        array([1, 0])
        """
        rng = check_random_state(self.random_state)
        progress = Progress(self.verbose)
        given = Given(
            X,
            y,
            sample_weight,
            columns,
            checkpoint is not None,
            type(self).__name__,
            self.categorical_features,
        )
        rows = choose_rows(given)
        record = None
        if checkpoint is not None:
            record = Checkpoint(checkpoint, self.get_params(deep=False))
            rng = record.random_state(rng)
        with progress.stage(Stage.FIRST_PASS, "classes, sample and scaling"):
            summary = rows.summary(self._sample_size(), _seed_without_a_draw(rng))
            progress.note(f"{summary.n_rows:,} rows, {len(summary.classes)} classes")
            if record is not None:
                record.compare(summary, rows.columns)
            found = rows.columns
            if summary.missing is not None:
                found = found.with_missing(summary.missing)
        material = self._material(summary.classes, summary.class_totals, summary.sample, found)
        labelled = partial(rows.labelled, summary=summary)
        self._result = self._learned(material, labelled, rng, progress, record=record)
        if record is not None:
            record.remove()
        return self

    def _material(
        self, classes: AnyArray, totals: Array, sample: Chunk, columns: Columns
    ) -> Material:
        """What is known of rows, with the class probabilities far from them."""
        weighted = totals
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, classes, totals)
            weighted = totals if factors is None else totals * factors
        prior = class_prior(self.class_prior, weighted)
        check_sums_to_one("class_prior", self.class_prior)
        return Material(classes, totals, sample, columns, prior)

    def _learned(
        self,
        material: Material,
        labelled: Callable[..., LabelledRows],
        rng: np.random.RandomState,
        progress: Progress,
        *,
        start: Kernel | None = None,
        record: TrainingRecord | None = None,
        settled: bool = True,
    ) -> Fitted:
        """Choose the kernel, prepare the rows, train; from the `start` of an earlier kernel."""
        among = families(self, material.columns)
        if start is not None and self.kernel == AUTO:
            among = [Family(type(start), start.ard)]
        with Workers(self.n_jobs) as workers:
            resources = Resources(workers, rng, progress)
            family, learned = choose_family(among, material, self, resources)
            with progress.stage(Stage.SCALING):
                encoder = material.encoder(family, self, rng)
                sample = encoder.rows(material.sample)
            rows = TrainingRows(
                labelled(encoder, sample=sample), sample, material.prior, encoder.class_factors
            )
            settings = self._settings(family, encoder, sample)
            own_start = self.lengthscale is not None or self.variance is not None
            if start is None and self.max_iter > 0 and not own_start:
                start = learned
            if start is not None:
                start = settings.kernel.continuing(start, settings.ard)
            n_scaled = sample.take(np.arange(1)).X.shape[1]
            if start is not None and not start.fits(n_scaled, encoder.categories):
                start = None
            trained = Trainer(rows, settings, resources).run(record, start, settled)
            origin = encoder.origin(material.columns, n_scaled)
        fitted = Fitted(
            encoder,
            Features(material.columns),
            trained.model,
            trained.n_iter,
            progress.history,
            scores=trained.scores,
            seen=material.marked(),
            background=None if origin is None else sample.background(origin),
        )
        learns = self.label_transform == "learned" and self.max_iter > 0
        wanted = settings.copies == "auto" and learns and settled
        if wanted and _may_have_copies(material, encoder):
            with progress.stage(Stage.COPIES):
                fitted = self._with_copies(fitted, material.sample)
                worth = fitted.copies and f"votes, beside {fitted.copies.worth:g} of the model"
                progress.note(worth or "no votes")
        progress.done()
        return fitted

    def _with_copies(self, fitted: Fitted, rows: Chunk) -> Fitted:
        """With the labels of rows that are there several times, if left-out rows gain by them."""
        judge = clone(self)
        judge._result = fitted
        X, labels = Matrix.of(rows.X), rows.labels
        codes = fitted.encoder.codes(labels)
        found = learned_copies(
            X, codes, len(fitted.classes), lambda some: judge.loo_proba(X[some], labels[some])
        )
        if found is None:
            return fitted
        judge._result = with_copies = replace(fitted, copies=found)
        some = np.random.RandomState(0).permutation(len(codes))[:_SCORED_ROWS]
        left_out = judge.loo_proba(X[some], labels[some])
        own = left_out[np.arange(len(some)), codes[some]]
        honest = fitted.scores is not None and fitted.scores.holds
        scores = set_scores(own, codes[some], np.ones(len(some)), len(fitted.classes), honest)
        return replace(with_copies, scores=scores)

    def _settings(
        self, family: Family, encoder: Encoder, sample: InMemoryRows
    ) -> DirichletSettings:
        """The parameters, checked, for rows as the encoder scales them."""
        n_scaled = sample.take(np.arange(1)).X.shape[1]
        settings = check_settings(self, n_scaled, len(encoder.classes), family)
        settings = with_scaled_points(settings, encoder.scaler, sample.X.shape[1])
        return replace(settings, categories=encoder.categories)

    def _sample_size(self) -> SampleSize:
        """Rows of a sample of rows that are not in memory."""
        n_points = points_wanted(self, 0)
        return SampleSize(max(POOL_ROWS, 4 * n_points), rows_to_learn_from(self) or 0)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add labelled rows to the model, exactly as if it had been fitted to them too.

        The first rows settle scaling, inducing points, kernel, label transform and the correction
        of the means, by the same training as `fit`. The first call trains at once. While only few
        rows were seen they are kept, and whenever their number has doubled everything is learned
        from them anew, until they are `n_subsample` rows, by default 4,000 or ten per inducing
        point if that is more. From then on nothing is kept or learned again, and a row costs one
        pass over itself. A first call with that many rows is the same as `fit`; after `fit` no
        training takes place. With rows of a single class so far, training waits for a second one.

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
        state = self._result
        if isinstance(state, Fitted):
            state = self._learning("partial_fit")
        if state is None:
            kind, chosen = type(self).__name__, self.categorical_features
            given = Given(X, y, sample_weight, estimator=kind, categorical=chosen)
            rows, labels, found = checked_rows(given)
            features = Features(found)
        else:
            rows, labels = self._matrix_and_labels(X, y, raw=state.first_rows is not None)
            features = state.features
        check_classification_targets(labels)
        if state is None or classes is not None:
            declared = np.unique(labels if classes is None else np.asarray(classes))
            state = self._declared(state, declared, features, rows)
        codes = Encoder(state.classes, None, None).codes(labels, _ADVICE)
        weights = sample_weights(sample_weight, len(rows), part=True)
        chunk = Chunk(rows, codes, weights).of_positive_weight()
        if isinstance(state, Fitted) and state.first_rows is None:
            self._result = self._with_rows(state, chunk)
        else:
            self._result = self._with_first_rows(state, chunk)
        return self

    def _declared(
        self, state: Fitted | Waiting | None, classes: AnyArray, features: Features, rows: AnyArray
    ) -> Fitted | Waiting:
        """A stream that knows these classes; those known so far must be among them."""
        if len(classes) < 2:
            raise ValueError(
                f"the stream has one class only ({classes.tolist()[0]!r}); "
                "pass all labels that may come in classes."
            )
        if state is None:
            nothing = np.empty((0, rows.shape[1]), rows.dtype)
            first_rows = FirstRows(nothing, np.empty(0, dtype=np.intp), np.empty(0))
            return Waiting(classes, features, first_rows)
        if isinstance(state, Fitted):
            return streams.with_classes(state, classes, self.class_prior, self.class_weight)
        places = streams.places_among(classes, state.classes)
        return replace(state, classes=classes, first_rows=state.first_rows.recoded(places))

    def _with_rows(self, fitted: Fitted, coded: Chunk) -> Fitted:
        """With rows added, whose labels are codes."""
        rows = fitted.encoder.coded_rows(*coded)
        return streams.with_rows(fitted, rows, self.class_prior, self.n_jobs)

    def _with_first_rows(self, state: Fitted | Waiting, coded: Chunk) -> Fitted | Waiting:
        """With rows added while they are still kept: trained if their number has doubled."""
        assert state.first_rows is not None
        first_rows = state.first_rows.plus(*coded)
        n_classes = len(state.classes)
        by_default = default_points(n_classes, is_pooled(self, n_classes))
        n_points = points_wanted(self, by_default)
        limit = streams.rows_to_settle(rows_to_learn_from(self), n_points)
        n = len(first_rows)
        if len(np.unique(first_rows.codes)) < 2:
            if n >= limit:
                raise ValueError(
                    f"the first {n} rows are all of one class; "
                    "mix the classes, or fit a sample first."
                )
            return replace(state, first_rows=first_rows)
        # A model that knows of no missing values cannot take rows that have some.
        first_holes = state.features.columns.is_plain and missing_in(coded.X, None) is not None
        due = n >= min(limit, 2 * first_rows.trained_at)
        if isinstance(state, Waiting) or due or first_holes:
            weights = None if np.all(first_rows.weights == 1) else first_rows.weights
            kept = Chunk(first_rows.X, first_rows.codes, weights)
            trained = self._trained_on(kept, state.classes, state.features)
            settled = replace(first_rows, trained_at=n) if n < limit else None
            return replace(trained, first_rows=settled)
        return replace(self._with_rows(state, coded), first_rows=first_rows)

    def _trained_on(
        self, coded: Chunk, classes: AnyArray, features: Features, start: Kernel | None = None
    ) -> Fitted:
        """Everything learned anew from rows in memory, whose labels are codes."""
        rng = check_random_state(self.random_state)
        progress = Progress(self.verbose)
        X, codes, weights = coded
        missing = missing_in(X, None)
        if missing is not None:
            features = Features(features.columns.with_missing(missing))
        totals = np.bincount(codes, weights, len(classes)).astype(np.float64)
        sample = Chunk(X, classes[codes], weights)
        material = self._material(classes, totals, sample, features.columns)
        return self._learned(material, _all_of_them, rng, progress, start=start, settled=False)

    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows away again, exactly as if the model had never been given them.

        Scaling, inducing points, kernel and label transform stay, even if they were learned from
        these rows, and so does the correction of the means, in proportion to the rows that are
        left. `partial_fit` keeps no more rows to learn them anew from.

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

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = make_moons(60, noise=0.3, random_state=0)
        >>> stream = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
        >>> before = stream.predict_proba(X)
        >>> stream = stream.partial_fit([[0.0, 3.0]], [1]).forget([[0.0, 3.0]], [1])
        >>> bool(abs(stream.predict_proba(X) - before).max() < 1e-8)
        True
        """
        fitted = self._learning("forget")
        rows, labels = self._matrix_and_labels(X, y)
        codes = fitted.encoder.codes(labels)
        weights = sample_weights(sample_weight, len(rows))
        taken = fitted.encoder.coded_rows(*Chunk(rows, codes, weights).of_positive_weight())
        self._result = streams.without_rows(fitted, taken, self.class_prior, self.n_jobs)
        return self

    def merge(self, other: DirichletGPClassifier) -> Self:
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
            With the classes of both. Label transform and correction are those it had.

        Examples
        --------
        >>> import copy
        >>> from sklearn.datasets import make_moons
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = make_moons(60, noise=0.3, random_state=0)
        >>> here = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
        >>> there = copy.deepcopy(here).decay(0)  # what was learned, without the rows
        >>> there = there.partial_fit([[0.0, 3.0], [1.0, 3.0]], [1, 0])
        >>> here.merge(there).class_count_.tolist()
        [31.0, 31.0]
        """
        fitted = self._learning("merge")
        if not isinstance(other, DirichletGPClassifier):
            raise TypeError(
                f"merge takes another DirichletGPClassifier, got {type(other).__name__}."
            )
        theirs = other._learning("merge")
        self._result = streams.merged(fitted, theirs, self.class_prior, self.class_weight)
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

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = make_moons(60, noise=0.3, random_state=0)
        >>> stream = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
        >>> stream.decay(0.5).class_count_.tolist()
        [15.0, 15.0]
        """
        fitted = self._learning("decay")
        number = isinstance(factor, int | float | np.number) and not isinstance(factor, bool)
        if not number or not 0 <= factor <= 1:
            raise ValueError(
                f"factor={factor!r} is not valid; pass a number from 0 to 1, such as 0.99."
            )
        self._result = streams.faded(fitted, float(factor), self.class_prior)
        return self

    def refresh(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn everything anew from recent rows, from scaling to the correction of the means.

        The search for the kernel starts from the present one. The model then stands on these rows
        alone: sums over older rows are written in the old points and cannot be translated. Give the
        older rows to `partial_fit` again if they should count.

        Regions are cut anew, too: whether, how many and where follows from these rows as in `fit`,
        so a region in which rows have piled up becomes several, and "auto" does not cut fewer than
        30,000 rows. The last stage of `history_` says what there was before and what there is now.

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

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = make_moons(60, noise=0.3, random_state=0)
        >>> stream = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
        >>> stream.refresh(X[:40], y[:40]).class_count_.sum().item()
        40.0
        """
        fitted = self._learning("refresh")
        rows, labels = self._matrix_and_labels(X, y, raw=True)
        codes = fitted.encoder.codes(labels, _ADVICE)
        weights = sample_weights(sample_weight, len(rows))
        coded = Chunk(rows, codes, weights).of_positive_weight()
        model = fitted.model
        start = model.kernel
        if model.transform.believed < 1.0:  # of few rows; others may be believed wholly
            whole = start.variance / model.transform.believed**2
            start = start.with_parameters(start.parameters, whole)
        trained = self._trained_on(coded, fitted.classes, fitted.features, start)
        self._result = streams.with_word_of_regions(trained, fitted.model)
        return self

    def compact(self) -> Self:
        """A copy that predicts and no longer learns, in a fraction of the memory.

        It keeps one triangle and, for more than two classes, a thin matrix per class in the place
        of two matrices per class. Its probabilities, intervals and uncertainties are those of the
        model but for rounding, which is chosen such that no probability at an inducing point is
        off by more than half of `tolerance`. Methods that need the sums over rows
        (`partial_fit`, `forget`, `merge`, `decay`, `refresh`, `loo_proba`) raise an error. Of two
        classes only the difference of the latent functions is known: `latent_mean_and_variance`
        gives half of it to each. Labels of rows that vote for their copies (`copies`) are kept.

        Returns
        -------
        DirichletGPClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = DirichletGPClassifier(max_iter=2, random_state=0).fit(X, y)
        >>> small = classifier.compact()
        >>> bool(abs(small.predict_proba(X) - classifier.predict_proba(X)).max() < 1e-4)
        True
        """
        from .training.compact import compacted

        fitted = self._fitted
        other = clone(self)
        model = compacted(fitted.model, checked_tolerance(self.tolerance), self.n_jobs)
        other._result = replace(fitted, model=model, first_rows=None)
        return other

    def save(
        self, path: str | os.PathLike[str], *, compact: bool = False, overwrite: bool = False
    ) -> None:
        """Write the fitted model to one file, which `load` reads back.

        The file holds arrays and JSON with checksums, no code, and nothing that grows with the
        number of rows beyond 1,500 (of so few, left-out predictions are kept for `loo_proba`; a
        stream that still keeps its first rows, to learn from them anew, keeps them in the file
        too; where copies of rows vote beside the model, 64 bits and the labels of every distinct
        row are in it). It replaces an older model file in a single step: a crash or a full disk
        leaves the older one as it was. A file of another kind is not replaced.

        Parameters
        ----------
        path : str or path-like
        compact : bool, default=False
            Write what `compact()` returns: a small file of a model that no longer learns.
        overwrite : bool, default=False
            Whether to replace a file that is no model, such as a table of the same name.

        Raises
        ------
        FileExistsError
            There is a file of another kind, and `overwrite` is False.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from sklearn.datasets import load_iris
        >>> from dirichletgp import DirichletGPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = DirichletGPClassifier(max_iter=2, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "iris.dgp")
        ...     classifier.save(path)
        ...     again = DirichletGPClassifier.load(path)
        >>> bool((again.predict_proba(X) == classifier.predict_proba(X)).all())
        True
        """
        persistence.save(self.compact() if compact else self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fitted model that `save` wrote; see there.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        DirichletGPClassifier

        Raises
        ------
        dirichletgp.persistence.ModelFileError
            A `ValueError`: the file is truncated, altered, not a model, or from a newer version.
        """
        return persistence.load(path, cls)


def _may_have_copies(material: Material, encoder: Encoder) -> bool:
    """Whether all rows are at hand, each counts once, and some are there several times."""
    rows = material.sample
    n, n_classes = len(rows.labels), len(material.classes)
    if rows.weights is not None and np.any(rows.weights != 1.0):
        return False
    if encoder.class_factors is not None:
        return False
    if n < material.totals.sum() or n * n_classes > MOST_VOTES:
        return False
    return are_often_copies(rows.X)


def _all_of_them(encoder: Encoder, sample: InMemoryRows) -> InMemoryRows:
    """Rows in memory are all in the sample."""
    return sample


def _seed_without_a_draw(rng: np.random.RandomState) -> int:
    """A seed for the first pass that leaves `rng` alone.

    Rows that are all sample are then trained on like an array.
    """
    copy = np.random.RandomState()
    copy.set_state(rng.get_state())
    return int(copy.randint(2**31))
