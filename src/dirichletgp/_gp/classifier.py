"""`DirichletGPClassifier`: the estimator, in scikit-learn's manner."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .. import persistence
from ..persistence.checkpoint import Checkpoint
from .core.arguments import check_settings, class_prior
from .core.kernels import Kernel
from .core.model import Model
from .core.threads import Workers
from .predictions import Predictions
from .rows.chunks import row_source
from .rows.device import is_tensor
from .rows.in_memory import ArrayRows
from .rows.on_dask import is_dask
from .source_fit import SourceFit
from .training.dirichlet import Trainer, Whole
from .training.objective import DirichletObjective
from .training.progress import Progress, Stage
from .training.streams import Stream

Array = NDArray[np.float64]


class DirichletGPClassifier(Stream, SourceFit, Predictions):
    """Calibrated classification with a Dirichlet-based Gaussian process.

    Labels become targets of one heteroskedastic Gaussian-process regression per class, all with the
    same kernel and the same inducing points. The posterior needs no iterations, class probabilities
    come with their own uncertainty, and the cost of a pass over the rows does not depend on the
    number of classes.

    Parameters
    ----------
    kernel : {"rbf", "matern12", "matern32", "matern52"}, default="rbf"
        Family of the kernel.
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
        Class probabilities that latent means return to far from the data.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with the sample weights.
    scaler : {"quantile", "standard", "minmax"}, transformer or None, default="quantile"
        How features are scaled: to normal scores, to unit variance, to [-1, 1], by a scikit-learn
        transformer, or not at all.
    max_iter : int, default=80
        Most L-BFGS iterations with few inducing points; a tenth of that again with all of them. 0
        keeps the starting values.
    n_subsample : int or None, default=None
        Rows that the kernel's parameters are learned from. None: as many as keep an evaluation of
        the bound fast, but at least 4,000. The model itself always uses all rows.
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
    n_iter_ : int
        Evaluations of the bound that training took.
    history_ : list of dict
        The stages of the fit: "stage", "seconds", "note" and "bound_per_row", the bound at every
        evaluation.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when `X` has column names that are all strings.

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
        kernel: str = "rbf",
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
        scaler: Any = "quantile",
        max_iter: int = 80,
        n_subsample: int | None = None,
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
        self.scaler = scaler
        self.max_iter = max_iter
        self.n_subsample = n_subsample
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
            Rows; or the path or glob of Parquet or CSV files, a list of paths, a pyarrow Table or
            Dataset; or an iterable of (X, y) or (X, y, sample_weight) blocks that starts anew every
            time; or a Dask array or dataframe, whose chunks stay where they are; or a PyTorch
            tensor, whose device does what has the size of the rows. Memory maps are read piece by
            piece.
        y : array-like of shape (n,), str or None
            Class labels of any type; the name of the label column of files and Arrow tables; None
            with blocks.
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
        """
        with self._as_it_was_on_failure():
            source = row_source(X, y, sample_weight, columns)
            if is_dask(X):
                self._fit_dask(X, y, sample_weight, checkpoint)
            elif is_tensor(X):
                self._fit_tensor(X, y, sample_weight, checkpoint)
            elif source is not None or checkpoint is not None:
                self._fit_source(source or self._array_source(X, y, sample_weight), checkpoint)
            else:
                self._fit(X, y, sample_weight)
            self._warm_up = None
        return self

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        rng, progress = check_random_state(self.random_state), Progress(self.verbose)
        with progress.stage(Stage.SCALING, "checks and scaling"):
            rows = self._training_rows(X, y, sample_weight, rng)
        self._train(rows, rng, progress)

    def _train(
        self,
        rows: ArrayRows,
        rng: np.random.RandomState,
        progress: Progress,
        *,
        start: Kernel | None = None,
        totals: Array | None = None,
        whole: Whole | None = None,
        checkpoint: Checkpoint | None = None,
        objective: Callable[..., DirichletObjective] = DirichletObjective,
    ) -> None:
        """Learn from checked rows, from the `start` of an earlier kernel if there is one.

        If the rows are a sample, `totals` are the class weights of all rows (before those of
        `class_weight`), and `whole` computes their statistics.
        """
        settings = self._with_scaled_points(
            check_settings(self, rows.take(np.arange(1)).X.shape[1], rows.n_classes)
        )
        if start is not None:
            settings = replace(settings, lengthscale=start.lengthscale, variance=start.variance)
        weights = rows.class_weights
        if totals is not None:
            weights = totals if self._class_factors is None else totals * self._class_factors
        prior = class_prior(self.class_prior, weights)
        with Workers(self.n_jobs) as workers:
            trained = Trainer(rows, prior, settings, workers, rng, progress, whole, objective).run(
                checkpoint
            )
        progress.done()
        self.n_iter_ = trained.n_iter
        self.history_ = progress.history
        self._keep(trained.model)

    def _keep(self, model: Model) -> None:
        """Make a model that of this estimator, whose `classes_` and `scaler_` are set."""
        self._model = model
        self._keep_kernel(model.kernel, model.points)
        self.alpha_epsilon_ = model.alpha_epsilon
        self.label_transform_ = model.transform
        self.class_prior_ = model.prior

    @property
    def bound_(self) -> float:
        """Collapsed lower bound of the log marginal likelihood of all rows, under the Dirichlet transform."""
        if "_model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no bound_ before it is fitted.")
        return self._model.bound

    @property
    def class_count_(self) -> Array:
        """Total weight of the rows of each class, of shape (n_classes,)."""
        if "_model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no class_count_ before it is fitted.")
        return self._model.statistics.counts.copy()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `load` reads back.

        The file holds arrays and JSON with checksums, no code, and nothing that grows with the
        number of rows (a stream that still keeps its first rows, to learn from them anew, keeps
        them in the file too). It replaces an older one in a single step: a crash or a full disk
        leaves the older one as it was.

        Parameters
        ----------
        path : str or path-like

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
        persistence.save(self, path)

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
