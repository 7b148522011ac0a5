"""Sets that cover, decisions that cost least, thresholds that hold, labels that stand out."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import precision_score, recall_score

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.decisions.costs import cheapest
from dirichletgp._gp.decisions.thresholds import Reached, threshold_for
from dirichletgp._gp.training.remembered import SetScores, set_scores

FAST = {"kernel": "rbf", "n_inducing": 25, "max_iter": 3, "random_state": 0}


def moons(n=200, seed=0, noise=0.35):
    return make_moons(n, noise=noise, random_state=seed)


def covered(classifier, X, y, *args, **options):
    inside = classifier.predict_set(X, *args, **options)
    return inside[np.arange(len(y)), np.searchsorted(classifier.classes_, y)]


# Sets.


@pytest.mark.parametrize("n", [9, 10, 19, 57, 100])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_the_least_probability_is_the_order_statistic_of_split_conformal_sets(n, coverage):
    own = np.random.default_rng(n).uniform(size=n)
    scores = set_scores(own, np.zeros(n, dtype=int), np.ones(n), 2)
    rank = int(np.ceil((n + 1) * coverage - 1e-9))
    expected = -np.inf if rank > n else np.sort(own)[::-1][rank - 1]
    assert scores.least_probability(coverage) == expected


def test_many_scores_are_kept_as_few_and_sets_only_grow():
    rng = np.random.default_rng(0)
    own, codes = rng.uniform(size=20_000), rng.integers(0, 3, 20_000)
    kept = set_scores(own, codes, np.ones(20_000), 3)
    assert len(kept.probability) <= 1_002
    exact = np.sort(own)[int(np.floor(0.1 * 20_001)) - 1]
    assert exact - 0.005 < kept.least_probability(0.9) <= exact
    assert kept.mass.sum() == 20_000


def test_a_row_of_weight_two_counts_as_two_rows():
    own = np.array([0.1, 0.2, 0.3, 0.4])
    codes, weights = np.zeros(4, dtype=int), np.full(4, 2.0)
    once = set_scores(own, codes, np.ones(4), 2)
    twice = set_scores(own, codes, weights, 2)
    assert once.least_probability(0.5) == twice.least_probability(0.5)


def test_sets_cover_as_promised_and_hold_the_likeliest_class():
    X, y = moons(300)
    classifier = DirichletGPClassifier(**FAST).fit(X, y)
    X_test, y_test = moons(3_000, seed=1)
    for coverage in (0.8, 0.95):
        error = np.sqrt(coverage * (1 - coverage) * (1 / 300 + 1 / 3_000))
        bare = covered(classifier, X_test, y_test, coverage, allow_empty=True).mean()
        assert abs(bare - coverage) < 3 * error
        inside = classifier.predict_set(X_test, coverage)
        assert inside[np.arange(3_000), classifier.predict_proba(X_test).argmax(axis=1)].all()


def test_sets_by_class_cover_each_class():
    X, y = moons(1_200, noise=0.4)
    rare = np.flatnonzero((y == 0) | (np.arange(1_200) % 8 == 0))
    X, y = X[rare], y[rare]
    classifier = DirichletGPClassifier(**FAST).fit(X[::2], y[::2])
    together = covered(classifier, X[1::2], y[1::2], 0.9)
    each = covered(classifier, X[1::2], y[1::2], 0.9, by_class=True)
    is_rare = y[1::2] == 1
    assert together[is_rare].mean() < 0.75
    assert each[is_rare].mean() > 0.8


def test_class_weights_do_not_change_what_is_promised():
    X, y = moons(1_000, noise=0.4)
    keep = np.flatnonzero((y == 0) | (np.arange(1_000) % 8 == 0))
    X, y = X[keep], y[keep]
    classifier = DirichletGPClassifier(class_weight="balanced", **FAST).fit(X[::2], y[::2])
    assert covered(classifier, X[1::2], y[1::2], 0.9, allow_empty=True).mean() > 0.85
    assert classifier._fitted.scores.mass.sum() == pytest.approx(len(y[::2]))


def test_too_few_rows_for_a_promise_give_all_classes():
    X, y = make_blobs(8, centers=2, random_state=0)
    classifier = DirichletGPClassifier(**(FAST | {"max_iter": 0})).fit(X, y)
    assert classifier.predict_set(X, 0.95).all()


def test_sets_survive_files_and_pickles(tmp_path):
    X, y = moons()
    classifier = DirichletGPClassifier(**FAST).fit(X, y)
    classifier.save(tmp_path / "model.dgp")
    for again in (
        DirichletGPClassifier.load(tmp_path / "model.dgp"),
        pickle.loads(pickle.dumps(classifier)),
    ):
        assert np.array_equal(again.predict_set(X, 0.8), classifier.predict_set(X, 0.8))


def test_sets_say_when_they_cannot_promise():
    X, y = moons()
    classifier = DirichletGPClassifier(**FAST).fit(X[:150], y[:150])
    classifier.predict_set(X)
    classifier.partial_fit(X[150:], y[150:])
    with pytest.warns(UserWarning, match="cannot promise its coverage"):
        classifier.predict_set(X)
    classifier.partial_fit(X[:1], [y[0]], classes=[0, 1, 2])
    with pytest.warns(UserWarning, match="cannot promise"):
        assert classifier.predict_set(X, by_class=True)[:, 2].all()


def test_models_of_earlier_versions_have_no_scores():
    with pytest.raises(ValueError, match=r"coverage=1\.5 is not valid"):
        DirichletGPClassifier(**FAST).fit(*moons()).predict_set(moons()[0], 1.5)
    path = "tests/files/two_classes.dgp"
    classifier = DirichletGPClassifier.load(path)
    X = np.zeros((1, classifier.n_features_in_))
    with pytest.raises(ValueError, match="saved by an earlier version"):
        classifier.predict_set(X)


def test_scores_follow_classes_that_are_put_in_between():
    scores = SetScores(np.array([0.5, 0.7]), np.array([0, 1]), np.ones(2), np.array([1.0, 1, 2]))
    recoded = scores.recoded(np.array([0, 2]), 3)
    assert recoded.code.tolist() == [0, 2]
    assert recoded.effective.tolist() == [1.0, 0.0, 1.0, 2.0]


# Decisions.


def test_a_decision_has_the_least_expected_cost():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=50)
    costs = rng.uniform(0, 4, size=(3, 3))
    classes = np.array(["a", "b", "c"])
    decision = cheapest(p, classes, costs, None)
    for row, label, cost in zip(p, decision.labels, decision.cost, strict=True):
        expected = [sum(row[i] * costs[i, j] for i in range(3)) for j in range(3)]
        assert label == classes[int(np.argmin(expected))]
        assert cost == pytest.approx(min(expected))
    assert not decision.declined.any()


def test_declining_is_chosen_exactly_where_it_is_cheaper():
    X, y = moons()
    classifier = DirichletGPClassifier(**FAST).fit(X, y)
    costs = [[0, 10], [1, 0]]
    free, able = classifier.decide(X, costs), classifier.decide(X, costs, decline=0.3)
    assert np.array_equal(able.declined, free.cost > 0.3)
    np.testing.assert_allclose(able.cost, np.minimum(free.cost, 0.3))
    plain = classifier.decide(X, 1 - np.eye(2))
    assert np.array_equal(plain.labels, classifier.predict(X))


def test_costs_that_are_none_are_refused():
    X, y = moons()
    classifier = DirichletGPClassifier(**FAST).fit(X, y)
    with pytest.raises(ValueError, match=r"costs has shape \(2,\)"):
        classifier.decide(X, [0, 1])
    with pytest.raises(ValueError, match="decline='no' is not valid"):
        classifier.decide(X, 1 - np.eye(2), decline="no")
    with pytest.raises(ValueError, match=r"decline=-1 is not valid: .* less than nothing"):
        classifier.decide(X, 1 - np.eye(2), decline=-1)
    assert classifier.decide(X, 1 - np.eye(2), decline=0).cost.max() == 0.0


# Thresholds.


@pytest.mark.parametrize(
    ("target", "score"), [("precision", precision_score), ("recall", recall_score)]
)
def test_a_threshold_reaches_its_target_and_the_next_one_does_not(target, score):
    rng = np.random.default_rng(3)
    p = rng.uniform(size=400).round(2)
    event = rng.uniform(size=400) < p
    reached = Reached.of(p, event, None)
    found = threshold_for(reached, target, 0.85, 0.95)
    assert score(event, p >= found.value) >= 0.85
    assert getattr(found, target) == pytest.approx(score(event, p >= found.value))
    others = np.unique(p)
    further = (
        others[others < found.value] if target == "precision" else others[others > found.value]
    )
    assert all(score(event, p >= value) < 0.85 for value in further)
    low, high = getattr(found, f"{target}_interval")
    assert low < getattr(found, target) < high
    assert found.value_interval[0] <= found.value <= found.value_interval[1]


@pytest.mark.parametrize("wanted", [0.9, 0.99, 0.999])
def test_where_a_recall_is_not_sure_at_any_threshold_the_interval_begins_at_zero(wanted):
    rng = np.random.default_rng(3)
    p = rng.uniform(size=60)
    reached = Reached.of(p, rng.uniform(size=60) < p, None)
    found = threshold_for(reached, "recall", wanted, 0.95)
    low, high = found.value_interval
    assert low <= found.value <= high <= 1.0
    assert (low == 0.0) == (wanted > 0.9)


def test_thresholds_from_left_out_rows_hold_on_new_rows():
    X, y = moons(600)
    classifier = DirichletGPClassifier(**FAST).fit(X, y)
    found = classifier.threshold(X, y, recall=0.9, label=0)
    X_test, y_test = moons(3_000, seed=2)
    taken = classifier.predict_proba(X_test)[:, 0] >= found.value
    low, high = found.recall_interval
    assert low - 0.02 < taken[y_test == 0].mean() < high + 0.02


def test_a_target_out_of_reach_is_an_infinite_threshold():
    reached = Reached.of(np.array([0.9, 0.5]), np.array([False, True]), None)
    assert threshold_for(reached, "precision", 0.9, 0.95).value == np.inf
    with pytest.raises(ValueError, match="pass one of the two"):
        DirichletGPClassifier(**FAST).fit(*moons()).threshold(*moons())


# Labels.


def test_flipped_labels_come_first_with_what_they_should_be():
    X, y = make_blobs(240, centers=[[0, 0], [8, 0], [0, 8]], random_state=4)
    names = np.array(["red", "green", "blue"])
    flipped = np.arange(0, 240, 24)
    noisy = y.copy()
    noisy[flipped] = (y[flipped] + 1) % 3
    classifier = DirichletGPClassifier(**FAST).fit(X, names[noisy])
    issues = classifier.label_issues(X, names[noisy])
    assert set(issues.rows[:10]) == set(flipped)
    right = names[y[issues.rows[:10]]]
    assert np.array_equal(issues.suggested[:10], right)
    assert np.array_equal(issues.given, names[noisy[issues.rows]])
    assert np.all(np.diff(issues.probability) >= 0)
    p = classifier.loo_proba(X, names[noisy])
    own = p[np.arange(240), np.searchsorted(classifier.classes_, names[noisy])]
    np.testing.assert_array_equal(issues.quality, own)
    assert len(issues.as_dict()["rows"]) == len(issues)


def test_what_is_expected_by_chance_is_that_of_single_labels_and_unknown_for_votes():
    X, y = moons()
    classifier = DirichletGPClassifier(**FAST).fit(X, y)
    issues = classifier.label_issues(X, y)
    assert issues.expected == pytest.approx(np.sum(1 - classifier.loo_proba(X, y).max(axis=1)))
    voted = classifier.label_issues(X, 3 * np.eye(2)[y])
    assert voted.voted
    assert np.isnan(voted.expected)


def test_a_row_is_shown_with_its_double_that_says_otherwise():
    X, y = make_blobs(100, centers=2, random_state=4)
    X = np.concatenate([X, X[:1] + 1e-6])
    y = np.append(y, 1 - y[0])
    classifier = DirichletGPClassifier(**FAST).fit(X, y)
    issues = classifier.label_issues(X, y)
    assert issues.rows[0] == 100
    assert issues.twin[0] == 0 or np.linalg.norm(X[issues.twin[0]] - X[100]) < 0.2
