"""Everything that writes files, each as a function from a path and a number to a file.

The number is 0 or 1: two contents, so that an old file can be told from a new one.
"""

import numpy as np
from sklearn.datasets import make_moons

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.training.record import DirichletState
from dirichletgp.paper.store import Store
from dirichletgp.persistence.checkpoint import Checkpoint


def writers():
    """Writers by name."""
    models = [_model(0), _model(1)]
    found = {
        "save": lambda path, which: models[which].save(path),
        "checkpoint": lambda path, which: _checkpoint(path, models[which]),
        "paper": _result,
    }
    try:
        import pyarrow  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        return found
    for format in ("csv", "parquet", "arrow"):
        found[f"predictions, {format}"] = _predictions(format)
    found["report"] = _report
    return found


def _model(which):
    X, y = make_moons(60, noise=0.2, random_state=which)
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier("rbf", n_inducing=10, max_iter=0, random_state=0, **labels).fit(
        X, y
    )


def _checkpoint(path, model):
    record = Checkpoint(path, model.get_params())
    fitted = model._fitted.model
    state = DirichletState(kernel=fitted.kernel, points=fitted.points)
    record.keep_trained(state, np.random.RandomState(0))


def _predictions(format):
    def write(path, which):
        import pyarrow as pa

        from dirichletgp.cli.table_writing import open_writer

        values = np.arange(4_000.0) + which
        with open_writer(str(path), format) as add:
            for part in np.split(values, 4):
                add(pa.RecordBatch.from_pydict({"label": ["a"] * 1_000, "probability": part}))

    return write


def _report(path, which):
    from dirichletgp.persistence.atomic_write import write_atomically

    write_atomically(path, f"<!doctype html><p>report {which}".encode() * 2_000)


def _result(path, which):
    """A result of the paper, found again under the name that the store gives it."""
    store = Store(path.parent)
    store.path = lambda kind, settings: path
    store.put("kind", {"dataset": "eeg"}, {"value": [which] * 2_000}, 1.0)
