"""One fitted model serves any number of threads and processes, with the bits of one."""

import multiprocessing
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.parallel import Workers, effective_threads
from dirichletgp._gp.core.probabilities import table
from dirichletgp._gp.core.regressions import Posterior

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "latent_mean_and_variance",
    "predict_interval",
    "predict_uncertainty",
)


@pytest.fixture(scope="module", params=["rbf", "product"])
def fitted(request):
    X, y = make_classification(300, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    classifier = DirichletGPClassifier(
        request.param, n_inducing=40, max_iter=1, random_state=0, **labels
    )
    return classifier.fit(X, y), X


def fresh(classifier):
    """The same model with nothing computed yet."""
    return pickle.loads(pickle.dumps(classifier))


def blas_threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_sixteen_threads_get_the_bits_of_one(fitted):
    classifier, X = fitted
    alone = {name: np.asarray(getattr(classifier, name)(X[:40])) for name in METHODS}
    limits = blas_threads()
    shared = fresh(classifier)
    start = threading.Barrier(16)

    def ask(place):
        start.wait()
        names = np.roll(METHODS, place).tolist()
        return {name: np.asarray(getattr(shared, name)(X[: 40 - place])) for name in names}

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(ask, range(16)))
    for place, answers in enumerate(found):
        for name, answer in answers.items():
            axis = 0 if answer.ndim < 3 and len(answer) == 40 - place else 1
            expected = np.take(alone[name], np.arange(40 - place), axis=axis)
            np.testing.assert_array_equal(answer, expected)
    assert blas_threads() == limits


def test_a_posterior_is_solved_once_however_many_ask(fitted, monkeypatch):
    classifier, X = fitted
    shared = fresh(classifier)
    solved = []
    solve = Posterior.from_statistics.__func__

    def counted(cls, *arguments):
        solved.append(1)
        return solve(cls, *arguments)

    monkeypatch.setattr(Posterior, "from_statistics", classmethod(counted))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: shared.predict_proba(X[:5]), range(16)))
    assert len(solved) == 1


def test_threads_that_read_while_another_writes_see_one_model_or_the_other(fitted):
    """Streams replace the fitted value as a whole: no prediction is of half of each."""
    classifier, X = fitted
    shared = fresh(classifier)
    y = shared.predict(X)
    before = shared.predict_proba(X[:3])
    after = fresh(classifier).partial_fit(X[:50], y[:50]).predict_proba(X[:3])
    found, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            found.append(shared.predict_proba(X[:3]))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    shared.partial_fit(X[:50], y[:50])
    stop.set()
    for reader in readers:
        reader.join()
    assert found
    assert all(np.array_equal(p, before) or np.array_equal(p, after) for p in found)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_runs_meanwhile_is_waited_for_and_its_errors_are_raised(n_threads):
    with Workers(n_threads) as workers:
        with workers.meanwhile(lambda: 3) as found:
            assert list(workers.map(abs, [-1, -2])) == [1, 2]
            assert found() == 3
        with (
            pytest.raises(ZeroDivisionError),
            workers.meanwhile(lambda: 1 // 0) as found,
        ):
            found()
        with pytest.raises(KeyError), workers.meanwhile(lambda: 3):
            raise KeyError


def test_blas_has_its_threads_back_whatever_happens():
    limits = blas_threads()
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), Workers(2), Workers(1):
            raise error
        assert blas_threads() == limits
    with Workers(2), Workers(1):
        assert set(blas_threads()) == {1}

    class Interrupted(ThreadPoolExecutor):
        def shutdown(self, *arguments, **more):
            super().shutdown(*arguments, **more)
            raise KeyboardInterrupt

    workers = Workers(2)
    with pytest.raises(KeyboardInterrupt), workers:
        workers._pool = Interrupted(2)
    assert blas_threads() == limits


def test_tables_are_built_with_one_blas_thread_whoever_asks_first(monkeypatch):
    threads = []

    class Watched(table._Table):
        def __init__(self, octave):
            threads.append(effective_threads(None))
            super().__init__(octave)

    monkeypatch.setattr(table, "_Table", Watched)
    monkeypatch.setattr(table, "_built_table", table._built_table.__wrapped__)
    # Another test may hold a pool open, and BLAS with it.
    monkeypatch.setattr(table, "one_blas_thread", type(table.one_blas_thread)())
    with threadpool_limits(2, user_api="blas"):
        before = effective_threads(None)
        table.log_intensity(np.zeros(1), np.ones(1), 1, 3)
        assert effective_threads(None) == before
    assert threads == [1]


def _predicted(classifier, X, queue):
    queue.put(classifier.predict_proba(X))


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_after_fitting_predicts_the_same(fitted):
    classifier, X = fitted
    expected = classifier.predict_proba(X)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    for model in (classifier, fresh(classifier)):
        child = context.Process(target=_predicted, args=(model, X, queue))
        child.start()
        np.testing.assert_array_equal(queue.get(timeout=60), expected)
        child.join(60)
        assert child.exitcode == 0
