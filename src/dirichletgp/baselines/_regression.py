"""`GPRegressionClassifier`: Gaussian-process regression on labels, with or without Platt scaling."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.utils import check_random_state

from .._blocks import ArrayRows
from .._estimator import InducingPointClassifier
from .._kernel_search import JITTER, State, warn_of_jitter
from .._kernels import Kernel
from .._linalg import cholesky, solve_rows, solve_rows_transposed
from .._parameters import KernelSettings, check_kernel_settings, choice, fraction, positive
from .._posterior import Basis, make_basis
from .._progress import Progress
from .._schedule import Schedule
from .._statistics import ClassStatistics
from .._workers import Workers
from ._label_bound import LabelObjective, label_bound
from ._platt import PlattScaling, hold_out

Array = NDArray[np.float64]

_DEFAULT_POINTS = 1_000


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
        B = self.statistics.grams[0] / self.noise
        B.flat[:: len(B) + 1] += 1.0
        factor, sums = cholesky(B), self.statistics.sums
        targets = (sums - self.frequencies[:, None] * sums.sum(axis=0)) / self.noise
        return factor, solve_rows_transposed(factor, solve_rows(factor, targets))

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean (n, C) and variance (n,) of the latent functions at scaled rows; the variance is that of every class."""
        vectors = self.basis.vectors(rows)
        factor, coefficients = self._solution
        mean = vectors @ coefficients.T + self.frequencies
        unexplained = self.kernel.variance - np.square(vectors).sum(axis=1)
        half = solve_rows(factor, vectors)
        return mean, np.maximum(unexplained, 0.0) + np.square(half).sum(axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("basis", "_solution")}


