"""The classifier inside the tools that scikit-learn users have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import mean_negative_log_likelihood


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.4 * rng.normal(size=360), [-0.4, 0.4])]
    return X[:240], y[:240], X[240:], y[240:]


def small(**settings):
    return DirichletGPClassifier(
        **{"kernel": "rbf", "n_inducing": 30, "random_state": 0, **settings}
    )


def quick(**settings):
    return small(label_transform="dirichlet", alpha_epsilon=0.02, max_iter=10, **settings)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_it_can_be_calibrated_though_it_hardly_needs_it(rows, method):
    X, y, X_test, y_test = rows
    calibrated = CalibratedClassifierCV(small(), method=method, cv=3).fit(X, y)
    prob = calibrated.predict_proba(X_test)
    assert_allclose(prob.sum(axis=1), 1)
    assert calibrated.score(X_test, y_test) > 0.7


def test_one_against_the_rest_agrees_with_all_at_once(rows):
    X, y, X_test, y_test = rows
    separate = OneVsRestClassifier(small()).fit(X, y)
    together = small().fit(X, y)
    loss = [
        mean_negative_log_likelihood(y_test, model.predict_proba(X_test))
        for model in (separate, together)
    ]
    assert_allclose(loss[0], loss[1], atol=0.1)


def test_cross_validated_probabilities_tell_what_left_out_ones_tell(rows):
    X, y, _, _ = rows
    folds = cross_val_predict(small(), X, y, method="predict_proba", cv=4)
    left_out = small().fit(X, y).loo_proba(X, y)
    losses = [mean_negative_log_likelihood(y, prob) for prob in (folds, left_out)]
    assert_allclose(losses[0], losses[1], atol=0.08)


def test_searches_and_stacks_take_it(rows):
    X, y, X_test, y_test = rows
    pipeline = make_pipeline(StandardScaler(), quick())
    search = GridSearchCV(
        pipeline, {"dirichletgpclassifier__kernel": ["rbf", "matern52"]}, cv=2
    ).fit(X, y)
    assert search.score(X_test, y_test) > 0.7
    stack = StackingClassifier([("gp", quick()), ("linear", LogisticRegression())], cv=2).fit(X, y)
    assert stack.score(X_test, y_test) > 0.7


def test_conformal_sets_of_mapie_cover_what_they_promise(rows):
    mapie = pytest.importorskip("mapie.classification", reason="mapie is not installed")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2400, 3))
    y = np.digitize(X[:, 0] + 0.8 * rng.normal(size=2400), [-0.4, 0.4])
    fitted = small().fit(X[:400], y[:400])
    wrapper = mapie.SplitConformalClassifier(fitted, confidence_level=0.9, prefit=True)
    wrapper.conformalize(X[400:1400], y[400:1400])
    label, sets = wrapper.predict_set(X[1400:])
    assert_array_equal(label, fitted.predict(X[1400:]))
    covered = sets[np.arange(1000), y[1400:], 0]
    assert 0.86 <= covered.mean() <= 0.94


@pytest.mark.parametrize("kernel", ["product", "rbf"])
def test_skops_keeps_it_with_a_short_list_of_types_to_trust(rows, kernel):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    X, y, X_test, _ = rows
    model = make_pipeline(StandardScaler(), quick(kernel=kernel)).fit(X, y)
    kept = skops.dumps(model)
    needed = skops.get_untrusted_types(data=kept)
    assert all(name.startswith("dirichletgp.") for name in needed)
    again = skops.loads(kept, trusted=needed)
    assert_array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
