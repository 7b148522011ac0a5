"""Bad input gets an error that names the argument; awkward input is handled."""

import linecache
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.preprocessing import OneHotEncoder

from dirichletgp import DirichletGPClassifier, GPRegressionClassifier
from dirichletgp._gp.training.schedule import Trainer
from dirichletgp.metrics import mean_negative_log_likelihood


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.2, random_state=0)


def fit(moons, **kwargs):
    return DirichletGPClassifier(
        **{"kernel": "rbf", "n_inducing": 20, "max_iter": 5, "random_state": 0, **kwargs}
    ).fit(*moons)


# Refused


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"alpha_epsilon": 0.0}, "alpha_epsilon=0.0"),
        ({"alpha_epsilon": -1}, "alpha_epsilon=-1"),
        ({"alpha_epsilon": "best"}, "alpha_epsilon='best'"),
        ({"kernel": "linear"}, "kernel='linear'"),
        ({"label_transform": "none"}, "label_transform='none'"),
        ({"lengthscale": -1.0}, "lengthscale=-1.0"),
        ({"lengthscale": [1.0, 2.0, 3.0]}, "2 positive numbers"),
        ({"variance": 0.0}, "variance=0.0"),
        ({"variance": 1e9}, "variance=1000000000.0 is not valid; pass a number from"),
        ({"n_inducing": 0}, "n_inducing=0"),
        ({"n_inducing": 2.5}, "n_inducing=2.5"),
        ({"inducing": "grid"}, "inducing='grid'"),
        ({"inducing": np.zeros((5, 3))}, "inducing has 3 columns, but X has 2"),
        ({"inducing": np.zeros(5)}, "inducing is an array of shape"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"n_subsample": 0}, "n_subsample=0"),
        ({"scaler": "robust"}, "scaler='robust'"),
        ({"class_prior": [0.5, 0.3, 0.2]}, "class_prior="),
        ({"class_prior": [0.5, 0.6]}, "sums to 1.1; pass probabilities that sum to 1"),
        ({"class_prior": "flat"}, "class_prior='flat'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_jobs": 1.5}, "n_jobs=1.5"),
        ({"class_prior": {0: 0.5}}, "class_prior={"),
        ({"class_prior": ["a", "b"]}, "class_prior=["),
        ({"lengthscale": ["a", "b"]}, "lengthscale=["),
        ({"inducing": [[1.0, 2.0], [3.0]]}, "inducing is an array of shape"),
        ({"class_weight": {0: -1.0}}, "class_weight={0: -1.0}"),
        ({"class_weight": {7: 1.0}}, "class_weight names [7]"),
        ({"class_weight": "heavy"}, "class_weight='heavy'"),
        ({"scaler": OneHotEncoder()}, "sparse"),
    ],
)
def test_bad_arguments_are_named(moons, kwargs, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(moons, **kwargs)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_features_are_refused(moons, value):
    X = moons[0].copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match="X holds infinity in column 1, first in row 3"):
        fit((X, moons[1]))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((0, 2)), np.zeros(0), "0 sample"),
        (np.eye(4), np.zeros(4), "one class only"),
        (np.eye(4), np.array([0.1, 0.7, 1.3, 2.2]), "continuous"),
        (np.array([["a", "b"], ["c", "d"]], dtype=object), np.array([0, 1]), "could not convert"),
        (np.eye(4), np.zeros(3), "inconsistent"),
    ],
)
def test_rows_and_labels_that_cannot_be_fitted(X, y, message):
    with pytest.raises(ValueError, match=message):
        DirichletGPClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(120, -1.0), "negative"),
        (np.zeros(120), "zero for every row"),
        (np.ones(3), "one weight per row"),
        (np.full(120, np.nan), "NaN"),
    ],
)
def test_bad_weights_are_refused(moons, weights, message):
    with pytest.raises(ValueError, match=message):
        DirichletGPClassifier(n_inducing=10).fit(*moons, sample_weight=weights)


