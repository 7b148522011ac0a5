"""What the likelihood of labels adds to the means: equal to dense forms, honest when left out."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import referee
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.correction import Correction
from dirichletgp._gp.core.probabilities.softmax import class_probabilities
from dirichletgp._gp.core.regressions import Posterior, make_basis
from dirichletgp._gp.rows.in_memory import FOLDS, Chunk, folds_of
from dirichletgp._gp.training import likelihood
from dirichletgp._gp.training.fitted import Model
from dirichletgp._gp.training.log_odds import main_directions, predicted
from dirichletgp.metrics import mean_negative_log_likelihood

SETTINGS = {"n_inducing": 60, "max_iter": 10, "random_state": 0}


def steep(n, n_classes=2, seed=0):
    """Classes that meet in curves, with labels that are never wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    angle = X[:, 0] + np.sin(2.0 * X[:, 1])
    return X, np.digitize(angle, np.quantile(angle, np.arange(1, n_classes) / n_classes))


@pytest.fixture(scope="module")
def corrected():
    X, y = steep(1_700)
    classifier = DirichletGPClassifier("rbf", **SETTINGS).fit(X, y)
    assert classifier._fitted.model.correction is not None
    return classifier, X, y


def model_and_rows(n_classes, workers, weighted=False, n=80):
    """A solved model of all rows, these, and what corrections follow from, in all directions."""
    p = referee.problem(n_classes, n=n, n_points=12, weighted=weighted)
    rows = referee.rows_of(p)
    basis = make_basis(p.kernel, p.Z, p.jitter)
    statistics = rows.class_statistics(basis, workers)
    model = Model(basis, p.jitter, statistics, p.transform, p.prior, p.alpha)
    model.prepared(1)
    directions = main_directions(statistics.grams.sum(axis=0) / p.kernel.variance)
    found = predicted(model, rows, directions, workers)
    return p, model, rows, likelihood._Evidence.of(model, rows, found, directions, workers)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_steps_end_where_the_penalised_likelihood_is_largest(n_classes, monkeypatch):
    monkeypatch.setattr(likelihood, "_LEAST_SHARE", 0.0)  # no row is passed by
    rng = np.random.default_rng(n_classes)
    features = rng.normal(size=(50, 4))
    log_p = np.log(rng.dirichlet(np.ones(n_classes), 50))
    codes, weights = rng.integers(0, n_classes, 50), rng.uniform(0.5, 2.0, 50)
    tau = 0.7

    def loss(flat):
        coefficients = flat.reshape(n_classes, 4)
        scores = log_p + features @ coefficients.T
        of_own = scores[np.arange(50), codes] - logsumexp(scores, axis=1)
        return -weights @ of_own + 0.5 * (coefficients**2).sum() / tau

    single = features.astype(np.float32)
    regression = likelihood._Regression(single, log_p, codes, weights)
    found = np.zeros((n_classes, 4))
    for _ in range(200):
        found = regression.after_step(found, tau)
    expected = minimize(loss, np.zeros(4 * n_classes), tol=1e-12).x.reshape(n_classes, 4)
    np.testing.assert_allclose(found, expected, atol=2e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_regressions_without_a_fold_are_those_of_the_other_rows(n_classes, weighted, workers):
    p, model, rows, fit = model_and_rows(n_classes, workers, weighted)
    inside = fit.fold == 2
    assert inside.any()
    assert not inside.all()
    others = rows.take(np.flatnonzero(~inside)).class_statistics(model.basis, workers)
    refitted = Posterior.from_statistics(others, p.kernel.variance, p.transform, p.prior, workers)
    vectors = model.basis.vectors(p.X)
    expected = refitted.mean(vectors) - model.posterior.mean(vectors)
    change = fit.features @ fit._change_without(inside).T
    np.testing.assert_allclose(change, expected, atol=1e-5 * np.abs(expected).max())


def test_a_correction_by_other_folds_hardly_knows_the_labels_of_a_fold(workers):
    """Regressions and corrections both forget them: what is left is of second order."""
    X, y = steep(600)
    rng = np.random.default_rng(0)
    fold = 3
    found = []
    kept = DirichletGPClassifier("rbf", **SETTINGS).fit(X, y)._fitted
    scaled = kept.encoder.scale(X)
    inside = folds_of(scaled) == fold
    other = np.where(inside & (rng.random(600) < 0.3), 1 - y, y)
    for labels in (y, other):
        rows = kept.encoder.rows(Chunk(X, labels, None)).take(np.arange(600))
        statistics = rows.class_statistics(kept.model.basis, workers)
        model = replace(kept.model, statistics=statistics, correction=None, solved=None)
        model.prepared(1)
        directions = main_directions(statistics.grams.sum(axis=0) / model.kernel.variance)
        features = predicted(model, rows, directions, workers)
        fit = likelihood._Evidence.of(model, rows, features, directions, workers)
        added = [fit.features[inside][:, -fit.n_directions :] @ _last(fit, k).T for k in (3, 5)]
        found.append(added)
    (without, by_all), (without_again, by_all_again) = found
    moved, knowing = np.abs(without_again - without), np.abs(by_all_again - by_all)
    assert moved.mean() < 0.25 * knowing.mean()


def _last(fit, fold):
    return list(fit.corrections(fold))[2]


def test_means_are_corrected_and_variances_are_not(corrected):
    classifier, X, _ = corrected
    model = classifier._fitted.model
    plain = model.solve(model.transform)
    vectors = model.basis.vectors(classifier._fitted.encoder.scale(X[:50]))
    mean, variance = model.posterior.latent(vectors)
    plain_mean, plain_variance = plain.latent(vectors)
    np.testing.assert_allclose(mean - plain_mean, vectors @ model.correction.shift.T, atol=1e-9)
    np.testing.assert_array_equal(variance, plain_variance)


def test_a_row_that_is_left_out_is_corrected_by_those_that_never_saw_it(corrected):
    classifier, X, y = corrected
    fitted = classifier._fitted
    model = fitted.model
    scaled = fitted.encoder.scale(X)
    vectors, fold = model.basis.vectors(scaled), folds_of(scaled)
    plain = model.solve(model.transform)
    mean, variance = plain.latent_without_row(vectors, y, None)
    mean += np.einsum("nm,ncm->nc", vectors, model.correction.of_folds[fold])
    np.testing.assert_allclose(
        classifier.loo_proba(X, y), class_probabilities(mean, variance), atol=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 5])
