"""Probabilities of latents, refereed by dense integrals that share none of the tricks."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.special import entr, logsumexp, ndtr, softmax

from dirichletgp._gp.core.probabilities.dirichlet import dirichlet_interval
from dirichletgp._gp.core.probabilities.softmax import (
    class_probabilities,
    log_class_probabilities,
    log_probability_of,
)
from dirichletgp._gp.core.probabilities.table import (
    STEP,
    excess_by_quadrature,
    far_excess,
    log_intensity,
)
from dirichletgp._gp.core.probabilities.tolerance import probabilities_within
from dirichletgp._gp.core.probabilities.uncertainty import (
    probability_interval,
    sample_probabilities,
    uncertainty,
)

# --- Referees ------------------------------------------------------------------------------------


def dense_log_probabilities(mean, variance):
    """One row: log of the integral of phi_i' prod_(j != i) phi_j, by nested trapezoids."""
    sigma = np.sqrt(variance)
    lowest = (mean - 2 * variance - 14 * sigma).max() - 8
    s = np.arange(lowest, (mean + variance / 2 + 10 * sigma).max() + 40, 0.25)
    log_phi, log_slope = np.empty((2, len(mean), len(s)))
    for j in range(len(mean)):
        y = np.linspace(-3 * sigma[j] - 14, sigma[j] + 12, int(150 + 120 * sigma[j]))
        x = mean[j] + sigma[j] * y - s[:, None]
        log_weight = np.log(y[1] - y[0]) - 0.5 * np.log(2 * np.pi) - y * y / 2
        log_term = log_weight - np.exp(np.minimum(x, 650.0))
        log_phi[j] = logsumexp(log_term, axis=1)
        log_slope[j] = logsumexp(log_term + x, axis=1)
    return logsumexp(log_slope - log_phi + log_phi.sum(axis=0), axis=1) + np.log(0.25)


def dense_two_class_log_probability(mean, variance):
    """log E[sigmoid(x)], x ~ N(mean, variance)."""
    sigma = np.sqrt(variance)
    y = np.linspace(-14, max(0.0, min(sigma, (14 - mean) / sigma)) + 14, 100_001)
    log_terms = -y * y / 2 - np.logaddexp(0, -mean - sigma * y)
    return logsumexp(log_terms) + np.log((y[1] - y[0]) / np.sqrt(2 * np.pi))


def three_class_expectation(function, mean, variance):
    """E[function(softmax(f))] on a grid over all three latents."""
    y = np.linspace(-7.5, 7.5, 61)
    weight = np.exp(-y * y / 2)
    grid = np.stack(np.meshgrid(y, y, y, indexing="ij"), axis=-1)
    weights = np.einsum("i,j,k->ijk", weight, weight, weight) / weight.sum() ** 3
    values = function(softmax(mean + np.sqrt(variance) * grid, axis=-1))
    return np.tensordot(weights, values, axes=3)


# --- Latents -------------------------------------------------------------------------------------