def test_weights_that_leave_one_class_are_refused(moons):
    X, y = moons
    with pytest.raises(ValueError, match="one class only"):
        DirichletGPClassifier().fit(X, y, sample_weight=(y == 0).astype(float))


def test_prediction_wants_the_features_of_the_fit(moons):
    classifier = fit(moons)
    with pytest.raises(ValueError, match="3 features"):
        classifier.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="level="):
        classifier.predict_interval(moons[0], level=1.5)
    with pytest.raises(ValueError, match="n_samples=0"):
        classifier.sample_proba(moons[0], n_samples=0)
    with pytest.raises(ValueError, match="not fitted with"):
        classifier.loo_proba(moons[0], moons[1] + 5)


def test_a_failed_fit_leaves_the_model_as_it_was(moons):
    classifier = fit(moons)
    before = classifier.predict_proba(moons[0])
    with pytest.raises(ValueError, match="infinity"):
        classifier.fit(np.full((10, 5), np.inf), np.arange(10) % 2)
    np.testing.assert_array_equal(classifier.predict_proba(moons[0]), before)


# Handled


def test_more_inducing_points_than_rows(moons):
    assert len(fit(moons, n_inducing=10_000).inducing_points_) == 120


def test_duplicate_rows(moons):
    X, y = np.repeat(moons[0][:10], 30, axis=0), np.repeat(moons[1][:10], 30)
    classifier = fit((X, y), n_inducing=50)
    assert len(classifier.inducing_points_) == 10
    assert classifier.score(X, y) == 1.0


@pytest.mark.filterwarnings("ignore:Rows left out:RuntimeWarning")
def test_identical_rows_with_different_labels_are_a_coin_toss():
    X, y = np.zeros((100, 2)), np.arange(100) % 2
    np.testing.assert_allclose(fit((X, y)).predict_proba(X[:1]), 0.5, atol=0.02)


def test_constant_and_wildly_scaled_columns(moons):
    X, y = moons
    wild = np.column_stack([X[:, 0] * 1e9, X[:, 1] * 1e-9, np.full(len(X), 3.0)])
    for scaler in ("quantile", "standard", "minmax"):
        assert fit((wild, y), scaler=scaler, n_inducing=60, max_iter=50).score(wild, y) > 0.9


def test_features_far_from_zero_without_scaling(moons):
    """Timestamps, say: the kernel knows differences only.

    With the paper's labels, because folds, which judge corrections, are dealt by what rows hold.
    """
    X, y = moons
    settings = {"scaler": None, "n_inducing": 40, "max_iter": 20, "label_transform": "dirichlet"}
    near = fit((X, y), **settings)
    far = fit((X + 1e6, y), **settings)
    np.testing.assert_allclose(far.predict_proba(X + 1e6), near.predict_proba(X), atol=0.02)


def test_absurdly_distant_rows_get_the_prior(moons):
    classifier = fit(moons)
    probabilities = classifier.predict_proba([[1e308, -1e308]])
    np.testing.assert_allclose(probabilities, 0.5, atol=0.02)


def test_rows_closer_than_k_means_can_tell_apart(moons):
    X, y = np.repeat(moons[0][:30], 8, axis=0), np.repeat(moons[1][:30], 8)
    X = X + 1e-15 * np.random.default_rng(0).normal(size=X.shape)
    assert fit((X, y), n_inducing=60).score(X, y) > 0.9


def test_a_class_with_a_single_row(moons):
    X, y = moons[0].copy(), moons[1].copy()
    X[0], y[0] = [10.0, 10.0], 2
    classifier = fit((X, y), n_subsample=50)
    np.testing.assert_array_equal(classifier.classes_, [0, 1, 2])
    assert np.isfinite(mean_negative_log_likelihood(y, classifier.predict_proba(X)))


