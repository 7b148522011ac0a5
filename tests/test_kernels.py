"""Kernels equal their definitions; their pull-backs equal differences."""

import numpy as np
import pytest
import referee

from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
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
    values = referee.kernel_of(family, X, np.ones(4), 2.5).values(X, X)
    np.testing.assert_allclose(np.diagonal(values), 2.5, rtol=1e-7)
    assert values.max() <= 2.5


@pytest.mark.parametrize("family", list(KERNELS))
def test_pull_back_equals_differences(family):
    p = referee.problem(2, n=12, n_points=4, family=family)
    weights = np.random.default_rng(0).normal(size=(12, 4))

    def scalar(parameters, log_variance, points):
        kernel = p.kernel.with_parameters(parameters, np.exp(log_variance))
        return float((weights * kernel.values(p.X, points)).sum())

    at = (p.kernel.parameters, np.log(p.kernel.variance), p.Z)
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


@pytest.mark.parametrize("name", ["linear", "RBF", "", None, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        DirichletGPClassifier,
        GPRegressionClassifier,
        NystromRidgeClassifier,
        VariationalGPClassifier,
    ],
)
def test_no_kernel_stands_in_for_one_that_is_not_known(estimator, name):
    X = np.arange(12.0)[:, None]
    with pytest.raises(ValueError, match=f"kernel={name!r} is not known; pass one of .*'rbf'"):
        estimator(kernel=name).fit(X, np.arange(12) % 2)
    with pytest.raises(ValueError, match=f"kernel={name!r} is not known; pass one of .*'rbf'"):
        KERNELS[name]


def test_every_kernel_has_a_name_of_its_own_and_values_of_its_own():
    X = np.linspace(0.0, 3.0, 7)[:, None]
    kernels = [referee.kernel_of(name, X, np.ones(1), 1.0) for name in KERNELS]
    values = [kernel.values(X, X[:1]).ravel() for kernel in kernels]
    assert [KERNELS[name].name for name in KERNELS] == list(KERNELS)
    for i, one in enumerate(values):
        for other in values[:i]:
            assert np.abs(one - other)[1:].max() > 1e-3
