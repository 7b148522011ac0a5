"""What the speed benchmarks share: timing by turns, and problems to evaluate the bound on."""

import os
import time

import numpy as np
from _data import split
from sklearn.cluster import KMeans
from sklearn.preprocessing import MinMaxScaler

from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.regressions import LabelTransform
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.training.kernel_search import BoundObjective

JITTER = 1e-6
PAUSE = 0.25


def seconds(function, pause=0.0):
    time.sleep(pause)
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def by_turns(functions, rounds, pause=0.0):
    """Seconds (rounds, functions) of calls that take turns, after one call each for warmth.

    What slows the machine for a while slows all of them, so ratios within a round keep their
    meaning. A pause before each call keeps them apart when they use different pools of threads:
    those of BLAS stay on a core for a tenth of a second after their last work.
    """
    for function in functions:
        function()
    return np.array([[seconds(function, pause) for function in functions] for _ in range(rounds)])


def ratio(times, above, below):
    """Median over rounds of the ratio of two columns of `by_turns`."""
    return float(np.median(times[:, above] / times[:, below]))


def rounds_for(function, budget, most=25):
    """Rounds of something as slow as `function` in a budget of seconds; never fewer than 3."""
    function()
    return int(np.clip(budget / seconds(function), 3, most))


def objective_of(X, codes, workers, alpha_epsilon=0.01):
    """The bound of labelled rows, with the class frequencies as prior."""
    counts = np.bincount(codes)
    rows = InMemoryRows(X, codes, None, len(counts))
    return BoundObjective(
        rows, LabelTransform.dirichlet(alpha_epsilon), counts / counts.sum(), JITTER, workers
    )


def letter(n_points, n_rows=None, seed=0):
    """Letter, the paper's split and scaling: X, codes, k-means points, test rows and codes."""
    s = split("letter", seed)
    X, y = s.X[:n_rows], s.y[:n_rows]
    scaler = MinMaxScaler((-1, 1)).fit(X)
    X = scaler.transform(X)
    points = KMeans(n_points, n_init=1, max_iter=15, random_state=seed).fit(X).cluster_centers_
    return X, y, points, scaler.transform(s.X_test), s.y_test


def synthetic(n, n_points, n_classes, n_features=18, seed=0):
    """Random rows, classes of about equal size, random points, a kernel not flat, not a spike."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    X, points = rng.normal(size=(n, n_features)), rng.normal(size=(n_points, n_features))
    return X, codes, points, KERNELS["rbf"](np.full(n_features, np.sqrt(n_features)), 2.0)


def say_where():
    """One line about the machine, without names."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{cores} cores, NumPy {np.__version__}\n")