@pytest.fixture
def next_to_no_jitter(monkeypatch):
    """A fit begins with a jitter that is lost in rounding, and more of it is a surprise."""
    start = Trainer._start

    def without_jitter(self, kernel):
        return replace(start(self, kernel), jitter=1e-20)

    monkeypatch.setattr(Trainer, "_start", without_jitter)
    monkeypatch.setattr("dirichletgp._gp.training.kernel_search.JITTER", 1e-20)


@pytest.mark.usefixtures("next_to_no_jitter")
def test_a_kernel_matrix_that_will_not_factor_gets_jitter_and_a_warning(moons):
    with pytest.warns(RuntimeWarning, match="close to singular"):
        classifier = fit(moons, lengthscale=1e4, max_iter=1, n_inducing=60)
    assert np.isfinite(classifier.predict_proba(moons[0])).all()


@pytest.mark.usefixtures("next_to_no_jitter")
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_warning_points_at_the_line_of_the_caller(moons, method):
    classifier = DirichletGPClassifier(
        lengthscale=1e4, max_iter=1, n_inducing=60, n_subsample=100, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(classifier, method)(*moons)
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert warning.filename == __file__
    assert "(*moons)" in linecache.getline(warning.filename, warning.lineno)


def test_two_rows_are_enough():
    classifier = DirichletGPClassifier().fit([[0.0], [1.0]], ["a", "b"])
    assert list(classifier.predict([[0.0], [1.0]])) == ["a", "b"]


def test_a_text_among_the_numbers_of_new_rows_is_named_with_its_column():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["dose", "age"])
    classifier = DirichletGPClassifier("rbf", n_inducing=10, max_iter=2, random_state=0)
    classifier.fit(frame, frame["dose"] > 0)
    texts = frame.astype(object)
    texts.loc[3, "age"] = "soon"
    with pytest.raises(ValueError, match="column 'age' holds texts that are not numbers: 'soon'"):
        classifier.predict(texts)


def named(moons):
    X, y = moons
    return pd.DataFrame(X, columns=["east", "north"]), y


def test_columns_of_the_same_name_are_refused_by_name(moons):
    X, y = named(moons)
    twice = pd.DataFrame(X.to_numpy(), columns=["east", "east"])
    message = r"X has columns of the same name: 'east' \(2 columns\)"
    with pytest.raises(ValueError, match=message):
        fit((twice, y))
    with pytest.raises(ValueError, match=message):
        fit((twice.astype(str), y))
    with pytest.raises(ValueError, match=message):
        GPRegressionClassifier(max_iter=1).fit(twice, y)
    with pytest.raises(ValueError, match=message):
        fit((X, y)).predict(twice)
    mixed = X.assign(side=np.where(y == 1, "a", "b"))
    with pytest.raises(ValueError, match=message):
        fit((mixed, y)).predict(pd.concat([mixed, X[["east"]]], axis=1))


@pytest.mark.parametrize("kind", [GPRegressionClassifier, DirichletGPClassifier])
def test_the_name_of_a_column_is_no_labels_of_a_frame(moons, kind):
    X, y = named(moons)
    with pytest.raises(ValueError, match=r"y='late' is a name; pass .* y=frame\['late'\], and X"):
        kind(max_iter=1).fit(X.assign(late=y), y="late")


def test_a_folder_is_no_place_for_a_model(moons, tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder; pass the path of .*model\.dgp"):
        fit(moons).save(tmp_path)


def test_numbers_as_names_of_columns_are_no_names_even_where_they_became_texts(moons):
    X, y = moons
    frame = pd.DataFrame(X)
    frame.loc[3, 0] = np.nan
    classifier = fit((frame, y))
    expected = classifier.predict_proba(frame)
    np.testing.assert_array_equal(
        classifier.predict_proba(frame.rename(columns={0: "0", 1: "1"})), expected
    )
    with pytest.warns(UserWarning, match="fitted without"):
        classifier.predict_proba(frame.rename(columns={0: "east", 1: "north"}))
