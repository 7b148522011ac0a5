"""No probability is off by more than the tolerance, whatever the model; threads do not matter."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.parallel import Workers, multiply_rows
from dirichletgp._gp.core.predictor import make_predictor
from dirichletgp._gp.core.probabilities.softmax import class_probabilities
from dirichletgp._gp.core.probabilities.tolerance import (
    classes_in_doubt,
    probabilities_within,
    upper_bounds,
)
from dirichletgp._gp.core.regressions import LabelTransform, make_basis
from dirichletgp._gp.training.fitted import Model

TOLERANCES = st.sampled_from([1e-2, 1e-3, 1e-4, 1e-6])


def model_of(n_classes, seed, transform, n=80):
    """A random model, with points among the rows and rows at many distances."""
    p = referee.problem(n_classes, n=n, n_points=20, weighted=True, seed=seed)
    basis = make_basis(p.kernel, p.Z, p.jitter)
    with Workers(1) as workers:
        statistics = referee.rows_of(p).class_statistics(basis, workers)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(48, 3)) * rng.uniform(0.1, 4.0, (48, 1))
    return Model(basis, p.jitter, statistics, transform, p.prior, p.alpha), rows


@settings(max_examples=60, deadline=None)
@given(
    n_classes=st.integers(2, 12),
    seed=st.integers(0, 10_000),
    separation=st.floats(0.5, 60.0),
    noise_in=st.floats(1e-3, 30.0),
    noise_out=st.floats(1e-3, 30.0),
    tolerance=TOLERANCES,
)
def test_probabilities_of_any_model_are_within_the_tolerance(
    n_classes, seed, separation, noise_in, noise_out, tolerance
):
    transform = LabelTransform.from_constants(separation, noise_in, noise_out)
    model, rows = model_of(n_classes, seed, transform)
    exact = class_probabilities(*model.posterior.latent(model.basis.vectors(rows)))
    found = model.predictor(1).probabilities(model.at_points.values(rows), tolerance)
    assert np.abs(found - exact).max() <= tolerance
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    n_classes=st.integers(3, 30),
    seed=st.integers(0, 10_000),
    spread=st.floats(0.1, 15.0),
    centre=st.floats(0.01, 60.0),
    width=st.floats(0.0, 1.0),
    tolerance=TOLERANCES,
)
def test_any_variances_of_the_box_give_the_same_probabilities_but_for_the_tolerance(
    n_classes, seed, spread, centre, width, tolerance
):
    rng = np.random.default_rng(seed)
    mean = spread * rng.normal(size=(20, n_classes))
    centres = np.full(20, centre)
    deviation = width * centres
    # The worst cases are corners of the box.
    true = (centres + deviation * rng.choice([-1.0, 1.0], (n_classes, 20))).T
    doubt = classes_in_doubt(mean, centres, deviation, tolerance)
    used = np.where(doubt, true, centre)
    off = class_probabilities(mean, used) - class_probabilities(mean, true)
    assert np.abs(off).max() <= tolerance


@settings(max_examples=40, deadline=None)
@given(
    n_classes=st.integers(3, 60),
    seed=st.integers(0, 10_000),
    spread=st.floats(0.1, 20.0),
    largest=st.floats(0.01, 80.0),
    tolerance=TOLERANCES,
)
def test_classes_that_stay_out_of_the_integral_do_not_matter(
    n_classes, seed, spread, largest, tolerance
):
    rng = np.random.default_rng(seed)
    mean = spread * rng.normal(size=(20, n_classes))
    variance = rng.uniform(0.0, largest, size=mean.shape)
    exact = class_probabilities(mean, variance)
    found = probabilities_within(mean, variance, tolerance)
    assert np.abs(found - exact).max() <= 0.3 * tolerance
    bound = upper_bounds(mean, variance, mean.argmax(axis=1)[:, None])
    assert np.all(bound >= exact - 1e-8)


def test_nothing_is_in_doubt_where_all_variances_are_the_same():
    mean = np.random.default_rng(0).normal(size=(5, 4))
    assert not classes_in_doubt(mean, np.ones(5), np.zeros(5), 1e-4).any()


def test_far_fewer_variances_than_classes_are_computed(monkeypatch):
    model, rows = model_of(12, 0, LabelTransform.from_constants(12.0, 0.1, 2.0), n=400)
    predictor = model.predictor(1)
    assert predictor.posterior is model.posterior
    mean = model.posterior.mean(model.basis.vectors(rows))
    computed = []
    own = type(model.posterior).explained_of

    def noted(self, c, vectors):
        computed.append(np.count_nonzero(vectors.any(axis=1)))
        return own(self, c, vectors)

    monkeypatch.setattr(type(model.posterior), "explained_of", noted)
    predictor.probabilities(model.at_points.values(rows), 1e-2)
    assert sum(computed) < 0.5 * mean.size


def test_two_classes_need_one_triangle():
    model, rows = model_of(2, 3, LabelTransform.dirichlet(0.01))
    predictor = make_predictor(model.basis, model.posterior, model.statistics.grams)
    mean, variance = model.posterior.latent(model.basis.vectors(rows))
    gap, total = predictor.difference(model.at_points.values(rows))
    np.testing.assert_allclose(gap, mean[:, 1] - mean[:, 0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(total, variance.sum(axis=1), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(predictor.triangle, np.tril(predictor.triangle))


def test_a_product_with_a_triangle():
    rng = np.random.default_rng(0)
    lower, rows = np.tril(rng.normal(size=(7, 7))), rng.normal(size=(5, 7))
    np.testing.assert_allclose(multiply_rows(lower, rows.copy()), rows @ lower.T)


# The estimator


@pytest.fixture(scope="module")
def letters():
    return make_classification(
        700, 6, n_informative=6, n_redundant=0, n_classes=8, n_clusters_per_class=1, random_state=1
    )


@pytest.fixture(scope="module")
def fitted(letters):
    return DirichletGPClassifier("rbf", n_inducing=50, max_iter=10, random_state=0).fit(*letters)


def test_a_tolerance_of_zero_computes_everything_exactly(fitted, letters):
    X = letters[0]
    exact = np.exp(fitted.predict_log_proba(X))
    fitted.set_params(tolerance=0)
    np.testing.assert_allclose(fitted.predict_proba(X), exact, atol=1e-8)
    for tolerance in (1e-2, 1e-4):
        off = np.abs(fitted.set_params(tolerance=tolerance).predict_proba(X) - exact).max()
        assert 0 < off <= tolerance


@pytest.mark.parametrize("tolerance", [-1e-3, 1.0, float("nan"), "small", None, True])
def test_a_tolerance_that_is_none_is_refused(letters, fitted, tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        DirichletGPClassifier("rbf", n_inducing=10, max_iter=0, tolerance=tolerance).fit(*letters)
    before = fitted.tolerance
    with pytest.raises(ValueError, match="tolerance"):
        fitted.set_params(tolerance=tolerance).predict_proba(letters[0])
    fitted.set_params(tolerance=before)


@pytest.mark.parametrize("two", [True, False])
def test_sixteen_threads_that_share_a_new_model_get_the_bits_of_one(letters, two):
    X, y = letters
    y = y % 2 if two else y
    model = DirichletGPClassifier("rbf", n_inducing=40, max_iter=0, random_state=0).fit(X, y)
    alone = DirichletGPClassifier("rbf", n_inducing=40, max_iter=0, random_state=0).fit(X, y)
    # After a change of the rows nothing is solved yet: all threads ask for it at once.
    model.partial_fit(X[:50], y[:50])
    alone.partial_fit(X[:50], y[:50])
    expected = alone.predict_proba(X)
    together = threading.Barrier(16)

    def predicted(i):
        together.wait()
        rows = slice(None) if i % 2 else slice(i, i + 1)
        return model.predict_proba(X[rows]), expected[rows]

    with ThreadPoolExecutor(16) as pool:
        for found, wanted in pool.map(predicted, range(16)):
            np.testing.assert_array_equal(found, wanted)
