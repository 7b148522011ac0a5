"""Nystrom ridge regression equals the dense solve, its fast cross validation brute force."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from dirichletgp import NystromRidgeClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.regressions import make_basis
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp.baselines.label_regression.ridge import _fold_of_each_row, _Folds


@pytest.fixture(scope="module")
def data():
    return make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
    )


def dense_scores(kernel, Z, regularisation, X, codes, weights, new, n_classes):
    """Minimise sum_i w_i |y_i - k_i' a|^2 + n lambda a' K_mm a over a, for centred labels y."""
    Kzz = kernel.values(Z, Z) + 1e-6 * np.eye(len(Z))
    Kxz = kernel.values(X, Z)
    frequencies = np.bincount(codes, weights, n_classes) / weights.sum()
    targets = (codes[:, None] == np.arange(n_classes)) - frequencies
    A = Kxz.T @ (weights[:, None] * Kxz) + weights.sum() * regularisation * Kzz
    return (
        kernel.values(new, Z) @ np.linalg.solve(A, Kxz.T @ (weights[:, None] * targets))
        + frequencies
    )


def test_the_solution_equals_the_dense_solve(data):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    classifier = NystromRidgeClassifier(
        n_inducing=20,
        calibration=None,
        scaler=None,
        bandwidths=[2.0],
        regularisations=[1e-3],
        random_state=0,
    ).fit(X, y, weights)
    kernel = KERNELS["rbf"](np.full(5, 2.0), 1.0)
    expected = dense_scores(kernel, classifier.inducing_points_, 1e-3, X, y, weights, X, 3)
    np.testing.assert_allclose(classifier.decision_function(X), expected, rtol=1e-8, atol=1e-8)


def test_fast_cross_validation_equals_brute_force(data, workers):
    X, y = data
    rows, weights = InMemoryRows(X, y, None, 3), np.ones(len(y))
    Z, regularisations = X[:20], np.array([1e-6, 1e-3, 1e-1])
    folds = _fold_of_each_row(rows, 4, np.random.RandomState(0))
    for bandwidth in (0.7, 2.0, 6.0):
        kernel = KERNELS["rbf"](np.full(5, bandwidth), 1.0)
        fast = _Folds.accumulate(rows, folds, make_basis(kernel, Z, 1e-6), workers)
        expected = np.zeros(3)
        for fold in range(4):
            inside, outside = folds == fold, folds != fold
            labels = y[inside][:, None] == np.arange(3)
            for j, regularisation in enumerate(regularisations):
                part = (X[outside], y[outside], weights[outside])
                scores = dense_scores(kernel, Z, regularisation, *part, X[inside], 3)
                expected[j] += np.square(labels - scores).sum()
        np.testing.assert_allclose(
            fast.squared_errors(regularisations, workers), expected, rtol=1e-6
        )


def test_the_smallest_cross_validated_error_is_chosen(data):
    classifier = NystromRidgeClassifier(n_inducing=40, n_folds=5, random_state=0).fit(*data)
    i, j = np.unravel_index(classifier.cv_errors_.argmin(), classifier.cv_errors_.shape)
    assert classifier.bandwidth_ == classifier.bandwidths_[i]
    assert classifier.regularisation_ == classifier.regularisations_[j]
    assert classifier.score(*data) > 0.8


def test_copies_of_a_row_share_a_fold():
    X, y = np.repeat(np.arange(10.0)[:, None], 5, axis=0), np.repeat(np.arange(10) % 2, 5)
    folds = _fold_of_each_row(InMemoryRows(X, y, None, 2), 3, np.random.RandomState(0))
    assert all(len(set(folds[i : i + 5])) == 1 for i in range(0, 50, 5))
    assert set(folds) == {0, 1, 2}


def test_rows_that_are_all_the_same_have_the_frequencies_of_the_classes():
    classifier = NystromRidgeClassifier(random_state=0).fit(np.ones((40, 2)), np.arange(40) % 2)
    np.testing.assert_allclose(classifier.predict_proba(np.ones((1, 2))), 0.5, atol=0.05)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bandwidths", [-1.0]),
        ("regularisations", []),
        ("n_folds", 1),
        ("inducing", "grid"),
        ("kernel", "linear"),
    ],
)
def test_bad_arguments_are_named(data, name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        NystromRidgeClassifier(**{name: value}).fit(*data)
