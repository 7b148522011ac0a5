"""Any sequence of stream operations gives the model of the rows that are left.

The reference keeps the rows. More and longer sequences: set DIRICHLETGP_SEQUENCES and
DIRICHLETGP_STEPS, as `make fuzz` does.
"""

import copy
import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from sklearn.base import clone

from dirichletgp import DirichletGPClassifier

SEQUENCES = int(os.environ.get("DIRICHLETGP_SEQUENCES", "6"))
STEPS = int(os.environ.get("DIRICHLETGP_STEPS", "25"))
CLOSE = 1e-7
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(8, 2))
NEW_ROWS = 1.5 * RNG.normal(size=(20, 2))
LABELS = ["a", "b", "c", "d"]


def empty(kernel="rbf"):
    """Kernel, points, scaling and labels are given: only the statistics depend on the rows."""
    given = {"inducing": POINTS, "lengthscale": 1.5, "variance": 5.0, "max_iter": 0, "scaler": None}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    return DirichletGPClassifier(kernel, n_subsample=40, n_jobs=1, **given, **labels)


class Rows:
    """The rows that should be in a model: those of a class, their weights."""

    def __init__(self):
        self.X, self.y, self.weights = np.empty((0, 2)), np.empty(0, dtype="<U1"), np.empty(0)

    def add(self, X, y, weights):
        self.X = np.concatenate([self.X, X])
        self.y = np.concatenate([self.y, y])
        self.weights = np.concatenate([self.weights, weights])

    def remove(self, positions):
        left = np.setdiff1d(np.arange(len(self.y)), positions)
        self.X, self.y, self.weights = self.X[left], self.y[left], self.weights[left]


class Streams(RuleBasedStateMachine):
    """A stream, and the rows that it should stand on."""

    @initialize(seed=st.integers(0, 2**32 - 1), kernel=st.sampled_from(["rbf", "matern32"]))
    def begin(self, seed, kernel):
        self.rng = np.random.default_rng(seed)
        self.kernel = kernel
        self.classes = LABELS[:2]
        self.rows = Rows()
        X, _, weights = self._batch(10)
        y = np.array(["a", "b"] * 5)
        self.stream = empty(kernel).partial_fit(X, y, self.classes, weights)
        self.rows.add(X, y, weights)

    def _batch(self, n):
        X = self.rng.normal(size=(n, 2))
        weights = self.rng.choice([1.0, 1.0, 0.5, 3.0], size=n)
        return X, self.rng.choice(self.classes, size=n), weights

    @rule(n=st.integers(1, 30))
    def partial_fit(self, n):
        X, y, weights = self._batch(n)
        self.stream.partial_fit(X, y, sample_weight=weights)
        self.rows.add(X, y, weights)

    @precondition(lambda self: len(self.classes) < len(LABELS))
    @rule()
    def declare_a_class(self):
        self.classes = LABELS[: len(self.classes) + 1]
        X, y, weights = self._batch(3)
        self.stream.partial_fit(X, y, self.classes, weights)
        self.rows.add(X, y, weights)

    @rule(share=st.floats(0.05, 0.6))
    def forget(self, share):
        order = self.rng.permutation(len(self.rows.y))
        gone = order[: int(share * len(order))]
        if len(gone):
            rows = self.rows
            self.stream.forget(rows.X[gone], rows.y[gone], rows.weights[gone])
            rows.remove(gone)

    @rule(factor=st.sampled_from([1.0, 0.9, 0.5, 0.99]))
    def decay(self, factor):
        self.stream.decay(factor)
        self.rows.weights = factor * self.rows.weights

    @rule(n=st.integers(1, 20))
    def merge(self, n):
        other = copy.deepcopy(self.stream).decay(0)
        X, y, weights = self._batch(n)
        other.partial_fit(X, y, sample_weight=weights)
        self.stream.merge(other)
        self.rows.add(X, y, weights)

    @rule()
    def refresh(self):
        keep = self.rng.permutation(len(self.rows.y))[:60]
        kept = Rows()
        kept.add(self.rows.X[keep], self.rows.y[keep], self.rows.weights[keep])
        if len(np.unique(kept.y)) > 1:
            self.stream.refresh(kept.X, kept.y, kept.weights)
            self.rows = kept

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.stream.save(Path(folder, "stream.dgp"))
            self.stream = DirichletGPClassifier.load(Path(folder, "stream.dgp"))

    @rule()
    def pickled(self):
        self.stream = pickle.loads(pickle.dumps(self.stream))

    @rule()
    def cloned(self):
        """A clone has the parameters and nothing else: it is given the rows again."""
        if len(np.unique(self.rows.y)) > 1:
            again = clone(self.stream)
            assert not hasattr(again, "classes_")
            self.stream = again.partial_fit(
                self.rows.X, self.rows.y, self.classes, self.rows.weights
            )

    @rule()
    def a_mistake(self):
        """What cannot be is refused, and leaves the stream as it was."""
        before = self.stream.class_count_
        with pytest.raises(ValueError, match="never added"):
            self.stream.forget(np.zeros((1, 2)), ["a"], [before[0] + 10.0])
        np.testing.assert_array_equal(self.stream.class_count_, before)

    def teardown(self):
        if hasattr(self, "rows"):
            self.compare()

    @rule()
    def compare(self):
        if len(np.unique(self.rows.y)) < 2:
            return
        rows = self.rows
        reference = empty(self.kernel).partial_fit(rows.X, rows.y, self.classes, rows.weights)
        assert self.stream.classes_.tolist() == reference.classes_.tolist()
        for mine, theirs in zip(
            self.stream.latent_mean_and_variance(NEW_ROWS),
            reference.latent_mean_and_variance(NEW_ROWS),
            strict=True,
        ):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=CLOSE)
        found, expected = (each.predict_proba(NEW_ROWS) for each in (self.stream, reference))
        np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(self.stream.class_count_, reference.class_count_, rtol=1e-9)


TestStreams = Streams.TestCase
TestStreams.settings = settings(
    max_examples=SEQUENCES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_adding_and_forgetting_leaves_no_trace():
    """`tools/stream_drift.py` measures 10,000 cycles."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, "a", "b")
    stream = empty().fit(X, y)
    before = stream.predict_proba(NEW_ROWS)
    for _ in range(60):
        rows = rng.normal(size=(5, 2))
        labels = rng.choice(["a", "b"], size=5)
        stream.partial_fit(rows, labels).forget(rows, labels)
    np.testing.assert_allclose(stream.predict_proba(NEW_ROWS), before, rtol=0, atol=1e-12)
