"""Data that tests share, and where the real datasets lie."""

import io
import os
import sys
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


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """Run a command in this process: exit code, standard output, standard error."""
    from dirichletgp.cli import main

    def run(*arguments, stdin=b"", columns=120):
        monkeypatch.setattr(sys, "argv", ["dirichletgp", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setenv("COLUMNS", str(columns))
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfdbinary.readouterr()
        return ended.value.code or 0, captured.out.decode(), captured.err.decode()

    return run
