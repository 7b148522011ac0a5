"""Rows that were seen before: the labels of their copies vote beside the model."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows.in_memory import are_often_copies, row_keys
from dirichletgp._gp.training.copies import Copies, learned_copies
from dirichletgp.metrics import mean_negative_log_likelihood


def group_bookings(n_groups=250, seed=0):
    """Rows of groups, all of a group alike: whether they cancel is nearly a matter of the group."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(n_groups, 3)).round(2)
    labels = rng.random(n_groups) < 1 / (1 + np.exp(-groups[:, 0]))
    of_row = np.repeat(np.arange(n_groups), rng.integers(1, 6, n_groups))
    rng.shuffle(of_row)
    labels = labels[of_row] ^ (rng.random(len(of_row)) < 0.03)
    return groups[of_row], labels.astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = group_bookings()
    quick = DirichletGPClassifier("rbf", n_inducing=20, max_iter=5, random_state=0)
    return quick.fit(X[:500], y[:500]), X, y


def model_alone(classifier):
    """The same classifier without what copies say."""
    from dataclasses import replace

    other = copy.deepcopy(classifier)
    other._result = replace(other._result, copies=None)
    return other


def test_copies_of_a_row_vote_beside_the_model(fitted):
    classifier, X, y = fitted
    copies = classifier._result.copies
    of_model = model_alone(classifier).predict_proba(X[500:])
    for row, p, found in zip(X[500:], of_model, classifier.predict_proba(X[500:]), strict=True):
        alike = (X[:500] == row).all(axis=1)
        votes = np.bincount(y[:500][alike], minlength=2)
        assert_allclose(found, (votes + copies.worth * p) / (votes.sum() + copies.worth))


def test_rows_of_known_groups_are_predicted_better_and_others_as_before(fitted):
    classifier, X, y = fitted
    alone = model_alone(classifier)
    new, labels = X[500:], y[500:]
    seen = np.isin(row_keys(new), row_keys(X[:500]))
    p, of_model = classifier.predict_proba(new), alone.predict_proba(new)
    assert_array_equal(p[~seen], of_model[~seen])
    loss = mean_negative_log_likelihood(labels[seen], p[seen])
    assert loss < 0.7 * mean_negative_log_likelihood(labels[seen], of_model[seen])


def test_logarithms_and_dirichlet_parameters_have_the_same_mean(fitted):
    classifier, X, _ = fitted
    p = classifier.predict_proba(X)
    assert_allclose(np.exp(classifier.predict_log_proba(X)), p, atol=1e-4)
    alpha = classifier.predict_dirichlet(X)
    assert_allclose(alpha / alpha.sum(axis=1, keepdims=True), p, atol=1e-4)
    lower, upper = classifier.predict_interval(X)
    assert np.all(lower <= p + 1e-4)
    assert np.all(p <= upper + 1e-4)
    # A label seen is a label known.
    of_model = model_alone(classifier).predict_dirichlet(X).sum(axis=1)
    votes = classifier._result.copies.of_rows(X).sum(axis=1)
    assert_allclose(alpha.sum(axis=1), of_model + votes)


def test_a_row_left_out_hears_its_other_copies_only(fitted):
    classifier, X, y = fitted
    X, y = X[:500], y[:500]
    alone = model_alone(classifier).loo_proba(X, y)
    votes = classifier._result.copies.of_rows(X)
    votes[np.arange(500), y] -= 1
    expected = classifier._result.copies.probabilities(alone, votes)
    assert_allclose(classifier.loo_proba(X, y), expected)
    single = votes.sum(axis=1) == 0
    assert_array_equal(classifier.loo_proba(X, y)[single], alone[single])


def test_left_out_loss_is_what_new_rows_lose(fitted):
    classifier, X, y = fitted
    left_out = mean_negative_log_likelihood(y[:500], classifier.loo_proba(X[:500], y[:500]))
    new = mean_negative_log_likelihood(y[500:], classifier.predict_proba(X[500:]))
    assert abs(left_out - new) < 0.1


def test_copies_that_say_no_more_than_the_model_are_not_kept():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (600, 1)).astype(float)
    y = (rng.random(600) < 0.5).astype(int)
    noisy = DirichletGPClassifier("rbf", n_inducing=20, max_iter=5, random_state=0).fit(X, y)
    assert noisy._result.copies is None


def test_all_rows_several_times_are_no_copies():
    X, y = group_bookings(40)
    distinct, first = np.unique(X, axis=0, return_index=True)
    X, y = np.tile(distinct, (8, 1)), np.tile(y[first], 8)
    half = np.full((len(y), 2), 0.5)
    assert learned_copies(X, y, 2, lambda some: half[some]) is None


