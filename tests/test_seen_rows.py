"""A fitted model knows its rows again: those it is tested on, and those it is to leave out."""

import warnings

import numpy as np
import pytest

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.training.remembered import SeenRows

NOT_THERE = "seem not to be rows that the model was fitted to"


def rows_and_codes(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


def counted(sentence):
    """The number of rows that a sentence names."""
    return int(sentence.removeprefix("about ").split()[0].replace(",", ""))


def test_marks_count_copies_and_strangers():
    X, codes = rows_and_codes(4_000)
    seen = SeenRows.of(X[:2_000], codes[:2_000])
    half = np.arange(1_000, 3_000)
    assert seen.about_copies(X[2_000:], codes[2_000:]) is None
    assert abs(counted(seen.about_copies(X[half], codes[half])) - 1_000) < 50
    assert seen.strangers(X[:2_000], codes[:2_000]) is None
    assert abs(counted(seen.strangers(X[half], codes[half]).said) - 1_000) < 50
    assert seen.strangers(X[:50], 1 - codes[:50]).said.startswith(("all", "about 4"))


def test_marks_of_very_many_rows_take_no_more_room_and_still_tell():
    X, codes = rows_and_codes(100_000)
    seen = SeenRows.of(X[:50_000], codes[:50_000])
    assert seen.marks.nbytes == SeenRows.of(X[:10], codes[:10]).marks.nbytes
    assert seen.share < 0.1
    assert seen.strangers(X[:50_000], codes[:50_000]) is None
    assert seen.about_copies(X[:50_000], codes[:50_000]) is not None
    assert seen.strangers(X[50_000:], codes[50_000:]).said.startswith(("all", "about 49"))
    assert seen.about_copies(X[50_000:], codes[50_000:]) is None


def test_rows_that_are_equal_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (600, 2)).astype(float)
    codes = rng.integers(0, 2, 600)
    assert SeenRows.of(X[:300], codes[:300]).about_copies(X[300:], codes[300:]) is None


def test_rounding_does_not_make_a_row_another():
    X, codes = rows_and_codes(200)
    seen = SeenRows.of(X, codes)
    assert seen.strangers(np.nextafter(X, 9.0), codes) is None
    assert seen.strangers(X.astype(np.float32), codes) is None


@pytest.fixture(scope="module")
def fitted():
    X, y = rows_and_codes(240)
    X[:, 0] += 2 * y
    classifier = DirichletGPClassifier("rbf", n_inducing=20, max_iter=2, random_state=0)
    return classifier.fit(X[:120], y[:120]), X, y


@pytest.mark.parametrize(
    "method",
    [
        lambda model, X, y: model.loo_proba(X, y),
        lambda model, X, y: model.label_issues(X, y),
        lambda model, X, y: model.threshold(X, y, recall=0.8),
        lambda model, X, y: model.loo_proba(X, np.eye(2)[y]),
    ],
    ids=["loo_proba", "label_issues", "threshold", "votes"],
)
def test_leaving_out_rows_that_were_never_there_is_warned_of(fitted, method):
    model, X, y = fitted
    with pytest.warns(UserWarning, match=NOT_THERE) as told:
        method(model, X[120:], y[120:])
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method(model, X[:120], y[:120])
        method(model, X[5:40], y[5:40])


def test_new_rows_may_choose_a_threshold_and_rows_without_weight_count_as_nothing(fitted):
    model, X, y = fitted
    model.threshold(X[120:], y[120:], recall=0.8, left_out=False)
    model.loo_proba(X, y, np.r_[np.ones(120), np.zeros(120)])


def test_training_rows_that_choose_a_threshold_as_new_ones_are_warned_of(fitted):
    model, X, y = fitted
    with pytest.warns(UserWarning, match="all 120 rows seem to be rows that the model was fitted"):
        model.threshold(X[:120], y[:120], recall=0.8, left_out=False)


def test_what_is_known_of_rows_is_in_the_file_and_gone_once_there_are_others(fitted, tmp_path):
    model, X, y = fitted
    model.save(tmp_path / "model.dgp")
    again = DirichletGPClassifier.load(tmp_path / "model.dgp")
    with pytest.warns(UserWarning, match=NOT_THERE):
        again.loo_proba(X[120:], y[120:])
    assert again.compact().rows_seen_in(X[:120], y[:120]).startswith("all 120 rows")
    again.partial_fit(X[120:], y[120:])
    again.loo_proba(X[120:], y[120:])
    assert again.rows_seen_in(X, y) is None
