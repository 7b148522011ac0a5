"""Regression on labels equals its dense form, and Platt scaling mends its probabilities."""

import numpy as np
import pytest
import referee
from sklearn.datasets import make_classification

from dirichletgp import GPRegressionClassifier
from dirichletgp._gp.core.regressions import make_basis
from dirichletgp._gp.core.statistics import ClassStatistics
from dirichletgp._gp.training.kernel_search import State
from dirichletgp.baselines.label_regression.bound import LabelObjective
from dirichletgp.baselines.label_regression.model import LabelModel
from dirichletgp.metrics import mean_negative_log_likelihood


def dense_bound(p, kernel, Z, noise):
    Kzz = referee.kernel_matrix(kernel, Z, Z) + p.jitter * kernel.variance * np.eye(len(Z))
    Kxz = referee.kernel_matrix(kernel, p.X, Z)
    Q = Kxz @ np.linalg.solve(Kzz, Kxz.T)
    total = 0.0
    for c in range(p.n_classes):
        target, covariance = (p.codes == c) - p.prior[c], Q + np.diag(noise / p.weights)
        total -= 0.5 * np.linalg.slogdet(covariance)[1]
        total -= 0.5 * target @ np.linalg.solve(covariance, target)
        total -= 0.5 * np.sum(p.weights * (kernel.variance - np.diag(Q))) / noise
        total -= 0.5 * np.sum(p.weights * np.log(2 * np.pi * noise) - np.log(noise / p.weights))
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_bound_and_gradient_equal_the_dense_form(n_classes, weighted, workers):
    p, noise = referee.problem(n_classes, n=40, n_points=5, weighted=weighted), 0.07
    objective = LabelObjective(referee.rows_of(p), p.prior, p.jitter, workers)
    value, gradient, by_log_noise = objective.evaluate(State(p.kernel, p.Z, noise=noise))
    assert value == pytest.approx(dense_bound(p, p.kernel, p.Z, noise), rel=1e-10)

    def dense(vector):
        kernel = p.kernel.with_parameters(vector[:3], np.exp(vector[3]))
        return dense_bound(p, kernel, vector[5:].reshape(-1, 3), np.exp(vector[4]))

    logs = np.log([*p.kernel.lengthscale, p.kernel.variance, noise])
    at = np.concatenate([logs, p.Z.ravel()])
    steps = 1e-4 * np.eye(len(at))
    numeric = np.array(
        [
            (8 * (dense(at + e) - dense(at - e)) - (dense(at + 2 * e) - dense(at - 2 * e))) / 12e-4
            for e in steps
        ]
    )
    analytic = [
        *gradient.parameters,
        gradient.log_variance,
        by_log_noise,
        *gradient.points.ravel(),
    ]
    np.testing.assert_allclose(analytic, numeric, rtol=1e-6, atol=1e-8 * np.abs(numeric).max())


@pytest.mark.parametrize("n_classes", [2, 5])
def test_latent_mean_and_variance_equal_the_dense_form(n_classes, workers):
    p, noise = referee.problem(n_classes, weighted=True), 0.07
    basis = make_basis(p.kernel, p.Z, p.jitter)
    statistics = ClassStatistics.empty(n_classes, len(p.Z), n_grams=1)
    statistics.add_rows(referee.rows_of(p), basis.vectors, workers, gram_of=[0] * n_classes)
    mean, variance = LabelModel(p.kernel, p.Z, p.jitter, noise, p.prior, statistics).latent(p.new)
    Kzz = referee.kernel_matrix(p.kernel, p.Z, p.Z) + p.jitter * p.kernel.variance * np.eye(
        len(p.Z)
    )
    Kxz, Knz = (
        referee.kernel_matrix(p.kernel, p.X, p.Z),
        referee.kernel_matrix(p.kernel, p.new, p.Z),
    )
    A = Kzz + Kxz.T @ (p.weights[:, None] * Kxz) / noise
    targets = (p.codes[:, None] == np.arange(n_classes)) - p.prior
    expected = Knz @ np.linalg.solve(A, Kxz.T @ (p.weights[:, None] * targets)) / noise + p.prior
    np.testing.assert_allclose(mean, expected, rtol=1e-8, atol=1e-10)
    explained = np.linalg.solve(Kzz, Knz.T) - np.linalg.solve(A, Knz.T)
    np.testing.assert_allclose(
        variance, p.kernel.variance - np.einsum("nm,mn->n", Knz, explained), rtol=1e-8
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_platt_scaling_mends_the_probabilities(n_classes):
    X, y = make_classification(
        2400,
        8,
        n_informative=6,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=0,
    )
    losses = {}
    for calibration in (None, "platt"):
        classifier = GPRegressionClassifier(n_inducing=80, calibration=calibration, random_state=0)
        classifier.fit(X[:1200], y[:1200])
        probabilities = classifier.predict_proba(X[1200:])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        losses[calibration] = mean_negative_log_likelihood(y[1200:], probabilities)
        lower, upper = classifier.predict_interval(X[1200:])
        assert np.all((lower <= probabilities + 1e-9) & (probabilities <= upper + 1e-9))
    assert losses["platt"] < losses[None]


def test_a_class_with_a_single_row_can_be_calibrated():
    X, y = make_classification(100, 4, random_state=0)
    y[0] = 2
    classifier = GPRegressionClassifier(
        n_inducing=20, calibration="platt", max_iter=3, random_state=0
    ).fit(X, y)
    assert classifier.predict_proba(X).shape == (100, 3)


@pytest.mark.parametrize(("name", "value"), [("calibration", "isotonic"), ("noise", -1.0)])
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        GPRegressionClassifier(**{name: value}).fit([[0.0], [1.0]], [0, 1])
