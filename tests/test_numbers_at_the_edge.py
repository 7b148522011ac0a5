"""Numbers at the edge: huge ones, copies, a handful of rows. A sensible model or a clear error."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.probabilities.softmax import (
    class_probabilities,
    log_class_probabilities,
)
from dirichletgp._gp.training import log_odds


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)


def quick(**parameters):
    return DirichletGPClassifier(
        **{"kernel": "rbf", "n_inducing": 20, "max_iter": 3, "random_state": 0, **parameters}
    )


@pytest.mark.parametrize("scaler", ["quantile", "minmax", "standard"])
def test_huge_columns_are_taken_or_refused_by_name(data, scaler):
    X, y = data
    huge = X * [1.0, 1e300]
    if scaler == "standard":
        with pytest.raises(ValueError, match=r"numbers as large as .* in column 1.*'quantile'"):
            quick(scaler=scaler).fit(huge, y)
        return
    classifier = quick(scaler=scaler).fit(huge, y)
    assert classifier.score(huge, y) > 0.7


@pytest.mark.parametrize("scaler", ["quantile", "minmax", "standard"])
@pytest.mark.parametrize("kernel", ["rbf", "matern12", "product"])
def test_a_row_far_beyond_all_others_gets_finite_probabilities(data, scaler, kernel):
    X, y = data
    classifier = quick(scaler=scaler, kernel=kernel).fit(X, y)
    far = np.array([[1.7e308, 0.0], [-1.7e308, 1.7e308], [1e200, -1e200]])
    with np.errstate(over="ignore"):
        p = classifier.predict_proba(far)
    assert np.all(np.isfinite(p))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["rbf", "matern12", "matern32", "matern52"])
def test_beyond_all_distances_the_kernel_is_zero(name):
    kernel = KERNELS[name](np.array([1e-80, 1.0]), 2.0)
    rows, points = np.array([[1e300, 1.0], [-1e300, 1.0]]), np.array([[0.0, 0.0], [1e-81, 0.5]])
    np.testing.assert_array_equal(kernel.values(rows, points), np.zeros((2, 2)))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_any_finite_latents_have_finite_probabilities(n_classes):
    rng = np.random.default_rng(0)
    for size in (1e3, 1e6, 1e50, 1e200):
        for variance in (0.0, 1e-300, 1.0, 1e6, 1e100):
            mean = size * rng.normal(size=(5, n_classes))
            spread = variance * rng.random((5, n_classes))
            p = class_probabilities(mean, spread)
            np.testing.assert_allclose(p.sum(axis=1), 1.0)
            assert np.all(np.isfinite(log_class_probabilities(mean, spread)))


@pytest.mark.parametrize("kernel", ["rbf", "product"])
def test_a_hundred_copies_of_each_row_give_the_model_of_the_rows(kernel):
    X, y = make_classification(60, 3, n_informative=3, n_redundant=0, flip_y=0.3, random_state=0)
    once = quick(kernel=kernel).fit(X, y)
    often = quick(kernel=kernel).fit(np.repeat(X, 100, axis=0), np.repeat(y, 100))
    np.testing.assert_allclose(often.predict_proba(X), once.predict_proba(X), atol=2e-3)
    weighted = quick(kernel=kernel).fit(X, y, np.full(len(y), 100.0))
    np.testing.assert_allclose(weighted.predict_proba(X), often.predict_proba(X), atol=1e-8)
    assert often.class_count_.sum() == 6_000


@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_rows_say_which_side_is_which(n):
    X = np.array([[-2.0, 0.1], [2.0, 0.0], [1.5, -0.2]])[:n]
    y = np.array(["left", "right", "right"])[:n]
    classifier = DirichletGPClassifier(random_state=0).fit(X, y)
    assert classifier.predict([[-2.1, 0.0], [2.1, 0.0]]).tolist() == ["left", "right"]
    p = classifier.predict_proba([[-2.0, 0.1], [2.0, 0.0]])
    assert p[0, 0] > 0.6
    assert p[1, 1] > 0.6


@pytest.mark.parametrize("judges", [40, 2_000])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_points_far_from_all_rows_leave_the_class_frequencies(n_classes, judges, monkeypatch):
    """No row has anything to do with a point, whether all or some of them are asked."""
    monkeypatch.setattr(log_odds, "_FEW_ROWS", judges)
    monkeypatch.setattr(log_odds, "_FEWEST_ROWS", judges)
    X, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % n_classes
    points = {"inducing": X[:6] + 1e4, "scaler": None, "lengthscale": 1.0}
    far = quick(max_iter=0, **points).fit(X, y)
    np.testing.assert_allclose(far.predict_proba(X[:3]), 1 / n_classes, atol=1e-6)
    lower, upper = far.predict_interval(X[:3])
    assert np.all((lower < 1 / n_classes) & (upper > 1 / n_classes))


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_a_handful_of_rows_is_predicted_about_as_well_as_by_logistic_regression(n):
    """A kernel that was learned from so few rows would let each explain itself alone."""
    losses = []
    for draw in range(8):
        X, y = make_moons(n + 300, noise=0.2, random_state=draw)
        if len(np.unique(y[:n])) == 2:
            models = DirichletGPClassifier(random_state=0, n_jobs=1), LogisticRegression()
            found = [model.fit(X[:n], y[:n]).predict_proba(X[n:]) for model in models]
            losses.append([log_loss(y[n:], p) for p in found])
    ours, linear = np.mean(losses, axis=0)
    assert ours < linear + 0.02
    assert ours < np.log(2)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_one_row_of_each_of_many_classes_is_learned():
    X = np.random.default_rng(0).normal(size=(40, 3))
    classifier = quick(n_inducing=None).fit(X, np.arange(40))
    assert classifier.score(X, np.arange(40)) == 1.0


def test_classes_that_have_faded_away_are_read_as_gone(tmp_path):
    """Weights that were halved a thousand times are too small to divide by."""
    X = np.random.default_rng(0).uniform(0, 3, size=(200, 2))
    y = np.floor(X).sum(axis=1).astype(int) % 3
    classifier = DirichletGPClassifier("rbf", n_inducing=6, max_iter=1, n_regions=3, random_state=0)
    classifier.fit(X, y)
    for part in classifier._fitted.model.statistics.parts:
        part.counts[:] = 5e-324
    classifier.save(tmp_path / "model.dgp")
    loaded = DirichletGPClassifier.load(tmp_path / "model.dgp")
    assert all(not part.counts.any() for part in loaded._fitted.model.statistics.parts)
