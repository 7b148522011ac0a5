"""The datasets that benchmarks run on, and seeded splits of them."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from dirichletgp.datasets import dataset_names, load_dataset

FOLDER = Path(os.environ.get("DIRICHLETGP_DATA", Path(__file__).parents[2] / "shared" / "data"))
# Test rows: the paper's for its datasets, the source's for the others.
TEST_ROWS = {
    "eeg": 4000,
    "htru2": 5000,
    "magic": 5000,
    "letter": 5000,
    "coverbin": 58102,
    "pendigits": 3498,
    "satimage": 2000,
}


def load(name):
    """X as float64 and y as codes 0, 1, ... of a dataset; coverbin is class 2 against the rest."""
    if name in dataset_names():
        data = load_dataset(name, FOLDER if FOLDER.is_dir() else None, allow_partial=False)
        return data.X, data.y
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise SystemExit(
            f"{path.name} not found: set DIRICHLETGP_DATA to the folder that holds the datasets."
        )
    with np.load(path, allow_pickle=False) as file:
        return file["X"].astype(np.float64), np.unique(file["y"], return_inverse=True)[1]


def split(name, seed, n_test=None):
    """A random split of a dataset: X, y to train with, X_test, y_test."""
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [n_test or TEST_ROWS[name]])
    return SimpleNamespace(X=X[train], y=y[train], X_test=X[test], y_test=y[test])
