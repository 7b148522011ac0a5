"""What a user of the classifier can rely on."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import effective_threads
from dirichletgp._gp.training.label_search import ALPHAS
from dirichletgp._gp.training.schedule import Trainer
from dirichletgp._gp.training.settings import default_points


@pytest.fixture(scope="module")
def moons():
    return make_moons(600, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def many_classes():
    return make_classification(
        900, 6, n_informative=6, n_redundant=0, n_classes=9, n_clusters_per_class=1, random_state=0
    )


@pytest.fixture(scope="module")
def fitted(moons):
    return DirichletGPClassifier("rbf", n_inducing=60, random_state=0).fit(*moons)


@pytest.fixture(scope="module")
def fitted_many(many_classes):
    return DirichletGPClassifier("rbf", n_inducing=60, random_state=0).fit(*many_classes)


# The method


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("label_transform", ["learned", "dirichlet"])
def test_every_kernel_learns_the_moons(moons, kernel, ard, label_transform):
    X, y = moons
    classifier = DirichletGPClassifier(
        kernel, ard=ard, label_transform=label_transform, n_inducing=40, random_state=0
    ).fit(X[:400], y[:400])
    assert classifier.score(X[400:], y[400:]) > 0.9
    assert np.shape(classifier.lengthscale_) == ((2,) if ard else ())


@pytest.mark.parametrize("inducing", ["kmeans", "rpcholesky", "random"])
def test_every_choice_of_inducing_points_works(moons, inducing):
    X, y = moons
    classifier = DirichletGPClassifier("rbf", n_inducing=40, inducing=inducing, random_state=0).fit(
        X, y
    )
    assert classifier.inducing_points_.shape == (40, 2)
    assert classifier.score(X, y) > 0.9


def test_given_inducing_points_are_used_in_the_units_of_the_features(moons, fitted):
    X, y = moons
    points = X[:25]
    classifier = DirichletGPClassifier("rbf", inducing=points, random_state=0).fit(X, y)
    expected = points[np.lexsort(points.T[::-1])]
    np.testing.assert_allclose(classifier.inducing_points_, expected, atol=1e-9)


def test_a_fit_can_be_repeated_from_its_own_points_and_parameters(moons, fitted):
    X, y = moons
    again = DirichletGPClassifier(
        "rbf",
        inducing=fitted.inducing_points_,
        lengthscale=fitted.lengthscale_,
        variance=fitted.variance_,
        alpha_epsilon=fitted.alpha_epsilon_,
        max_iter=0,
        random_state=0,
    ).fit(X, y)
    assert again.bound_ == pytest.approx(fitted.bound_, rel=1e-6)
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), atol=0.02)


def test_few_rows_make_the_model_exact():
    X, y = make_moons(80, noise=0.2, random_state=1)
    classifier = DirichletGPClassifier(random_state=0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert classifier.inducing_points_.shape == (80, 2)


def test_very_many_classes_get_fewer_points_by_default():
    assert default_points(2) == default_points(62) == 1000
    assert 16 * 1000 * default_points(1000) ** 2 <= 1e9


def test_moving_the_inducing_points_raises_the_bound(moons):
    X, y = moons
    kwargs = {
        "n_inducing": 6,
        "alpha_epsilon": 0.01,
        "label_transform": "dirichlet",
        "random_state": 0,
    }
    fixed = DirichletGPClassifier("rbf", **kwargs).fit(X, y)
    moved = DirichletGPClassifier("rbf", optimize_inducing=True, **kwargs).fit(X, y)
    assert moved.bound_ > fixed.bound_ + 1.0


def test_no_iterations_keep_the_starting_values(moons):
    classifier = DirichletGPClassifier(
        lengthscale=[0.5, 2.0], variance=3.0, n_inducing=30, max_iter=0, random_state=0
    ).fit(*moons)
    np.testing.assert_allclose(classifier.lengthscale_, [0.5, 2.0])
    assert classifier.variance_ == pytest.approx(3.0)
    assert classifier.n_iter_ == 0


def test_a_large_fit_goes_through_both_stages(moons, monkeypatch):
    monkeypatch.setattr("dirichletgp._gp.training.schedule.FEW_POINTS", 20)
    X, y = moons
    classifier = DirichletGPClassifier("rbf", n_inducing=60, n_subsample=200, random_state=0).fit(
        X, y
    )
    assert classifier.inducing_points_.shape == (60, 2)
    assert classifier.score(X, y) > 0.9
    given = DirichletGPClassifier("rbf", inducing=X[:50], random_state=0).fit(X, y)
    assert len(given.inducing_points_) == 50


def test_the_papers_rule_for_alpha_is_available(moons):
    classifier = DirichletGPClassifier(
        "rbf", label_transform="dirichlet", alpha_epsilon="training", n_inducing=40, random_state=0
    ).fit(*moons)
    assert classifier.alpha_epsilon_ in ALPHAS


def test_class_prior_moves_predictions_far_from_the_data(moons):
    X, y = moons
    far = np.full((1, 2), 1e3)

    def far_mean(prior):
        kwargs = {"scaler": None, "n_inducing": 30, "random_state": 0}
        mean, _ = (
            DirichletGPClassifier("rbf", class_prior=prior, **kwargs)
            .fit(X, y)
            .latent_mean_and_variance(far)
        )
        return mean[0, 1] - mean[0, 0]

    assert far_mean("uniform") == pytest.approx(0.0, abs=1e-6)
    assert far_mean([0.9, 0.1]) == pytest.approx(np.log(1 / 9), abs=1e-6)


def test_class_weight_is_a_sample_weight(moons):
    X, y = moons
    kwargs = {"n_inducing": 600, "max_iter": 5, "random_state": 0}
    by_class = DirichletGPClassifier("rbf", class_weight={0: 3.0, 1: 1.0}, **kwargs).fit(
        X[:150], y[:150]
    )
    by_row = DirichletGPClassifier("rbf", **kwargs).fit(
        X[:150], y[:150], np.where(y[:150] == 0, 3.0, 1.0)
    )
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = DirichletGPClassifier("rbf", class_weight="balanced", **kwargs).fit(X[:150], y[:150])
    np.testing.assert_allclose(balanced.class_prior_, 0.5)


def test_weight_two_equals_a_repeated_row(moons):
    X, y = moons[0][:150], moons[1][:150]
    twice = np.arange(150) % 4 == 0
    kwargs = {"max_iter": 20, "random_state": 0}
    weighted = DirichletGPClassifier(**kwargs).fit(X, y, np.where(twice, 2, 1))
    repeated = DirichletGPClassifier(**kwargs).fit(
        np.concatenate([X, X[twice]]), np.concatenate([y, y[twice]])
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


def test_permuting_classes_permutes_probabilities(many_classes):
    X, y = many_classes
    order = np.random.default_rng(0).permutation(9)
    kwargs = {"n_inducing": 900, "max_iter": 5, "n_subsample": 900, "random_state": 0}
    plain = DirichletGPClassifier(**kwargs).fit(X[:150], y[:150])
    permuted = DirichletGPClassifier(**kwargs).fit(X[:150], order[y[:150]])
    np.testing.assert_allclose(
        permuted.predict_proba(X[150:400])[:, order], plain.predict_proba(X[150:400]), atol=1e-5
    )


def test_the_same_seed_gives_the_same_model_whatever_the_threads(moons):
    first = DirichletGPClassifier("rbf", n_inducing=50, random_state=3, n_jobs=1).fit(*moons)
    second = DirichletGPClassifier("rbf", n_inducing=50, random_state=3, n_jobs=2).fit(*moons)
    np.testing.assert_allclose(
        first.predict_proba(moons[0]), second.predict_proba(moons[0]), atol=1e-10
    )


# Predictions


@pytest.mark.parametrize("which", ["fitted", "fitted_many"])
def test_predictions_agree_with_each_other(which, request, many_classes, moons):
    classifier = request.getfixturevalue(which)
    X = (many_classes if which == "fitted_many" else moons)[0][:100]
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-9)
    exact = np.exp(classifier.predict_log_proba(X))
    np.testing.assert_allclose(exact, probabilities, rtol=0, atol=classifier.tolerance)
    np.testing.assert_array_equal(
        classifier.predict(X), classifier.classes_[probabilities.argmax(axis=1)]
    )
    lower, upper = classifier.predict_interval(X, level=0.9)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= 1))
    total, aleatoric, epistemic = classifier.predict_uncertainty(X)
    np.testing.assert_allclose(total, aleatoric + epistemic, atol=1e-9)
    assert np.all(epistemic >= 0)
    samples = classifier.sample_proba(X[:50], n_samples=2000, random_state=0)
    assert samples.shape == (2000, 50, len(classifier.classes_))
    np.testing.assert_allclose(samples.mean(axis=0), probabilities[:50], atol=0.05)
    mean, variance = classifier.latent_mean_and_variance(X)
    assert mean.shape == variance.shape == probabilities.shape
    assert np.all(variance > 0)


@pytest.mark.parametrize("which", ["fitted", "fitted_many"])
def test_a_rows_prediction_does_not_depend_on_its_batch(which, request, many_classes, moons):
    classifier = request.getfixturevalue(which)
    X = (many_classes if which == "fitted_many" else moons)[0]
    together = classifier.predict_proba(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(classifier.predict_proba(X[order]), together[order])
    alone = np.concatenate([classifier.predict_proba(X[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(alone, together[:20])


def test_uncertainty_is_epistemic_far_from_the_data_and_aleatoric_where_classes_overlap(fitted):
    far, between = np.array([[60.0, 60.0]]), np.array([[0.5, 0.25]])
    _, _, epistemic_far = fitted.predict_uncertainty(far)
    _, aleatoric_between, epistemic_between = fitted.predict_uncertainty(between)
    assert epistemic_far > 3 * epistemic_between
    assert aleatoric_between > epistemic_between


# scikit-learn citizenship


def test_string_labels_and_data_frames(moons):
    X, y = moons
    names = np.array(["off", "on"])[y]
    frame = pd.DataFrame(X, columns=["left", "right"])
    classifier = DirichletGPClassifier("rbf", n_inducing=30, random_state=0).fit(frame, names)
    assert list(classifier.feature_names_in_) == ["left", "right"]
    assert set(classifier.predict(frame)) == {"off", "on"}
    polars = DirichletGPClassifier("rbf", n_inducing=30, random_state=0).fit(
        pl.DataFrame({"left": X[:, 0], "right": X[:, 1]}), pl.Series(names)
    )
    np.testing.assert_allclose(
        polars.predict_proba(pl.DataFrame(X[:5], schema=["left", "right"])),
        classifier.predict_proba(frame[:5]),
    )


def test_float32_rows_are_used_as_they_are(moons):
    X, y = moons
    kwargs = {"n_inducing": 30, "random_state": 0}
    single = DirichletGPClassifier("rbf", **kwargs).fit(X.astype(np.float32), y)
    double = DirichletGPClassifier("rbf", **kwargs).fit(X.astype(np.float32).astype(np.float64), y)
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-6)


def test_pipelines_and_grid_search():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(
        StandardScaler(),
        DirichletGPClassifier(
            scaler=None, max_iter=5, n_inducing=40, label_transform="dirichlet", random_state=0
        ),
    )
    search = GridSearchCV(
        pipeline, {"dirichletgpclassifier__kernel": ["rbf", "matern32"]}, cv=2
    ).fit(X, y)
    assert search.best_score_ > 0.9
    probabilities = cross_val_predict(pipeline, X, y, method="predict_proba", cv=3)
    assert probabilities.shape == (150, 3)


@pytest.mark.parametrize("scaler", ["quantile", "standard", "minmax", None, PCA(2)])
def test_scalers(scaler, moons):
    X, y = moons
    classifier = DirichletGPClassifier("rbf", scaler=scaler, n_inducing=40, random_state=0).fit(
        X, y
    )
    assert classifier.score(X, y) > 0.9


def test_a_pickled_model_is_small_and_predicts_the_same(many_classes):
    X, y = many_classes
    sizes = []
    for n in (300, 900):
        classifier = DirichletGPClassifier(
            n_inducing=40,
            max_iter=0,
            scaler="standard",
            label_transform="dirichlet",
            alpha_epsilon=0.02,
            random_state=0,
        )
        classifier.fit(X[:n], y[:n])
        pickled = pickle.dumps(classifier)
        sizes.append(len(pickled))
        np.testing.assert_allclose(
            pickle.loads(pickled).predict_proba(X), classifier.predict_proba(X), atol=1e-12
        )
    # Of so few rows every one has its score for prediction sets: three numbers.
    assert sizes[1] == pytest.approx(sizes[0] + 600 * 24, abs=100)


def test_clone_and_set_params(fitted):
    copy = clone(fitted).set_params(kernel="matern32", n_inducing=10)
    assert copy.kernel == "matern32"
    assert not hasattr(copy, "classes_")


def test_verbose_says_where_the_time_went(moons, capsys):
    DirichletGPClassifier("rbf", n_inducing=30, random_state=0, verbose=1).fit(*moons)
    printed = capsys.readouterr().out
    for stage in ("scaling", "inducing points", "kernel", "statistics", "label transform", "total"):
        assert stage in printed
    DirichletGPClassifier("rbf", n_inducing=30, max_iter=1, random_state=0).fit(*moons)
    assert capsys.readouterr().out == ""


def test_an_interrupted_fit_leaves_the_estimator_as_it_was(moons, fitted, monkeypatch):
    X, y = moons
    fresh = DirichletGPClassifier("rbf", n_inducing=30, random_state=0)
    before = fitted.predict_proba(X[:5])

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "_finish", interrupt)
    for classifier in (fresh, fitted):
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(X[:, :1], y)
    public = [name for name in dir(fresh) if not name.startswith("_")]
    assert not [name for name in public if name.endswith("_") and hasattr(fresh, name)]
    np.testing.assert_array_equal(fitted.predict_proba(X[:5]), before)


def test_predictions_from_several_threads_leave_blas_as_it_was(fitted, moons):
    before, expected = effective_threads(None), fitted.predict_proba(moons[0])
    with ThreadPoolExecutor(4) as pool:
        for probabilities in pool.map(lambda _: fitted.predict_proba(moons[0]), range(12)):
            np.testing.assert_array_equal(probabilities, expected)
    assert effective_threads(None) == before


def test_threads_end_with_the_fit(moons):
    before = set(threading.enumerate())
    DirichletGPClassifier("rbf", n_inducing=30, random_state=0, n_jobs=2).fit(*moons).predict(
        moons[0]
    )
    assert set(threading.enumerate()) == before
