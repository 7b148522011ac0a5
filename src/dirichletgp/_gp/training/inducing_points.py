"""Choice of the inducing points, from a sample of scaled rows.

`kmeans` places centres where the rows are, in the metric of the kernel. `rpcholesky` picks rows
that the kernel cannot yet explain from those picked so far (randomly pivoted Cholesky). `random`
picks rows uniformly.
"""

import warnings
from functools import cached_property

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from ..core.arrays import Array, Integers
from ..core.kernels import Kernel
from ..core.parallel import Workers, cholesky, inverse_triangle, row_slices, solve_rows
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import Basis, LabelTransform, Posterior, shared_matrix
from ..rows.in_memory import InMemoryRows
from .settings import KernelSettings, Resources, Stage

# Points that the kernel is first learned with.
FEW_POINTS = 400
# Rows of a sample that stands for all of them: to place points, and to score label transforms.
POOL_ROWS = 20_000
# Lloyd's algorithm gains little after this many steps: the points are a basis, not a clustering.
_KMEANS_STEPS = 15
_PIVOTS_PER_STEP = 50
_BLOCK_ROWS = 512


class PointPlacer:
    """Places inducing points among the rows of a pool.

    Parameters
    ----------
    rows : InMemoryRows
        Rows to learn from; the pool is a sample of them, without repetition.
    settings : KernelSettings
    resources : Resources
    """

    def __init__(self, rows: InMemoryRows, settings: KernelSettings, resources: Resources):
        self.settings = settings
        self.resources = resources
        size = max(POOL_ROWS, 4 * settings.n_inducing)
        self.pool = rows.take(rows.stratified_sample(size, resources.rng)).merged()

    @property
    def n_points(self) -> int:
        """How many inducing points the finished model has."""
        if not isinstance(self.settings.inducing, str):
            return len(self.settings.inducing)
        return min(self.settings.n_inducing, len(self._distinct[0]))

    def first_points(self, kernel: Kernel, most: int = FEW_POINTS) -> Array:
        """All inducing points if they are few; otherwise a few to learn the kernel with."""
        inducing = self.settings.inducing
        n_points = min(self.n_points, most)
        if n_points == self.n_points and not isinstance(inducing, str):
            return inducing
        method = inducing if isinstance(inducing, str) else "kmeans"
        return self._chosen(method, np.ones(len(self.pool)), n_points, kernel)

    def all_points(self, kernel: Kernel, importance: Array | None = None) -> Array:
        """All inducing points: the user's, or placed for importances of the rows of the pool."""
        inducing = self.settings.inducing
        if not isinstance(inducing, str):
            return inducing
        if importance is None:
            importance = np.ones(len(self.pool))
        return self._chosen(inducing, importance, self.n_points, kernel)

    def points_for_comparison(self, kernel: Kernel, n_points: int) -> Array:
        """Points of models that are compared; the random state has no say in them."""
        rows, inverse = self._distinct
        weights = np.bincount(inverse, self.pool.weights).astype(np.float64)
        n_points = min(self.n_points, n_points)
        return choose_points("kmeans", rows, weights, n_points, kernel, np.random.RandomState(0))

    def _chosen(self, method: str, importance: Array, n_points: int, kernel: Kernel) -> Array:
        rows, inverse = self._distinct
        weights = importance if self.pool.weights is None else importance * self.pool.weights
        weights = np.bincount(inverse, weights).astype(np.float64)
        with self.resources.progress.stage(Stage.POINTS, f"{n_points} inducing points"):
            return choose_points(method, rows, weights, n_points, kernel, self.resources.rng)

    @cached_property
    def _distinct(self) -> tuple[Array, Integers]:
        """Rows of the pool whatever their class, each once, and where each row is among them."""
        rows, inverse = np.unique(self.pool.X, axis=0, return_inverse=True)
        return rows, inverse.ravel()


