"""Rows on a cluster give the model of the same rows in memory, even when a worker dies."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows import regions_on_dask

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N = 2_000

# Dask's own deprecations and the noise of a dying worker are not this library's.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def data():
    return make_classification(N, 5, n_informative=5, n_redundant=0, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def in_memory(data):
    return quick().fit(*data)


@pytest.fixture(scope="module")
def regions_in_memory(data):
    return quick(n_regions=10).fit(*data)


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    return DirichletGPClassifier(
        **{
            "kernel": "rbf",
            "n_inducing": 30,
            "max_iter": 3,
            "random_state": 0,
            **labels,
            **parameters,
        }
    )


def collections(X, y, rows=150):
    return da.from_array(X, chunks=(rows, 2)), da.from_array(y, chunks=rows)


def latents_of(classifier, X):
    names = getattr(classifier, "feature_names_in_", None)
    rows = X if names is None else pd.DataFrame(X, columns=names)
    return classifier.latent_mean_and_variance(rows)


def assert_same(one, other, X, atol=1e-10):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    for mine, theirs in zip(latents_of(one, X), latents_of(other, X), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=atol, atol=atol)


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


# Threads


def test_arrays_give_the_model_of_the_rows_in_memory(data, in_memory):
    assert_same(quick().fit(*collections(*data)), in_memory, data[0])


def test_dataframes_bring_their_names(data, in_memory):
    X, y = data
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=7)
    labels = dd.from_pandas(pd.Series(y), npartitions=7)
    classifier = quick().fit(frame, labels)
    assert_same(classifier, in_memory, X)
    assert classifier.feature_names_in_.tolist() == list("abcde")
    lazy = classifier.predict_proba(frame)
    np.testing.assert_array_equal(
        lazy.compute(), classifier.predict_proba(pd.DataFrame(X, columns=list("abcde")))
    )


def test_dataframes_may_hold_categories_texts_and_holes(data):
    X, y = data
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(N) < 0.1, np.nan, X[:, 0]),
            "colour": rng.choice(["red", "green", "blue"], N),
            "shape": pd.Categorical(rng.choice([1, 2, 3, 4], N)),
            "row": np.arange(N),
        }
    )
    rows = dd.from_pandas(frame, npartitions=5)
    labels = dd.from_pandas(pd.Series(y), npartitions=5)
    classifier = quick().fit(rows, labels)
    expected = quick().fit(frame, y)
    columns = classifier._fitted.features.columns
    assert columns == expected._fitted.features.columns
    assert columns.levels.tolist() == [0, 3, 4]
    np.testing.assert_allclose(
        classifier.predict_proba(rows).compute(), expected.predict_proba(frame), atol=1e-6
    )
    chosen = quick(categorical_features=["row"]).fit(rows[["a", "row"]], labels)
    assert chosen._fitted.features.columns.levels[1] == N


def test_arrays_may_have_holes(data):
    X, y = data
    holes = np.where(np.arange(N)[:, None] % 9 == 0, np.nan, X)
    rows, labels = collections(holes, y)
    expected = quick().fit(holes, y).predict_proba(holes)
    np.testing.assert_allclose(
        quick().fit(rows, labels).predict_proba(rows).compute(), expected, atol=1e-6
    )


def test_weights_and_class_weights_count(data):
    X, y = data
    weights = np.where(np.arange(N) % 3, 1.0, 0.0)
    expected = quick(class_weight={0: 2.0}).fit(X, y, weights)
    rows, labels = collections(X, y)
    found = quick(class_weight={0: 2.0}).fit(rows, labels, da.from_array(weights, chunks=150))
    assert_same(found, expected, X)


def test_predictions_are_lazy(data, in_memory):
    X, y = data
    read = []

    def reading(block):
        read.append(len(block))
        return block

    rows = (
        collections(X, y)[0]
        .rechunk((150, 5))
        .map_blocks(reading, dtype=float, meta=np.empty((0, 0)))
    )
    probabilities, logarithms, labels = (
        getattr(in_memory, name)(rows) for name in ("predict_proba", "predict_log_proba", "predict")
    )
    assert not read
    assert probabilities.shape == logarithms.shape == (N, 3)
    np.testing.assert_array_equal(probabilities.compute(), in_memory.predict_proba(X))
    np.testing.assert_array_equal(logarithms.compute(), in_memory.predict_log_proba(X))
    np.testing.assert_array_equal(labels.compute(), in_memory.predict(X))


def test_a_large_collection_is_learned_from_its_sample(data, monkeypatch):
    monkeypatch.setattr("dirichletgp._gp.rows.door._SAMPLE_ROWS", 800)
    monkeypatch.setattr("dirichletgp._gp.classifier.POOL_ROWS", 500)
    X, y = data
    classifier = quick().fit(*collections(X, y))
    np.testing.assert_array_equal(classifier.class_count_, np.bincount(y))
    assert classifier.score(X, y) > 0.7


def test_the_kernel_can_be_learned_from_all_rows_where_they_are(data, in_memory, monkeypatch):
    monkeypatch.setattr("dirichletgp._gp.rows.door._SAMPLE_ROWS", 800)
    monkeypatch.setattr("dirichletgp._gp.classifier.POOL_ROWS", 500)
    X, y = data
    given = {
        "inducing": X[:30],
        "scaler": None,
        "lengthscale": 2.0,
        "variance": 4.0,
        "n_subsample": N,
    }
    for class_weight in (None, {0: 2.0}):
        found = quick(class_weight=class_weight, **given).fit(*collections(X, y))
        expected = quick(class_weight=class_weight, **given).fit(X, y)
        assert found.n_iter_ == expected.n_iter_ > 1
        np.testing.assert_allclose(found.lengthscale_, expected.lengthscale_, rtol=1e-5)
        assert_same(found, expected, X, 1e-5)


def test_a_checkpoint_that_is_refused_leaves_no_file_behind(data, tmp_path):
    with pytest.raises(ValueError, match="checkpoint is for rows read here"):
        quick().fit(*collections(*data), checkpoint=tmp_path / "fit.ckpt")
    assert list(tmp_path.iterdir()) == []


def test_errors_say_what_is_wrong(data, tmp_path):
    X, y = data
    rows, labels = collections(X, y)
    with pytest.raises(TypeError, match="y and sample_weight must be Dask collections too"):
        quick().fit(rows, y)
    with pytest.raises(ValueError, match="rechunk or repartition them alike"):
        quick().fit(rows, da.from_array(y, chunks=500))
    with pytest.raises(ValueError, match="infinity"):
        quick().fit(da.where(rows > 1, np.inf, rows), labels)
    with pytest.raises(ValueError, match="one class only"):
        quick().fit(rows, da.zeros_like(labels))
    with pytest.raises(ValueError, match="checkpoint is for rows read here"):
        quick().fit(rows, labels, checkpoint=tmp_path / "fit.ckpt")


# Processes


@pytest.mark.slow
def test_two_worker_processes_give_the_model_of_the_rows_in_memory(cluster, data, in_memory):
    X, y = data
    assert_same(quick().fit(*collections(X, y)), in_memory, X)
    np.testing.assert_array_equal(
        in_memory.predict_proba(collections(X, y)[0]).compute(), in_memory.predict_proba(X)
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_killed_worker_costs_its_chunks_only(cluster, data, in_memory):
    X, y = data
    victim = next(iter(cluster.run(os.getpid).values()))

    def slowly(block):
        time.sleep(0.1)
        return block

    rows, labels = collections(X, y)
    rows = rows.rechunk((150, 5)).map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    # Among the chunks of the second pass, when some of the statistics are with the victim.
    with killed_when_held(cluster, victim, "_sums_of_chunk") as killed:
        classifier = quick().fit(rows, labels)
    assert killed
    assert victim not in cluster.run(os.getpid).values()
    assert_same(classifier, in_memory, X)


@contextmanager
def killed_when_held(cluster, victim, task):
    """Kill a worker process as soon as results of two such tasks are held by workers."""
    killed = []

    def kill():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            keys = [key for held in cluster.has_what().values() for key in held]
            if sum(task in str(key) for key in keys) >= 2:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
                return
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    yield killed
    killer.join()


# Regions


def solved_by_workers(classifier):
    return all(model.solved is not None for model in classifier._fitted.model.models)


def test_regions_give_the_model_of_the_rows_in_memory(data, regions_in_memory):
    X, y = data
    classifier = quick(n_regions=10).fit(*collections(X, y))
    assert classifier.n_regions_ == regions_in_memory.n_regions_ > 2
    assert solved_by_workers(classifier)
    assert_same(classifier, regions_in_memory, X)
    np.testing.assert_array_equal(classifier.class_count_, regions_in_memory.class_count_)
    later = classifier.partial_fit(X[:50], y[:50])
    assert later.class_count_.sum() == N + 50


def test_weights_count_in_regions(data):
    X, y = data
    weights = np.where(np.arange(N) % 3, 1.5, 0.0)
    given = {"n_regions": 5, "class_weight": {0: 2.0}}
    found = quick(**given).fit(*collections(X, y), da.from_array(weights, chunks=150))
    assert_same(found, quick(**given).fit(X, y, weights), X)


def test_groups_of_regions_take_about_as_much_memory_each(regions_in_memory):
    basis = regions_in_memory._fitted.model.basis
    groups = regions_on_dask._groups(basis, 3)
    numbers = [group.first + i for group in groups for i in range(len(group.points))]
    assert numbers == list(range(10))
    assert len(groups) == 8


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_two_worker_processes_solve_regions_and_one_may_be_killed(cluster, data, regions_in_memory):
    X, y = data
    undisturbed = quick(n_regions=10).fit(*collections(X, y))
    assert solved_by_workers(undisturbed)
    assert_same(undisturbed, regions_in_memory, X)
    victim = next(iter(cluster.run(os.getpid).values()))
    with killed_when_held(cluster, victim, "_sums_with_pieces") as killed:
        classifier = quick(n_regions=10).fit(*collections(X, y, 60))
    assert killed
    assert victim not in cluster.run(os.getpid).values()
    assert_same(classifier, regions_in_memory, X)
