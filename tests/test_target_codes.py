"""Class frequencies of values: no row meets its own label, and all paths see the same numbers."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows.scaling import tied_columns
from dirichletgp._gp.rows.target_codes import TargetCodes, WeighedLabels, folds

SETTINGS = {"n_inducing": 25, "max_iter": 4, "random_state": 0}


def tariffs(n=1_500, seed=0):
    """An amount of 40 values, half of which mean yes whatever their order, and noise."""
    rng = np.random.default_rng(seed)
    amount = rng.integers(0, 40, n)
    means_yes = np.random.default_rng(99).permutation(40) < 20
    y = np.where(rng.random(n) < 0.9, means_yes[amount], rng.random(n) < 0.5)
    return np.column_stack([100.0 * amount, rng.normal(size=n)]), y.astype(int)


@pytest.fixture(scope="module")
def fitted():
    return DirichletGPClassifier("product", **SETTINGS).fit(*tariffs())


def codes_of(X, y, columns=(0,)):
    labels = WeighedLabels(y, None, int(y.max()) + 1)
    return TargetCodes.learned(X, np.array(columns), np.ones(X.shape[1], dtype=int), labels)


def test_columns_of_many_values_with_many_rows_each_are_found():
    X, _ = tariffs()
    assert_array_equal(tied_columns(X, 2), [0])
    assert len(tied_columns(X[:500], 2)) == 0
    assert len(tied_columns(X, 6)) == 0


def test_the_label_of_a_training_row_changes_nothing_about_its_own_numbers():
    X, y = tariffs()
    other = y.copy()
    other[7] = 1 - y[7]
    before = codes_of(X, y).of_training_rows(X)
    after = codes_of(X, other).of_training_rows(X)
    # the class frequencies of all rows move by one row in 1,500
    assert_allclose(before[7], after[7], atol=2e-3)
    assert np.abs(before - after).max() > 5e-3


def test_noise_stays_noise():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 60, 1_500), rng.normal(size=1_500)])
    y = rng.integers(0, 2, 1_500)
    numbers = codes_of(X, y).of_training_rows(X)[:, 0]
    assert abs(np.corrcoef(numbers, y)[0, 1]) < 0.1


def test_a_number_whose_frequencies_change_smoothly_has_no_numbers():
    X, _ = tariffs()
    y = (np.random.default_rng(0).random(len(X)) < X[:, 0] / 4_000).astype(int)
    labels = WeighedLabels(y, None, 2)
    both = [np.zeros(2, dtype=int), np.array([40, 0])]
    found = [TargetCodes.learned(X, np.array([0]), levels, labels) for levels in both]
    assert [len(codes.columns) for codes in found] == [0, 1]


@pytest.mark.filterwarnings("ignore:Rows left out of training:RuntimeWarning")
def test_a_column_that_decides_the_fold_has_no_numbers():
    X, y = tariffs()
    assert len(codes_of(X[:, :1], y).columns) == 0
    classifier = DirichletGPClassifier("product", **SETTINGS).fit(X[:, :1], y)
    assert not hasattr(classifier.scaler_, "transform_training")


def test_numbers_are_logarithms_of_frequencies_drawn_towards_those_of_all():
    X = np.column_stack([np.repeat([1.0, 2.0], 50), np.arange(100.0)])
    y = np.repeat([0, 1], 50)
    codes = codes_of(X, y)
    p = (50 + 20 * 0.5) / 70
    assert_allclose(codes.of_new_rows(X[:1]), [[0.5 * np.log(p / (1 - p))]])
    assert_allclose(codes.of_new_rows(np.array([[3.0, 0.0], [np.nan, 0.0]])), 0.0)


def test_more_classes_have_a_number_each_and_weights_count_as_repetitions():
    X, y = tariffs()
    y = y + (X[:, 1] > 1)
    twice = np.concatenate([X, X[:300]]), np.concatenate([y, y[:300]])
    weights = np.ones(len(X))
    weights[:300] = 2.0
    labels = WeighedLabels(y, weights, 3)
    one = TargetCodes.learned(X, np.array([0]), np.zeros(2, dtype=int), labels)
    assert one.of_new_rows(X).shape == (len(X), 3)
    assert_allclose(one.of_training_rows(X), codes_of(*twice).of_training_rows(X), atol=1e-3)


def test_single_precision_is_the_same_value():
    X, y = tariffs()
    codes = codes_of(X + 0.1, y)
    assert_array_equal(
        codes.of_new_rows((X + 0.1).astype(np.float32).astype(float)), codes.of_new_rows(X + 0.1)
    )


def test_folds_depend_on_what_a_row_holds_and_are_about_even():
    X, _ = tariffs()
    order = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(folds(X)[order], folds(X[order]))
    assert np.bincount(folds(X), minlength=5).min() > len(X) / 8


def test_it_finds_what_no_order_of_the_amounts_would(fitted):
    X, y = tariffs(seed=1)
    distances = DirichletGPClassifier("rbf", **SETTINGS).fit(*tariffs())
    assert fitted.score(X, y) > distances.score(X, y) + 0.1


def test_a_stream_adds_and_forgets_exactly(fitted):
    X, y = tariffs(200, seed=2)
    stream = copy.deepcopy(fitted).partial_fit(X, y).forget(X, y)
    assert_allclose(stream.predict_proba(X), fitted.predict_proba(X), atol=1e-9)


def test_it_is_saved_and_exported(fitted, tmp_path):
    X, _ = tariffs(100, seed=3)
    X[0] = [150.0, 0.0]  # an amount that nobody has seen
    fitted.save(tmp_path / "model.dgp")
    again = DirichletGPClassifier.load(tmp_path / "model.dgp")
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    runtime = pytest.importorskip("onnxruntime")
    from dirichletgp.export import to_onnx

    session = runtime.InferenceSession(to_onnx(fitted).SerializeToString())
    (found,) = session.run(["probabilities"], {"X": X})
    assert_allclose(found, fitted.predict_proba(X), atol=1e-6)


def test_left_out_rows_are_predicted_as_well_as_new_ones(fitted):
    X, y = tariffs()
    new, y_new = tariffs(4_000, seed=4)
    left_out = fitted.loo_proba(X, y)
    loss = -np.mean(np.log(left_out[np.arange(len(y)), y]))
    test = -np.mean(np.log(fitted.predict_proba(new)[np.arange(len(y_new)), y_new]))
    assert loss == pytest.approx(test, rel=0.15)


def test_blocks_and_frames_see_the_same(fitted):
    X, y = tariffs()
    parts = [(X[i : i + 400], y[i : i + 400]) for i in range(0, len(X), 400)]
    blocks = DirichletGPClassifier("product", **SETTINGS).fit(parts)
    assert_allclose(blocks.predict_proba(X), fitted.predict_proba(X), atol=1e-8)
    frame = pd.DataFrame(X, columns=["amount", "noise"])
    named = DirichletGPClassifier("product", **SETTINGS).fit(frame, y)
    assert_allclose(named.predict_proba(frame), fitted.predict_proba(X), atol=1e-10)


def test_a_device_gives_the_same(fitted):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    X, y = tariffs()
    there = DirichletGPClassifier("product", **SETTINGS)
    there.fit(torch.from_numpy(X), torch.from_numpy(y))
    assert_allclose(there.predict_proba(X), fitted.predict_proba(X), atol=1e-6)


def test_ids_of_seven_digits_are_told_apart_on_every_path():
    X, y = tariffs()
    X[:, 0] = 2_000_000 + X[:, 0] / 100
    codes = codes_of(X, y)
    values = np.unique(X[:, 0])
    assert len(np.unique(codes.of_new_rows(np.column_stack([values, values])))) > 30
    assert_allclose(codes.of_new_rows(np.array([[2_000_040.0, 0.0]])), codes._unknown[None])
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    fitted = DirichletGPClassifier("product", **SETTINGS).fit(X, y)
    there = fitted.predict_proba(torch.from_numpy(X))
    assert_allclose(there, fitted.predict_proba(X), atol=1e-8)


def test_a_loaded_copy_can_be_merged(fitted, tmp_path):
    fitted.save(tmp_path / "model.dgp")
    again = DirichletGPClassifier.load(tmp_path / "model.dgp")
    assert_allclose(again.merge(fitted).class_count_, 2 * fitted.class_count_)


def test_a_lengthscale_per_feature_is_one_per_column():
    X, y = tariffs()
    classifier = DirichletGPClassifier("product", lengthscale=[1.0, 2.0], **SETTINGS).fit(X, y)
    assert classifier.lengthscale_.shape == (2,)


def test_relevance_has_a_bar_per_column(fitted):
    pytest.importorskip("matplotlib")
    from dirichletgp.plotting import FeatureRelevanceDisplay, feature_relevance

    assert feature_relevance(fitted).shape == (2,)
    X, y = tariffs()
    frame = pd.DataFrame(X, columns=["amount", "noise"])
    named = DirichletGPClassifier("product", **SETTINGS).fit(frame, y)
    display = FeatureRelevanceDisplay.from_estimator(named)
    names = sorted(label.get_text() for label in display.ax_.get_yticklabels())
    assert names == ["amount", "noise"]


def test_a_number_missing_only_at_prediction_is_taken(fitted):
    X, _ = tariffs(20, seed=5)
    X[0, 0] = X[1, 1] = np.nan
    assert np.all(np.isfinite(fitted.predict_proba(X)))


def test_refreshing_follows_rows_that_moved():
    X, y = tariffs()
    first = DirichletGPClassifier("product", scaler=None, **SETTINGS).fit(X, y)
    moved, signs = X + [0.0, 100.0], (X[:, 1] > 0).astype(int)
    assert first.refresh(moved, signs).score(moved, signs) > 0.95


def test_given_parameters_are_not_set_aside_by_the_choice_of_the_kernel():
    X, y = tariffs(1_700)
    table = pd.DataFrame({"x": X[:, 1], "kind": np.where(X[:, 0] > 1_000, "a", "b")})
    given = {"lengthscale": 3.3, "variance": 2.0, "max_iter": 0, "n_inducing": 20}
    classifier = DirichletGPClassifier(random_state=0, **given).fit(table, y)
    assert classifier.variance_ == 2.0
    assert np.nanmax(np.atleast_1d(classifier.lengthscale_)) == pytest.approx(3.3)
