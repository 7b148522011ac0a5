"""What is there to ask of a fitted model can be asked of one of regions."""

import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_explanations import brute_force
from test_regions import model_of, patchwork, quick, scaled, tree_of

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels.product import MISSING
from dirichletgp._gp.core.operations import NUMPY
from dirichletgp._gp.decisions.effects import effect
from dirichletgp._gp.training import schedule
from dirichletgp.persistence import ModelFileError
from dirichletgp.persistence.archive import read_archive, write_archive


def rows_of(n_classes, n=700, seed=0):
    """Rows in three features; where the first is small there is one class only."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 4 * (X[:, 0] > 0) - 2
    score = np.sin(2 * X[:, 1]) + X[:, 2] + 0.4 * rng.normal(size=n)
    y = np.digitize(score, np.linspace(-0.7, 0.7, n_classes + 1)[1:-1])
    return X, np.where(X[:, 0] < 0, 0, y)


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    X, y = rows_of(request.param)
    classifier = quick(n_regions=5, n_inducing=15, scaler="standard").fit(X, y)
    assert any(len(part.points) == 0 for part in model_of(classifier).models)
    X_new, y_new = rows_of(request.param, 80, 1)
    return SimpleNamespace(classifier=classifier, X=X, y=y, X_new=X_new, y_new=y_new)


def across_borders(classifier):
    """Pairs of rows that are close to each other, about the borders of all cuts, as they come."""
    tree = model_of(classifier).regions
    pairs = []
    for normal, threshold, width in zip(tree.directions, tree.thresholds, tree.widths, strict=True):
        step = 1e-9 * normal / np.linalg.norm(normal)
        for edge in (-width, 0.0, width):
            at = (threshold + edge) * normal / (normal @ normal)
            pairs.append((at - step, at + step))
    return [classifier.scaler_.inverse_transform(side) for side in np.array(pairs).swapaxes(0, 1)]


# Explanations


def test_contributions_are_those_of_the_regions_with_the_weights_held_fixed(fitted):
    classifier = fitted.classifier
    model = model_of(classifier)
    rows = scaled(classifier, fitted.X_new)
    places = model.regions.places(rows)
    several = np.flatnonzero(np.bincount(places.rows) > 1)
    explanation = classifier.explain(fitted.X_new, output="latent")

    def worth(row, known, regions, weights):
        """The averaged latent means of draws from the points of each region."""
        total = 0.0
        for region, weight in zip(regions, weights, strict=True):
            part = model.models[region]
            vectors = np.empty((1, 0))
            if len(part.points):
                choices = [
                    [row[j]] if known[j] else part.points[:, j].tolist() for j in range(len(row))
                ]
                vectors = part.basis.vectors(np.array(list(itertools.product(*choices))))
            total = total + weight * part.posterior.latent(vectors)[0].mean(axis=0)
        return total

    for i in (int(several[0]), int(several[-1]), 0):
        own = places.rows == i
        given = rows[i], places.regions[own], places.weights[own]
        slow = brute_force(lambda known, g=given: worth(g[0], known, *g[1:]), 3)
        np.testing.assert_allclose(explanation.values[i], slow, atol=1e-8)
        nothing = worth(rows[i], np.zeros(3, bool), *given[1:])
        np.testing.assert_allclose(explanation.base_values[i], nothing, atol=1e-8)


def test_contributions_and_base_sum_to_the_prediction_of_every_row(fitted):
    classifier, X = fitted.classifier, fitted.X_new
    mean, _ = classifier.latent_mean_and_variance(X)
    latent = classifier.explain(X, output="latent")
    np.testing.assert_allclose(latent.values.sum(axis=1) + latent.base_values, mean, atol=1e-9)
    odds = classifier.explain(X)
    total = odds.values.sum(axis=1) + odds.base_values
    if mean.shape[1] == 2:
        np.testing.assert_allclose(total, mean[:, 1] - mean[:, 0], atol=1e-9)
    alone = classifier.explain(X[4:5])
    np.testing.assert_array_equal(alone.values, odds.values[4:5])
    np.testing.assert_array_equal(alone.base_values, odds.base_values[4:5])


def test_contributions_do_not_jump_at_borders(fitted):
    one, other = (fitted.classifier.explain(side) for side in across_borders(fitted.classifier))
    assert np.abs(one.values - other.values).max() < 1e-6
    assert np.abs(one.base_values - other.base_values).max() < 1e-6


def test_rows_of_a_region_that_counts_have_no_contributions(fitted):
    classifier = fitted.classifier
    explanation = classifier.explain([[-2.5, 0.0, 0.0]], output="latent")
    assert np.all(explanation.values == 0)
    assert explanation.base_values[0].argmax() == 0
    shares = classifier.feature_importances_
    np.testing.assert_allclose(shares.sum(), 1.0)
    assert shares[0] < 0.2


def test_an_effect_is_the_average_prediction_over_the_background(fitted):
    classifier = fitted.classifier
    lines = classifier._fitted.background
    rows = scaled(classifier, fitted.X_new[:4])
    for columns in ([0], [1, 2]):
        found = effect(classifier._fitted, rows, columns, 1)
        for i, row in enumerate(rows):
            changed = lines.copy()
            changed[:, columns] = row[columns]
            raw = [classifier.scaler_.inverse_transform(part) for part in (changed, lines)]
            means = [classifier.latent_mean_and_variance(part)[0].mean(axis=0) for part in raw]
            difference = means[0] - means[1]
            others = (difference.sum() - difference) / (len(difference) - 1)
            np.testing.assert_allclose(found.mean[i], difference - others, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "product"])
def test_an_effect_is_as_uncertain_as_the_regions_are_about_it(kernel):
    X, y = rows_of(2, 400)
    X = np.round(X, 1)
    classifier = quick(kernel=kernel, n_regions=3, n_inducing=12, scaler=None).fit(X, y)
    fitted, model = classifier._fitted, model_of(classifier)
    lines, row = fitted.background[::6][:40], X[7]
    object.__setattr__(fitted, "background", lines)
    found = effect(fitted, row[None], [1], 1)
    changed = lines.copy()
    changed[:, 1] = row[1]
    rows = np.concatenate([changed, lines])
    sign = np.repeat([1.0, -1.0], 40) / 40
    variance = np.zeros(2)
    for region, own, share in model.regions.places(rows).by_region():
        part = model.models[region]
        if len(part.points) == 0:
            variance += (sign[own] @ share) ** 2 * part.posterior.latent(np.empty((1, 0)))[1][0]
            continue
        a = share * sign[own]
        u = a @ part.basis.vectors(rows[own])
        prior = a @ part.kernel.of_points(rows[own]).values(rows[own], rows[own]) @ a
        for c in range(2):
            half = part.posterior.roots[c] @ u
            variance[c] += prior - u @ u + half @ half
    np.testing.assert_allclose(found.deviation[0, 1] ** 2, variance.sum(), rtol=1e-6)
    assert variance.sum() > 1e-4


def test_effects_of_regions_are_drawn(fitted):
    pytest.importorskip("matplotlib")
    from dirichletgp.plotting import EffectDisplay

    display = EffectDisplay.from_estimator(fitted.classifier, fitted.X, 1)
    assert display.mean.shape == display.values[0].shape
    assert np.all(display.deviation > 0)


# Compact models


@pytest.fixture(scope="module")
def small(fitted):
    return fitted.classifier.compact()


def test_a_compact_model_of_regions_predicts_what_the_model_predicts(fitted, small):
    X = np.concatenate([fitted.X_new, *across_borders(fitted.classifier)])
    exact = fitted.classifier.predict_proba(X)
    assert np.abs(small.predict_proba(X) - exact).max() <= fitted.classifier.tolerance
    assert small.n_regions_ == fitted.classifier.n_regions_
    assert small.regions_ == fitted.classifier.regions_
    np.testing.assert_array_equal(small.class_count_, fitted.classifier.class_count_)
    np.testing.assert_allclose(small.bound_, fitted.classifier.bound_)
    pairs = zip(small.predict_interval(X), fitted.classifier.predict_interval(X), strict=True)
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine, theirs, atol=2e-3)
    odds, exact_odds = small.contributions(X)[0], fitted.classifier.contributions(X)[0]
    np.testing.assert_allclose(odds, exact_odds, atol=1e-6)


def test_a_compact_model_of_regions_no_longer_learns(fitted, small):
    with pytest.raises(ValueError, match="compact"):
        small.partial_fit(fitted.X, fitted.y)
    with pytest.raises(ValueError, match="compact"):
        small.loo_proba(fitted.X, fitted.y)
    assert small.compact()._fitted.model is model_of(small)


def test_a_compact_file_of_regions_is_small_and_gives_the_model_back(fitted, small, tmp_path):
    fitted.classifier.save(tmp_path / "whole.dgp")
    fitted.classifier.save(tmp_path / "small.dgp", compact=True)
    again = DirichletGPClassifier.load(tmp_path / "small.dgp")
    expected = small.predict_proba(fitted.X_new)
    np.testing.assert_array_equal(again.predict_proba(fitted.X_new), expected)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(small)).predict_proba(fitted.X_new), expected
    )
    assert not model_of(again).learns
    for mine, theirs in zip(model_of(again).models, model_of(small).models, strict=True):
        assert type(mine) is type(theirs)
    archives = [read_archive(tmp_path / name, "classifier") for name in ("small.dgp", "whole.dgp")]
    sizes = [
        sum(array.nbytes for name, array in archive.arrays.items() if name.startswith("regions/"))
        for archive in archives
    ]
    assert sizes[0] < 0.9 * sizes[1]
    # A region that counts has no arrays of its own.
    counted = [k for k, part in enumerate(model_of(small).models) if len(part.points) == 0]
    assert set(map(str, counted)).isdisjoint(archives[0].content["compact regions"])


@pytest.mark.parametrize("what", ["regions", "shapes", "values"])
def test_a_compact_file_of_regions_whose_parts_do_not_fit_is_refused(small, tmp_path, what):
    path = tmp_path / "small.dgp"
    small.save(path)
    archive = read_archive(path, "classifier")
    name = next(key for key in archive.arrays if key.endswith(f"shared/float32/{what}"))
    archive.arrays[name] = archive.arrays[name][:-1]
    write_archive(path, "classifier", archive)
    with pytest.raises(ModelFileError):
        DirichletGPClassifier.load(path)


def test_classes_that_are_far_apart_are_counted_and_need_no_points(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 50])
    classifier = quick(n_regions=2, scaler="standard").fit(X, np.repeat(["a", "b"], 100))
    assert classifier.inducing_points_.shape == (0, 2)
    np.testing.assert_allclose(classifier.feature_importances_, 0.5)
    assert classifier.predict([[1.0, np.nan]])[0] == "a"
    for compact in (False, True):
        classifier.save(tmp_path / "model.dgp", compact=compact)
        again = DirichletGPClassifier.load(tmp_path / "model.dgp")
        assert again.predict_proba(X)[:100, 0].min() > 0.98
        assert model_of(again).learns == (not compact)


# Graphs


def run(classifier, X):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from dirichletgp.export import onnx_rows, to_onnx

    model = to_onnx(classifier).SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(["probabilities"], {"X": onnx_rows(classifier, X)})[0]


def test_a_graph_of_regions_predicts_what_python_predicts(fitted, small):
    X = np.concatenate([fitted.X_new, *across_borders(fitted.classifier), 30 * fitted.X_new[:9]])
    for classifier in (fitted.classifier, small):
        expected = classifier.predict_proba(X)
        np.testing.assert_allclose(run(classifier, X), expected, atol=1e-6)
        np.testing.assert_allclose(run(classifier, X[3:4]), expected[3:4], atol=1e-6)


def test_a_graph_of_regions_takes_categories_and_missing_values():
    pd = pytest.importorskip("pandas")
    X, y = rows_of(3)
    holes = np.where(np.random.default_rng(0).random(len(X)) < 0.2, np.nan, X[:, 2])
    words = np.where(X[:, 1] > 0.5, "high", "low")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": holes, "d": words})
    classifier = quick(kernel="product", n_regions=4, n_inducing=12).fit(frame, y)
    new = frame[:60]
    np.testing.assert_allclose(run(classifier, new), classifier.predict_proba(new), atol=1e-6)
    small = classifier.compact().predict_proba(new)
    np.testing.assert_allclose(small, classifier.predict_proba(new), atol=1e-4)
    explanation = classifier.explain(new, output="latent")
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total, classifier.latent_mean_and_variance(new)[0], atol=1e-9)


def test_regions_that_are_too_large_for_a_graph_are_refused(fitted, monkeypatch):
    pytest.importorskip("onnx")
    from dirichletgp import export

    monkeypatch.setattr(export, "_MOST_BYTES", 1_000)
    with pytest.raises(ValueError, match="fewer regions than 5"):
        export.to_onnx(fitted.classifier)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20))
def test_weights_in_all_regions_are_those_of_the_places_of_rows(seed, n_regions):
    X = np.random.default_rng(seed).normal(size=(150, 3))
    X[::7, 1] = MISSING
    tree = tree_of(X, n_regions)
    places = tree.places(X)
    expected = np.zeros((150, tree.number))
    expected[places.rows, places.regions] = places.weights
    np.testing.assert_allclose(tree.weights_on(X, NUMPY), expected, atol=1e-14)


# Rows on a device


def test_rows_on_a_device_are_cut_like_those_here(fitted):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    torch.set_num_threads(1)  # more are slow where several tests share the cores
    X, y, here = fitted.X, fitted.y, fitted.classifier
    weights = np.where(np.arange(len(X)) % 4, 1.0, 2.0)
    parameters = {"n_regions": 5, "n_inducing": 15, "scaler": "standard", "max_iter": 0}
    expected = quick(**parameters).fit(X, y, weights)
    found = quick(**parameters).fit(torch.from_numpy(X), torch.from_numpy(y), weights)
    assert found.n_regions_ == 5
    np.testing.assert_array_equal(found.class_count_, expected.class_count_)
    pairs = zip(model_of(found).models, model_of(expected).models, strict=True)
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine.points, theirs.points)
        np.testing.assert_allclose(mine.statistics.counts, theirs.statistics.counts)
        np.testing.assert_allclose(mine.statistics.sums, theirs.statistics.sums, atol=1e-8)
        np.testing.assert_allclose(mine.statistics.grams, theirs.statistics.grams, atol=1e-8)
    rows = torch.from_numpy(fitted.X_new)
    for classifier in (found, here, here.compact()):
        for method in ("predict_proba", "latent_mean_and_variance", "predict_interval"):
            there = getattr(classifier, method)(rows)
            np.testing.assert_allclose(there, getattr(classifier, method)(fitted.X_new), atol=1e-8)
    holes = np.where(np.arange(80)[:, None] % 9 == 0, np.nan, fitted.X_new)
    np.testing.assert_allclose(
        here.predict_proba(torch.from_numpy(holes)), here.predict_proba(holes), atol=1e-9
    )


def test_many_rows_on_a_device_are_cut_where_that_pays(monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    monkeypatch.setattr(schedule, "SOME_ROWS", 1_000)
    monkeypatch.setattr(schedule, "MANY_ROWS", 1_000)
    torch.set_num_threads(1)
    X, y = patchwork(4_000)
    classifier = quick(n_regions="auto", n_inducing=30).fit(torch.from_numpy(X), y)
    assert classifier.n_regions_ > 1
    X_new, y_new = patchwork(500, 1)
    assert classifier.score(X_new, y_new) > 0.75
    there = classifier.predict_proba(torch.from_numpy(X_new))
    np.testing.assert_allclose(there, classifier.predict_proba(X_new), atol=1e-8)