def left_out_surprise(
    pool: InMemoryRows, basis: Basis, transform: LabelTransform, prior: Array, workers: Workers
) -> Array:
    """One minus the probability of each row's own class when the row is left out, (n,).

    Of many classes whose rows have one noise, one Gram does for all.
    """
    statistics = pool.class_statistics(basis, workers, pooled=transform.is_even)
    s2 = basis.kernel.variance
    posterior = Posterior.from_statistics(statistics, s2, transform, prior, workers)
    shared = None
    if len(posterior.roots) > 2:
        matrix = shared_matrix(statistics.total, transform)
        shared = inverse_triangle(cholesky(matrix, overwrite=True))

    def of_rows(rows: slice) -> Array:
        codes = pool.codes[rows]
        vectors = basis.vectors(pool.X[rows])
        explained = None
        if shared is not None:
            explained = posterior.explained_roughly(vectors, codes, shared)
        latent = posterior.latent_without_votes(vectors, pool.votes(rows), explained)
        return 1.0 - np.exp(log_probability_of(codes, *latent, coarse=True))

    parts = workers.map(of_rows, row_slices(len(pool), _BLOCK_ROWS))
    return np.maximum(np.concatenate(list(parts)), 0.0)


def choose_points(
    method: str,
    rows: Array,
    weights: Array,
    n_points: int,
    kernel: Kernel,
    rng: np.random.RandomState,
) -> Array:
    """Inducing points (M, D) for distinct rows (n, D) with importance weights (n,).

    When there are no more rows than points asked for, the rows themselves are returned: the model
    is then exact.
    """
    if len(rows) <= n_points:
        chosen = rows.copy()
    elif method == "kmeans":
        chosen = _centres(rows, weights, n_points, kernel, rng)
    elif method == "rpcholesky":
        # Where a level stands for a row, the kernel is one of levels.
        chosen = kernel.snapped(rows)
        if len(chosen) > n_points:
            chosen = _randomly_pivoted_cholesky(chosen, n_points, kernel, rng)
    else:
        chosen = rows[np.sort(rng.choice(len(rows), n_points, replace=False))]
    return kernel.snapped(chosen)


def _centres(
    rows: Array, weights: Array, n_points: int, kernel: Kernel, rng: np.random.RandomState
) -> Array:
    """Centres of clusters in the metric of the kernel, or the rows next to them."""
    embedded = kernel.to_metric(rows)
    centres = _kmeans(embedded, weights, n_points, rng)
    if kernel.has_inverse_metric:
        return kernel.from_metric(centres)
    # Between categories there is nothing: the rows next to the centres stand for them.
    return rows[np.unique(pairwise_distances_argmin(centres, embedded))]


def _kmeans(rows: Array, weights: Array, n_points: int, rng: np.random.RandomState) -> Array:
    start = rng.choice(len(rows), n_points, replace=False, p=weights / weights.sum())
    model = KMeans(n_points, init=rows[start], n_init=1, max_iter=_KMEANS_STEPS, random_state=rng)
    with warnings.catch_warnings():
        # Rows closer than its resolution leave k-means with fewer clusters than asked for, which is
        # fine here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, sample_weight=weights)
    return np.unique(model.cluster_centers_, axis=0)


def _randomly_pivoted_cholesky(
    rows: Array, n_points: int, kernel: Kernel, rng: np.random.RandomState
) -> Array:
    """Pick rows in proportion to their variance given those picked before (Chen et al., 2022).

    Pivots are drawn a block at a time; memory is n x M.
    """
    residual = np.full(len(rows), kernel.variance)
    factor = np.zeros((len(rows), n_points))
    picked: list[int] = []
    while len(picked) < n_points:
        done = len(picked)
        if residual.sum() <= 1e-10 * len(rows) * kernel.variance:
            left = np.setdiff1d(np.arange(len(rows)), picked)
            picked.extend(rng.choice(left, n_points - done, replace=False))
            break
        size = min(_PIVOTS_PER_STEP, n_points - done)
        pivots = np.unique(rng.choice(len(rows), size, p=residual / residual.sum()))
        columns = kernel.values(rows, rows[pivots])
        columns = columns - factor[:, :done] @ factor[pivots, :done].T
        corner = columns[pivots] + 1e-8 * kernel.variance * np.eye(len(pivots))
        new = solve_rows(cholesky(0.5 * (corner + corner.T)), np.ascontiguousarray(columns))
        factor[:, done : done + len(pivots)] = new
        residual = np.maximum(residual - np.square(new).sum(axis=1), 0.0)
        residual[pivots] = 0.0
        picked.extend(pivots)
    return rows[np.sort(picked)]
