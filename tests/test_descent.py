"""Descent that begins with the curvature of an earlier one."""

import numpy as np
import pytest

from dirichletgp._gp.training import descent, schedule
from dirichletgp._gp.training.descent import descend
from dirichletgp._gp.training.kernel_search import KernelSearch


class Bowl:
    """A quadratic function, which counts its evaluations and remembers its best argument."""

    def __init__(self, hessian, lowest):
        self.hessian = hessian
        self.lowest = lowest
        self.arguments = []
        self.best = np.inf, None

    def __call__(self, x):
        self.arguments.append(x.copy())
        slope = self.hessian @ (x - self.lowest)
        value = 1.0 + 0.5 * slope @ (x - self.lowest)
        if value < self.best[0]:
            self.best = value, x.copy()
        return value, slope


@pytest.fixture
def bowl():
    rng = np.random.default_rng(0)
    turned, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    return Bowl(turned @ np.diag(np.logspace(-2, 2, 6)) @ turned.T, rng.normal(size=6))


def descended(bowl, curvature=None, reach=np.inf, max_iter=200, tolerance=1e-12):
    return descend(bowl, np.zeros(6), np.full(6, reach), curvature, max_iter, tolerance)


def test_the_lowest_place_is_found_and_the_curvature_there(bowl):
    found = descended(bowl)
    assert found.converged
    np.testing.assert_allclose(bowl.best[1], bowl.lowest, atol=1e-3)
    # What was gathered on the way serves a second descent: it is far shorter.
    again = Bowl(bowl.hessian, bowl.lowest)
    descended(again, found.curvature)
    assert len(again.arguments) < len(bowl.arguments) / 2
    np.testing.assert_allclose(found.curvature, found.curvature.T, atol=1e-12)
    assert np.linalg.eigvalsh(found.curvature).min() > 0


def test_with_the_true_curvature_the_first_step_is_the_last(bowl):
    descended(bowl, np.linalg.inv(bowl.hessian))
    np.testing.assert_allclose(bowl.arguments[1], bowl.lowest, rtol=1e-8)
    assert len(bowl.arguments) <= 3


def test_no_coordinate_goes_farther_than_it_may(bowl):
    descended(bowl, reach=0.2)
    assert max(np.abs(x).max() for x in bowl.arguments) <= 0.2
    free = np.abs(bowl.lowest) < 0.2
    assert not free.all()


def test_too_many_steps_are_not_an_end(bowl):
    assert not descended(bowl, max_iter=2).converged


def test_a_start_at_the_lowest_place_stays_there(bowl):
    bowl.lowest = np.zeros(6)
    found = descended(bowl, np.eye(6))
    assert found.converged
    assert np.isfinite(found.curvature).all()
    assert not np.any(bowl.arguments)


def test_a_curvature_that_is_none_is_not_used(bowl):
    found = descended(bowl, -np.eye(6))
    assert found.converged
    np.testing.assert_allclose(bowl.best[1], bowl.lowest, atol=1e-3)


def test_of_very_many_coordinates_no_matrix_is_made(monkeypatch, bowl):
    monkeypatch.setattr(descent, "_MOST_COORDINATES", 5)
    found = descended(bowl)
    assert found.converged
    assert found.curvature is None


def test_a_search_hands_its_curvature_on(monkeypatch):
    """The kernel for all points is sought with the curvature that was found with few."""
    from dirichletgp import DirichletGPClassifier

    given = []
    run = KernelSearch.run

    def noted(self, *arguments):
        given.append((len(self.state.points), self.state.curvature))
        return run(self, *arguments)

    monkeypatch.setattr(KernelSearch, "run", noted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 3))
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=2_000) > 0
    model = DirichletGPClassifier(
        kernel="rbf", n_inducing=410, max_iter=3, label_transform="dirichlet", random_state=0
    )
    model.fit(X, y)
    assert given[0][1] is None
    assert given[-1][0] == 410
    assert given[-1][1].shape == (4, 4)  # three lengthscales, one variance


def test_lengthscales_follow_points_where_labels_are_clean(monkeypatch):
    """With 1,000 points for 400 they are up to (400 / 1,000)^(1/4) = 0.795 times as long."""
    from dirichletgp import DirichletGPClassifier

    ratios = []
    for_more_points = schedule.kernel_for_more_points

    def noted(state, *arguments):
        found = for_more_points(state, *arguments)
        ratios.append(found.lengthscale / state.kernel.lengthscale)
        return found

    monkeypatch.setattr(schedule, "kernel_for_more_points", noted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 4))
    score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1.0
    model = DirichletGPClassifier(kernel="rbf", n_inducing=1_000, max_iter=20, random_state=0)
    for noise in (0.0, 3.0):
        model.fit(X, score + noise * rng.normal(size=2_000) > 0)
    clean, noisy = ratios
    assert np.ptp(clean) < 1e-12
    assert 0.795 < clean[0] < 0.9
    assert 0.97 < noisy[0] <= 1.0
