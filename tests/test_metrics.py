import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from dirichletgp.metrics import (
    classwise_calibration_error,
    error_rate,
    expected_calibration_error,
    mean_negative_log_likelihood,
    reliability_curve,
)

SCORES = [
    expected_calibration_error,
    classwise_calibration_error,
    mean_negative_log_likelihood,
    error_rate,
]
STRATEGIES = ["uniform", "quantile"]
CONFIDENCES = ["mean", "midpoint"]
BINNED = [expected_calibration_error, classwise_calibration_error]


def plain_ece(y, prob, n_bins=10, midpoint=False):
    """Row by row and bin by bin, straight from the definition."""
    confidence = [max(row) for row in prob]
    correct = [list(row).index(max(row)) == label for row, label in zip(prob, y, strict=True)]
    total = 0.0
    for b in range(n_bins):
        low, high = np.linspace(0, 1, n_bins + 1)[[b, b + 1]]
        members = [i for i, c in enumerate(confidence) if low < c <= high]
        if members:
            accuracy = sum(correct[i] for i in members) / len(members)
            mean = sum(confidence[i] for i in members) / len(members)
            total += len(members) * abs(accuracy - ((low + high) / 2 if midpoint else mean))
    return total / len(y)


@st.composite
def predictions(draw, min_rows=1):
    """Labels 0..C-1 and probabilities, with ties and certainties among them."""
    n_classes = draw(st.integers(2, 5))
    n = draw(st.integers(min_rows, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    prob = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.05, 1.0, 10.0]))), size=n)
    if draw(st.booleans()):
        prob = np.round(prob, 1)
        prob[:, 0] += 1 - prob.sum(axis=1)
        prob = np.clip(prob, 0, 1) / np.clip(prob, 0, 1).sum(axis=1, keepdims=True)
    return rng.integers(n_classes, size=n), prob, rng


