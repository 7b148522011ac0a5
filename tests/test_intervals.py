"""How well class probabilities are known: dense forms, streams, files, promises of intervals."""

import copy
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import referee
from scipy.special import expit
from scipy.stats import beta, multivariate_normal

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.concentration import Concentration
from dirichletgp._gp.core.probabilities.dirichlet import (
    dirichlet_draws,
    dirichlet_interval,
    dirichlet_uncertainty,
)
from dirichletgp._gp.core.regressions import (
    POWERS,
    SCALES,
    LogOddsBeliefs,
    make_basis,
    prior_variances,
)
from dirichletgp._gp.training.log_odds import (
    Believed,
    _NewtonStep,
    log_odds_beliefs,
    log_odds_moves,
    main_directions,
)

FILES = Path(__file__).parent / "files"


def certain_of(scale, power=1.0, departure=0.0):
    """Beliefs in one setting."""
    settings = np.zeros((len(SCALES), len(POWERS)))
    settings[SCALES.index(scale), POWERS.index(power)] = 1.0
    return LogOddsBeliefs(settings, departure)


def quick(**changes):
    parameters = {"kernel": "rbf", "n_inducing": 25, "max_iter": 5, "random_state": 0}
    return DirichletGPClassifier(**(parameters | changes))


def problem(n, seed=0, n_classes=2, slope=2.0):
    """Rows with labels, and their true class probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if n_classes == 2:
        p = expit(slope * np.sin(1.5 * X[:, 0]) + 0.5 * slope * X[:, 1])
        p = np.column_stack([1 - p, p])
    else:
        p = np.exp(slope * np.column_stack([X, np.zeros(n)]))
        p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return X, y, p


# The formulas, against dense ones


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_points", [9, 60])
def test_concentration_is_that_of_a_regression_of_log_odds_on_all_rows(n_points, weighted, workers):
    p = referee.problem(2, weighted=weighted, n_points=n_points)
    basis = make_basis(p.kernel, p.Z, p.jitter)
    statistics = referee.rows_of(p).class_statistics(basis, workers)
    s2, scale, departure = p.kernel.variance, 6.0, 0.3
    beliefs = certain_of(scale, departure=departure)
    fast = Concentration.from_statistics(statistics, s2, p.prior, beliefs)
    probabilities = np.array([[0.5, 0.5], [0.1, 0.9], [0.999, 0.001]])
    vectors = basis.vectors(p.new[:3])
    found = fast.at(vectors, probabilities)
    rows, new = basis.vectors(p.X) / np.sqrt(s2), vectors / np.sqrt(s2)
    for i, (p0, p1) in enumerate(probabilities):
        w = p0 * p1
        noise = np.diag(1.0 / (w * p.weights))
        across = scale * rows @ new[i]
        explained = across @ np.linalg.solve(scale * rows @ rows.T + noise, across)
        variance = scale - explained + departure
        expected = 1.0 / (w * variance + 1.0 / (p.weights.sum() + 1.0))
        np.testing.assert_allclose(found[i], expected, rtol=1e-7)


def test_rougher_log_odds_vary_as_much_over_the_rows():
    rows = np.random.default_rng(0).normal(size=(50, 6)) * [3, 2, 1, 0.3, 0.1, 0.01]
    values, vectors = np.linalg.eigh(rows.T @ rows)
    squares = np.square(rows @ vectors)
    spread = {power: squares @ prior_variances(values, 2.0, power) for power in POWERS}
    for power in POWERS:
        np.testing.assert_allclose(spread[power].mean(), spread[1.0].mean())
    assert prior_variances(values, 2.0, 0.25)[0] > prior_variances(values, 2.0, 1.0)[0]
    np.testing.assert_allclose(prior_variances(values, 2.0, 1.0), 2.0)


@pytest.mark.parametrize("n", [8, 40])
def test_evidence_and_step_are_those_of_a_dense_regression(n):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(n, 12)), rng.uniform(0.5, 2.0, n)
    inside, p = rng.random(n) < 0.4, rng.uniform(0.1, 0.8, n)
    values, directions = main_directions(rows.T @ (weights[:, None] * rows))
    features = np.column_stack([rows @ directions, np.ones(n)])
    step = _NewtonStep.of_rows(features, inside, weights, p)
    w = weights * p * (1 - p)
    share = np.average(inside, weights=weights)
    start = np.log(p / (1 - p)) - np.log(share / (1 - share))
    targets = start + weights * (inside - p) / w
    dense = []
    for scale in (0.2, 6.0):
        prior = scale * rows @ rows.T + 4.0
        noisy = multivariate_normal(np.zeros(n), prior + np.diag(1 / w))
        moved = prior @ np.linalg.solve(noisy.cov, targets) - start
        dense.append((noisy.logpdf(targets), np.average(moved**2, weights=w)))
    fast = []
    for scale in (0.2, 6.0):
        prior = np.append(prior_variances(values, scale, 1.0), 4.0)
        fast.append((step.evidence(prior), step.departure(features, [Believed(prior, 1.0)])))
    np.testing.assert_allclose(fast[1][0] - fast[0][0], dense[1][0] - dense[0][0], rtol=1e-6)
    np.testing.assert_allclose([f[1] for f in fast], [d[1] for d in dense], rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_moves_are_those_of_a_dense_regression_of_residuals(n_classes, workers):
    rng = np.random.default_rng(0)
    n = 40
    rows, weights = rng.normal(size=(n, 6)), rng.uniform(0.5, 2.0, n)
    codes = rng.integers(0, n_classes, n)
    p = rng.dirichlet(np.full(n_classes, 2.0), n)
    values, directions = main_directions(rows.T @ rows)
    features = rows @ directions
    fast = log_odds_moves(features, values, codes, weights, p, certain_of(6.0), workers)
    for c in range(n_classes):
        information = weights * p[:, c] * (1 - p[:, c])
        residual = weights * ((codes == c) - p[:, c]) / information
        prior = 6.0 * rows @ rows.T
        move = prior @ np.linalg.solve(prior + np.diag(1 / information), residual)
        np.testing.assert_allclose(features @ fast[c], move, rtol=1e-6, atol=1e-9)


def test_directions_of_many_points_are_all_but_eigenvectors():
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.normal(size=(450, 450)))[0]
    gram = (turned * np.exp(-np.arange(450) / 30.0)) @ turned.T
    values, directions = main_directions(gram)
    assert directions.shape == (450, 200)
    np.testing.assert_allclose(directions.T @ directions, np.eye(200), atol=1e-10)
    np.testing.assert_allclose(values[::-1][:150], np.exp(-np.arange(150) / 30.0), rtol=1e-3)
    np.testing.assert_allclose(values.sum(), np.trace(gram), rtol=2e-3)


def test_a_prediction_that_labels_would_move_is_worth_less_there(workers):
    p = referee.problem(2)
    basis = make_basis(p.kernel, p.Z, p.jitter)
    statistics = referee.rows_of(p).class_statistics(basis, workers)
    s2, vectors = p.kernel.variance, basis.vectors(p.new[:3])
    probabilities = np.array([[0.5, 0.5], [0.1, 0.9], [0.999, 0.001]])
    moves = np.random.default_rng(0).normal(size=(2, vectors.shape[1]))
    worth = [
        Concentration.from_statistics(statistics, s2, p.prior, beliefs).at(vectors, probabilities)
        for beliefs in (certain_of(6.0), replace(certain_of(6.0), moves=moves))
    ]
    delta = vectors @ moves.T / np.sqrt(s2)
    more = (probabilities**2 * (1 - probabilities) * delta**2).sum(axis=1)
    np.testing.assert_allclose(1 / worth[1], 1 / worth[0] + more)


def test_steep_labels_are_believed_to_vary_more_than_noisy_ones():
    rng = np.random.default_rng(0)
    rows = np.linspace(-2, 2, 150)[:, None] * [1.0, 0.5]
    scale = {}
    for slope in (0.3, 6.0):
        p = expit(slope * rows[:, 0])
        codes = (rng.random(150) < p).astype(int)
        values, directions = main_directions(rows.T @ rows)
        both = np.column_stack([1 - p, p])
        beliefs = log_odds_beliefs(rows @ directions, values, codes, None, both)
        assert beliefs.settings.sum() == pytest.approx(1.0)
        scale[slope] = beliefs.settings.sum(axis=1) @ np.log(SCALES)
    assert scale[6.0] > scale[0.3] + 1.0


def test_intervals_entropies_and_draws_are_those_of_dirichlet_distributions():
    alpha = np.array([[2.0, 3.0, 0.5], [40.0, 1.0, 9.0]])
    nu = alpha.sum(axis=1, keepdims=True)
    lower, upper = dirichlet_interval(alpha, 0.9)
    np.testing.assert_allclose(beta.cdf(lower, alpha, nu - alpha), 0.05, atol=1e-9)
    np.testing.assert_allclose(beta.cdf(upper, alpha, nu - alpha), 0.95, atol=1e-9)
    draws = dirichlet_draws(alpha, 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), alpha / nu, atol=0.01)
    np.testing.assert_allclose(np.quantile(draws, 0.05, axis=0), lower, atol=0.01)
    total, aleatoric, epistemic = dirichlet_uncertainty(alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(draws * np.log(draws), axis=2).mean(axis=0)
    np.testing.assert_allclose(aleatoric, entropy, atol=0.01)
    np.testing.assert_allclose(total, aleatoric + epistemic)


def test_nothing_overflows_where_a_class_is_all_but_impossible():
    alpha = np.array([[1e-300, 5.0], [1e-12, 1e-12], [1e-5, 1e9]])
    lower, upper = dirichlet_interval(alpha)
    mean = alpha / alpha.sum(axis=1, keepdims=True)
    assert np.all((lower >= 0) & (lower <= mean) & (mean <= upper) & (upper <= 1))
    draws = dirichlet_draws(alpha, 50, np.random.default_rng(0))
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)


# What a classifier says


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_distribution_has_the_predicted_probabilities_as_its_mean(n_classes):
    X, y, _ = problem(150, n_classes=n_classes)
    classifier = quick().fit(X, y)
    probabilities = classifier.predict_proba(X)
    alpha = classifier.predict_dirichlet(X)
    mean = alpha / alpha.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mean, probabilities, atol=2e-4)
    for level in (0.1, 0.95):
        lower, upper = classifier.predict_interval(X, level)
        assert np.all((lower <= probabilities + 2e-4) & (probabilities <= upper + 2e-4))
    draws = classifier.sample_proba(X[:20], 4_000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), probabilities[:20], atol=0.03)
    alone = np.concatenate([classifier.predict_dirichlet(X[i : i + 1]) for i in range(5)])
    np.testing.assert_array_equal(alone, alpha[:5])


def test_the_papers_intervals_are_those_of_the_latent_functions():
    X, y, _ = problem(150)
    classifier = quick().fit(X, y)
    mean, variance = classifier.latent_mean_and_variance(X)
    reach = 1.959963984540054 * np.sqrt(variance.sum(axis=1))
    lower, _ = classifier.predict_interval(X, kind="latent")
    np.testing.assert_allclose(lower[:, 1], expit(mean[:, 1] - mean[:, 0] - reach))
    assert classifier.sample_proba(X, 3, kind="latent").shape == (3, 150, 2)
    assert len(classifier.predict_uncertainty(X, kind="latent")) == 3
    with pytest.raises(ValueError, match="kind='paper' is not known; pass one of"):
        classifier.predict_interval(X, kind="paper")


def test_a_prediction_is_worth_less_far_from_the_data_and_more_with_more_rows():
    X, y, _ = problem(600)
    few, many = quick().fit(X[:100], y[:100]), quick().fit(X, y)
    here, far = np.zeros((1, 2)), np.full((1, 2), 40.0)
    assert many.predict_dirichlet(here).sum() > 5 * many.predict_dirichlet(far).sum()
    assert many.predict_dirichlet(here).sum() > few.predict_dirichlet(here).sum()
    assert many.predict_dirichlet(here).sum() < 601


@pytest.mark.filterwarnings("ignore:Rows left out of training")
def test_frequencies_are_known_as_well_as_a_count_of_labels_says():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 2)), (rng.random(300) < 0.3).astype(int)
    lower, upper = quick(max_iter=20).fit(X, y).predict_interval(X)
    share = y.mean()
    binomial = 2 * 1.96 * np.sqrt(share * (1 - share) / 300)
    width = np.mean(upper - lower)
    assert binomial < width < 4 * binomial
    assert np.mean((lower[:, 1] <= 0.3) & (upper[:, 1] >= 0.3)) > 0.9


@pytest.mark.filterwarnings("ignore:Rows left out of training")
@pytest.mark.parametrize("slope", [0.4, 2.0, 8.0], ids=["noisy", "smooth", "steep"])
def test_intervals_hold_what_they_promise(slope):
    held, latent = [], []
    for seed in range(3):
        X, y, p = problem(700, seed, slope=slope)
        classifier = quick(max_iter=10).fit(X[:300], y[:300])
        for found, kind in ((held, "dirichlet"), (latent, "latent")):
            lower, upper = classifier.predict_interval(X[300:], kind=kind)
            found.append(np.mean((lower <= p[300:]) & (p[300:] <= upper)))
    assert np.mean(held) > 0.88
    assert np.mean(held) > np.mean(latent)


# Rows that come and go, files


def test_rows_are_added_forgotten_and_merged_exactly():
    X, y, _ = problem(400)
    first = quick(n_subsample=200).fit(X[:200], y[:200])
    before = first.predict_dirichlet(X)
    one, other = copy.deepcopy(first), copy.deepcopy(first).decay(0)
    one.partial_fit(X[200:], y[200:])
    other.partial_fit(X[200:], y[200:])
    after = one.predict_dirichlet(X)
    assert after.sum() > before.sum()
    merged = copy.deepcopy(first).merge(other)
    np.testing.assert_allclose(merged.predict_dirichlet(X), after, rtol=1e-7)
    one.forget(X[200:], y[200:])
    np.testing.assert_allclose(one.predict_dirichlet(X), before, rtol=1e-7)
    faded = copy.deepcopy(first).decay(0.25).predict_dirichlet(X).sum(axis=1)
    assert np.mean(faded < before.sum(axis=1)) > 0.95
    nothing = copy.deepcopy(first).decay(0).predict_dirichlet(X)
    assert np.all(np.isfinite(nothing))
    assert np.all(nothing.sum(axis=1) <= 1.0)


def test_where_rows_are_many_the_interval_knows_how_far_predictions_are_off(tmp_path):
    X, y, p = problem(3_500, slope=8.0, n_classes=3)
    smooth = {"lengthscale": 3.0, "max_iter": 0, "scaler": None}
    classifier = quick(label_transform="dirichlet", alpha_epsilon=0.3, **smooth).fit(
        X[:2500], y[:2500]
    )
    model = classifier._result.model
    assert model.beliefs.moves.shape == (3, 25)
    lower, upper = classifier.predict_interval(X[2500:])
    held = np.mean((lower <= p[2500:]) & (p[2500:] <= upper))
    classifier.save(tmp_path / "model.dgp")
    loaded = DirichletGPClassifier.load(tmp_path / "model.dgp")
    np.testing.assert_array_equal(
        loaded.predict_interval(X[:9])[0], classifier.predict_interval(X[:9])[0]
    )
    unmoved = replace(model, beliefs=replace(model.beliefs, moves=None))
    classifier._result = replace(classifier._result, model=unmoved)
    lower, upper = classifier.predict_interval(X[2500:])
    assert held > np.mean((lower <= p[2500:]) & (p[2500:] <= upper)) + 0.2


def test_a_new_class_leaves_the_moves_of_the_others(tmp_path):
    X, y, _ = problem(2_200)
    classifier = quick(max_iter=0).fit(X, 2 * y)
    before = classifier._result.model.beliefs.moves
    classifier.partial_fit(X[:5], np.ones(5, dtype=int), classes=[0, 1, 2])
    after = classifier._result.model.beliefs.moves
    np.testing.assert_array_equal(after, np.stack([before[0], np.zeros(25), before[1]]))


def test_a_weight_means_the_same_as_a_repetition():
    X, y, _ = problem(120)
    twice = quick(max_iter=0, inducing=X[:20]).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = quick(max_iter=0, inducing=X[:20]).fit(X, y, np.full(120, 2.0))
    beliefs = twice._result.model.beliefs
    model = replace(weighted._result.model, beliefs=beliefs)
    weighted._result = replace(weighted._result, model=model)
    np.testing.assert_allclose(weighted.predict_dirichlet(X), twice.predict_dirichlet(X), rtol=1e-6)


def test_saved_and_pickled_models_say_the_same_bit_for_bit(tmp_path):
    X, y, _ = problem(120, n_classes=3)
    classifier = quick().fit(X, y)
    expected = classifier.predict_dirichlet(X)
    classifier.save(tmp_path / "model.dgp")
    loaded = DirichletGPClassifier.load(tmp_path / "model.dgp")
    np.testing.assert_array_equal(loaded.predict_dirichlet(X), expected)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(classifier)).predict_dirichlet(X), expected
    )


@pytest.mark.parametrize("name", ["two_classes", "matern12_minmax", "given_points"])
def test_files_of_earlier_versions_have_intervals_from_their_class_statistics(name):
    classifier = DirichletGPClassifier.load(FILES / f"{name}.dgp")
    with np.load(FILES / "expected.npz", allow_pickle=False) as file:
        X = file["new"]
    probabilities = classifier.predict_proba(X)
    lower, upper = classifier.predict_interval(X)
    assert np.all((lower <= probabilities + 2e-4) & (probabilities <= upper + 2e-4))
    assert np.all(upper - lower > 1e-6)


def test_beliefs_from_class_statistics_resemble_those_from_rows():
    X, y, _ = problem(400, slope=1.0)
    classifier = quick().fit(X, y)
    model = classifier._result.model
    worth = classifier.predict_dirichlet(X).sum(axis=1)
    classifier._result = replace(classifier._result, model=replace(model, beliefs=None))
    without = classifier.predict_dirichlet(X).sum(axis=1)
    assert 0.5 < np.median(without / worth) < 2.0


def test_files_with_impossible_beliefs_are_refused(tmp_path):
    X, y, _ = problem(120)
    classifier = quick().fit(X, y)
    model = classifier._result.model
    wrong = replace(model.beliefs, settings=-model.beliefs.settings)
    classifier._result = replace(classifier._result, model=replace(model, beliefs=wrong))
    classifier.save(tmp_path / "model.dgp")
    with pytest.raises(ValueError, match="beliefs"):
        DirichletGPClassifier.load(tmp_path / "model.dgp")
