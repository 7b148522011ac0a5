"""`NystromRidgeClassifier`: Nystrom kernel ridge regression on labels, tuned by cross validation.

Ridge regression on the span of M points has coefficients (G^ + n lambda I)^-1 t_c in the whitened
basis: the model of regression on labels, with noise n lambda. Everything that cross validation
needs is in the statistics of the folds. One pass over the rows per bandwidth sums them; the
statistics of a training part are the total less those of its fold; one eigendecomposition per fold
serves all regularisations; and the squared error on the fold is

    sum_c [ sum_i y_ic^2 - 2 beta_c' t_fc + beta_c' G_f beta_c ]

so no row is looked at again.
"""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..._gp.core.arrays import Array, Integers
from ..._gp.core.kernels import KERNELS, Kernel
from ..._gp.core.parallel import Workers, product
from ..._gp.core.regressions import Basis, make_basis
from ..._gp.core.statistics import ClassStatistics
from ..._gp.rows.in_memory import InMemoryRows
from ..._gp.training.inducing_points import POOL_ROWS, choose_points
from ..._gp.training.kernel_search import JITTER
from ..._gp.training.settings import INDUCING, Progress, Stage, choice, count, positive_numbers
from .model import LabelClassifier, LabelModel

# Multiples of the spread of the scaled features, and shares of the number of rows.
_BANDWIDTHS = 2.0 ** np.arange(-3, 3)
_REGULARISATIONS = 10.0 ** np.arange(-9, 1)

_MANY_ROWS = 200_000


@dataclass(frozen=True)
class _Folds:
    """Statistics of each fold, and of all of them, in the whitened basis of one bandwidth.

    Attributes
    ----------
    counts : ndarray of shape (F, C)
    sums : ndarray of shape (F, C, M)
    grams : ndarray of shape (F, M, M)
    """

    counts: Array
    sums: Array
    grams: Array

    @classmethod
    def accumulate(
        cls, rows: InMemoryRows, folds: Integers, basis: Basis, workers: Workers
    ) -> _Folds:
        """One pass over the rows: a fold and a class together are a class of the statistics."""
        n_folds = int(folds.max()) + 1
        n_classes = rows.n_classes
        n_points = len(basis.points)
        codes = folds * n_classes + rows.codes
        n_compound = n_folds * n_classes
        compound = InMemoryRows(rows.X, codes, rows.weights, n_compound, rows.scale)
        gram_of = np.repeat(np.arange(n_folds), n_classes).tolist()
        statistics = ClassStatistics.empty(n_compound, n_points, n_folds)
        statistics.add_rows(compound, basis.vectors, workers, gram_of)
        return cls(
            statistics.counts.reshape(n_folds, n_classes),
            statistics.sums.reshape(n_folds, n_classes, n_points),
            statistics.grams,
        )

    @property
    def total(self) -> ClassStatistics:
        """The statistics of all rows, with one Gram."""
        return ClassStatistics(
            self.counts.sum(axis=0), self.sums.sum(axis=0), self.grams.sum(axis=0, keepdims=True)
        )

    def squared_errors(self, regularisations: Array, workers: Workers) -> Array:
        """Squared error of all folds, each predicted from the others, for each regularisation."""
        counts = self.counts.sum(axis=0)
        sums = self.sums.sum(axis=0)
        gram = self.grams.sum(axis=0)

        def of_fold(f: int) -> Array:
            own_counts = self.counts[f]
            train_counts = counts - own_counts
            n = train_counts.sum()
            frequencies = train_counts / n
            targets = _centred(sums - self.sums[f], frequencies)
            own_targets = _centred(self.sums[f], frequencies)
            values, vectors = np.linalg.eigh(gram - self.grams[f])
            # In the basis of the eigenvectors, coefficients are targets / (values + n lambda).
            turned = targets @ vectors
            own_turned = own_targets @ vectors
            own_gram = product(product(np.ascontiguousarray(vectors.T), self.grams[f]), vectors)
            squares = (
                own_counts @ (1.0 - frequencies) ** 2
                + (own_counts.sum() - own_counts) @ frequencies**2
            )
            errors = []
            for regularisation in regularisations:
                beta = turned / (np.maximum(values, 0.0) + n * regularisation)
                errors.append(
                    squares - 2.0 * np.vdot(beta, own_turned) + np.vdot(beta @ own_gram, beta)
                )
            return np.array(errors)

        return np.sum(list(workers.map(of_fold, range(len(self.counts)))), axis=0)


def _centred(sums: Array, frequencies: Array) -> Array:
    """Sums (C, M) of vectors times centred labels, from sums of vectors by class."""
    return sums - frequencies[:, None] * sums.sum(axis=0)


