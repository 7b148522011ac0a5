"""Rows may come from anywhere: the model is the same, and memory does not grow with them."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows import chunks as chunks_of_rows
from dirichletgp._gp.rows.chunks import chunks, read_ahead, regrouped, summary_of
from dirichletgp._gp.rows.in_memory import Chunk
from dirichletgp._gp.rows.sources import ArrayReader

N, D = 700, 4


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(N, D, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    return X, np.array(["low", "mid", "top"])[y]


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    return DirichletGPClassifier(
        **{
            "kernel": "rbf",
            "n_inducing": 20,
            "max_iter": 3,
            "random_state": 0,
            **labels,
            **parameters,
        }
    )


@pytest.fixture(scope="module")
def in_memory(data):
    X, y = data
    return quick().fit(X, y)


def latents_of(classifier, X):
    names = getattr(classifier, "feature_names_in_", None)
    rows = X if names is None else pd.DataFrame(X, columns=names)
    return classifier.latent_mean_and_variance(rows)


def assert_same(one, other, X, atol=1e-10):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.inducing_points_, other.inducing_points_, rtol=1e-12)
    for mine, theirs in zip(latents_of(one, X), latents_of(other, X), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=atol, atol=atol)
    np.testing.assert_allclose(one.class_prior_, other.class_prior_)


class Blocks:
    """Blocks of random sizes that can be read again."""

    def __init__(self, *arrays, seed=0):
        self.arrays, self.seed = arrays, seed

    def __iter__(self):
        n = len(self.arrays[0])
        cuts = np.sort(np.random.default_rng(self.seed).integers(0, n, 9))
        for rows in np.split(np.arange(n), cuts):
            if len(rows):
                yield tuple(array[rows] for array in self.arrays)


# The same model from everywhere


def test_maps_and_blocks_give_the_model_of_the_array(data, in_memory, tmp_path):
    X, y = data
    mapped = np.memmap(tmp_path / "rows.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    sources = {
        "map": (mapped, y),
        "blocks": (Blocks(X, y), None),
        "list of blocks": ([(X[:300], y[:300]), (X[300:], y[300:])], None),
        "frames": ([(pd.DataFrame(X, columns=list("abcd")), pd.Series(y))], None),
    }
    for name, (rows, labels) in sources.items():
        classifier = quick().fit(rows, labels)
        assert_same(classifier, in_memory, X)
        assert hasattr(classifier, "feature_names_in_") == (name == "frames")


def test_blocks_may_be_frames_with_categories_and_holes(data):
    X, y = data
    rng = np.random.default_rng(0)
    a = np.where(rng.random(N) < 0.1, np.nan, X[:, 0])
    frame = pd.DataFrame({"a": a, "colour": rng.choice(["red", "green"], N)})
    parts = [(frame.iloc[rows], y[rows]) for rows in np.split(np.arange(N), [50, 200])]
    expected = quick().fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(quick().fit(parts).predict_proba(frame), expected, atol=1e-6)


def test_maps_and_blocks_may_have_holes(data, tmp_path):
    X, y = data
    mapped = np.memmap(tmp_path / "rows.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = np.where(np.arange(N)[:, None] % 9 == 0, np.nan, X)
    expected = quick().fit(np.array(mapped), y).predict_proba(X)
    for rows, labels in ((mapped, y), (Blocks(np.array(mapped), y), None)):
        classifier = quick().fit(rows, labels)
        np.testing.assert_allclose(classifier.predict_proba(X), expected, atol=1e-6)
    with pytest.raises(ValueError, match="memory maps are taken as numbers"):
        quick(categorical_features=[0]).fit(mapped, y)


def test_weights_may_be_part_of_the_blocks(data):
    X, y = data
    weights = np.where(np.arange(N) % 5, 1.0, 2.0)
    assert_same(quick().fit(Blocks(X, y, weights)), quick().fit(X, y, weights), X)


def test_rows_of_weight_zero_are_not_there(data):
    X, y = data
    weights = (np.arange(N) % 2).astype(float)
    assert_same(quick().fit(Blocks(X, y, weights)), quick().fit(X[1::2], y[1::2]), X)


def test_blocks_whose_rows_all_have_weight_zero_are_not_there(data):
    X, y = data
    weights = (np.arange(N) >= 200).astype(float)
    expected = quick().fit(X, y, weights)
    blocks = [(X[rows], y[rows], weights[rows]) for rows in np.split(np.arange(N), 7)]
    assert_same(quick().fit(blocks), expected, X)
    with pytest.raises(ValueError, match="no rows with a positive weight"):
        quick().fit([(X, y, np.zeros(N))])


# What is refused


def test_errors_say_what_is_wrong(data):
    X, y = data
    cases = [
        (lambda: quick().fit(X, y, columns=["a"]), ValueError, "columns chooses columns of files"),
        (lambda: quick().fit(iter([(X, y)])), TypeError, "read once only"),
        (
            lambda: quick().fit([(X, y), (X[:, :2], y)]),
            ValueError,
            "2 columns, but the first one has 4",
        ),
        (lambda: quick().fit([(X, y[:-1])]), ValueError, "block 0 has 700 rows, but 699 labels"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()


def test_a_source_that_changes_between_passes_is_refused(data):
    X, y = data

    class Shrinking(Blocks):
        reads = 0

        def __iter__(self):
            self.reads += 1
            return iter([(X, y)] if self.reads < 4 else [(X[:-1], y[:-1])])

    with pytest.raises(ValueError, match="had 700 rows at first, then 699"):
        quick().fit(Shrinking())


def test_a_failed_fit_leaves_the_estimator_as_it_was(data):
    X, y = data
    classifier = quick().fit(X, y)
    before = classifier.predict_proba(X)
    with pytest.raises(ValueError, match="one class only"):
        classifier.fit([(X, np.full(N, "low"))])
    np.testing.assert_array_equal(classifier.predict_proba(X), before)


# The parts


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=20), weighted=st.booleans())
def test_chunks_hold_the_same_rows_whatever_the_blocks(sizes, weighted):
    n = sum(sizes)
    X, labels = np.arange(2.0 * n).reshape(n, 2), np.arange(n)
    weights = np.arange(n, dtype=float) % 3 if weighted else None
    blocks, start = [], 0
    for size in sizes:
        rows = slice(start, start + size)
        blocks.append(Chunk(X[rows], labels[rows], None if weights is None else weights[rows]))
        start += size
    chunk_size = 16
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks_of_rows, "chunk_rows", lambda n_features: chunk_size)
        parts = list(regrouped(iter(blocks)))
    kept = labels if weights is None else labels[weights > 0]
    assert all(len(part.labels) == chunk_size for part in parts[:-1])
    joined = np.concatenate([part.labels for part in parts]) if parts else np.empty(0)
    np.testing.assert_array_equal(joined, kept)


def test_the_sample_is_uniform_and_holds_every_class():
    rng = np.random.default_rng(0)
    n, size = 40_000, 2_000
    labels = np.where(rng.random(n) < 5e-4, 7, rng.integers(0, 2, n))
    X = np.arange(n, dtype=float)[:, None]
    summary = summary_of(chunks(ArrayReader(X, labels, None)), size, 0)
    parts = [Chunk(X[i : i + 999], labels[i : i + 999], None) for i in range(0, n, 999)]
    again = summary_of(parts, size, 0)
    np.testing.assert_array_equal(summary.sample.X, again.sample.X)
    assert size <= len(summary.sample.labels) <= size + 20
    assert (summary.sample.labels == 7).sum() >= min(20, (labels == 7).sum())
    assert summary.totals == {k: (labels == k).sum() for k in (0, 1, 7)}
    assert np.all(np.diff(summary.sample.X[:, 0]) > 0)
    assert abs(summary.sample.X.mean() - n / 2) < 4 * n / np.sqrt(12 * size)


def test_a_large_source_is_learned_from_its_sample(monkeypatch):
    monkeypatch.setattr("dirichletgp._gp.rows.door._SAMPLE_ROWS", 1_000)
    monkeypatch.setattr("dirichletgp._gp.classifier.POOL_ROWS", 500)
    X, y = make_classification(6_000, D, n_informative=4, n_redundant=0, random_state=1)
    classifier = quick(n_inducing=40).fit(Blocks(X[:5000], y[:5000]))
    whole = quick(n_inducing=40).fit(X[:5000], y[:5000])
    np.testing.assert_array_equal(classifier.class_count_, whole.class_count_)
    assert classifier.score(X[5000:], y[5000:]) > whole.score(X[5000:], y[5000:]) - 0.03


def test_the_next_chunk_is_read_while_the_last_one_is_computed():
    second_is_read = threading.Event()

    def items():
        yield 1
        second_is_read.set()
        yield 2

    ahead = read_ahead(items())
    assert next(ahead) == 1
    assert second_is_read.wait(timeout=60)
    assert list(ahead) == [2]


def test_the_reader_ends_when_it_is_no_longer_wanted():
    before = threading.active_count()
    items = read_ahead(iter(range(1000)))
    assert next(items) == 0
    items.close()
    assert threading.active_count() == before

    def failing():
        yield 1
        raise RuntimeError("disk")

    items = read_ahead(failing())
    assert next(items) == 1
    with pytest.raises(RuntimeError, match="disk"):
        next(items)
    assert threading.active_count() == before


MEMORY = """
import json, resource, sys
import numpy as np
from dirichletgp import DirichletGPClassifier

class Blocks:
    def __init__(self, n): self.n = n
    def __iter__(self):
        for i in range(self.n):
            rng = np.random.default_rng(i)
            X = rng.normal(size=(10_000, 20))
            yield X, (X[:, 0] + rng.normal(size=10_000) > 0).astype(int)

def peak(n):
    classifier = DirichletGPClassifier(
        "rbf", n_inducing=10, max_iter=1, n_subsample=1000, scaler="standard", random_state=0
    )
    classifier.fit(Blocks(n))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

print(json.dumps([peak(60), peak(140)]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is measured as Linux does")
def test_memory_is_flat():
    found = subprocess.run(
        [sys.executable, "-c", MEMORY],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        # Threads with heaps of their own keep what others have freed.
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    few, many = json.loads(found.stdout)
    assert many < few + 60  # 800,000 rows of 160 bytes are 122 MB