def calibrated_sample(n, n_classes=3, seed=0):
    """Labels drawn from the very probabilities that are predicted."""
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.ones(n_classes), size=n)
    y = (prob.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
    return np.minimum(y, n_classes - 1), prob


@given(predictions())
def test_ece_is_its_definition(case):
    y, prob, _ = case
    labels = np.arange(prob.shape[1])
    for confidence in CONFIDENCES:
        got = expected_calibration_error(y, prob, labels=labels, confidence=confidence)
        assert_allclose(got, plain_ece(y, prob, midpoint=confidence == "midpoint"), atol=1e-12)


@given(predictions(), st.sampled_from(STRATEGIES), st.sampled_from(CONFIDENCES))
def test_calibration_errors_lie_between_zero_and_one(case, strategy, confidence):
    y, prob, _ = case
    options = {"labels": np.arange(prob.shape[1]), "strategy": strategy, "confidence": confidence}
    for score in BINNED:
        assert -1e-12 <= score(y, prob, **options) <= 1 + 1e-12


@given(predictions())
def test_the_order_of_the_rows_does_not_matter(case):
    y, prob, rng = case
    order = rng.permutation(len(y))
    for score in SCORES:
        labels = np.arange(prob.shape[1])
        assert_allclose(
            score(y[order], prob[order], labels=labels), score(y, prob, labels=labels), atol=1e-12
        )


@given(predictions(), st.sampled_from(STRATEGIES), st.sampled_from(CONFIDENCES))
def test_a_whole_weight_is_a_repeated_row_and_weight_zero_is_no_row(case, strategy, confidence):
    y, prob, rng = case
    weight = rng.integers(0, 4, size=len(y))
    weight[0] += 1
    binning = {"strategy": strategy, "confidence": confidence}
    for score in SCORES:
        options = {"labels": np.arange(prob.shape[1])} | (binning if score in BINNED else {})
        weighted = score(y, prob, sample_weight=weight, **options)
        repeated = score(np.repeat(y, weight), np.repeat(prob, weight, axis=0), **options)
        assert_allclose(weighted, repeated, atol=1e-12)


@given(predictions(), st.sampled_from(STRATEGIES))
def test_the_bins_share_out_all_rows(case, strategy):
    y, prob, _ = case
    curve = reliability_curve(y, prob, strategy=strategy, labels=np.arange(prob.shape[1]))
    assert_allclose(curve.mass.sum(), 1)
    assert len(curve.bin_edges) == len(curve.mass) + 1
    assert_array_equal(np.isnan(curve.accuracy), curve.mass == 0)
    # What the bins hold together is what there is: nothing is lost on an edge.
    held = curve.mass > 0
    assert_allclose(curve.mass[held] @ curve.confidence[held], prob.max(axis=1).mean())
    assert_allclose(curve.mass[held] @ curve.accuracy[held], np.mean(prob.argmax(axis=1) == y))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labels_drawn_from_the_predictions_have_almost_no_calibration_error(strategy):
    y, prob = calibrated_sample(100_000)
    for score in BINNED:
        assert score(y, prob, strategy=strategy) < 0.01


def test_overconfidence_shows():
    y, prob = calibrated_sample(20_000)
    sharper = prob**3 / (prob**3).sum(axis=1, keepdims=True)
    for score in BINNED:
        assert score(y, sharper) > 0.08


def test_with_midpoints_a_perfect_predictor_that_is_999_in_1000_sure_scores_0_049():
    y = np.r_[np.zeros(999, int), 1]
    prob = np.tile([0.999, 0.001], (1000, 1))
    assert_allclose(expected_calibration_error(y, prob, confidence="midpoint"), 0.049)
    assert_allclose(expected_calibration_error(y, prob, confidence="mean"), 0, atol=1e-12)


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    curve = reliability_curve([0, 1, 1, 1], [0.0, 0.5, 0.75, 1.0], n_bins=2, pos_label=1)
    assert_array_equal(curve.mass, [0.5, 0.5])


def test_the_curve_of_one_class_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    prob = rng.uniform(size=1000)
    y = (rng.uniform(size=1000) < prob**2).astype(int)
    curve = reliability_curve(y, prob, pos_label=1)
    accuracy, confidence = calibration_curve(y, prob, n_bins=10)
    assert_allclose(curve.accuracy, accuracy)
    assert_allclose(curve.confidence, confidence)


def test_equal_mass_bins_have_equal_mass_without_ties_and_merge_with_them():
    rng = np.random.default_rng(2)
    prob = rng.uniform(size=1000)
    y = rng.integers(2, size=1000)
    curve = reliability_curve(y, prob, strategy="quantile", pos_label=1)
    assert_allclose(curve.mass, 0.1)
    tied = reliability_curve(y, np.full(1000, 0.3), strategy="quantile", pos_label=1)
    assert_array_equal(tied.mass, [1.0])
    assert_allclose(tied.confidence, [0.3])


def test_class_wise_error_is_the_mean_over_one_class_against_the_rest():
    y, prob = calibrated_sample(500)
    per_class = classwise_calibration_error(y, prob, per_class=True)
    rest = [reliability_curve(y, prob, pos_label=c).calibration_error for c in range(3)]
    assert_allclose(per_class, rest)
    assert_allclose(classwise_calibration_error(y, prob), np.mean(rest))


@given(predictions())
def test_mnll_is_the_log_loss_where_no_probability_vanishes(case):
    y, prob, rng = case
    prob = 0.9 * prob + 0.1 / prob.shape[1]
    prob /= prob.sum(axis=1, keepdims=True)
    labels = np.arange(prob.shape[1])
    weight = rng.uniform(0.1, 2, size=len(y))
    got = mean_negative_log_likelihood(y, prob, labels=labels, sample_weight=weight)
    assert_allclose(got, log_loss(y, prob, labels=labels, sample_weight=weight))


def test_mnll_takes_small_probabilities_as_they_are_and_charges_zero_a_finite_price():
    tiny = 1e-300
    got = mean_negative_log_likelihood([0, 1], [[tiny, 1.0], [0.0, 1.0]])
    assert_allclose(got, -np.log(tiny) / 2)
    impossible = mean_negative_log_likelihood([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    assert_allclose(impossible, -np.log(np.nextafter(0, 1)) / 2)


def test_a_vector_is_the_probability_of_the_second_class():
    y = np.array(["no", "yes", "yes", "no"])
    prob = np.array([0.2, 0.8, 0.4, 0.6])
    for score in SCORES:
        assert_allclose(score(y, prob), score(y, np.column_stack([1 - prob, prob])))


def test_the_error_rate_is_the_same_from_labels_and_from_probabilities():
    y, prob = calibrated_sample(300)
    names = np.array(["a", "b", "c"])
    assert error_rate(names[y], names[prob.argmax(axis=1)]) == error_rate(names[y], prob)
    # A predicted class that no true label shows is an error, not a complaint.
    assert error_rate([0, 0, 1, 1], [0, 2, 1, 1]) == 0.25


def test_columns_follow_labels_in_any_order():
    y, prob = calibrated_sample(300)
    for score in SCORES:
        assert_allclose(score(y, prob[:, [2, 0, 1]], labels=[2, 0, 1]), score(y, prob))


@pytest.mark.parametrize("frame", [pd, pl])
@settings(max_examples=10)
@given(case=predictions(min_rows=2))
def test_data_frames_give_what_arrays_give(frame, case):
    y, prob, _ = case
    y[:2] = [0, 1]
    y = y % 2
    prob = np.column_stack([prob[:, 0], 1 - prob[:, 0]])
    names = np.array(["low", "high"])[y]
    table = frame.DataFrame(prob) if frame is pd else pl.from_numpy(prob)
    for score in SCORES:
        assert score(frame.Series(names), table) == score(names, prob)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [[0.5, 0.3, 0.2]] * 2), {}, "3 columns but y_true holds 2 classes.*pass labels"),
        (([0, 1], [[0.5, 0.5]] * 2), {"labels": [0, 1, 2]}, "2 columns but labels names 3"),
        (([0, 1], [[0.5, 0.5]] * 2), {"labels": [1, 1]}, "every class once"),
        (([0, 3], [[0.5, 0.5]] * 2), {"labels": [0, 1]}, r"y_true holds \[3\]"),
        (([0, 1, 1], [[0.5, 0.5]] * 2), {}, "y_prob has 2 rows but y_true has 3"),
        (([0, 1], [0.5, 1.5]), {}, "between 0 and 1, found 1.5"),
        (([0, 1], [0.5, np.nan]), {}, "between 0 and 1, found nan"),
        (([0, 1], [[0.5, 0.4]] * 2), {}, "must sum to 1, row 0 sums to 0.9"),
        (([0, 1], [[0.5], [0.5]]), {}, r"shape \(2, 1\)"),
        (([0, 1], ["x", "y"]), {}, "y_prob must be an array of probabilities"),
        (([], []), {}, "at least one label"),
        (([0.0, np.nan], [0.5, 0.5]), {}, "y_true must hold only numbers or only strings"),
        ((np.array(["a", np.nan], object), [0.5, 0.5]), {}, "y_true must hold only numbers"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [1, -1]}, "sample_weight must be finite"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [0, 0]}, "sample_weight must be finite"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [1]}, r"sample_weight has shape \(1,\)"),
        (([0, 1], [0.5, 0.5]), {"n_bins": 0}, "n_bins must be a whole number"),
        (([0, 1], [0.5, 0.5]), {"strategy": "equal"}, "strategy must be"),
        (([0, 1], [0.5, 0.5]), {"confidence": "median"}, "confidence must be"),
        (([0, 1], [0.5, 0.5]), {"pos_label": 7}, "pos_label=7 is not one of"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        reliability_curve(*arguments, **options)


def test_labels_of_different_types_are_a_mistake_and_not_an_error_rate_of_one():
    with pytest.raises(ValueError, match="can never be equal"):
        error_rate(["a", "b"], [0, 1])
