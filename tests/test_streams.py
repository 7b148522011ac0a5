"""Rows can be added, taken away, faded and pooled, exactly."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.statistics import ClassStatistics
from dirichletgp._gp.training.schedule import Trainer

N = 900


@pytest.fixture(scope="module")
def data():
    return make_classification(N, 5, n_informative=5, n_redundant=0, n_classes=3, random_state=0)


def fixed(points, **parameters):
    """Kernel, points, scaling and labels are given: only the statistics depend on the rows."""
    given = {"inducing": points, "lengthscale": 2.0, "variance": 8.0, "max_iter": 0, "scaler": None}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    return DirichletGPClassifier(**{**given, **labels, "n_subsample": 50, **parameters})


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


def assert_same(one, other, X, atol=1e-10):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    for mine, theirs in zip(
        one.latent_mean_and_variance(X), other.latent_mean_and_variance(X), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=atol, atol=atol)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=atol)
    np.testing.assert_allclose(one.class_count_, other.class_count_, rtol=1e-12)
    np.testing.assert_allclose(one.class_prior_, other.class_prior_, rtol=1e-12)
    assert one.bound_ == pytest.approx(other.bound_, rel=1e-9)


# Equalities


def test_a_hundred_batches_equal_one_fit(data):
    X, y = data
    cuts = np.sort(np.random.default_rng(0).choice(np.arange(1, N), 99, replace=False))
    stream = fixed(X[:40])
    for rows in np.split(np.arange(N), cuts):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert_same(stream, fixed(X[:40]).fit(X, y), X, 1e-10)


def test_a_learned_model_equals_its_refit_with_the_same_points_and_parameters(data):
    X, y = data
    stream = quick(n_subsample=300, scaler=None)
    for rows in np.array_split(np.arange(N), 100):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    again = fixed(
        stream.inducing_points_, lengthscale=stream.lengthscale_, variance=stream.variance_
    ).fit(X, y)
    assert_same(stream, again, X, 1e-10)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**31),
    n_batches=st.integers(1, 12),
    weighted=st.booleans(),
    kernel=st.sampled_from(["rbf", "matern52"]),
)
def test_any_batches_in_any_order_are_one_fit(data, seed, n_batches, weighted, kernel):
    X, y = data
    rng = np.random.default_rng(seed)
    rows = rng.permutation(N)[:300]
    weights = rng.integers(0, 3, N).astype(float) if weighted else np.ones(N)
    stream = fixed(X[:20], kernel=kernel)
    for part in np.array_split(rows, n_batches):
        if weights[part].any():
            stream.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=weights[part])
    assert_same(
        stream, fixed(X[:20], kernel=kernel).fit(X[rows], y[rows], weights[rows]), X[:50], 1e-9
    )


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**31), weighted=st.booleans())
def test_forgetting_half_the_rows_is_never_having_seen_them(data, seed, weighted):
    X, y = data
    order = np.random.default_rng(seed).permutation(N)
    kept, gone = order[: N // 2], order[N // 2 :]
    weights = np.where(np.arange(N) % 3, 1.0, 2.5) if weighted else np.ones(N)
    classifier = fixed(X[:40]).fit(X, y, weights).forget(X[gone], y[gone], weights[gone])
    assert_same(classifier, fixed(X[:40]).fit(X[kept], y[kept], weights[kept]), X, 1e-8)


def test_forgetting_is_exact_for_learned_models_with_class_weights(data):
    X, y = data
    classifier = quick(class_weight={0: 3.0}).fit(X[:400], y[:400])
    before = copy.deepcopy(classifier)
    classifier.partial_fit(X[400:], y[400:]).forget(X[400:], y[400:])
    assert_same(classifier, before, X, 1e-8)


def test_a_class_that_is_forgotten_altogether_leaves_nothing(data):
    X, y = data
    classifier = fixed(X[:40]).fit(X, y).forget(X[y == 2], y[y == 2])
    assert classifier.class_count_[2] == 0.0
    assert not classifier._fitted.model.statistics.grams[2].any()
    classifier.forget(X[y < 2], y[y < 2])
    np.testing.assert_allclose(classifier.predict_proba(X[:3]), 1 / 3, atol=1e-12)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**31), n_models=st.integers(2, 5))
def test_merged_models_equal_one_fit_of_all_rows(data, seed, n_models):
    X, y = data
    parts = np.array_split(np.random.default_rng(seed).permutation(N), n_models)
    first, *others = [fixed(X[:30]).fit(X[part], y[part]) for part in parts]
    for other in others:
        first.merge(other)
    assert_same(first, fixed(X[:30]).fit(X, y), X[:100], 1e-9)


def test_copies_that_saw_their_own_rows_merge(data):
    X, y = data
    base = quick().fit(X[:300], y[:300])
    today, tomorrow = copy.deepcopy(base).decay(0), pickle.loads(pickle.dumps(base)).decay(0)
    today.partial_fit(X[300:600], y[300:600])
    tomorrow.partial_fit(X[600:], y[600:])
    merged = copy.deepcopy(base).merge(today).merge(tomorrow)
    assert_same(merged, base.partial_fit(X[300:], y[300:]), X, 1e-9)


def test_saved_copies_merge(data, tmp_path):
    X, y = data
    for scaler in ("quantile", "standard", "minmax", None):
        base = quick(scaler=scaler).fit(X, y)
        base.save(tmp_path / "model.dgp")
        other = DirichletGPClassifier.load(tmp_path / "model.dgp")
        np.testing.assert_allclose(base.merge(other).class_count_, 2 * other.class_count_)


def test_merging_brings_the_classes_of_both(data):
    X, y = data
    names = np.array(["a", "b", "c"])
    one = fixed(X[:30]).fit(X[y < 2], names[y[y < 2]])
    two = fixed(X[:30]).fit(X[y > 0], names[y[y > 0]])
    doubled = np.where(y == 1, 2.0, 1.0)
    assert_same(one.merge(two), fixed(X[:30]).fit(X, names[y], doubled), X, 1e-9)


def test_decay_is_a_sample_weight(data):
    X, y = data
    faded = (
        fixed(X[:30])
        .fit(X[:400], y[:400])
        .decay(0.5)
        .partial_fit(X[400:800], y[400:800])
        .decay(0.5)
    )
    faded.partial_fit(X[800:], y[800:])
    weights = np.repeat([0.25, 0.5, 1.0], [400, 400, 100])
    assert_same(faded, fixed(X[:30]).fit(X, y, weights), X, 1e-10)


def test_decay_follows_a_drifting_stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = (X[:, 0] > 0).astype(int)
    y[1000:] = 1 - y[1000:]
    faded, kept = quick(n_subsample=200), quick(n_subsample=200)
    for start in range(0, 2000, 100):
        part = slice(start, start + 100)
        kept.partial_fit(X[part], y[part], classes=[0, 1])
        faded.partial_fit(X[part], y[part], classes=[0, 1]).decay(0.7)
    assert faded.score(X[1500:], y[1500:]) > 0.9
    assert kept.score(X[1500:], y[1500:]) < 0.7


# The warm-up


def test_a_large_first_call_is_a_fit(data):
    X, y = data
    X, y = X[:300], y[:300]
    learned = {"n_subsample": 300, "label_transform": "learned", "alpha_epsilon": "auto"}
    stream = quick(**learned).partial_fit(X, y)
    fitted = quick(**learned).fit(X, y)
    np.testing.assert_array_equal(stream.predict_proba(X), fitted.predict_proba(X))
    assert stream._fitted.first_rows is None


def test_few_rows_at_first_do_not_settle_the_points(data):
    X, y = data
    stream = quick(n_subsample=500)
    sizes = []
    for rows in np.array_split(np.arange(N), 90):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        sizes.append(len(stream.inducing_points_))
    assert sizes[0] == 10
    assert sizes[-1] == 30
    assert stream._fitted.first_rows is None
    whole = quick().fit(X, y)
    assert stream.score(X, y) > whole.score(X, y) - 0.05


def test_the_kernel_is_learned_whenever_the_rows_have_doubled(data, monkeypatch):
    X, y = data
    trained = []
    run = Trainer.run

    def counted(self, *arguments):
        trained.append(len(self.rows.sample))
        return run(self, *arguments)

    monkeypatch.setattr(Trainer, "run", counted)
    stream = quick(n_subsample=100)
    for i in range(0, 200, 10):
        stream.partial_fit(X[i : i + 10], y[i : i + 10], classes=[0, 1, 2])
    assert trained == [10, 20, 40, 80, 100]


def test_batches_of_weight_zero_change_nothing(data):
    X, y = data
    stream = quick(n_subsample=100).partial_fit(
        X[:9], y[:9], classes=[0, 1, 2], sample_weight=np.zeros(9)
    )
    expected = quick(n_subsample=100)
    for rows in np.split(np.arange(300), 6):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        stream.partial_fit(X[rows], y[rows], sample_weight=np.zeros(50))
        expected.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert_same(stream, expected, X)


@pytest.mark.parametrize("name", ["n_inducing", "n_subsample", "inducing"])
def test_bad_parameters_are_named_by_the_first_call(data, name):
    X, y = data
    with pytest.raises(ValueError, match=f"{name}='a'"):
        quick(**{name: "a"}).partial_fit(X[:20], y[:20])


def test_one_row_at_a_time(data):
    X, y = data
    order = np.argsort(y[:40], kind="stable")  # the worst order: one class after the other
    stream = quick(n_subsample=40)
    for i in order:
        stream.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    np.testing.assert_array_equal(stream.class_count_, np.bincount(y[:40]))
    stream.predict_proba(X)


def test_a_stream_of_one_class_waits_for_a_second(data):
    X, y = data
    zeros, ones = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    stream = quick(n_subsample=300).partial_fit(X[zeros[:20]], y[zeros[:20]], classes=[0, 1])
    with pytest.raises(NotFittedError):
        stream.predict(X)
    stream.partial_fit(X[ones[:20]], y[ones[:20]])
    np.testing.assert_array_equal(stream.class_count_, [20, 20])
    with pytest.raises(ValueError, match="the first 50 rows are all of one class"):
        quick(n_subsample=50).partial_fit(X[zeros[:50]], y[zeros[:50]], classes=[0, 1])


def test_saving_and_pickling_keep_the_warm_up(data, tmp_path):
    X, y = data
    stream = quick(n_subsample=200).partial_fit(
        X[:60], y[:60], classes=[0, 1, 2], sample_weight=np.full(60, 2.0)
    )
    stream.save(tmp_path / "model.dgp")
    copies = [
        DirichletGPClassifier.load(tmp_path / "model.dgp"),
        pickle.loads(pickle.dumps(stream)),
    ]
    for rows in (slice(60, 110), slice(110, 210)):
        stream.partial_fit(X[rows], y[rows])
        for other in copies:
            other.partial_fit(X[rows], y[rows])
    for other in copies:
        np.testing.assert_array_equal(other.predict_proba(X), stream.predict_proba(X))


def test_neither_pickles_nor_files_grow_with_the_stream(data, tmp_path):
    X, y = data
    stream = quick(n_subsample=100, scaler="standard").partial_fit(X[:100], y[:100])
    sizes = []
    for _ in range(3):
        stream.partial_fit(X, y)
        stream.save(tmp_path / "model.dgp")
        sizes.append((len(pickle.dumps(stream)), (tmp_path / "model.dgp").stat().st_size))
    np.testing.assert_allclose(sizes, np.broadcast_to(sizes[0], (3, 2)), atol=50)


# Classes


def test_a_declared_class_needs_no_rows_yet(data):
    X, y = data
    stream = quick(n_subsample=100).partial_fit(X[y < 2][:300], y[y < 2][:300], classes=[0, 1, 2])
    probabilities = stream.predict_proba(X)
    assert probabilities.shape == (N, 3)
    assert 0 < probabilities[:, 2].mean() < 0.1
    stream.partial_fit(X[y == 2], y[y == 2])
    assert stream.score(X[y == 2], y[y == 2]) > 0.5


def test_a_class_can_be_declared_later(data):
    X, y = data
    names = np.array(["b", "c", "a"])[y]  # the new class comes first in the order of classes_
    old, new = names != "a", names == "a"
    stream = fixed(X[:30]).partial_fit(X[old], names[old])
    with pytest.raises(
        ValueError, match=r"labels that the model was not fitted with: \['a'\].*classes"
    ):
        stream.partial_fit(X[new], names[new])
    stream.partial_fit(X[new], names[new], classes=["a", "b", "c"])
    assert_same(stream, fixed(X[:30]).fit(X, names), X, 1e-9)


def test_a_class_can_be_declared_during_the_warm_up(data):
    X, y = data
    stream = quick(n_subsample=600, class_weight={1: 2.0})
    stream.partial_fit(X[y > 0][:50], y[y > 0][:50]).partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    expected = np.bincount(y[y > 0][:50], minlength=3) + np.bincount(y[:30], minlength=3)
    np.testing.assert_allclose(stream.class_count_, expected * [1.0, 2.0, 1.0])


def test_classes_must_keep_the_old_labels(data):
    X, y = data
    stream = fixed(X[:30]).fit(X, y)
    with pytest.raises(ValueError, match=r"classes lacks \[2\]"):
        stream.partial_fit(X, y, classes=[0, 1, 3])
    with pytest.raises(ValueError, match="one class only"):
        fixed(X[:30]).partial_fit(X[y == 0], y[y == 0])
    with pytest.raises(ValueError, match="not fitted with"):
        stream.partial_fit(X, y.astype(str))


# What is refused, and what stays as it was


def test_what_was_never_added_cannot_be_forgotten(data):
    X, y = data
    classifier = fixed(X[:40]).fit(X[:300], y[:300])
    before = classifier.predict_proba(X)
    twice = np.concatenate([X[:300], X[:1]]), np.concatenate([y[:300], y[:1]])
    outside = X[:5] + 0.3, y[:5]
    for rows in (twice, outside):
        with pytest.raises(ValueError, match=r"forget: rows of class .* were never added"):
            classifier.forget(*rows)
        np.testing.assert_array_equal(classifier.predict_proba(X), before)


def test_failures_leave_the_stream_as_it_was(data, monkeypatch):
    X, y = data
    stream = quick(n_subsample=200).partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    before, state = stream.predict_proba(X), pickle.dumps(stream)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ClassStatistics, "add_rows", interrupt)
        for call in (stream.partial_fit, stream.forget, stream.refresh):
            with pytest.raises(KeyboardInterrupt):
                call(X[:50], y[:50])
    bad = np.where(np.arange(N)[:, None] == 3, np.inf, X)
    for call in (stream.partial_fit, stream.forget, stream.refresh):
        for rows, labels in ((bad, y), (X[:, :2], y), (X, y + 5), (X, y[:-1])):
            with pytest.raises(ValueError):  # noqa: PT011
                call(rows, labels)
    for factor in (-0.1, 1.5, "a", True, np.nan):
        with pytest.raises(ValueError, match="factor="):
            stream.decay(factor)
    assert pickle.dumps(stream) == state
    np.testing.assert_array_equal(stream.predict_proba(X), before)


def test_models_that_do_not_share_everything_are_not_merged(data):
    X, y = data
    one = quick(scaler="standard").fit(X, y)
    rescaled = copy.deepcopy(one)
    encoder = replace(one._fitted.encoder, scaler=StandardScaler().fit(X[:100]))
    rescaled._result = replace(one._fitted, encoder=encoder)
    cases = [
        (quick().fit(X[:500], y[:500]), "scaling and inducing points and kernel"),
        (rescaled, "scaling"),
        (quick(scaler="standard", kernel="matern32", max_iter=0).fit(X, y), "kernel"),
    ]
    for other, differing in cases:
        with pytest.raises(ValueError, match=f"merge: the models differ in {differing}"):
            one.merge(other)
    with pytest.raises(ValueError, match="the type of the labels"):
        fixed(X[:30]).fit(X, y).merge(fixed(X[:30]).fit(X, y.astype(str)))
    with pytest.raises(TypeError, match="merge takes another DirichletGPClassifier, got int"):
        one.merge(3)


@pytest.mark.parametrize("method", ["forget", "refresh"])
def test_streams_begin_with_rows(data, method):
    with pytest.raises(NotFittedError):
        getattr(quick(), method)(*data)
    with pytest.raises(NotFittedError):
        quick().decay(0.5)
    with pytest.raises(NotFittedError):
        quick().merge(quick())


# Refreshing


def test_refresh_learns_from_the_recent_rows_alone():
    X, y = make_blobs(600, centers=3, cluster_std=2.0, random_state=0)
    old = quick(label_transform="learned").fit(X, y)
    recent = 10.0 * X[:, ::-1] + 100.0
    refreshed = copy.deepcopy(old).refresh(recent[:300], y[:300])
    assert refreshed.label_transform_ != old.label_transform_
    assert refreshed.score(recent[300:], y[300:]) > old.score(recent[300:], y[300:]) + 0.2
    np.testing.assert_array_equal(refreshed.class_count_, np.bincount(y[:300]))
    refreshed.partial_fit(recent[300:], y[300:])
    np.testing.assert_array_equal(refreshed.class_count_, np.bincount(y))


def test_refresh_keeps_classes_without_recent_rows(data):
    X, y = data
    classifier = quick().fit(X, y).refresh(X[y < 2], y[y < 2])
    assert classifier.predict_proba(X).shape == (N, 3)


def test_refresh_starts_from_the_present_kernel(data):
    X, y = data
    classifier = quick(max_iter=40).fit(X, y)
    found, evaluations = classifier.lengthscale_, classifier.n_iter_
    classifier.refresh(X, y)
    assert classifier.n_iter_ < evaluations
    np.testing.assert_allclose(classifier.lengthscale_, found, rtol=0.2)
