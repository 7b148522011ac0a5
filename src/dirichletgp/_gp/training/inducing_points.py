"""Choice of the inducing points, from a sample of scaled rows.

`kmeans` places centres where the rows are, in the metric of the kernel's lengthscales. `rpcholesky`
picks rows that the kernel cannot yet explain from those picked so far (randomly pivoted Cholesky).
`random` picks rows uniformly.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..core.kernels import Kernel
from ..core.linalg import cholesky, solve_rows

Array = NDArray[np.float64]

INDUCING = ("kmeans", "rpcholesky", "random")

# Lloyd's algorithm gains little after this many steps: the points are a basis, not a clustering.
_KMEANS_STEPS = 15
_PIVOTS_PER_STEP = 50


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
        return rows.copy()
    if method == "kmeans":
        return _kmeans(rows / kernel.lengthscale, weights, n_points, rng) * kernel.lengthscale
    if method == "rpcholesky":
        return _randomly_pivoted_cholesky(rows, n_points, kernel, rng)
    return rows[np.sort(rng.choice(len(rows), n_points, replace=False))]


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
    """Pick rows with probability proportional to their variance given the rows picked before (Chen et al., 2022).

    Pivots are drawn a block at a time; memory is n x M.
    """
    residual = np.full(len(rows), kernel.variance)
    factor = np.zeros((len(rows), n_points))
    picked: list[int] = []
    while len(picked) < n_points:
        if residual.sum() <= 1e-10 * len(rows) * kernel.variance:
            left = np.setdiff1d(np.arange(len(rows)), picked)
            picked.extend(rng.choice(left, n_points - len(picked), replace=False))
            break
        done, size = len(picked), min(_PIVOTS_PER_STEP, n_points - len(picked))
        pivots = np.unique(rng.choice(len(rows), size, p=residual / residual.sum()))
        columns = kernel.values(rows, rows[pivots]) - factor[:, :done] @ factor[pivots, :done].T
        corner = columns[pivots] + 1e-8 * kernel.variance * np.eye(len(pivots))
        new = solve_rows(cholesky(0.5 * (corner + corner.T)), np.ascontiguousarray(columns))
        factor[:, done : done + len(pivots)] = new
        residual = np.maximum(residual - np.square(new).sum(axis=1), 0.0)
        residual[pivots] = 0.0
        picked.extend(pivots)
    return rows[np.sort(picked)]
