"""Kernels equal their definitions; their pull-backs equal differences."""

import numpy as np
import pytest
import referee

from dirichletgp._gp.core.kernels import KERNELS


@pytest.mark.parametrize("family", list(KERNELS))
def test_values_equal_the_definition(family):
    p = referee.problem(2, family=family)
    np.testing.assert_allclose(
        p.kernel.values(p.X, p.Z), referee.kernel_matrix(p.kernel, p.X, p.Z), rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("family", list(KERNELS))
def test_a_row_with_itself_has_the_variance(family):
    X = np.random.default_rng(0).normal(size=(20, 4)) + 1e3
    values = KERNELS[family](np.ones(4), 2.5).values(X, X)
    np.testing.assert_allclose(np.diagonal(values), 2.5, rtol=1e-7)
    assert values.max() <= 2.5


@pytest.mark.parametrize("family", list(KERNELS))
def test_pull_back_equals_differences(family):
    p = referee.problem(2, n=12, n_points=4, family=family)
    weights = np.random.default_rng(0).normal(size=(12, 4))

    def scalar(log_lengthscale, log_variance, points):
        kernel = KERNELS[family](np.exp(log_lengthscale), np.exp(log_variance))
        return float((weights * kernel.values(p.X, points)).sum())

    at = (np.log(p.kernel.lengthscale), np.log(p.kernel.variance), p.Z)
    gradient = p.kernel.pull_back(p.X, p.Z, p.kernel.values(p.X, p.Z), weights.copy())
    for which, analytic in enumerate(gradient):
        flat = np.atleast_1d(np.asarray(at[which], dtype=float)).ravel()
        for i in range(flat.size):
            values = []
            for step in (1e-5, -1e-5):
                moved = flat.copy()
                moved[i] += step
                arguments = list(at)
                arguments[which] = moved.reshape(np.shape(at[which]))
                values.append(scalar(*arguments))
            numeric = (values[0] - values[1]) / 2e-5
            assert np.ravel(analytic)[i] == pytest.approx(numeric, rel=1e-6, abs=1e-8)