class NystromRidgeClassifier(LabelClassifier):
    """Nystrom kernel ridge regression on labels with Platt scaling: the paper's NKRR.

    Bandwidth and regularisation are chosen together by cross-validated squared error, on 80 % of
    the training rows; the other 20 % fit a sigmoid per class.

    Parameters
    ----------
    kernel : {"rbf", "matern12", "matern32", "matern52"}, default="rbf"
        Isotropic.
    bandwidths : array-like or None, default=None
        Lengthscales to choose from, in units of the scaled features. None: six octaves around their
        spread.
    regularisations : array-like or None, default=None
        Values of lambda to choose from. None: ten decades up to 1.
    n_inducing : int, default=1000
        Number of points M that span the solution.
    inducing : {"kmeans", "rpcholesky", "random"}, default="kmeans"
    n_folds : int or None, default=None
        None: 10, or 5 for more than 200,000 rows.
    calibration : {"platt", None}, default="platt"
        None clips and normalises the regressions' outputs, and trains with all rows.
    scaler, n_jobs, random_state, verbose
        As in `DirichletGPClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    inducing_points_ : ndarray of shape (M, n_features)
    bandwidth_, regularisation_ : float
        Those with the smallest cross-validated error.
    cv_errors_ : ndarray of shape (n_bandwidths, n_regularisations)
        Mean squared error per row, summed over classes.
    bandwidths_, regularisations_ : ndarray
        What was chosen from.
    scaler_ : transformer
    n_features_in_ : int

    See Also
    --------
    sklearn.kernel_approximation.Nystroem : The features, for any linear model.
    sklearn.kernel_ridge.KernelRidge : Kernel ridge regression without approximation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import NystromRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = NystromRidgeClassifier(random_state=0).fit(X, y)
    >>> bool(classifier.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        bandwidths: ArrayLike | None = None,
        regularisations: ArrayLike | None = None,
        n_inducing: int = 1_000,
        inducing: str = "kmeans",
        n_folds: int | None = None,
        calibration: str | None = "platt",
        scaler: Any = "quantile",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidths = bandwidths
        self.regularisations = regularisations
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.n_folds = n_folds
        self.calibration = calibration
        self.scaler = scaler
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
        family = KERNELS[choice("kernel", self.kernel, tuple(KERNELS))]
        method = choice("inducing", self.inducing, INDUCING)
        n_inducing = count("n_inducing", self.n_inducing, 1)
        n_folds = None if self.n_folds is None else count("n_folds", self.n_folds, 2)
        prepared = self._prepared(X, y, sample_weight, rng)
        rows, held_out = self._split(prepared.rows, rng)
        pool = rows.take(rows.stratified_sample(max(POOL_ROWS, 4 * n_inducing), rng)).merged()
        spread = float(pool.X.std(axis=0).mean() * np.sqrt(pool.X.shape[1])) or 1.0
        bandwidths = self.bandwidths
        if bandwidths is None:
            bandwidths = spread * _BANDWIDTHS
        bandwidths = positive_numbers("bandwidths", bandwidths)
        regularisations = self.regularisations
        if regularisations is None:
            regularisations = _REGULARISATIONS
        regularisations = positive_numbers("regularisations", regularisations)

        def kernel(bandwidth: float) -> Kernel:
            return family.starting(pool.X, bandwidth, variance=1.0, ard=False)

        distinct = np.unique(pool.X, axis=0)
        importance = np.ones(len(distinct))
        with progress.stage(Stage.POINTS, f"{min(n_inducing, len(distinct))} points"):
            points = choose_points(method, distinct, importance, n_inducing, kernel(spread), rng)
        if n_folds is None:
            n_folds = 10 if len(rows) <= _MANY_ROWS else 5
        folds = _fold_of_each_row(rows, n_folds, rng)
        best = np.inf
        errors = []
        with Workers(self.n_jobs) as workers:
            for bandwidth in bandwidths:
                with progress.stage(Stage.KERNEL, f"bandwidth {bandwidth:.3g}"):
                    basis = make_basis(kernel(bandwidth), points, JITTER)
                    statistics = _Folds.accumulate(rows, folds, basis, workers)
                    errors.append(statistics.squared_errors(regularisations, workers))
                    smallest = float(errors[-1].min())
                    progress.note(f"squared error {smallest / statistics.counts.sum():.5f}")
                if smallest < best:
                    best = smallest
                    chosen = float(bandwidth), basis, statistics.total
        progress.done()

        total_weight = float(rows.class_weights.sum())
        cv_errors = np.array(errors) / total_weight
        bandwidth, basis, total = chosen
        regularisation = float(regularisations[cv_errors.min(axis=0).argmin()])
        frequencies = rows.class_weights / total_weight
        noise = total_weight * regularisation
        model = LabelModel(basis.kernel, points, JITTER, noise, frequencies, total)
        self._keep(model, prepared, held_out)
        self.bandwidth_ = bandwidth
        self.bandwidths_ = bandwidths
        self.regularisation_ = regularisation
        self.regularisations_ = regularisations
        self.cv_errors_ = cv_errors
        return self


def _fold_of_each_row(rows: InMemoryRows, n_folds: int, rng: np.random.RandomState) -> Integers:
    """A random fold for each row; copies of a row share one, or they would give labels away."""
    identity = rows.identities()
    n_distinct = int(identity.max()) + 1
    folds = rng.permutation(np.arange(n_distinct) % min(n_folds, n_distinct))
    return np.asarray(folds[identity], dtype=np.intp)
