"""The bound and its gradient equal the dense one-regression-per-class forms."""

from itertools import pairwise

import numpy as np
import pytest
import referee

from dirichletgp._gp.core import statistics
from dirichletgp._gp.core.bound import collapsed_bound
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.regressions import LabelTransform, Posterior, make_basis
from dirichletgp._gp.training.kernel_search import BoundObjective

CLASSES = [2, 3, 12]


def objective(p, workers):
    return BoundObjective(referee.rows_of(p), p.transform, p.prior, p.jitter, workers)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("family", list(KERNELS))
def test_bound_equals_one_dense_regression_per_class(n_classes, weighted, family, workers):
    p = referee.problem(n_classes, weighted=weighted, family=family)
    value, _ = objective(p, workers).value_and_gradient(p.kernel, p.Z)
    assert value == pytest.approx(referee.bound(p), rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("family", list(KERNELS))
def test_gradient_equals_differences_of_the_dense_bound(n_classes, weighted, family, workers):
    p = referee.problem(n_classes, n=40, n_points=5, weighted=weighted, family=family)
    _, gradient = objective(p, workers).value_and_gradient(p.kernel, p.Z)
    start = np.concatenate([p.kernel.parameters, [np.log(p.kernel.variance)], p.Z.ravel()])
    n = len(p.kernel.parameters)

    def dense(vector):
        p.kernel = p.kernel.with_parameters(vector[:n], np.exp(vector[n]))
        p.Z = vector[n + 1 :].reshape(-1, 3)
        return referee.bound(p)

    analytic = np.concatenate(
        [gradient.parameters, [gradient.log_variance], gradient.points.ravel()]
    )
    numeric = np.array([extrapolated_derivative(dense, start, i) for i in range(len(start))])
    np.testing.assert_allclose(analytic, numeric, rtol=1e-8, atol=1e-8 * np.abs(numeric).max())


def extrapolated_derivative(function, x, i, h=2e-3):
    """Central differences extrapolated three times (Richardson): error of order h^8."""
    e = np.zeros_like(x)
    e[i] = 1.0
    table = [(function(x + s * e) - function(x - s * e)) / (2 * s) for s in h / 2.0 ** np.arange(4)]
    for order in range(1, 4):
        table = [b + (b - a) / (4**order - 1) for a, b in pairwise(table)]
    return table[0]


@pytest.mark.parametrize("d_sign", [1, -1])
def test_classes_kept_as_rows_or_as_grams_give_the_same_bound(d_sign, workers):
    """Few points make every class a Gram, many make every class rows; a mixture lies between."""
    p = referee.problem(3, n=60, n_points=25)
    p.codes[:] = np.repeat([0, 1, 2], [40, 15, 5])
    p.transform = LabelTransform.from_constants(5.0, *((0.2, 3.0) if d_sign > 0 else (3.0, 0.2)))
    value, _ = objective(p, workers).value_and_gradient(p.kernel, p.Z)
    assert value == pytest.approx(referee.bound(p), rel=1e-10)


@pytest.mark.parametrize("n_classes", CLASSES)
def test_bound_from_whitened_statistics_is_the_same(n_classes, workers):
    p = referee.problem(n_classes, weighted=True)
    basis = make_basis(p.kernel, p.Z, p.jitter)
    statistics = referee.rows_of(p).class_statistics(basis, workers)
    posterior = Posterior.from_statistics(
        statistics, p.kernel.variance, p.transform, p.prior, workers
    )
    assert collapsed_bound(statistics, posterior) == pytest.approx(referee.bound(p), rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", list(KERNELS))
def test_values_kept_for_the_second_pass_are_those_it_would_compute(
    family, weighted, workers, monkeypatch
):
    """Classes with Grams of their own, others kept as rows between them, one without rows."""
    p = referee.problem(4, n=200, weighted=weighted, family=family)
    p.codes = np.choose(np.arange(200) % 20, [1] * 1 + [0] * 10 + [3] * 9)
    p.n_classes, p.prior = 5, np.full(5, 0.2)
    p.Z = np.random.default_rng(5).normal(size=(20, 3))
    kept = objective(p, workers).value_and_gradient(p.kernel, p.Z)
    monkeypatch.setattr(statistics, "_MOST_KEPT", 0)
    computed = objective(p, workers).value_and_gradient(p.kernel, p.Z)
    assert kept[0] == computed[0]
    for one, other in zip(kept[1], computed[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_the_number_of_threads_does_not_change_a_bit():
    p = referee.problem(3, n=5000, n_points=50)
    results = []
    for n_jobs in (1, 2, 3):
        with Workers(n_jobs) as pool:
            results.append(objective(p, pool).value_and_gradient(p.kernel, p.Z))
    for value, gradient in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient.points, results[0][1].points)


def test_the_gradient_survives_a_nearly_singular_kernel_matrix(workers):
    """Smooth kernel, many rows: the referee sums whitened vectors and takes differences."""
    p = referee.problem(2, n=4000, n_points=150)
    rows = referee.rows_of(p)

    def value(log_factor):
        kernel = p.kernel.with_parameters(np.log(np.full(3, 4.0)) + log_factor, 5.0)
        basis = make_basis(kernel, p.Z, p.jitter)
        statistics = rows.class_statistics(basis, workers)
        return collapsed_bound(
            statistics, Posterior.from_statistics(statistics, 5.0, p.transform, p.prior, workers)
        )

    kernel = p.kernel.with_parameters(np.log(np.full(3, 4.0)), 5.0)
    bound, gradient = objective(p, workers).value_and_gradient(kernel, p.Z)
    assert bound == pytest.approx(value(0.0), rel=1e-8)
    numeric = (value(1e-3) - value(-1e-3)) / 2e-3
    assert gradient.parameters.sum() == pytest.approx(numeric, rel=1e-3)