def test_labels_without_noise_are_predicted_better_and_leave_one_out_knows(n_classes, monkeypatch):
    X, y = steep(3_500, n_classes)
    train, test = slice(0, 1_700), slice(1_700, None)
    losses = {}
    for name in ("corrected", "plain"):
        classifier = DirichletGPClassifier("rbf", **SETTINGS).fit(X[train], y[train])
        assert (classifier._fitted.model.correction is not None) == (name == "corrected")
        losses[name] = [
            mean_negative_log_likelihood(y[test], classifier.predict_proba(X[test])),
            mean_negative_log_likelihood(y[train], classifier.loo_proba(X[train], y[train])),
        ]
        monkeypatch.setattr(likelihood, "_WORTHWHILE", np.inf)
    (test_loss, left_out), (plain_test, plain_left_out) = losses["corrected"], losses["plain"]
    assert test_loss < 0.97 * plain_test
    # Left-out rows promise no more than new ones keep.
    assert test_loss / plain_test - 0.06 < left_out / plain_left_out < 1.0


def test_nothing_is_corrected_where_labels_are_noise_or_the_transform_is_the_papers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    with pytest.warns(RuntimeWarning, match="frequencies"):
        noise = DirichletGPClassifier("rbf", **SETTINGS).fit(X, y)
    X, y = steep(300)
    papers = DirichletGPClassifier("rbf", label_transform="dirichlet", **SETTINGS).fit(X, y)
    assert noise._fitted.model.correction is None
    assert papers._fitted.model.correction is None


def test_rows_that_are_all_there_twice_are_corrected_as_once(corrected):
    classifier, X, y = corrected
    kept = {
        "inducing": classifier.inducing_points_,
        "lengthscale": classifier.lengthscale_,
        "variance": classifier.variance_,
        "max_iter": 0,
        "random_state": 0,
    }
    shifts = []
    for weight in (1.0, 2.0):
        again = DirichletGPClassifier("rbf", **kept).fit(X, y, np.full(len(y), weight))
        shifts.append(again._fitted.model.correction.shift)
    np.testing.assert_allclose(*shifts, atol=0.02 * np.abs(shifts[0]).max())


def test_a_correction_goes_with_the_model(corrected, tmp_path):
    classifier, X, y = corrected
    classifier.save(tmp_path / "model.dgp")
    classifier.save(tmp_path / "compact.dgp", compact=True)
    again = [
        DirichletGPClassifier.load(tmp_path / "model.dgp"),
        pickle.loads(pickle.dumps(classifier)),
    ]
    for other in again:
        np.testing.assert_allclose(
            other.predict_proba(X), classifier.predict_proba(X), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            other.loo_proba(X, y), classifier.loo_proba(X, y), rtol=0, atol=1e-12
        )
    compact = DirichletGPClassifier.load(tmp_path / "compact.dgp")
    assert np.abs(compact.predict_proba(X) - classifier.predict_proba(X)).max() < 3e-4


