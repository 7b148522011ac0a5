"""The latent posterior equals the dense forms, and behaves as a Gaussian process should."""

import numpy as np
import pytest
import referee

from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.regressions import Posterior, make_basis
from dirichletgp._gp.training.fitted import Model


def model_of(p, workers):
    basis = make_basis(p.kernel, p.Z, p.jitter)
    statistics = referee.rows_of(p).class_statistics(basis, workers)
    return Model(basis, p.jitter, statistics, p.transform, p.prior, p.alpha)


def latent_of(p, new, workers):
    """Mean and variance of the model of a problem at new rows."""
    model = model_of(p, workers)
    return model.posterior.latent(model.basis.vectors(new))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("family", list(KERNELS))
def test_latent_mean_and_variance_equal_dense_regressions(n_classes, weighted, family, workers):
    p = referee.problem(n_classes, weighted=weighted, family=family)
    mean, variance = latent_of(p, p.new, workers)
    dense_mean, dense_variance = referee.latent(p, p.new)
    np.testing.assert_allclose(mean, dense_mean, rtol=1e-8)
    np.testing.assert_allclose(variance, dense_variance, rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("family", list(KERNELS))
def test_inducing_points_at_the_rows_give_the_exact_process(n_classes, family, workers):
    p = referee.problem(n_classes, weighted=True, family=family)
    p.Z, p.jitter = p.X, 1e-13
    mean, variance = latent_of(p, p.new, workers)
    exact_mean, exact_variance = referee.exact_latent(p, p.new)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-8)
    np.testing.assert_allclose(variance, exact_variance, rtol=1e-8)


def test_far_from_data_the_latent_means_are_the_log_class_frequencies(workers):
    p = referee.problem(4, weighted=True)
    mean, variance = latent_of(p, np.full((1, 3), 1e3), workers)
    log_frequencies = np.log(p.prior)
    np.testing.assert_allclose(
        mean[0] - mean[0].mean(), log_frequencies - log_frequencies.mean(), atol=1e-12
    )
    np.testing.assert_allclose(variance, p.kernel.variance)


def test_weight_two_equals_a_repeated_row(workers):
    p = referee.problem(3)
    twice = np.arange(60) % 3 == 0
    p.given_weights = np.where(twice, 2.0, 1.0)
    weighted = latent_of(p, p.new, workers)
    p.X, p.codes = np.concatenate([p.X, p.X[twice]]), np.concatenate([p.codes, p.codes[twice]])
    p.given_weights = None
    repeated = latent_of(p, p.new, workers)
    np.testing.assert_allclose(weighted[0], repeated[0], rtol=1e-10)
    np.testing.assert_allclose(weighted[1], repeated[1], rtol=1e-10)


def test_permuting_classes_permutes_the_posterior(workers):
    p = referee.problem(5)
    mean, variance = latent_of(p, p.new, workers)
    order = np.array([3, 0, 4, 1, 2])
    p.codes, p.prior = np.argsort(order)[p.codes], p.prior[order]
    permuted_mean, permuted_variance = latent_of(p, p.new, workers)
    np.testing.assert_allclose(permuted_mean, mean[:, order], rtol=1e-10)
    np.testing.assert_allclose(permuted_variance, variance[:, order], rtol=1e-10)


def test_matrices_stay_positive_definite_with_a_very_heavy_smooth_problem(workers):
    """A billion rows on a smooth kernel: whitening before summing keeps B_c above the identity."""
    p = referee.problem(2, n=400, n_points=60)
    p.kernel = p.kernel.with_parameters(np.log(np.full(3, 20.0)), 1.0)
    p.given_weights = np.full(400, 1e9 / 400)
    statistics = model_of(p, workers).statistics
    posterior = Posterior.from_statistics(statistics, 1.0, p.transform, p.prior, workers)
    assert np.isfinite(posterior.coefficients).all()
    assert np.diagonal(posterior.roots, axis1=1, axis2=2).max() <= 1.0 + 1e-6
