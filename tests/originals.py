"""Small files as they should be: a model of every kind that a file can hold, and checkpoints.

`tests/mutations.py` changes them. Each is quick to read and to predict with, because tests and
`tools/fuzz.py` do so tens of thousands of times.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier, persistence
from dirichletgp._gp import classifier as classifiers
from dirichletgp._gp.rows import chunks
from dirichletgp._gp.training import cutting, log_odds, region_search, schedule, settings
from dirichletgp.persistence.archive import Archive, read_archive
from dirichletgp.persistence.checkpoint import Checkpoint

CHUNK = 32


class Original(NamedTuple):
    """A file as it should be.

    Attributes
    ----------
    kind : str
        Of the archive.
    archive : Archive
    rows : object
        Rows to predict, or rows and labels of the fit that a checkpoint belongs to.
    make : callable or None
        Makes the classifier whose fit a checkpoint belongs to.
    """

    kind: str
    archive: Archive
    rows: Any
    make: Callable[[], DirichletGPClassifier] | None = None


@contextmanager
def in_small_steps() -> Iterator[None]:
    """A few rows or classes are many: read in chunks, cut into regions, judged by some of them."""
    small = {
        chunks: {"_FEWEST_ROWS": CHUNK, "_MOST_ROWS": CHUNK},
        schedule: {"SOME_ROWS": 150, "MANY_ROWS": 150},
        cutting: {"_FAR_BETTER": 0.0},
        region_search: {"_ROWS_OF_A_REGION": 40, "_TIMES_AS_MANY_POINTS": 1},
        settings: {"MANY_CLASSES": 5},
        log_odds: {"_FEW_ROWS": 40, "_FEWEST_ROWS": 40},
    }
    with ExitStack() as stack:
        for module, values in small.items():
            for name, value in values.items():
                stack.enter_context(mock.patch.object(module, name, value))
        yield


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    basis = {"kernel": "rbf", "n_inducing": 6, "max_iter": 1, "random_state": 0, "n_jobs": 1}
    return DirichletGPClassifier(**{**basis, **labels, **parameters})


def checkpointed(**parameters):
    """A fit that writes checkpoints, quick enough to be repeated thousands of times."""
    basis = {"inducing": "random", "max_iter": 0, "scaler": "standard"}
    return quick(**{**basis, **parameters})


def training_rows(n=80, n_classes=2):
    return make_classification(
        n, 3, n_informative=3, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1,
        random_state=0,
    )  # fmt: skip


def squares(n=200, n_classes=2):
    """Rows whose class changes from square to square, but for a corner that has one class."""
    X = np.random.default_rng(0).uniform(0, 3, size=(n, 2))
    codes = np.floor(X).sum(axis=1).astype(int) % n_classes
    codes[X.sum(axis=1) < 3.2] = 0
    return X, codes


def many_rows(n_classes=101):
    """Two or three rows of each of so many classes that they share a Gram."""
    rng = np.random.default_rng(0)
    codes = np.arange(5 * n_classes // 2) % n_classes
    centres = 3.0 * rng.normal(size=(n_classes, 3))
    return centres[codes] + 0.1 * rng.normal(size=(len(codes), 3)), codes


def table(X):
    """A frame with holes, categories and dates."""
    import pandas as pd

    days = pd.date_range("2024-01-01", periods=len(X), freq="9h").strftime("%d.%m.%Y %H:%M")
    colours = np.where(X[:, 0] > 0, "red", np.where(X[:, 1] > 0, "green", None))
    numbers = np.where(X[:, 2] > 1, np.nan, X[:, 2])
    return pd.DataFrame({"number": numbers, "colour": colours, "day": days, "plain": X[:, 1]})


def listings(n=150):
    """A frame with texts that are all different, and labels that their words tell."""
    import pandas as pd

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, n)
    what = np.where(codes == (rng.random(n) < 0.9), "ROOM", "house")
    text = [f"{word} no. {i}" for i, word in enumerate(what)]
    frame = pd.DataFrame({"title": text, "size": rng.normal(size=n).round(3)})
    return frame, np.array(["let", "sold"])[codes]


def copied_rows(n_groups=60):
    """Rows that are there several times, with labels that nearly agree."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(n_groups, 2))
    labels = (groups[:, 0] + 0.3 * rng.logistic(size=n_groups) > 0).astype(int)
    of_row = np.tile(np.arange(n_groups), 5)[n_groups // 2 :]
    return groups[of_row], labels[of_row] ^ (rng.random(len(of_row)) < 0.03)


def originals(folder):
    """One file of every kind, by name."""
    return models(folder) | checkpoints(folder)


def models(folder):
    """One model file of every kind, by name."""
    X, y = training_rows()
    X3, y3 = training_rows(90, 3)
    words = np.array(["a", "b", "c"])
    found = {}

    def keep(name, classifier, rows, extras=None):
        persistence.save(classifier, folder / "model.dgp", extras)
        found[name] = Original("classifier", read_archive(folder / "model.dgp", "classifier"), rows)

    keep("two classes", quick().fit(X, y), X[:5])
    state = np.random.RandomState(3)
    weights = {"a": 2.0, "b": 1.0, "c": 0.5}
    keep(
        "three classes",
        quick(kernel="matern32", scaler="standard", random_state=state, class_weight=weights).fit(
            X3, words[y3]
        ),
        X3[:5],
    )
    keep("compact", quick().fit(X, y).compact(), X[:5])
    keep("compact, three classes", quick(kernel="product").fit(X3, words[y3]).compact(), X3[:5])
    keep("left out", quick(label_transform="learned", alpha_epsilon="auto").fit(X, y), X[:5])
    points = {"inducing": X[:5], "scaler": None, "lengthscale": [1.0, 2.0, 3.0]}
    keep("given points", quick(**points).fit(X, y, np.linspace(0.5, 2, len(y))), X[:5])
    keep("stream", quick(scaler="minmax", ard=False).partial_fit(X, y), X[:5])
    facts = {"source": "a.csv", "training_rows": 80, "tested_on": "held out"}
    described = {"table.json": json.dumps({"target": "y", "facts": facts}).encode()}
    frame = table(X)
    keep("table", quick(kernel="product").fit(frame, words[y]), frame[:5], described)
    keep("table of distances", quick().fit(frame, words[y]), frame[:5])
    titles, sold = listings()
    keep("words", quick(kernel="product").fit(titles, sold), titles[:5])
    tied = np.random.default_rng(0).integers(0, 15, size=(1_000, 2)).astype(float)
    codes = np.random.default_rng(1).permutation(15)[tied[:, 0].astype(int)] % 2
    keep("frequencies of values", quick(kernel="product").fit(tied, codes), tied[:5])
    given = {"kernel": "product", "categorical_features": [1], "class_prior": [0.7, 0.3]}
    keep("given categories", quick(**given).fit(tied[:120], codes[:120]), tied[:5])
    chosen = {"label_transform": "learned", "alpha_epsilon": "auto"}
    rows, labels = copied_rows()
    voting = quick(**chosen).fit(rows, labels)
    assert voting.n_remembered_rows_ > 0
    keep("votes of copies", voting, rows[:5])
    many, of_many = many_rows()
    pooled = quick(**chosen).fit(many, of_many)
    assert len(pooled._fitted.model.statistics.grams) == 1
    keep("many classes", pooled, many[:1])
    with in_small_steps():
        many, of_many = many_rows(20)
        keep("compact, many classes", quick(**chosen).fit(many, of_many).compact(), many[:1])
        moved = quick(n_regions=1).fit(*squares())
        assert moved._fitted.model.beliefs.moves is not None
        keep("moves", moved, squares()[0][:5])
    for n_classes, name in ((2, "regions"), (3, "regions, three classes")):
        rows, labels = squares(n_classes=n_classes)
        cut = quick(n_regions=6).fit(rows, labels)
        assert cut.n_regions_ > 3
        keep(name, cut, rows[:5])
        keep(f"compact {name}", cut.compact(), rows[:5])
    keep("regions of a table", quick(kernel="product", n_regions=3).fit(frame, y), frame[:5])
    return found


# The fits that checkpoints belong to: how often statistics are written before they are stopped,
# what they are fitted to, and what makes them.
FITS = {
    "checkpoint": (1, training_rows, checkpointed),
    "checkpoint of a table": (
        1,
        lambda: (table(training_rows()[0]), training_rows()[1]),
        lambda: checkpointed(kernel="product", scaler="quantile"),
    ),
    "checkpoint of many classes": (
        1,
        lambda: many_rows(20),
        lambda: checkpointed(label_transform="learned", alpha_epsilon="auto"),
    ),
    "checkpoint of regions": (2, squares, lambda: checkpointed(n_regions=4)),
    "checkpoint of regions, three classes": (
        2,
        lambda: squares(n_classes=3),
        lambda: checkpointed(n_regions=3),
    ),
    "checkpoint before a decision": (1, squares, lambda: checkpointed(n_regions="auto")),
}


def checkpoints(folder):
    """One checkpoint of every kind, by name."""
    found = {}
    for name, (chunks_before, rows, make) in FITS.items():
        X, y = rows()
        archive = _stopped(folder / "fit.ckpt", make(), X, y, chunks_before)
        found[name] = Original("checkpoint", archive, (X, y), make)
    return found


def _stopped(path, classifier, X, y, n_chunks):
    """What a fit leaves that was stopped in the middle of its pass over all rows."""

    class Stopped(Checkpoint):
        left = n_chunks

        def keep_statistics(self, statistics, done):
            self._next = 1e-9
            super().keep_statistics(statistics, done)
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    with in_small_steps(), mock.patch.object(classifiers, "Checkpoint", Stopped):
        try:
            classifier.fit(X, y, checkpoint=path)
        except KeyboardInterrupt:
            return read_archive(path, "checkpoint")
        finally:
            path.unlink(missing_ok=True)
    raise AssertionError("the fit was not stopped")
