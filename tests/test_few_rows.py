"""Few or noisy rows: no row explains itself alone, and left-out predictions are honest."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.probabilities.softmax import log_probability_of
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.training.few_rows import fold_of_each_row
from dirichletgp._gp.training.fitted import fingerprints
from dirichletgp._gp.training.plain_models import plain_losses


def linear_problem(n, d, draw):
    rng = np.random.default_rng(draw)
    weights = rng.standard_normal(d)
    weights *= 2.0 / np.linalg.norm(weights)
    X, X_test = rng.standard_normal((n, d)), rng.standard_normal((3_000, d))
    y, y_test = (rng.random(len(rows)) < expit(rows @ weights) for rows in (X, X_test))
    return X, y.astype(int), X_test, y_test.astype(int)


def loss(probabilities, y):
    return -np.log(probabilities[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize(("n", "d", "draw"), [(100, 2, 1), (300, 5, 1), (300, 10, 0), (300, 10, 1)])
def test_a_linear_problem_costs_little_more_than_a_linear_model(n, d, draw):
    X, y, X_test, y_test = linear_problem(n, d, draw)
    ours = DirichletGPClassifier(random_state=0).fit(X, y).predict_proba(X_test)
    linear = LogisticRegression().fit(X, y).predict_proba(X_test)
    assert loss(ours, y_test) < loss(linear, y_test) + 0.02


@pytest.mark.filterwarnings("ignore:Rows left out:RuntimeWarning")
@pytest.mark.parametrize("draw", range(3))
def test_labels_without_meaning_are_predicted_as_such(draw):
    rng = np.random.default_rng(draw)
    X, y = rng.standard_normal((100, 5)), rng.integers(0, 2, 100)
    classifier = DirichletGPClassifier(random_state=0).fit(X, y)
    X_test, y_test = rng.standard_normal((3_000, 5)), rng.integers(0, 2, 3_000)
    assert loss(classifier.predict_proba(X_test), y_test) < np.log(2) + 0.02


def test_a_model_no_better_than_frequencies_says_so():
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    X[1::2] = X[::2]  # every row has a twin of the other class
    with pytest.warns(RuntimeWarning, match="class frequencies") as caught:
        classifier = DirichletGPClassifier(random_state=0).fit(X, y)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(classifier.predict_proba(X), 0.5, atol=1e-3)


@pytest.mark.parametrize("ard", [True, False])
def test_the_gradient_of_what_is_believed_of_a_kernel_equals_differences(ard):
    typical = KERNELS["rbf"](np.full(3, 2.0), 0.7, ard)
    lengthscale = np.array([1.3, 0.6, 3.0]) if ard else np.full(3, 1.3)
    kernel = KERNELS["rbf"](lengthscale, 1.2, ard)
    at = np.append(kernel.parameters, np.log(kernel.variance))

    def value(vector):
        moved = kernel.with_parameters(vector[:-1], float(np.exp(vector[-1])))
        return moved.belief(typical).value

    belief = kernel.belief(typical)
    numeric = [(value(at + e) - value(at - e)) / 2e-5 for e in 1e-5 * np.eye(len(at))]
    np.testing.assert_allclose([*belief.parameters, belief.log_variance], numeric, rtol=1e-6)


def test_folds_depend_on_the_rows_and_not_on_their_order():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    order = rng.permutation(60)
    fold = fold_of_each_row(InMemoryRows(X, codes, None, 3))
    shuffled = fold_of_each_row(InMemoryRows(X[order], codes[order], None, 3))
    np.testing.assert_array_equal(shuffled, fold[order])
    assert np.bincount(fold).tolist() == [15] * 4
    assert len(np.unique(fingerprints(X, codes))) == 60


def test_identical_rows_are_in_one_fold_whatever_their_class():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((30, 3)).repeat(2, axis=0), np.tile([0, 1], 30)
    fold = fold_of_each_row(InMemoryRows(X, codes, None, 2))
    np.testing.assert_array_equal(fold[::2], fold[1::2])
    assert np.bincount(fold).tolist() == [16, 16, 14, 14]


def test_left_out_predictions_survive_a_file(tmp_path):
    X, y, *_ = linear_problem(80, 3, 0)
    classifier = DirichletGPClassifier("rbf", random_state=0).fit(X, y)
    classifier.save(tmp_path / "few.dgp")
    again = DirichletGPClassifier.load(tmp_path / "few.dgp")
    np.testing.assert_array_equal(again.loo_proba(X, y), classifier.loo_proba(X, y))


def test_left_out_predictions_are_forgotten_when_rows_change():
    X, y, *_ = linear_problem(80, 3, 0)
    classifier = DirichletGPClassifier("rbf", random_state=0).fit(X, y)
    assert classifier._fitted.model.left_out is not None
    assert classifier.forget(X[:2], y[:2])._fitted.model.left_out is None


def test_what_was_asked_for_is_not_set_aside_for_a_plainer_model():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 2)), rng.integers(0, 2, 80)
    classifier = DirichletGPClassifier(alpha_epsilon=0.1, lengthscale=0.5, random_state=0)
    classifier.fit(X, y)
    assert classifier.alpha_epsilon_ == 0.1
    assert len(classifier.inducing_points_) == 80


def losses_of_plain_models(monkeypatch, mean):
    """Let plain models cost so much of left-out rows."""
    from dirichletgp._gp.training import schedule
    from dirichletgp._gp.training.plain_models import Loss

    said = {"a linear model": Loss(mean, 0.001), "the class frequencies": Loss(0.69, 0.001)}
    monkeypatch.setattr(schedule, "plain_losses", lambda *of: said)


@pytest.mark.parametrize("transform", ["learned", "dirichlet"])
def test_many_rows_that_a_plain_model_predicts_better_are_learned_again(monkeypatch, transform):
    X, y, *_ = linear_problem(1_600, 2, 0)
    make = DirichletGPClassifier(
        kernel="rbf", n_inducing=20, max_iter=3, label_transform=transform, random_state=0
    )
    once = make.fit(X, y).n_iter_
    losses_of_plain_models(monkeypatch, 0.1)
    if transform == "dirichlet":  # asked for, so it is not set aside
        assert make.fit(X, y).n_iter_ == once
        return
    with pytest.warns(RuntimeWarning, match=r"than by a linear model \(0\.1000\)") as caught:
        make.fit(X, y)
    assert caught[0].filename == __file__
    assert make.n_iter_ > once


@pytest.mark.parametrize("frequencies_do_as_well", [True, False])
def test_a_kernel_that_gave_up_on_noisy_labels_gives_way_to_a_typical_one(
    monkeypatch, frequencies_do_as_well
):
    from dirichletgp._gp.training import schedule
    from dirichletgp._gp.training.plain_models import FREQUENCIES, Loss

    def gives_up(trainer, state, max_iter):
        typical = trainer._typical_kernel(state.transform)
        return replace(state, kernel=typical.stretched(1e3, 1e-3), n_iter=state.n_iter + 1)

    monkeypatch.setattr(schedule.Trainer, "_searched", gives_up)
    # No better than the frequencies within two standard errors, or far better.
    loss = Loss(0.69, 1.0) if frequencies_do_as_well else Loss(9.0, 0.01)
    monkeypatch.setattr(schedule, "plain_losses", lambda *of: {FREQUENCIES: loss})
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_800, 2))
    p = 0.5 + 0.25 * np.sin(2 * X[:, 0])
    y = (rng.random(1_800) < p).astype(int)
    classifier = DirichletGPClassifier(kernel="rbf", n_inducing=20, max_iter=3, random_state=0)
    classifier.fit(X, y)
    error = np.abs(classifier.predict_proba(X)[:, 1] - p).mean()
    if frequencies_do_as_well:
        assert np.all(classifier.lengthscale_ < 10)
        assert error < 0.08
    else:
        assert np.all(classifier.lengthscale_ > 100)
        assert error > 0.12


def test_plain_models_of_left_out_rows_are_what_they_say():
    X, y, X_test, y_test = linear_problem(2_000, 3, 0)
    rows = InMemoryRows(X, y, None, 2)
    typical = KERNELS["rbf"](np.full(3, np.sqrt(3.0)), 0.9, False)
    with Workers(1) as workers:
        found = plain_losses(rows, typical, np.array([0.5, 0.5]), workers)
    linear = LogisticRegression().fit(X, y).predict_proba(X_test)
    assert found["a linear model"].mean == pytest.approx(loss(linear, y_test), abs=0.02)
    assert found["the class frequencies"].mean == pytest.approx(np.log(2), abs=0.001)


# How much of the log-odds is believed


def doubted(n_classes=2, n=50, seed=0):
    """Few rows, classes of different sizes, and labels that features tell little of."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    score = 2.0 * X[:, :1] * np.arange(n_classes) - 0.7 * np.arange(n_classes)
    y = (score + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    classifier = DirichletGPClassifier("rbf", random_state=0).fit(X, y)
    return classifier, X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_believed_share_scales_what_latents_depart_from_the_prior_by(n_classes):
    classifier, X, y = doubted(n_classes)
    model = classifier._fitted.model
    share = 0.6
    other = model.scaled(share)
    rows = classifier._fitted.encoder.scale(X)
    mean, variance = model.posterior.latent(model.basis.vectors(rows))
    smaller_mean, smaller_variance = other.posterior.latent(other.basis.vectors(rows))
    log_prior = np.log(model.prior) - np.log(model.prior).mean()
    centred = mean - mean.mean(axis=1, keepdims=True) - log_prior
    smaller = smaller_mean - smaller_mean.mean(axis=1, keepdims=True) - log_prior
    reach = 1e-7 * np.abs(centred).max()
    np.testing.assert_allclose(smaller, share * centred, atol=reach)
    np.testing.assert_allclose(smaller_variance, share**2 * variance, atol=1e-7 * variance.max())
    votes = np.eye(n_classes)[y]
    left_out = [
        m.posterior.latent_without_votes(m.basis.vectors(rows), votes) for m in (model, other)
    ]
    np.testing.assert_allclose(left_out[1][1], share**2 * left_out[0][1], rtol=1e-6)
    assert other.transform.believed == pytest.approx(share * model.transform.believed)


def test_what_is_believed_is_the_posterior_mean_of_the_share_unless_chance_gains_less():
    classifier, X, y = doubted()
    model = classifier._fitted.model
    kept, share = model.left_out, model.transform.believed
    assert 0.5 < share < 0.99
    # As it was before: everything believed.
    whole = model.scaled(1.0 / share)
    offsets = whole.transform.offsets(whole.prior)
    shares = np.linspace(0.0, 1.0, 21)
    keys, n = fingerprints(classifier._fitted.encoder.scale(X), y), len(y)
    codes = y[np.argsort(keys)]
    losses = []
    for s in shares:
        mean = offsets + s * (whole.left_out.mean - offsets)
        log_p = log_probability_of(codes, mean, s**2 * whole.left_out.variance)
        losses.append(-log_p.sum())
    losses = np.array(losses)
    prior = np.full(21, 0.8 / 21)
    prior[-1] += 0.2
    belief = prior * np.exp(losses.min() - losses)
    expected = shares @ belief / belief.sum()
    gain = losses[0] - losses[-1]
    expected = 1.0 - (1.0 - expected) * min(1.0, 10.0 / gain)
    assert share == pytest.approx(expected, abs=1e-4)
    assert len(kept.keys) == n


def test_of_rows_that_say_enough_everything_is_believed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = (X[:, 0] > 0).astype(int)
    classifier = DirichletGPClassifier("rbf", random_state=0).fit(X, y)
    assert classifier.label_transform_.believed == 1.0


@pytest.mark.filterwarnings("ignore:Rows left out:RuntimeWarning")
@pytest.mark.parametrize("seed", [6, 20, 21])
def test_fifty_rows_that_seem_to_say_something_by_chance_are_not_believed_wholly(seed):
    """Labels without meaning: what chance has gained is a few nats."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((50, 2)), rng.integers(0, 2, 50)
    classifier = DirichletGPClassifier(random_state=0).fit(X, y)
    model = classifier._fitted.model
    assert model.kernel.variance < 1e-6 or model.transform.believed < 0.95


def test_a_share_that_is_believed_survives_a_file_and_rows_that_come_and_go(tmp_path):
    classifier, X, y = doubted()
    p = classifier.predict_proba(X)
    classifier.save(tmp_path / "few.dgp")
    again = DirichletGPClassifier.load(tmp_path / "few.dgp")
    assert again.label_transform_ == classifier.label_transform_
    np.testing.assert_array_equal(again.predict_proba(X), p)
    moved = again.partial_fit(X[:7] + 0.1, y[:7]).predict_proba(X)
    assert np.abs(moved - p).max() > 1e-4
    np.testing.assert_allclose(again.forget(X[:7] + 0.1, y[:7]).predict_proba(X), p, atol=1e-9)


def test_the_bound_is_that_of_the_model_before_a_share_is_believed():
    model = doubted(3)[0]._fitted.model
    for share in (0.7, 0.3):
        assert model.scaled(share).bound == pytest.approx(model.bound, rel=1e-9)


def test_nothing_is_doubted_where_nothing_is_learned():
    X, y, *_ = linear_problem(60, 2, 1)
    classifier = DirichletGPClassifier("rbf", max_iter=0, random_state=0).fit(X, y)
    assert classifier.label_transform_.believed == 1.0
    own = DirichletGPClassifier("rbf", lengthscale=2.0, variance=1.5, max_iter=0).fit(X, y)
    assert own.variance_ == 1.5


def test_a_refreshed_model_begins_at_the_kernel_that_was_learned():
    """Not at the one whose variance is that of a share of the log-odds."""
    classifier, X, y = doubted()
    whole = copy.deepcopy(classifier)
    model = whole._fitted.model
    model = model.scaled(1.0 / model.transform.believed)
    whole._result = replace(whole._fitted, model=model)
    refreshed = [each.refresh(X, y) for each in (classifier, whole)]
    variances = [each.variance_ for each in refreshed]
    assert variances[0] == pytest.approx(variances[1], rel=1e-3)
    assert refreshed[0].label_transform_.believed == 1.0


def test_a_compact_model_believes_the_same_share():
    classifier, X, _ = doubted(3)
    p = classifier.predict_proba(X)
    np.testing.assert_allclose(classifier.compact().predict_proba(X), p, atol=1e-4)
