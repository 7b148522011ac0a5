"""Scalers of columns that are empty, all categories, or too many rows to rank."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows import scaling
from dirichletgp._gp.rows.scaling import NormalScores, fit_scaler, same_scaling

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))


def test_a_column_without_values_is_in_the_middle():
    holes = X.copy()
    holes[:, 1] = np.nan
    scaler = NormalScores().fit(holes)
    assert [len(knots) for knots in scaler.knots_][1] == 1
    assert np.all(scaler.transform(np.zeros((2, 3)))[:, 1] == 0)


def test_of_very_many_rows_some_are_ranked(monkeypatch):
    monkeypatch.setattr(scaling, "_RANKED_ROWS", 20)
    found = fit_scaler("quantile", X, None, np.ones(60), np.random.RandomState(0))
    values = {float(value) for value in X[:, 0]}
    assert {float(knot) for knot in found.knots_[0]} <= values
    assert len(found.knots_[0]) == 20


def test_scalers_are_the_same_if_they_map_rows_alike():
    one, other = StandardScaler().fit(X), StandardScaler().fit(X)
    assert same_scaling(one, other)
    assert not same_scaling(one, StandardScaler().fit(X + 1))
    assert not same_scaling(one, NormalScores().fit(X))
    assert same_scaling(PCA(2).fit(X), PCA(2).fit(X))
    assert not same_scaling(PCA(2).fit(X), PCA(1).fit(X))


@pytest.mark.parametrize("kernel", ["product", "rbf"])
def test_rows_of_categories_alone_are_learned_from(kernel):
    pd = pytest.importorskip("pandas")
    colour = RNG.choice(["red", "green", "blue"], size=60)
    shape = RNG.choice(["round", "flat"], size=60)
    frame = pd.DataFrame({"colour": colour, "shape": shape})
    y = (colour == "red") == (shape == "flat")
    settings = {"max_iter": 3, "random_state": 0, "n_inducing": 10, "n_jobs": 1}
    model = DirichletGPClassifier(kernel, **settings).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.inducing_points_.shape[1] > 0


def test_holes_in_a_table_may_be_in_any_column():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": RNG.choice(["u", "v"], size=60)})
    frame.loc[::7, "a"] = np.nan
    frame.loc[::5, "c"] = None
    y = (X[:, 1] > 0).astype(int)
    settings = {"max_iter": 2, "random_state": 0, "n_inducing": 10, "n_jobs": 1}
    model = DirichletGPClassifier("product", **settings).fit(frame, y)
    points = model.inducing_points_
    assert np.isnan(points[:, 0]).any()
    assert not np.isnan(points[:, 1]).any()
