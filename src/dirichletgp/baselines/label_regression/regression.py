"""`GPRegressionClassifier`: Gaussian-process regression on labels, Platt-scaled or not."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..._gp.core.arrays import Array
from ..._gp.core.parallel import Workers
from ..._gp.rows.in_memory import InMemoryRows
from ..._gp.training.inducing_points import PointPlacer
from ..._gp.training.kernel_search import (
    KernelTraining,
    State,
    WithBelief,
    basis_of,
    warn_of_jitter,
)
from ..._gp.training.settings import (
    KernelSettings,
    Progress,
    Resources,
    Stage,
    check_kernel_settings,
    positive,
    with_scaled_points,
)
from .bound import LabelObjective, label_bound, pooled_statistics
from .model import LabelClassifier, LabelModel

_DEFAULT_POINTS = 1_000


class _Trained(NamedTuple):
    """The fitted model, its bound, and the number of evaluations it took."""

    model: LabelModel
    bound: float
    n_iter: int


@dataclass(frozen=True)
class LabelTrainer:
    """Kernel and noise by L-BFGS on the bound, then one pass over all rows.

    Attributes
    ----------
    rows : InMemoryRows
    frequencies : ndarray of shape (C,)
    settings : KernelSettings
    noise : float or None
        Where the search begins.
    resources : Resources
    """

    rows: InMemoryRows
    frequencies: Array
    settings: KernelSettings
    noise: float | None
    resources: Resources

    def run(self) -> _Trained:
        """All stages."""
        workers, _, progress = self.resources
        spread = float(np.mean(self.frequencies * (1.0 - self.frequencies)))
        state = self._learn(spread)
        basis, state = basis_of(state)
        noise = float(state.noise or spread)
        n_points = len(basis.points)
        name = f"statistics: {n_points} points, {len(self.rows)} rows"
        with progress.stage(Stage.STATISTICS, name):
            statistics = pooled_statistics(self.rows, basis.vectors, n_points, workers)
        # Whitened already: in this basis K_mm is the identity.
        identity = np.eye(n_points)
        variance = state.kernel.variance
        bound, _ = label_bound(statistics, identity, variance, noise, self.frequencies, workers)
        warn_of_jitter(state.jitter)
        model = LabelModel(
            state.kernel, state.points, state.jitter, noise, self.frequencies, statistics
        )
        return _Trained(model, bound.value, state.n_iter)

    def _learn(self, spread: float) -> State:
        """Kernel, noise and points, from samples of the rows."""
        max_iter = self.settings.max_iter
        placer = PointPlacer(self.rows, self.settings, self.resources)
        training = KernelTraining(self.rows, self.settings, self.resources)
        kernel = training.start_kernel(placer.pool, spread)
        typical = training.typical_kernel(placer.pool, spread)

        def objective(sample: InMemoryRows, state: State) -> WithBelief:
            """The bound of all regressions, and what is believed of their kernel."""
            workers = self.resources.workers
            bound = LabelObjective(sample, self.frequencies, state.jitter, workers)
            return WithBelief(bound, typical, len(self.frequencies))

        state = State(kernel, placer.first_points(kernel), noise=self.noise or spread)
        if max_iter > 0:
            state = training.run(state, objective, max_iter).state
        if len(state.points) < placer.n_points:
            state = replace(state, points=placer.all_points(state.kernel))
            if max_iter > 0:
                state = training.run(state, objective, max(1, max_iter // 10)).state
        return state


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

    See Also
    --------
    sklearn.gaussian_process.GaussianProcessRegressor : Exact regression.
    sklearn.calibration.CalibratedClassifierCV : Platt scaling (sigmoid) of any classifier.

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
        noise = None if self.noise is None else positive("noise", self.noise)
        prepared = self._prepared(X, y, sample_weight, rng)
        settings = check_kernel_settings(self, prepared.n_scaled_features, _DEFAULT_POINTS)
        settings = with_scaled_points(settings, prepared.encoder.scaler, prepared.n_features)
        rows, held_out = self._split(prepared.rows, rng)
        frequencies = rows.class_weights / rows.class_weights.sum()
        with Workers(self.n_jobs) as workers:
            resources = Resources(workers, rng, progress)
            trained = LabelTrainer(rows, frequencies, settings, noise, resources).run()
        progress.done()
        self._keep(trained.model, prepared, held_out)
        self._remember_kernel(trained.model.kernel)
        self.bound_ = trained.bound
        self.n_iter_ = trained.n_iter
        self.history_ = progress.history
        return self
