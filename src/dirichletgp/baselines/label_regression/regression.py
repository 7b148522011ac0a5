"""`GPRegressionClassifier`: Gaussian-process regression on labels, with or without Platt scaling."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..._gp.core.arguments import KernelSettings, check_kernel_settings, positive
from ..._gp.core.statistics import ClassStatistics
from ..._gp.core.threads import Workers
from ..._gp.rows.in_memory import ArrayRows
from ..._gp.training.kernel_search import JITTER, State, warn_of_jitter
from ..._gp.training.progress import Progress, Stage
from ..._gp.training.schedule import Schedule
from .bound import LabelObjective, label_bound
from .model import LabelClassifier, LabelModel

Array = NDArray[np.float64]

_DEFAULT_POINTS = 1_000


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
        with self.progress.stage(
            Stage.STATISTICS, f"statistics: {len(basis.points)} points, {len(self.rows)} rows"
        ):
            statistics = ClassStatistics.accumulate(
                self.rows, basis.vectors, len(basis.points), self.workers, [0] * self.rows.n_classes
            )
        # Whitened already: in this basis K_mm is the identity.
        identity = np.eye(len(basis.points))
        bound, _ = label_bound(
            statistics, identity, variance, noise, self.frequencies, self.workers
        )
        if state.jitter > JITTER:
            warn_of_jitter(state.jitter)
        model = LabelModel(
            state.kernel, state.points, state.jitter, noise, self.frequencies, statistics
        )
        return model, bound.value, state.n_iter


class GPRegressionClassifier(LabelClassifier):
    """Sparse Gaussian-process regression on 0/1 labels: the paper's GPR, and GPR (Platt).

    One regression per class on the centred indicator of the class, all with the same kernel, noise
    and inducing points, so that one Gram matrix serves all classes. The noise is learned with the
    kernel. Probabilities are the latent means, clipped to [0, 1] and normalised; or, with
    `calibration="platt"`, sigmoids of them, fitted to a fifth of the training rows that was held
    out.

    Parameters
    ----------
    kernel, ard, lengthscale, variance, n_inducing, inducing, optimize_inducing, scaler, max_iter,
    n_subsample, \
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
    history_ : list of dict
        For every stage of the fit its name, seconds, and the bound per row at every evaluation.
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
        noise = None if self.noise is None else positive("noise", self.noise)
        rows = self._training_rows(X, y, sample_weight, rng)
        n_features = rows.take(np.arange(1)).X.shape[1]
        settings = self._with_scaled_points(
            check_kernel_settings(self, n_features, _DEFAULT_POINTS)
        )
        rows, held_out = self._split(rows, rng)
        frequencies = rows.class_weights / rows.class_weights.sum()
        with Workers(self.n_jobs) as workers:
            trainer = LabelTrainer(rows, frequencies, settings, noise, workers, rng, progress)
            model, self.bound_, self.n_iter_ = trainer.run()
        progress.done()
        self.history_ = progress.history
        self._keep_kernel(model.kernel, model.points)
        self._keep(model, held_out)
