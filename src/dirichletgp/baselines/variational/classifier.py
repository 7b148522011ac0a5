"""`VariationalGPClassifier`: sparse variational classification, the likelihood of labels."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..._gp.core.arrays import Array
from ..._gp.core.parallel import Workers
from ..._gp.training.settings import (
    Progress,
    Resources,
    check_kernel_settings,
    choice,
    count,
    fraction,
    positive,
    warn_caller,
    with_scaled_points,
)
from ..rival import RivalClassifier
from .likelihoods import Bernoulli, Likelihood, RobustMax, Softmax
from .model import VariationalModel
from .training import VariationalSettings, VariationalTrainer

_TWO_CLASSES, _MANY_CLASSES = ("auto", "logit", "probit"), ("auto", "softmax", "robustmax")
_LARGEST_FACTORS = 2.5e8  # bytes of the precisions of all latents


class VariationalGPClassifier(RivalClassifier):
    """Sparse variational Gaussian-process classification (Hensman et al., 2015): the paper's GPC.

    The bound is that of the labels themselves, under a Bernoulli likelihood for two classes or one
    latent function per class for many. The belief over inducing values has a full covariance and
    moves by natural gradients; the kernel is learned by L-BFGS on the bound with the belief at its
    best for every kernel, so neither waits for the other.

    Parameters
    ----------
    kernel, ard, lengthscale, variance, inducing, optimize_inducing, class_weight, scaler,
    n_subsample, n_jobs, \
random_state, verbose
        As in `DirichletGPClassifier`.
    n_inducing : int or None, default=None
        None: 400, or fewer if there are very many classes.
    likelihood : {"auto", "logit", "probit", "softmax", "robustmax"}, default="auto"
        For two classes "logit" (the default) or "probit"; for many "softmax" (the default) or
        "robustmax": the largest latent names the label, but for a share of 0.001 of the labels.
    tol : float, default=1e-6
        Training ends when an iteration raises the bound by less than this per row.
    max_iter : int, default=200
        Most iterations for the kernel (epochs, with minibatches). 0 keeps the starting values.
    batch_size : int, "auto" or None, default="auto"
        None: full batches, of a sample of the rows if there are very many (see `n_subsample`). A
        number: minibatches of all rows, with Adam for the kernel. "auto": full batches, then a few
        epochs of minibatches if it was a sample.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    inducing_points_ : ndarray of shape (M, n_features)
    lengthscale_ : float or ndarray of shape (n_features,)
    variance_ : float
    bound_ : float
        Lower bound of the log marginal likelihood of all rows.
    history_ : list of dict
        For every stage of the fit its name, seconds, and the bound per row at every evaluation.
    likelihood_ : str
    scaler_ : transformer
    n_iter_ : int
        Evaluations of the bound, or epochs, that training took.
    n_features_in_ : int

    See Also
    --------
    sklearn.gaussian_process.GaussianProcessClassifier : Laplace approximation, a few thousand rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import VariationalGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = VariationalGPClassifier(n_inducing=30, random_state=0).fit(X, y)
    >>> bool(classifier.score(X, y) > 0.9)
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
        likelihood: str = "auto",
        class_weight: Any = None,
        scaler: Any = "quantile",
        tol: float = 1e-6,
        max_iter: int = 200,
        batch_size: int | str | None = "auto",
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
        self.likelihood = likelihood
        self.class_weight = class_weight
        self.scaler = scaler
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.n_subsample = n_subsample
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        rng = check_random_state(self.random_state)
        progress = Progress(self.verbose)
        tolerance = positive("tol", self.tol)
        batch_size = _batch_size(self.batch_size)
        prepared = self._prepared(X, y, sample_weight, rng)
        name, likelihood = self._likelihood(len(prepared.encoder.classes))
        most_points = int(np.sqrt(_LARGEST_FACTORS / (8 * likelihood.n_latents)))
        kernel = check_kernel_settings(self, prepared.n_scaled_features, min(400, most_points))
        kernel = with_scaled_points(kernel, prepared.encoder.scaler, prepared.n_features)
        settings = VariationalSettings(kernel, tolerance, batch_size)
        with Workers(self.n_jobs) as workers:
            resources = Resources(workers, rng, progress)
            trainer = VariationalTrainer(prepared.rows, likelihood, settings, resources)
            trained = trainer.run()
        progress.done()
        if not trained.converged:
            warn_caller(
                f"The bound still rose after max_iter={self.max_iter} iterations; "
                "pass a larger max_iter or tol.",
                ConvergenceWarning,
            )
        self._remember(prepared, trained.model.points)
        self._remember_kernel(trained.model.kernel)
        self._model: VariationalModel = trained.model
        self.likelihood_ = name
        self.bound_ = trained.bound
        self.n_iter_ = trained.n_iter
        self.history_ = progress.history
        return self

    def _likelihood(self, n_classes: int) -> tuple[str, Likelihood]:
        """The likelihood for so many classes, and its name."""
        options = _TWO_CLASSES if n_classes == 2 else _MANY_CLASSES
        name = choice("likelihood", self.likelihood, (*_TWO_CLASSES, *_MANY_CLASSES[1:]))
        if name not in options:
            raise ValueError(
                f"likelihood={name!r} is not for {n_classes} classes; pass one of {options}."
            )
        name = options[1] if name == "auto" else name
        if n_classes == 2:
            return name, Bernoulli(name)
        return name, Softmax(n_classes) if name == "softmax" else RobustMax(n_classes)

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and variance of latent functions, each (n, n_classes); (n, 1) for two classes."""
        rows = self._new_rows(X)

        def of_block(block: Array, place: slice) -> Array:
            return np.column_stack(self._model.latent(block))[: place.stop - place.start]

        both = self._of_blocks(rows, of_block)
        mean, variance = np.split(both, 2, axis=1)
        return mean, variance

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities (n, n_classes): the likelihood, averaged over latent functions."""
        rows = self._new_rows(X)

        def of_block(block: Array, place: slice) -> Array:
            return self._model.likelihood.probabilities(*self._model.latent(block))[
                : place.stop - place.start
            ]

        return self._of_blocks(rows, of_block)

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Equal-tailed credible intervals of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        level : float, default=0.95

        Returns
        -------
        lower, upper : ndarray of shape (n, n_classes)
        """
        level = fraction("level", level)
        rows = self._new_rows(X)

        def of_block(block: Array, place: slice) -> Array:
            interval = self._model.likelihood.interval(*self._model.latent(block), level)
            return np.column_stack(interval)[: place.stop - place.start]

        lower, upper = np.split(self._of_blocks(rows, of_block), 2, axis=1)
        return lower, upper


def _batch_size(value: Any) -> int | str | None:
    if value is None or value == "auto":
        return None if value is None else "auto"
    return count("batch_size", value, smallest=1)
