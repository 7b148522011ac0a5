"""More classes than a hundred: one Gram and one noise for all, and a few classes that matter."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_argmin

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.bound import bound_and_derivatives, collapsed_bound
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers, cholesky
from dirichletgp._gp.core.probabilities.softmax import class_probabilities, log_probability_of
from dirichletgp._gp.core.probabilities.tolerance import probabilities_within
from dirichletgp._gp.core.regressions import (
    LabelTransform,
    Posterior,
    make_basis,
    points_covariance,
)
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.training.even_labels import EvenLabelSearch
from dirichletgp._gp.training.label_search import LabelSearch, ScoringRows

N_CLASSES, PER_CLASS = 120, 4


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.RandomState(0)
    centres = 3.0 * rng.randn(N_CLASSES, 3)
    y = np.repeat(np.arange(N_CLASSES), PER_CLASS)
    return centres[y] + 0.3 * rng.randn(len(y), 3), y


@pytest.fixture(scope="module")
def model(clusters):
    return DirichletGPClassifier(kernel="rbf", n_inducing=60, max_iter=5, random_state=0).fit(
        *clusters
    )


@pytest.fixture
def few():
    """Five classes, of which the whitened statistics are known both ways."""
    rng = np.random.RandomState(1)
    codes = np.repeat(np.arange(5), [3, 9, 20, 4, 8])
    weights = rng.uniform(0.5, 2.0, len(codes))
    rows = InMemoryRows(rng.randn(len(codes), 2), codes, weights, 5)
    kernel = KERNELS["rbf"](np.array([1.0, 1.5]), 2.0)
    prior = rows.class_weights / rows.class_weights.sum()
    return rows, kernel, rng.randn(7, 2), prior


def test_one_gram_gives_the_posterior_of_one_gram_per_class(few):
    rows, kernel, points, prior = few
    basis = make_basis(kernel, points, 1e-6)
    transform = LabelTransform.from_constants(4.0, 0.3, 0.3)
    with Workers(1) as workers:
        apart = rows.class_statistics(basis, workers)
        pooled = rows.class_statistics(basis, workers, pooled=True)
        assert pooled.grams.shape == (1, 7, 7)
        one = Posterior.from_statistics(pooled, kernel.variance, transform, prior, workers)
        all_ = Posterior.from_statistics(apart, kernel.variance, transform, prior, workers)
    vectors = basis.vectors(rows.X)
    for mine, theirs in zip(one.latent(vectors), all_.latent(vectors), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)
    left_out = [p.latent_without_row(vectors, rows.codes, rows.weights) for p in (one, all_)]
    np.testing.assert_allclose(left_out[0], left_out[1], rtol=1e-8, atol=1e-10)
    bounds = collapsed_bound(pooled, one), collapsed_bound(apart, all_)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-10)


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_the_bound_and_its_gradient_need_no_more_than_one_gram(few, order):
    rows, kernel, points, prior = few
    factor = cholesky(points_covariance(kernel, points, 1e-6))
    transform = LabelTransform.even(0.3, prior)
    found = []
    with Workers(1) as workers:
        for pooled in order:
            statistics = rows.bound_statistics(kernel, points, workers, pooled)
            bound = bound_and_derivatives(
                statistics, factor, kernel.variance, transform, prior, workers
            )
            gradient = rows.pull_back(bound.by_row, kernel, points, workers)
            found.append((bound.value, bound.points, gradient.parameters, gradient.points))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_the_label_search_scores_as_the_one_with_a_factor_per_class(few):
    rows, kernel, points, prior = few
    basis = make_basis(kernel, points, 1e-6)
    vectors = basis.vectors(rows.X)
    scoring = ScoringRows(vectors, rows.codes, rows.weights, rows.votes(), float(len(rows)))
    with Workers(1) as workers:
        pooled = rows.class_statistics(basis, workers, pooled=True)
        apart = rows.class_statistics(basis, workers)
        even = EvenLabelSearch(pooled, kernel.variance, prior, scoring, workers)
        plain = LabelSearch(apart, kernel.variance, prior, scoring, workers)
        plain._coarse = even._coarse
        for noise in (0.05, 2.0):
            transform = LabelTransform.from_constants(5.0, noise, noise)
            # One of them has some of its sums in single precision.
            assert even.score(transform) == pytest.approx(plain.score(transform), rel=1e-6)
        # With handicaps, as the posterior scores its own rows when they are left out.
        transform = LabelTransform.from_constants(5.0, 0.4, 0.4, 0.7)
        one = Posterior.from_statistics(pooled, kernel.variance, transform, prior, workers)
        latent = one.latent_without_row(vectors, rows.codes, rows.weights)
        expected = log_probability_of(rows.codes, *latent, coarse=True)
        np.testing.assert_allclose(even.log_probabilities(transform), expected, rtol=1e-9)
        start = LabelTransform.even(0.3, prior)
        assert even.score(even.best_transform(start)) <= even.score(start)


def test_handicaps_of_rows_left_out_are_those_of_a_fit_without_them(few):
    rows, kernel, points, prior = few
    basis = make_basis(kernel, points, 1e-6)
    transform = LabelTransform.from_constants(5.0, 0.4, 0.4, 0.7)
    with Workers(1) as workers:

        def posterior(chosen):
            part = rows.take(chosen).class_statistics(basis, workers, pooled=True)
            return Posterior.from_statistics(part, kernel.variance, transform, prior, workers)

        everything = np.arange(len(rows))
        vectors = basis.vectors(rows.X)
        mean, variance = posterior(everything).latent_without_row(vectors, rows.codes, rows.weights)
        for i in (0, 5, 20):
            without = posterior(np.delete(everything, i)).latent(vectors[i : i + 1])
            np.testing.assert_allclose(mean[i], without[0][0], rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(variance[i], without[1][0], rtol=1e-8, atol=1e-10)


def test_regressions_with_handicaps_are_a_linear_discriminant():
    """Of Gaussian classes, regressions alone favour those far from the centre of all rows."""
    rng = np.random.RandomState(0)
    centres = 2.0 * rng.randn(150, 4)
    codes = np.repeat(np.arange(150), 10)
    rows = InMemoryRows(centres[codes] + 0.4 * rng.randn(1_500, 4), codes, None, 150)
    kernel = KERNELS["rbf"](np.full(4, 40.0), 1.0)
    basis = make_basis(kernel, rows.X[::20].copy(), 1e-9)
    prior = np.full(150, 1 / 150)
    new = centres[codes] + 0.4 * rng.randn(1_500, 4)
    error = {}
    with Workers(1) as workers:
        statistics = rows.class_statistics(basis, workers, pooled=True)
        for share in (0.0, 1.0):
            transform = LabelTransform.from_constants(50.0, 3e-3, 3e-3, share)
            solved = Posterior.from_statistics(statistics, 1.0, transform, prior, workers)
            error[share] = np.mean(solved.mean(basis.vectors(new)).argmax(axis=1) != codes)
    means = np.stack([rows.X[codes == c].mean(axis=0) for c in range(150)])
    nearest = np.mean(pairwise_distances_argmin(new, means) != codes)
    assert error[0.0] > 3 * nearest
    assert error[1.0] < 1.2 * nearest


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(70, 400),
    spread=st.sampled_from([0.0, 0.3, 1.0, 4.0]),
    lead=st.sampled_from([0.0, 3.0, 6.0, 12.0]),
    variance=st.sampled_from([0.0, 0.01, 0.5, 3.0, 20.0]),
    tolerance=st.sampled_from([1e-2, 1e-4, 1e-6]),
)
def test_no_probability_of_many_classes_is_off_by_more_than_the_tolerance(
    seed, n_classes, spread, lead, variance, tolerance
):
    rng = np.random.RandomState(seed)
    mean = spread * rng.randn(3, n_classes)
    mean[:, 0] += lead
    variances = variance * rng.uniform(0.5, 1.5, mean.shape)
    exact = class_probabilities(mean, variances)
    found = probabilities_within(mean, variances, tolerance)
    assert np.abs(found - exact).max() <= tolerance + 1e-7
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    codes = rng.randint(0, n_classes, 3)
    coarse = np.exp(log_probability_of(codes, mean, variances, coarse=True))
    np.testing.assert_allclose(coarse, exact[np.arange(3), codes], atol=2e-3)


def test_many_classes_are_told_apart_with_one_gram(model, clusters):
    X, y = clusters
    assert model._fitted.model.statistics.grams.shape == (1, 60, 60)
    assert model.label_transform_.is_even
    assert np.isfinite(model.bound_)
    assert np.mean(model.predict(X) == y) > 0.8
    loo = model.loo_proba(X, y)
    np.testing.assert_allclose(loo.sum(axis=1), 1.0)
    assert np.mean(np.log(loo[np.arange(len(y)), y])) > -np.log(N_CLASSES) + 1.0


def test_rows_are_added_and_taken_away_exactly(model, clusters):
    X, y = clusters
    before = model.predict_proba(X[:20])
    model.partial_fit(X[:30] + 0.01, y[:30])
    assert np.abs(model.predict_proba(X[:20]) - before).max() > 1e-6
    with pytest.raises(ValueError, match="never added"):
        model.forget(X[:30] + 5.0, y[:30])
    model.forget(X[:30] + 0.01, y[:30])
    np.testing.assert_allclose(model.predict_proba(X[:20]), before, atol=1e-7)


def test_a_model_of_many_classes_is_saved_and_made_compact(model, clusters, tmp_path):
    X = clusters[0][:50]
    model.save(tmp_path / "many.model")
    again = DirichletGPClassifier.load(tmp_path / "many.model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    small = model.compact()
    assert np.abs(small.predict_proba(X) - model.predict_proba(X)).max() <= 2e-4


def test_one_row_per_class_is_recognised():
    rng = np.random.RandomState(0)
    X = 3.0 * rng.randn(150, 4)
    with warnings.catch_warnings():
        # Newer versions of scikit-learn ask whether so many classes are meant.
        warnings.filterwarnings("ignore", message=".*unique classes", category=UserWarning)
        model = DirichletGPClassifier(random_state=0).fit(X, np.arange(150))
    p = model.predict_proba(X + 0.05 * rng.randn(*X.shape))
    assert np.mean(p.argmax(axis=1) == np.arange(150)) > 0.95
    assert np.diagonal(p).mean() > 10 / 150


def test_a_dirichlet_transform_keeps_a_gram_per_class(clusters):
    model = DirichletGPClassifier(
        kernel="rbf", n_inducing=10, max_iter=0, label_transform="dirichlet", alpha_epsilon=0.1
    ).fit(*clusters)
    assert len(model._fitted.model.statistics.grams) == N_CLASSES


@pytest.mark.parametrize("compact", [False, True])
def test_handicaps_are_kept_in_files(model, clusters, tmp_path, compact):
    fitted = model._fitted
    transform = replace(fitted.model.transform, handicap=0.8)
    changed = clone(model)
    changed._result = replace(fitted, model=replace(fitted.model, transform=transform, solved=None))
    X = clusters[0][:20]
    assert np.abs(changed.predict_proba(X) - model.predict_proba(X)).max() > 1e-3
    changed.save(tmp_path / "model.dgp", compact=compact)
    again = DirichletGPClassifier.load(tmp_path / "model.dgp")
    assert again.label_transform_.handicap == 0.8
    np.testing.assert_allclose(again.predict_proba(X), changed.predict_proba(X), atol=1e-4)
