"""Leave-one-out in closed form equals recomputing without the row, and so do choices made by it."""

from dataclasses import replace

import numpy as np
import pytest
import referee
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier, LabelTransform
from dirichletgp._gp.core.probabilities.softmax import class_probabilities, log_probability_of
from dirichletgp._gp.core.regressions import make_basis
from dirichletgp._gp.core.statistics import ClassStatistics
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.training.fitted import Model
from dirichletgp._gp.training.label_search import ALPHAS, LabelSearch, ScoringRows


def basis_of(p):
    return make_basis(p.kernel, p.Z, p.jitter)


def statistics_of(p, positions, workers):
    rows = referee.rows_of(p).take(positions)
    return rows.class_statistics(basis_of(p), workers)


def model_of(p, statistics, transform=None):
    transform = transform or p.transform
    return Model(basis_of(p), p.jitter, statistics, transform, p.prior, p.alpha)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("n_points", [9, 60])
def test_latent_values_equal_the_statistics_minus_the_row(n_classes, weighted, n_points, workers):
    p = referee.problem(n_classes, weighted=weighted, n_points=n_points)
    everything = np.arange(len(p.X))
    whole = statistics_of(p, everything, workers)
    model = model_of(p, whole)
    vectors = model.basis.vectors(p.X)
    mean, variance = model.posterior.latent_without_row(vectors, p.codes, p.given_weights)
    for i in (0, 17, 42):
        without = whole - statistics_of(p, everything[i : i + 1], workers)
        refitted = model_of(p, without).posterior
        expected_mean, expected_variance = refitted.latent(vectors[i : i + 1])
        np.testing.assert_allclose(mean[i], expected_mean[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(variance[i], expected_variance[0], rtol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 12])
def test_loo_proba_equals_a_model_that_never_saw_the_row(n_classes, workers):
    X, y = make_classification(
        400,
        6,
        n_informative=5,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=0,
    )
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    classifier = DirichletGPClassifier("rbf", n_inducing=50, max_iter=5, random_state=0, **labels)
    classifier.fit(X, y, weights)
    # With few rows the kernel, too, would be one that never saw the row: not here.
    fitted = classifier._fitted
    classifier._result = replace(fitted, model=replace(fitted.model, left_out=None))
    left_out = classifier.loo_proba(X, y, weights)
    model = classifier._fitted.model
    scaled = classifier.scaler_.transform(X)
    for i in (3, 111, 222):
        vector = model.basis.vectors(scaled[i : i + 1])
        row = ClassStatistics.empty(n_classes, len(model.points))
        row.counts[y[i]] = weights[i]
        row.sums[y[i]] = weights[i] * vector[0]
        row.grams[y[i]] = weights[i] * np.outer(vector, vector)
        without = model.standing_on(model.statistics - row, lambda _: model.prior)
        expected = class_probabilities(*without.posterior.latent(vector))
        np.testing.assert_allclose(left_out[i], expected[0], atol=1e-6)


def test_class_weights_of_the_fit_hold_for_any_part_of_its_rows():
    X, y = make_classification(200, 4, weights=[0.8], random_state=0)
    classifier = DirichletGPClassifier(
        "rbf", class_weight="balanced", n_inducing=30, max_iter=5, random_state=0
    ).fit(X, y)
    few = np.flatnonzero(y == 1)[:7]
    np.testing.assert_allclose(
        classifier.loo_proba(X[few], y[few]), classifier.loo_proba(X, y)[few], atol=1e-12
    )


def test_left_out_likelihood_is_worse_than_training_likelihood_and_close_to_that_of_new_rows():
    X, y = make_classification(3000, 8, n_informative=6, flip_y=0.1, class_sep=0.7, random_state=1)
    classifier = DirichletGPClassifier(n_inducing=150, random_state=0).fit(X[:1000], y[:1000])

    def loss(probabilities, labels):
        return -np.log(probabilities[np.arange(len(labels)), labels]).mean()

    left_out = loss(classifier.loo_proba(X[:1000], y[:1000]), y[:1000])
    assert loss(classifier.predict_proba(X[:1000]), y[:1000]) < left_out
    assert left_out == pytest.approx(loss(classifier.predict_proba(X[1000:]), y[1000:]), abs=0.05)


def search_of(p, workers, leave_out=True):
    whole = statistics_of(p, np.arange(len(p.X)), workers)
    vectors = basis_of(p).vectors(p.X)
    votes = InMemoryRows(p.X, p.codes, p.weights, len(p.prior)).votes()
    rows = ScoringRows(vectors, p.codes, p.weights, votes, 1e9, leave_out)
    return LabelSearch(whole, p.kernel.variance, p.prior, rows, workers), whole, vectors


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_a_transforms_score_is_its_left_out_log_likelihood(n_classes, workers):
    p = referee.problem(n_classes, weighted=True)
    search, whole, vectors = search_of(p, workers)
    transform = LabelTransform.from_constants(4.0, 0.5, 2.0)
    posterior = model_of(p, whole, transform).posterior
    latent = posterior.latent_without_row(vectors, p.codes, p.weights)
    expected = -np.average(log_probability_of(p.codes, *latent), weights=p.weights)
    assert search.score(transform) == pytest.approx(expected, abs=2e-4)


def test_labels_that_contradict_each_other_at_one_place_are_left_out_together(workers):
    p = referee.problem(3, weighted=True)
    p.X[1::2] = p.X[::2]
    search, _, vectors = search_of(p, workers)
    transform = LabelTransform.from_constants(4.0, 0.5, 2.0)
    log_p = search.log_probabilities(transform)
    for i in (0, 7):
        pair = {i, i ^ 1}
        assert p.codes[i] != p.codes[i ^ 1]
        others = statistics_of(p, np.array(sorted(set(range(60)) - pair)), workers)
        latent = model_of(p, others, transform).posterior.latent(vectors[i : i + 1])
        expected = log_probability_of(p.codes[i : i + 1], *latent)[0]
        assert log_p[i] == pytest.approx(expected, abs=2e-4)


def test_the_score_is_right_when_only_the_likeliest_classes_are_computed_anew(workers):
    """Of classes that have no rows near a row, so that one matrix does for their variances."""
    p = referee.problem(12, n=400, n_points=150)
    p.X += 3.0 * np.random.default_rng(1).normal(size=(12, 3))[p.codes]
    p.Z = p.X[:150].copy()
    search, _, _ = search_of(p, workers)
    start = LabelTransform.dirichlet(0.01)
    transforms = [
        start,
        LabelTransform.from_constants(8.0, 0.2, 2.0),
        LabelTransform.from_constants(8.0, 0.05, 0.5),
    ]
    full = [search.score(transform) for transform in transforms]
    variance = search.predicted(start).variance
    rough = search.keep_active_classes(start).variance
    inactive = ~search._active
    assert 0.5 < inactive.mean() < 0.8
    # The same but for rows that are so many that single precision does.
    np.testing.assert_allclose(rough[~inactive], variance[~inactive], rtol=1e-5)
    assert np.quantile(np.abs(rough / variance - 1.0)[inactive], 0.95) < 0.05
    assert search.score(start) == pytest.approx(full[0], rel=1e-3)
    restricted = [search.score(transform) for transform in transforms]
    np.testing.assert_allclose(restricted, full, rtol=0.03)


def test_the_best_alpha_is_the_same_from_wherever_it_is_looked_for(workers):
    search, _, _ = search_of(referee.problem(2), workers)
    found = search.best_alpha()
    assert found[1] in ALPHAS
    assert search.best_alpha(ALPHAS[0]) == search.best_alpha(ALPHAS[-1]) == found


@pytest.mark.parametrize("n_classes", [2, 6])
def test_a_share_that_is_believed_is_scored_as_the_posterior_has_it(n_classes, workers):
    p = referee.problem(n_classes, weighted=True)
    search, whole, vectors = search_of(p, workers)
    transform = LabelTransform.from_constants(4.0, 0.5, 1.0).scaled(0.6)
    posterior = model_of(p, whole, transform).posterior
    mean, variance = search.latents(transform)
    expected = posterior.latent_without_row(vectors, p.codes, p.weights)
    np.testing.assert_allclose(mean - mean[:, :1], expected[0] - expected[0][:, :1], atol=1e-4)
    np.testing.assert_allclose(variance, expected[1], rtol=1e-4)


def test_the_papers_criterion_scores_rows_without_leaving_them_out(workers):
    p = referee.problem(3)
    search, whole, vectors = search_of(p, workers, leave_out=False)
    posterior = model_of(p, whole).posterior
    expected = -log_probability_of(p.codes, *posterior.latent(vectors)).mean()
    assert search.score(p.transform) == pytest.approx(expected, abs=2e-4)


def test_a_few_rows_without_a_mistake_do_not_make_the_model_infinitely_sure():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X[:, 0] += 8.0 * y
    classifier = DirichletGPClassifier(random_state=0).fit(X, y)
    doubt = 1.0 - classifier.predict_proba(X).max(axis=1)
    assert classifier.score(X, y) == 1.0
    assert 0.002 < np.median(doubt) < 0.1  # around 1 / 60


@pytest.mark.parametrize("n_classes", [2, 12])
def test_a_learned_transform_is_no_worse_than_the_best_dirichlet_one(n_classes, workers):
    p = referee.problem(n_classes, n=150)
    search, _, _ = search_of(p, workers)
    _, alpha = search.best_alpha()
    best_dirichlet = search.score(LabelTransform.dirichlet(alpha))
    learned = search.best_transform(LabelTransform.dirichlet(alpha))
    fresh, _, _ = search_of(p, workers)
    assert fresh.score(learned) <= best_dirichlet + 1e-3
