"""Rows are cut into regions: smoothly, exactly, and only where it pays."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.counted import CountedPosterior
from dirichletgp._gp.core.probabilities.softmax import class_probabilities
from dirichletgp._gp.core.regions import grown
from dirichletgp._gp.core.regressions import LabelTransform
from dirichletgp._gp.training import cutting, schedule
from dirichletgp._gp.training.label_search import rows_that_score
from dirichletgp._gp.training.region_search import affordable, sizes_to_try

N = 1_600


def quick(**parameters):
    few = {"kernel": "rbf", "n_inducing": 25, "max_iter": 2, "random_state": 0, "n_jobs": 1}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier(**{**few, **labels, "n_regions": 6, **parameters})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + 300, 3))
    y = np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=len(X)), [-0.7, 0.7])
    return SimpleNamespace(X=X[:N], y=y[:N], X_new=X[N:], y_new=y[N:])


@pytest.fixture(scope="module")
def fitted(data):
    return quick().fit(data.X, data.y)


def model_of(classifier):
    return classifier._fitted.model


def scaled(classifier, X):
    return classifier._fitted.encoder.scale(X)


def tree_of(X, n_regions=9):
    codes = np.arange(len(X)) % 2
    return grown(X, codes, np.ones(X.shape[1]), n_regions)


# The tree


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20))
def test_weights_of_a_row_sum_to_one_and_follow_from_the_row_alone(seed, n_regions):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(200, 3)), 1)  # with ties
    tree = tree_of(X, n_regions)
    places = tree.places(X)
    assert tree.number <= n_regions
    np.testing.assert_allclose(np.bincount(places.rows, places.weights), 1.0, atol=1e-12)
    one = tree.places(X[7:8])
    mine = places.rows == 7
    np.testing.assert_array_equal(one.regions, places.regions[mine])
    np.testing.assert_array_equal(one.weights, places.weights[mine])


def test_regions_have_about_as_many_rows_each():
    X = np.random.default_rng(0).normal(size=(4_000, 4))
    sizes = np.bincount(tree_of(X, 16).places(X).regions)
    assert len(sizes) == 16
    assert sizes.max() < 1.5 * sizes.min()
    assert (
        sizes.sum() < 1.1**4 * len(X) * 1.05
    )  # a tenth of the rows are in both, at each of 4 cuts


def test_weights_change_smoothly_across_a_border():
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    tree = tree_of(X, 2)
    along = (
        np.linspace(-1, 1, 20_001)[:, None]
        * tree.directions[0]
        / np.linalg.norm(tree.directions[0]) ** 2
    )
    places = tree.places(along + 0.0)
    far = np.zeros(len(along))
    far[places.rows[places.regions == 1]] = places.weights[places.regions == 1]
    slopes = np.diff(far) / 1e-4
    assert 0 < far[len(far) // 2 - 5 : len(far) // 2 + 5].mean() < 1
    assert np.all(slopes >= 0)
    assert slopes.max() < 1.0 / tree.widths[0]


def test_columns_of_two_values_are_cut_between_them():
    rng = np.random.default_rng(0)
    X = np.column_stack([5.0 * rng.integers(0, 2, 400), 0.1 * rng.normal(size=400)])
    tree = tree_of(X, 2)
    places = tree.places(X)
    assert len(places.rows) == 400  # nobody is in the zone
    np.testing.assert_allclose(np.abs(tree.thresholds), 2.5, atol=0.1)


def test_many_columns_are_cut_across_the_direction_of_most_variance():
    rng = np.random.default_rng(0)
    direction = rng.normal(size=80)
    X = 5 * rng.normal(size=(500, 1)) * direction + rng.normal(size=(500, 80))
    found = tree_of(X, 2).directions[0]
    cosine = found @ direction / np.linalg.norm(found) / np.linalg.norm(direction)
    assert abs(cosine) > 0.99


def test_rows_that_are_all_alike_cannot_be_cut():
    assert tree_of(np.ones((50, 3))) is None


def test_a_region_of_one_class_is_not_cut_again():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 1)) - 10, rng.normal(size=(300, 1)) + 10])
    codes = np.repeat([0, 1], 300)
    assert grown(X, codes, np.ones(1), 50).number == 2


# The model


def test_latents_are_those_of_the_regions_averaged(fitted, data):
    model = model_of(fitted)
    X, new = scaled(fitted, data.X), scaled(fitted, data.X_new)
    places, new_places = model.regions.places(X), model.regions.places(new)
    mean, variance = np.zeros((len(new), 3)), np.zeros((len(new), 3))
    for region, part in enumerate(model.models):
        own = places.rows[places.regions == region]
        p = SimpleNamespace(
            X=X[own],
            codes=data.y[own],
            weights=np.ones(len(own)),
            n_classes=3,
            kernel=part.kernel,
            Z=part.points,
            jitter=part.jitter,
            transform=part.transform,
            prior=part.prior,
        )
        there = new_places.regions == region
        rows, share = new_places.rows[there], new_places.weights[there, None]
        m, v = referee.latent(p, new[rows])
        mean[rows] += share * m
        variance[rows] += share * v
    found = fitted.latent_mean_and_variance(data.X_new)
    np.testing.assert_allclose(found[0], mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], variance, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        fitted.predict_proba(data.X_new), class_probabilities(mean, variance), atol=1e-6
    )


def test_a_region_of_one_class_has_no_points_and_counts():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(400, 2)) - 20, rng.normal(size=(400, 2)) + 20])
    y = np.concatenate([np.zeros(400), rng.integers(0, 2, 400)])
    classifier = quick(n_regions=2, scaler="standard").fit(X, y)
    points = sorted(len(model.points) for model in model_of(classifier).models)
    assert points == [0, 25]
    assert 1e-4 < classifier.predict_proba(X[:1])[0, 1] < 1e-2
    assert classifier.predict_interval(X[:1])[1][0, 1] < 0.02
    classifier.partial_fit(X[:100], np.ones(100))
    np.testing.assert_allclose(classifier.predict_proba(X[:1])[0, 1], 0.2, atol=0.01)


def test_counts_have_the_latents_of_the_paper_for_a_row():
    transform = LabelTransform.dirichlet(0.5)
    counted = CountedPosterior.of(np.array([1.0, 0.0]), 1.0, transform, np.full(2, 0.5))
    mean, variance = counted.latent(np.empty((1, 0)))
    np.testing.assert_allclose(variance[0], [transform.noise_in, transform.noise_out])
    np.testing.assert_allclose(np.diff(mean[0])[0], -transform.separation)
    mean, variance = counted.latent_without_row(np.empty((1, 0)), np.array([0]), None)
    np.testing.assert_allclose(class_probabilities(mean, variance), 0.5)


def test_probabilities_do_not_jump_at_borders(data):
    classifier = quick(scaler=None).fit(data.X, data.y)
    tree = model_of(classifier).regions
    for normal, threshold, width in zip(tree.directions, tree.thresholds, tree.widths, strict=True):
        step = 1e-9 * normal / np.linalg.norm(normal)
        for edge in (-width, 0.0, width):
            at = (threshold + edge) * normal / (normal @ normal)
            before, after = classifier.predict_proba([at - step, at + step])
            assert np.abs(before - after).max() < 1e-6


def test_predictions_do_not_depend_on_the_batch(fitted, data):
    together = fitted.predict_proba(data.X_new)
    alone = np.concatenate([fitted.predict_proba(row[None]) for row in data.X_new[:40]])
    np.testing.assert_array_equal(alone, together[:40])
    threads = copy.deepcopy(fitted).set_params(n_jobs=2)
    np.testing.assert_array_equal(threads.predict_proba(data.X_new), together)


def test_everything_that_follows_from_latents_is_there(fitted, data):
    p = fitted.predict_proba(data.X_new)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(data.X_new)), p, atol=1e-7)
    lower, upper = fitted.predict_interval(data.X_new)
    assert np.all((lower <= p + 1e-9) & (p <= upper + 1e-9))
    total, aleatoric, epistemic = fitted.predict_uncertainty(data.X_new)
    np.testing.assert_allclose(total, aleatoric + epistemic, atol=1e-9)
    assert fitted.sample_proba(data.X_new[:5], 7, 0).shape == (7, 5, 3)
    held = fitted.predict_set(data.X_new, coverage=0.9)[np.arange(300), data.y_new]
    assert held.mean() > 0.85
    assert fitted.n_regions_ == 6
    assert fitted.inducing_points_.shape == (150, 3)
    assert fitted.bound_ < 0
    loss = -np.log(p[np.arange(300), data.y_new]).mean()
    plain = quick(n_regions=1, n_inducing=150).fit(data.X, data.y).predict_proba(data.X_new)
    assert loss < 1.1 * -np.log(plain[np.arange(300), data.y_new]).mean()


# Streams


def without_rows(classifier):
    return copy.deepcopy(classifier).decay(0)


def test_batches_of_rows_equal_one_fit(fitted, data):
    stream = without_rows(fitted)
    for rows in np.array_split(np.random.default_rng(0).permutation(N), 5):
        stream.partial_fit(data.X[rows], data.y[rows])
    np.testing.assert_allclose(
        stream.predict_proba(data.X_new), fitted.predict_proba(data.X_new), atol=1e-10
    )
    np.testing.assert_array_equal(stream.class_count_, fitted.class_count_)


def test_forgotten_rows_were_never_there(fitted, data):
    half = copy.deepcopy(fitted).forget(data.X[: N // 2], data.y[: N // 2])
    other = without_rows(fitted).partial_fit(data.X[N // 2 :], data.y[N // 2 :])
    np.testing.assert_allclose(
        half.predict_proba(data.X_new), other.predict_proba(data.X_new), atol=1e-8
    )
    with pytest.raises(ValueError, match="never added"):
        other.forget(data.X[: N // 2], data.y[: N // 2])


def test_copies_that_saw_parts_are_merged(fitted, data):
    parts = [without_rows(fitted).partial_fit(data.X[i::2], data.y[i::2]) for i in range(2)]
    np.testing.assert_allclose(
        parts[0].merge(parts[1]).predict_proba(data.X_new),
        fitted.predict_proba(data.X_new),
        atol=1e-10,
    )
    with pytest.raises(ValueError, match="regions"):
        copy.deepcopy(fitted).merge(quick(n_regions=3).fit(data.X, data.y))
    with pytest.raises(ValueError, match="regions"):
        copy.deepcopy(fitted).merge(quick(n_regions=1).fit(data.X, data.y))


def test_a_left_out_row_is_as_if_it_had_been_forgotten(data):
    classifier = quick(class_prior="uniform").fit(data.X, data.y)
    left_out = classifier.loo_proba(data.X, data.y)
    for i in (0, 10, 500):
        without = copy.deepcopy(classifier).forget(data.X[i : i + 1], data.y[i : i + 1])
        np.testing.assert_allclose(
            without.predict_proba(data.X[i : i + 1])[0], left_out[i], atol=1e-7
        )


def test_new_classes_are_declared(fitted, data):
    wider = copy.deepcopy(fitted).partial_fit(data.X[:3], [3, 3, 3], classes=[0, 1, 2, 3])
    assert wider.predict_proba(data.X_new).shape == (300, 4)
    assert wider.class_count_[3] == 3


def test_a_region_in_which_rows_have_piled_up_is_cut_again(data):
    stream = quick().fit(data.X, data.y)
    X = np.random.default_rng(1).normal(size=(3 * N, 3)) * 0.3 + 1.0
    y = np.digitize(np.sin(5 * X[:, 0]) + X[:, 1], [0.7, 1.3])
    stream.partial_fit(X, y)
    smallest, _, largest = stream.regions_["rows of a region"]
    assert largest > 5 * smallest
    stream.refresh(np.concatenate([data.X, X]), np.concatenate([data.y, y]))
    smallest, _, largest = stream.regions_["rows of a region"]
    assert largest < 2 * smallest
    assert stream.n_regions_ == 6
    assert stream.class_count_.sum() == 4 * N
    said = stream.history_[-1]
    assert said["stage"] == "refreshed regions"
    assert "6 regions of" in said["note"].partition(" before, ")[2]


def test_few_rows_of_a_refresh_are_not_cut_unless_it_is_asked_for(fitted, data):
    stream = copy.deepcopy(fitted).set_params(n_regions="auto")
    stream.refresh(data.X[:300], data.y[:300])
    assert stream.n_regions_ == 1
    assert stream.history_[-1]["note"].endswith("before, no regions now")
    np.testing.assert_array_equal(stream.class_count_, np.bincount(data.y[:300]))


# Files


def test_models_are_kept_to_the_bit(fitted, data, tmp_path):
    fitted.save(tmp_path / "regions.dgp")
    expected = fitted.predict_proba(data.X_new)
    for again in (
        DirichletGPClassifier.load(tmp_path / "regions.dgp"),
        pickle.loads(pickle.dumps(fitted)),
    ):
        np.testing.assert_array_equal(again.predict_proba(data.X_new), expected)
        again.partial_fit(data.X_new, data.y_new)
        assert again.class_count_.sum() == N + 300


def test_files_and_clusters_give_the_same_model(fitted, data, tmp_path):
    arrow, da = pytest.importorskip("pyarrow"), pytest.importorskip("dask.array")
    import pyarrow.parquet as parquet

    columns = {f"x{j}": data.X[:, j] for j in range(3)} | {"label": data.y}
    parquet.write_table(arrow.table(columns), tmp_path / "rows.parquet")
    from_file = quick().fit(tmp_path / "rows.parquet", y="label")
    X, y = da.from_array(data.X, chunks=(250, 3)), da.from_array(data.y, chunks=250)
    on_dask = quick().fit(X, y)
    expected = model_of(fitted).statistics
    for other in (from_file, on_dask):
        found = model_of(other).statistics
        np.testing.assert_array_equal(found.counts, expected.counts)
        for mine, theirs in zip(found.parts, expected.parts, strict=True):
            np.testing.assert_allclose(mine.grams, theirs.grams, atol=1e-10 * N)


# The decision


def patchwork(n, seed=0):
    """Classes that change from square to square."""
    X = np.random.default_rng(seed).uniform(0, 8, size=(n, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


def test_few_rows_are_not_cut(data):
    rows = data.X[:200], data.y[:200]
    by_itself, without = (quick(n_regions=n).fit(*rows) for n in ("auto", 1))
    assert by_itself.n_regions_ == 1
    np.testing.assert_array_equal(
        by_itself.predict_proba(data.X_new), without.predict_proba(data.X_new)
    )


def test_rows_are_cut_where_that_pays(monkeypatch):
    monkeypatch.setattr(schedule, "SOME_ROWS", 1_000)
    monkeypatch.setattr(schedule, "MANY_ROWS", 1_000)
    X, y = patchwork(6_000)
    classifier = quick(n_regions="auto", n_inducing=40).fit(X, y)
    notes = [stage["note"] for stage in classifier.history_ if stage["stage"].startswith("regions")]
    assert classifier.n_regions_ > 1
    assert "without regions" in notes[0]
    X_new, y_new = patchwork(1_000, 1)
    plain = quick(n_regions=1, n_inducing=40).fit(X, y)
    assert classifier.score(X_new, y_new) > plain.score(X_new, y_new)


def test_some_rows_are_cut_only_after_a_comparison_with_the_finished_model(monkeypatch):
    monkeypatch.setattr(schedule, "SOME_ROWS", 1_000)
    X, y = patchwork(6_000)
    classifier = quick(n_regions="auto", n_inducing=40).fit(X, y)
    stages = [stage["stage"] for stage in classifier.history_]
    notes = [stage["note"] for stage in classifier.history_ if stage["stage"].startswith("regions")]
    assert classifier.n_regions_ > 1
    assert "regions compared" in stages
    assert "left-out rows" in notes[-1]


def test_regions_with_hardly_more_points_in_all_are_not_tried():
    assert [size.regions for size in sizes_to_try(10_000, 1_000, 2, 1e9)] == [20]
    assert [size.regions for size in sizes_to_try(40_000, 1_000, 2, 1e9)] == [80, 20]


def test_rows_are_not_cut_where_that_does_not_pay(monkeypatch):
    monkeypatch.setattr(schedule, "SOME_ROWS", 1_000)
    monkeypatch.setattr(schedule, "MANY_ROWS", 1_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 2))
    y = (X[:, 0] + rng.logistic(size=6_000) > 0).astype(int)
    classifier = quick(n_regions="auto", n_jobs=2).fit(X, y)
    notes = [stage["note"] for stage in classifier.history_ if stage["stage"].startswith("regions")]
    assert classifier.n_regions_ == 1
    assert "no regions" in notes[-1]
    without = quick(n_regions=1, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(classifier.predict_proba(X), without.predict_proba(X))


def test_the_model_that_regions_are_compared_with_has_labels_chosen_by_many_rows(monkeypatch):
    monkeypatch.setattr(schedule, "SOME_ROWS", 1_000)
    monkeypatch.setattr(schedule, "MANY_ROWS", 1_000)
    asked = []

    def score(pool, basis, size, *more):
        asked.append(size)
        return rows_that_score(pool, basis, size, *more)

    monkeypatch.setattr(cutting, "rows_that_score", score)
    quick(n_regions="auto", n_inducing=40).fit(*patchwork(6_000))
    assert asked
    assert min(asked) >= 1_000


def test_regions_points_and_classes_share_the_memory():
    for n_classes in (2, 7, 100):
        size = affordable(5_000, 256, n_classes, 1e9)
        assert 16 * n_classes * size.points**2 * size.regions <= 1e9
    assert sizes_to_try(100, 256, 2, 1e9) == []


def test_what_regions_cannot_do_is_said(data):
    with pytest.raises(ValueError, match="inducing points; pass n_regions=1"):
        quick(inducing=data.X[:5]).fit(data.X, data.y)
    for wrong in (0, 1.5, "many", True):
        with pytest.raises(ValueError, match="n_regions"):
            quick(n_regions=wrong).fit(data.X, data.y)
    with pytest.raises(ValueError, match="memory_limit"):
        quick(memory_limit=100.0).fit(data.X, data.y)
    with pytest.raises(ValueError, match="memory_limit"):
        quick(memory_limit=-1).fit(data.X, data.y)