def extreme_latents(n, n_classes, seed):
    """Rows that mix tiny and huge variances, close and distant means."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(n, n_classes)) * rng.choice([1.0, 10.0, 60.0], size=(n, 1))
    variance = 10 ** rng.uniform(-8, 2, size=(n, n_classes))
    variance[n // 2 :: 2] = variance[n // 2 :: 2, :1]  # some rows with one variance for all
    return mean.clip(-200, 200), variance


def usual_latents(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=(n, n_classes)), rng.uniform(0.3, 3, size=(n, n_classes))


@st.composite
def latents(draw, min_classes=2, max_classes=6):
    shape = draw(st.tuples(st.integers(1, 12), st.integers(min_classes, max_classes)))
    mean = draw(hnp.arrays(float, shape, elements=st.floats(-200, 200)))
    log_variance = draw(hnp.arrays(float, shape, elements=st.floats(-8, 2)))
    none = draw(hnp.arrays(bool, shape))
    return mean, np.where(none, 0.0, 10**log_variance)


# --- Probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "n"), [(2, 40), (3, 20), (10, 10), (100, 2)])
def test_probabilities_equal_converged_integrals(n_classes, n):
    mean, variance = extreme_latents(n, n_classes, seed=n_classes)
    expected = np.array([dense_log_probabilities(*row) for row in zip(mean, variance, strict=True)])
    p, log_p = class_probabilities(mean, variance), log_class_probabilities(mean, variance)
    np.testing.assert_allclose(p, np.exp(expected), rtol=0, atol=1e-7)
    np.testing.assert_allclose(log_p, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("mean", "variance"),
    [
        ([200.0, -200.0, 0.0], [1e-8, 1e-8, 100.0]),
        ([200.0, -200.0, -180.0], [100.0, 1e-8, 100.0]),
        ([0.0, -150.0, -170.0], [0.5, 2.0, 1e-3]),
        ([0.0, -60.0, -60.0], [0.0, 100.0, 90.0]),
        ([0.0, -150.0, -200.0], [60.0, 60.0, 60.0]),
    ],
)
def test_far_tails_are_right_in_relative_terms(mean, variance):
    mean, variance = np.array([mean]), np.array([variance])
    expected = dense_log_probabilities(mean[0], variance[0])
    assert expected.min() < -15
    np.testing.assert_allclose(
        log_class_probabilities(mean, variance)[0], expected, rtol=0, atol=1e-6
    )


def test_tails_beyond_the_smallest_number_stay_finite():
    mean = np.array([[0.0, -900.0, -2000.0]])
    expected = mean + 0.5 * np.array([[0.0, 3.0, 2.0]])  # E[exp(f)]: nothing else is left
    log_p = log_class_probabilities(mean, np.array([[0.0, 3.0, 2.0]]))
    np.testing.assert_allclose(log_p[0, 1:], expected[0, 1:], rtol=0, atol=1e-6)


def test_three_classes_equal_brute_force():
    for mean, variance in zip(*usual_latents(5, 3), strict=True):
        expected = three_class_expectation(lambda pi: pi, mean, variance / 2)
        p = class_probabilities(mean[None], variance[None] / 2)[0]
        np.testing.assert_allclose(p, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("variance", [1e-8, 0.3, 6.0, 60.0, 200.0, 3_000.0])
@pytest.mark.parametrize("gap", [0.0, 1.5, 30.0, 390.0])
def test_two_classes_equal_the_dense_integral(gap, variance):
    log_p = log_class_probabilities(np.array([[gap, 0.0]]), np.array([[variance, 0.0]]))[0]
    expected = [dense_two_class_log_probability(m, variance) for m in (gap, -gap)]
    np.testing.assert_allclose(log_p, expected, rtol=0, atol=1e-8)


@given(latents(min_classes=2, max_classes=2))
@settings(max_examples=40, deadline=None)
def test_an_impossible_third_class_changes_nothing(pair):
    # ... but the formula: two classes use their own integral, three the race.
    mean, variance = pair
    lowest = mean.min(axis=1, keepdims=True) - 700.0
    three = np.hstack([mean, lowest]), np.hstack([variance, np.zeros_like(lowest)])
    two = log_class_probabilities(mean, variance)
    np.testing.assert_allclose(log_class_probabilities(*three)[:, :2], two, rtol=0, atol=1e-6)
    np.testing.assert_allclose(class_probabilities(*three)[:, :2], np.exp(two), rtol=0, atol=1e-7)


def test_without_variance_probabilities_are_the_softmax():
    mean = np.random.default_rng(0).uniform(-200, 200, size=(20, 7))
    np.testing.assert_allclose(
        class_probabilities(mean, np.zeros_like(mean)), softmax(mean, axis=1), atol=1e-8
    )


@pytest.mark.parametrize("variance", [300.0, 5e3, 2e4, 1e6, 1e12])
def test_the_wider_the_latents_the_more_a_softmax_is_an_argmax(variance):
    # The difference of two Gumbel noises is logistic, with variance pi^2/3.
    sigma = np.sqrt(variance)
    mean = np.array([[0.0, sigma, -30 * sigma], [0.0, -1.0, -500.0]])
    p = class_probabilities(mean, np.array([[variance, variance, 1.0], [variance, 1e-3, 0.0]]))
    first_wins = ndtr(-sigma / np.sqrt(2 * variance + np.pi**2 / 3))
    np.testing.assert_allclose(p[0], [first_wins, 1 - first_wins, 0], atol=1e-5)
    np.testing.assert_allclose(p[1, 0], ndtr(1 / sigma), atol=1e-2)


@given(latents())
@settings(max_examples=60, deadline=None)
def test_rows_sum_to_one(row):
    np.testing.assert_allclose(class_probabilities(*row).sum(axis=1), 1, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        np.exp(log_class_probabilities(*row)).sum(axis=1), 1, rtol=0, atol=1e-9
    )


@given(latents(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_permuting_classes_permutes_probabilities(row, random):
    mean, variance = row
    order = random.sample(range(mean.shape[1]), mean.shape[1])
    permuted = log_class_probabilities(mean[:, order], variance[:, order])
    np.testing.assert_allclose(
        permuted, log_class_probabilities(mean, variance)[:, order], rtol=1e-12, atol=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize(
    "function",
    [
        class_probabilities,
        log_class_probabilities,
        lambda mean, variance: log_probability_of(np.zeros(len(mean), int), mean, variance, True),
        lambda mean, variance: np.stack(uncertainty(mean, variance), axis=1),
        lambda mean, variance: np.hstack(probability_interval(mean, variance, 0.9)),
    ],
    ids=["probabilities", "logs", "coarse", "uncertainty", "interval"],
)
def test_a_row_has_the_same_result_to_the_last_bit_in_every_batch(function, n_classes):
    mean, variance = extreme_latents(120, n_classes, seed=1)
    variance[::7] = 0.0
    variance[3] = 900.0
    together = function(mean, variance)
    order = np.random.default_rng(0).permutation(len(mean))
    np.testing.assert_array_equal(function(mean[order], variance[order]), together[order])
    alone = [function(mean[i : i + 1], variance[i : i + 1])[0] for i in range(0, len(mean), 3)]
    np.testing.assert_array_equal(np.array(alone), together[::3])


def test_threads_may_share_the_tables():
    mean, variance = usual_latents(400, 5)
    parts = [slice(i, i + 100) for i in range(0, 400, 100)]
    results = [None] * len(parts)

    def work(k):
        results[k] = class_probabilities(mean[parts[k]], variance[parts[k]])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(np.concatenate(results), class_probabilities(mean, variance))


@pytest.mark.parametrize("n_classes", [2, 3, 26])
def test_the_probability_of_one_class_is_a_column_of_all(n_classes):
    mean, variance = usual_latents(200, n_classes)
    codes = np.random.default_rng(0).integers(n_classes, size=200)
    expected = log_class_probabilities(mean, variance)[np.arange(200), codes]
    fine = log_probability_of(codes, mean, variance)
    np.testing.assert_allclose(fine, expected, rtol=0, atol=1e-9)
    coarse = log_probability_of(codes, mean, variance, coarse=True)
    np.testing.assert_allclose(coarse, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_rows_are_no_problem(n_classes):
    nothing = np.zeros((0, n_classes))
    assert class_probabilities(nothing, nothing).shape == (0, n_classes)
    assert probability_interval(nothing, nothing, 0.9)[0].shape == (0, n_classes)
    assert uncertainty(nothing, nothing)[0].shape == (0,)


@pytest.mark.parametrize("sigma", [0.01, 0.3, 0.99, 1.7, 3.0, 7.0, 15.0, 20.0])
def test_the_tabulated_intensity_equals_its_definition(sigma):
    z = -3.21 + STEP * np.arange(40)
    y = np.linspace(-14, 14 + sigma, int(400 + 150 * sigma))
    weight = np.exp(-y * y / 2) * (y[1] - y[0]) / np.sqrt(2 * np.pi)
    tail = (-np.expm1(-np.exp(np.minimum(sigma * y - z[:, None], 600.0))) * weight).sum(axis=1)
    tabulated = log_intensity(z[:1], np.array([sigma**2]), stride=1, count=40)[0]
    exact = np.log(-np.log1p(-tail))
    counts = tail < 0.999  # to the right, where 1 - phi is accurate
    np.testing.assert_allclose(tabulated[counts], exact[counts], rtol=0, atol=2e-7)


# --- Samples, intervals, entropies ---------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
def test_samples_average_to_the_integral(n_classes):
    mean, variance = usual_latents(6, n_classes)
    draws = sample_probabilities(mean, variance, 20_000, np.random.default_rng(0))
    assert draws.shape == (20_000, 6, n_classes)
    error = np.abs(draws.mean(axis=0) - class_probabilities(mean, variance))
    assert np.all(error < 4.5 * draws.std(axis=0) / np.sqrt(20_000))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_intervals_hold_the_stated_share_of_samples(n_classes):
    mean, variance = usual_latents(8, n_classes)
    lower, upper = probability_interval(mean, variance, 0.8)
    draws = sample_probabilities(mean, variance, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose((draws < lower).mean(axis=0), 0.1, atol=0.02)
    np.testing.assert_allclose((draws > upper).mean(axis=0), 0.1, atol=0.02)


def test_intervals_without_variance_are_points():
    mean = usual_latents(5, 4)[0]
    lower, upper = probability_interval(mean, np.zeros_like(mean), 0.95)
    np.testing.assert_allclose(lower, upper, atol=1e-12)
    np.testing.assert_allclose(lower, softmax(mean, axis=1), atol=1e-12)


def test_expected_entropy_equals_brute_force():
    for mean, variance in zip(*usual_latents(5, 3), strict=True):
        expected = three_class_expectation(lambda pi: entr(pi).sum(-1), mean, variance / 2)
        _, aleatoric, _ = uncertainty(mean[None], variance[None] / 2)
        np.testing.assert_allclose(aleatoric, expected, rtol=0, atol=1e-6)


def test_expected_entropy_of_two_classes_agrees_with_the_race():
    mean, variance = extreme_latents(40, 2, seed=5)
    impossible = mean.min(axis=1, keepdims=True) - 700.0
    three = np.hstack([mean, impossible]), np.hstack([variance, np.zeros_like(impossible)])
    for two, many in zip(uncertainty(mean, variance), uncertainty(*three), strict=True):
        np.testing.assert_allclose(many, two, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 8])
def test_expected_entropy_is_the_average_over_samples(n_classes):
    mean, variance = usual_latents(6, n_classes)
    total, aleatoric, _ = uncertainty(mean, variance)
    entropies = entr(sample_probabilities(mean, variance, 20_000, np.random.default_rng(0))).sum(2)
    assert np.all(np.abs(entropies.mean(0) - aleatoric) < 4.5 * entropies.std(0) / np.sqrt(20_000))
    np.testing.assert_allclose(total, entr(class_probabilities(mean, variance)).sum(1), atol=1e-7)


@given(latents())
@settings(max_examples=60, deadline=None)
def test_uncertainty_has_two_parts_and_neither_is_negative(row):
    total, aleatoric, epistemic = uncertainty(*row)
    assert np.all(aleatoric >= 0)
    assert np.all(epistemic >= 0)
    np.testing.assert_allclose(aleatoric + epistemic, total, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_known_latents_leave_no_epistemic_uncertainty(n_classes):
    mean = usual_latents(30, n_classes)[0]
    total, _, epistemic = uncertainty(mean, np.zeros_like(mean))
    np.testing.assert_allclose(epistemic, 0, atol=1e-7)
    np.testing.assert_allclose(total, entr(softmax(mean, axis=1)).sum(1), atol=1e-7)


@pytest.mark.parametrize("variance", [1.0, 300.0, 2e4])
def test_a_class_far_above_wide_others_is_certain(variance):
    p = class_probabilities(np.array([[0.0, 1e6, 0.0]]), np.full((1, 3), variance))
    np.testing.assert_allclose(p, [[0.0, 1.0, 0.0]], atol=1e-9)


@pytest.mark.parametrize("variance", [256.0, 1_000.0, 9_000.0])
def test_far_tails_of_wide_latents_are_those_of_the_quadrature(variance):
    z = np.linspace(0.51, 2.5, 80) * variance
    exact = excess_by_quadrature(z, variance)
    assert_allclose(far_excess(z, np.full(80, variance)), exact, atol=1e-7)


@pytest.mark.parametrize("sigma", [3.0, 30.0, 300.0, 30_000.0])
def test_many_classes_with_wide_latents_are_within_the_tolerance(sigma):
    rng = np.random.default_rng(0)
    mean, variance = sigma * rng.normal(size=(2, 101)), np.full((2, 101), sigma**2)
    p = probabilities_within(mean, variance, 1e-4)
    assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)
    assert_allclose(p, class_probabilities(mean, variance), atol=1e-4)


@pytest.mark.parametrize("labels", [1e12, 1e50, 1e300])
def test_intervals_of_very_sure_probabilities_are_as_wide_as_nothing(labels):
    alpha = labels * np.array([[0.594, 0.284, 0.122]])
    lower, upper = dirichlet_interval(alpha)
    assert_allclose(lower, [[0.594, 0.284, 0.122]], atol=1e-5)
    assert_allclose(upper, [[0.594, 0.284, 0.122]], atol=1e-5)