def test_a_row_that_was_drawn_several_times_has_no_copies():
    """Copies of a bootstrap agree always, and say nothing about new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.logistic(size=400) > 0).astype(int)
    drawn = rng.integers(0, 400, 900)
    quick = DirichletGPClassifier("rbf", n_inducing=20, max_iter=5, random_state=0)
    assert are_often_copies(X[drawn])
    assert quick.fit(X[drawn], y[drawn])._result.copies is None


def test_weights_are_no_copies():
    X, y = group_bookings()
    quick = DirichletGPClassifier("rbf", n_inducing=20, max_iter=2, random_state=0)
    assert quick.fit(X, y, np.ones(len(y)))._result.copies is not None
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    assert quick.fit(X, y, weights)._result.copies is None
    assert quick.set_params(label_transform="dirichlet").fit(X, y)._result.copies is None


def test_copies_are_ignored_if_asked_for():
    X, y = group_bookings()
    quick = DirichletGPClassifier("rbf", n_inducing=20, max_iter=5, random_state=0)
    assert quick.set_params(copies="ignore").fit(X, y)._result.copies is None
    with pytest.raises(ValueError, match="copies='no' is not known"):
        quick.set_params(copies="no").fit(X, y)


def test_a_label_that_a_row_never_had_cannot_be_forgotten(fitted):
    classifier, X, y = fitted
    copies = classifier._result.copies
    with pytest.raises(ValueError, match="never added with these labels"):
        copies.minus(np.repeat(X[:1], 9, axis=0), np.repeat(y[:1], 9), None)


def test_too_many_rows_to_remember_are_not_remembered(fitted, monkeypatch):
    classifier, X, _ = fitted
    before = classifier._result.copies
    monkeypatch.setattr("dirichletgp._gp.training.copies.MOST_VOTES", before.votes.size)
    after = before.plus(np.concatenate([X[:1], X[:1] + 99.0]), np.array([0, 0]), None)
    assert_array_equal(after.keys, before.keys)
    assert after.votes.sum() == before.votes.sum() + 1


def test_votes_of_one_side_only_are_given_up_by_a_merge(fitted):
    classifier, _, _ = fitted
    both = copy.deepcopy(classifier).merge(model_alone(classifier))
    assert both._result.copies is None


def test_streams_add_take_away_fade_and_merge_labels(fitted):
    classifier, X, y = fitted
    before = classifier._result.copies
    stream = copy.deepcopy(classifier).partial_fit(X[500:], y[500:])
    after = stream._result.copies
    assert after.votes.sum() == len(y)
    assert_array_equal(
        np.diag(after.of_rows(X[500:])[:, y[500:]]) >= np.diag(before.of_rows(X[500:])[:, y[500:]]),
        True,
    )
    stream.forget(X[500:], y[500:])
    assert_array_equal(stream._result.copies.keys, before.keys)
    assert_allclose(stream._result.copies.votes, before.votes)
    elsewhere = copy.deepcopy(classifier).decay(0)
    assert len(elsewhere._result.copies.keys) == 0
    elsewhere.partial_fit(X[500:], y[500:])
    merged = copy.deepcopy(classifier).merge(elsewhere)._result.copies
    assert_array_equal(merged.keys, after.keys)
    assert_allclose(merged.votes, after.votes)
    faded = copy.deepcopy(classifier).decay(0.5)._result.copies
    assert_allclose(faded.votes, 0.5 * before.votes)
    wider = stream.partial_fit(X[:1], [7], classes=[0, 1, 7])
    assert wider._result.copies.votes.shape[1] == 3
    assert_allclose(wider.predict_proba(X).sum(axis=1), 1.0)


def test_files_pickles_and_compact_models_keep_them(fitted, tmp_path):
    classifier, X, _ = fitted
    p = classifier.predict_proba(X)
    classifier.save(tmp_path / "groups.dgp")
    again = DirichletGPClassifier.load(tmp_path / "groups.dgp")
    assert_array_equal(again.predict_proba(X), p)
    assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict_proba(X), p)
    assert_allclose(classifier.compact().predict_proba(X), p, atol=1e-4)


def test_sets_hold_labels_as_often_as_they_promise(fitted):
    classifier, X, y = fitted
    sets = classifier.predict_set(X[500:], coverage=0.8)
    assert sets[np.arange(len(y) - 500), y[500:]].mean() > 0.7


def test_keys_tell_rows_apart_and_are_the_same_in_single_precision():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (5_000, 12)).astype(float)
    X[X == 2] = np.nan
    keys = row_keys(X)
    n_distinct = len(np.unique(np.nan_to_num(X, nan=9.0), axis=0))
    assert len(np.unique(keys)) == n_distinct
    assert_array_equal(row_keys(X.astype(np.float32)), keys)
    assert_array_equal(row_keys(-0.0 * X[:10]), row_keys(0.0 * X[:10]))
    assert are_often_copies(np.zeros((100, 2)))
    assert not are_often_copies(np.arange(200.0).reshape(100, 2))


def test_nobody_has_copies_among_no_rows():
    nobody = Copies(np.empty(0, dtype=np.uint64), np.empty((0, 2)), 1.0)
    assert_array_equal(nobody.of_rows(np.ones((3, 2))), np.zeros((3, 2)))