class LabelTrainer(Schedule):
    """Kernel and noise by L-BFGS on the bound, then one pass over all rows."""

    def __init__(
        self,
        rows: ArrayRows,
        frequencies: Array,
        settings: KernelSettings,
        noise: float | None,
        workers: Workers,
        rng: np.random.RandomState,
        progress: Progress,
    ):
        super().__init__(rows, settings, workers, rng, progress)
        self.frequencies, self.noise = frequencies, noise

    def objective(self, sample: ArrayRows, state: State) -> LabelObjective:
        """The collapsed bound of regression on labels."""
        return LabelObjective(sample, self.frequencies, state.jitter, self.workers)

    def run(self) -> tuple[LabelModel, float, int]:
        """The fitted model, its bound, and the number of evaluations it took."""
        max_iter = self.kernel_settings.max_iter
        spread = float(np.mean(self.frequencies * (1.0 - self.frequencies)))
        kernel = self.start_kernel(spread)
        state = State(kernel, self.first_points(kernel), noise=self.noise or spread)
        if max_iter > 0:
            state = self.optimise(state, max_iter)
        if len(state.points) < self.n_points:
            state = replace(state, points=self.all_points(state.kernel, np.ones(len(self.pool))))
            if max_iter > 0:
                state = self.optimise(state, max(1, max_iter // 10))
        basis, state = self.basis(state)
        noise, variance = float(state.noise or spread), state.kernel.variance
        with self.progress.stage(f"statistics: {len(basis.points)} points, {len(self.rows)} rows"):
            statistics = ClassStatistics.accumulate(
                self.rows, basis.vectors, len(basis.points), self.workers, pooled=True
            )
        # Whitened already: in this basis K_mm is the identity.
        identity = np.eye(len(basis.points))
        bound, _ = label_bound(statistics, identity, variance, noise, self.frequencies, self.workers)
        if state.jitter > JITTER:
            warn_of_jitter(state.jitter)
        model = LabelModel(state.kernel, state.points, state.jitter, noise, self.frequencies, statistics)
        return model, bound.value, state.n_iter


class GPRegressionClassifier(InducingPointClassifier):
    """Sparse Gaussian-process regression on 0/1 labels: the paper's GPR, and GPR (Platt).

    One regression per class on the centred indicator of the class, all with the same kernel, noise and inducing points,
    so that one Gram matrix serves all classes. The noise is learned with the kernel. Probabilities are the
    latent means, clipped to [0, 1] and normalised; or, with `calibration="platt"`, sigmoids of them, fitted to a fifth
    of the training rows that was held out.

    Parameters
    ----------
    kernel, ard, lengthscale, variance, n_inducing, inducing, optimize_inducing, scaler, max_iter, n_subsample, \
n_jobs, random_state, verbose
        As in `DirichletGPClassifier`.
    noise : float or None, default=None
        Starting value of the noise variance. None: from the class frequencies.
    calibration : {None, "platt"}, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    inducing_points_ : ndarray of shape (M, n_features)
    lengthscale_ : float or ndarray of shape (n_features,)
    variance_, noise_ : float
    bound_ : float
        Collapsed lower bound of the log marginal likelihood of the rows trained with.
    scaler_ : transformer
    n_iter_ : int
        Evaluations of the bound that training took.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import GPRegressionClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = GPRegressionClassifier(calibration="platt", random_state=0).fit(X, y)
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
        noise: float | None = None,
        n_inducing: int | None = None,
        inducing: str | ArrayLike = "kmeans",
        optimize_inducing: bool = False,
        calibration: str | None = None,
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
        self.noise = noise
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.calibration = calibration
        self.scaler = scaler
        self.max_iter = max_iter
        self.n_subsample = n_subsample
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        rng, progress = check_random_state(self.random_state), Progress(self.verbose)
        if self.calibration is not None:
            choice("calibration", self.calibration, ("platt",))
        noise = None if self.noise is None else positive("noise", self.noise)
        rows = self._training_rows(X, y, sample_weight, rng)
        settings = check_kernel_settings(self, rows.take(np.arange(1)).X.shape[1], _DEFAULT_POINTS)
        if not isinstance(settings.inducing, str):
            settings = replace(settings, inducing=self._scaled_points(settings.inducing))
        calibration_rows = None
        if self.calibration == "platt":
            train, held = hold_out(rows, rng)
            rows, calibration_rows = rows.part(train), rows.part(held)
        frequencies = rows.class_weights / rows.class_weights.sum()
        with Workers(self.n_jobs) as workers:
            trainer = LabelTrainer(rows, frequencies, settings, noise, workers, rng, progress)
            model, self.bound_, self.n_iter_ = trainer.run()
        progress.done()

        self._model = model
        self.inducing_points_ = self._unscaled_points(model.points)
        self.lengthscale_ = model.kernel.lengthscale if self.ard else float(model.kernel.lengthscale[0])
        self.variance_, self.noise_ = model.kernel.variance, model.noise
        self._platt = None
        if calibration_rows is not None:
            mean, _ = self._latent(calibration_rows.raw)
            self._platt = PlattScaling(mean, calibration_rows.codes, calibration_rows.weights)

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent functions, each of shape (n, n_classes)."""
        return self._latent(self._new_rows(X))

    def _latent(self, rows: NDArray[Any]) -> tuple[Array, Array]:
        def of_block(block: Array, place: slice) -> Array:
            mean, variance = self._model.latent(block)
            return np.column_stack([mean, variance])[: place.stop - place.start]

        both = self._of_blocks(rows, of_block)
        mean = np.ascontiguousarray(both[:, :-1])
        return mean, np.repeat(both[:, -1:], mean.shape[1], axis=1)

    def decision_function(self, X: ArrayLike) -> Array:
        """Latent means (n, n_classes); for two classes, that of the second less that of the first, of shape (n,)."""
        mean, _ = self.latent_mean_and_variance(X)
        return mean[:, 1] - mean[:, 0] if mean.shape[1] == 2 else mean

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities of shape (n, n_classes): clipped and normalised means, or their sigmoids."""
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
            For each class, its probability when its own latent function is at its lower or upper quantile and the
            others are at the opposite one.
        """
        reach = ndtri(0.5 + fraction("level", level) / 2)
        mean, variance = self.latent_mean_and_variance(X)
        lower, upper = np.empty_like(mean), np.empty_like(mean)
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
        return np.where(total > 0, clipped / np.where(total > 0, total, 1.0), self._model.frequencies)
