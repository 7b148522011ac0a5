"""Expectations of log-likelihoods under Gaussian latents are what brute force integration says."""

import numpy as np
import pytest
from scipy.special import log_ndtr, log_softmax, ndtr

from dirichletgp.baselines.variational.likelihoods import Bernoulli, RobustMax, Softmax

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()

LIKELIHOODS = [
    Bernoulli("logit"),
    Bernoulli("probit"),
    Softmax(3),
    RobustMax(3, 0.01),
    Softmax(7),
    RobustMax(7),
]
names = pytest.mark.parametrize(
    "likelihood", LIKELIHOODS, ids=lambda lik: f"{type(lik).__name__}{lik.n_latents}"
)


def latents(likelihood, n=12, seed=0):
    rng = np.random.default_rng(seed)
    shape = n, likelihood.n_latents
    n_classes = max(2, likelihood.n_latents)
    return rng.normal(0, 1.5, shape), rng.uniform(0.05, 3.0, shape), rng.integers(0, n_classes, n)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_bernoulli_expectation_is_a_one_dimensional_integral(link):
    likelihood = Bernoulli(link)
    mean, variance, codes = latents(likelihood)
    y = np.linspace(-12, 12, 20_001)
    f = mean + np.sqrt(variance) * y
    signed = np.where(codes[:, None] == 1, f, -f)
    log_p = -np.logaddexp(0, -signed) if link == "logit" else log_ndtr(signed)
    expected = log_p @ np.exp(-0.5 * y * y) * (y[1] - y[0]) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(
        likelihood.expected_log(mean, variance, codes).value, expected, atol=1e-6
    )
    p = np.exp(log_p) @ np.exp(-0.5 * y * y) * (y[1] - y[0]) / np.sqrt(2 * np.pi)
    own = likelihood.probabilities(mean, variance)[np.arange(len(codes)), codes]
    np.testing.assert_allclose(own, p, atol=1e-6)


def test_softmax_expectation_is_a_three_dimensional_integral():
    likelihood = Softmax(3)
    mean, variance, codes = latents(likelihood)
    grid = np.stack(np.meshgrid(NODES, NODES, NODES, indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.einsum("i,j,k->ijk", WEIGHTS, WEIGHTS, WEIGHTS).ravel()
    expected = [
        weights @ log_softmax(m + np.sqrt(v) * grid, axis=1)[:, code]
        for m, v, code in zip(mean, variance, codes, strict=True)
    ]
    np.testing.assert_allclose(
        likelihood.expected_log(mean, variance, codes).value, expected, atol=3e-6
    )


def test_robustmax_counts_how_often_the_own_latent_is_the_largest():
    likelihood = RobustMax(3, 0.01)
    mean, variance, codes = latents(likelihood)
    # Beside a latent without any spread the integrand is a step, and 32 nodes see it coarsely.
    variance += 0.3
    y = np.linspace(-9, 9, 4_001)
    density = np.exp(-0.5 * y * y) * (y[1] - y[0]) / np.sqrt(2 * np.pi)
    sigma = np.sqrt(variance)
    largest = np.empty((len(mean), 3))
    for c in range(3):
        f = mean[:, c, None] + sigma[:, c, None] * y
        below = [ndtr((f - mean[:, j, None]) / sigma[:, j, None]) for j in range(3) if j != c]
        largest[:, c] = (below[0] * below[1]) @ density
    own = largest[np.arange(len(codes)), codes]
    expected = np.log(0.99) * own + np.log(0.005) * (1 - own)
    np.testing.assert_allclose(
        likelihood.expected_log(mean, variance, codes).value, expected, atol=2e-3
    )
    np.testing.assert_allclose(
        likelihood.probabilities(mean, variance), 0.99 * largest + 0.005 * (1 - largest), atol=5e-4
    )


@names
def test_derivatives_are_those_of_the_value(likelihood):
    mean, variance, codes = latents(likelihood)
    found = likelihood.expected_log(mean, variance, codes)
    # the softmax is tabulated to about 1e-6, so its differences need a wide step
    h, tolerance = (1e-2, 5e-4) if isinstance(likelihood, Softmax) else (1e-5, 1e-7)
    for c in range(likelihood.n_latents):
        step = np.zeros_like(mean)
        step[:, c] = h
        by_mean = likelihood.expected_log(mean + step, variance, codes).value
        by_mean = (by_mean - likelihood.expected_log(mean - step, variance, codes).value) / (2 * h)
        by_variance = likelihood.expected_log(mean, variance + step, codes).value
        by_variance = (
            by_variance - likelihood.expected_log(mean, variance - step, codes).value
        ) / (2 * h)
        np.testing.assert_allclose(found.by_mean[:, c], by_mean, atol=tolerance)
        np.testing.assert_allclose(found.by_variance[:, c], by_variance, atol=tolerance)


@names
def test_probabilities_sum_to_one_and_lie_in_their_interval(likelihood):
    mean, variance, _ = latents(likelihood, n=40)
    p = likelihood.probabilities(mean, variance)
    lower, upper = likelihood.interval(mean, variance, 0.999)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= 1))
    if not isinstance(likelihood, RobustMax):
        assert np.all((lower <= p + 1e-9) & (p <= upper + 1e-9))


def test_robustmax_is_one_of_two_probabilities_given_the_latents():
    likelihood = RobustMax(3, 0.01)
    mean, variance = np.array([[5.0, 0.0, 0.0], [0.1, 0.0, 0.0]]), np.ones((2, 3))
    lower, upper = likelihood.interval(mean, variance, 0.95)
    np.testing.assert_allclose(lower, [[0.99, 0.005, 0.005], [0.005, 0.005, 0.005]])
    np.testing.assert_allclose(upper, [[0.99, 0.005, 0.005], [0.99, 0.99, 0.99]])


@names
def test_curvature_is_positive_and_blind_to_what_all_latents_share(likelihood):
    mean, variance, codes = latents(likelihood)
    precision = np.maximum(-2 * likelihood.expected_log(mean, variance, codes).by_variance, 0.0)
    times = likelihood.curvature(codes, precision)
    x = np.random.default_rng(1).normal(size=mean.shape)
    assert np.all((x * times(x)).sum(axis=1) >= 0)
    if likelihood.n_latents > 1:
        np.testing.assert_allclose(times(np.ones_like(x)), 0.0, atol=1e-10)
    else:
        np.testing.assert_array_equal(times(x), precision * x)


@names
@pytest.mark.parametrize("size", [30.0, 1e3, 1e6])
def test_latents_of_any_size_have_finite_expectations_and_a_positive_curvature(likelihood, size):
    mean, variance, codes = latents(likelihood, n=200)
    for spread in (1e-12, 1e-3, 1.0, 100.0):
        found = likelihood.expected_log(size * mean, spread * variance, codes)
        assert all(np.all(np.isfinite(part)) for part in found)
        precision = np.maximum(-2 * found.by_variance, 0.0)
        times = likelihood.curvature(codes, precision)
        x = np.random.default_rng(1).normal(size=mean.shape)
        largest = 1e-9 + precision.max(axis=1)
        assert np.all((x * times(x)).sum(axis=1) >= -1e-9 * largest)
        # Rows of matrices whose diagonals are about the precisions
        assert np.all(np.abs(times(x)).max(axis=1) <= 100 * largest * np.abs(x).max(axis=1))