def test_a_stream_keeps_the_correction_and_a_new_class_is_not_corrected(corrected):
    classifier, X, _ = corrected
    stream = pickle.loads(pickle.dumps(classifier))
    more, labels = steep(60, seed=1)
    stream.partial_fit(more, labels)
    stream.forget(more, labels)
    np.testing.assert_allclose(stream.predict_proba(X), classifier.predict_proba(X), atol=1e-8)
    stream.partial_fit(more, np.where(labels == 1, 7, labels), classes=[0, 1, 7])
    correction = stream._fitted.model.correction
    np.testing.assert_array_equal(correction.shift[:2], classifier._fitted.model.correction.shift)
    assert not correction.shift[2].any()
    assert correction.of_folds.shape[:2] == (FOLDS, 3)


def test_corrections_of_folds_go_to_the_rows_of_folds():
    rng = np.random.default_rng(0)
    correction = Correction(rng.normal(size=(2, 4)), rng.normal(size=(FOLDS, 2, 4)), 9.0)
    vectors, fold = rng.normal(size=(9, 4)), rng.integers(0, FOLDS, 9)
    expected = [correction.of_folds[k] @ v for k, v in zip(fold, vectors, strict=True)]
    np.testing.assert_allclose(correction.without_fold(vectors, fold), expected)


@pytest.mark.parametrize("n_classes", [3, 26])
def test_a_step_is_not_too_long_where_two_of_many_classes_are_in_doubt(n_classes):
    p = np.full((400, n_classes), 1e-9)
    p[:, :2] = 0.5
    codes = (np.arange(400) % 20 < 7).astype(int)
    features = np.ones((400, 1), dtype=np.float32)
    regression = likelihood._Regression(features, np.log(p), codes, np.ones(400))
    log_odds, found = [], np.zeros((n_classes, 1))
    for tau in likelihood._TAUS:
        found = regression.after_step(found, tau)
        log_odds.append(found[0, 0] - found[1, 0])
    assert log_odds == sorted(log_odds)
    assert log_odds[-1] == pytest.approx(np.log(13 / 7), rel=0.01)


@pytest.mark.parametrize("settings", [{}, {"max_iter": 0, "lengthscale": 1.0, "variance": 9.0}])
def test_few_rows_of_streams_and_given_kernels_may_be_corrected_too(settings):
    X, y = steep(600)
    for call in ("fit", "partial_fit"):
        classifier = DirichletGPClassifier("rbf", random_state=0, **settings)
        getattr(classifier, call)(X, y)
        left_out = mean_negative_log_likelihood(y, classifier.loo_proba(X, y))
        assert left_out > mean_negative_log_likelihood(y, classifier.predict_proba(X))
        assert classifier.predict_set(X[:5], coverage=0.9).any(axis=1).all()


def test_separable_rows_do_not_make_a_model_infinitely_sure():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.repeat([0, 1], 150)
    X[:, 0] += 8.0 * y
    doubt = 1.0 - DirichletGPClassifier("rbf", **SETTINGS).fit(X, y).predict_proba(X).max(axis=1)
    assert 0.0003 < np.median(doubt) < 0.03  # around 1 / 300


def test_what_is_corrected_fades_with_the_rows_and_comes_back_with_them(corrected):
    classifier, X, _ = corrected
    correction = classifier._fitted.model.correction
    faded = pickle.loads(pickle.dumps(classifier)).decay(0.25)
    used = faded._fitted.model.posterior.correction
    np.testing.assert_allclose(used.shift, 0.25 * correction.shift)
    empty = pickle.loads(pickle.dumps(classifier)).decay(0.0)
    np.testing.assert_allclose(empty.predict_proba(X[:9]), 0.5, atol=0.01)
    again = empty.merge(classifier)
    np.testing.assert_allclose(again.predict_proba(X), classifier.predict_proba(X), atol=1e-8)


def test_imbalanced_rows_stay_calibrated_on_average():
    X, y = make_classification(2_000, 6, weights=[0.9], flip_y=0.05, random_state=0)
    classifier = DirichletGPClassifier("rbf", **SETTINGS).fit(X, y)
    assert classifier.loo_proba(X, y)[:, 1].mean() == pytest.approx(y.mean(), rel=0.05)
