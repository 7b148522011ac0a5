"""Data that tests share, and where the real datasets lie."""

import os
from pathlib import Path

import numpy as np
import pytest

from dirichletgp._gp.core.parallel import Workers


@pytest.fixture(scope="session")
def workers():
    with Workers(2) as pool:
        yield pool


@pytest.fixture(scope="session")
def real_data():
    """A function from a dataset's name to (X, y), which skips where the files are not."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRICHLETGP_DATA", beside))

    def load(name):
        if not (folder / f"{name}.npz").exists():
            pytest.skip(f"{name}.npz is not in the folder that DIRICHLETGP_DATA names")
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            return file["X"].astype(float), file["y"]

    return load
