"""Shapley values in closed form, beside the definition; effects beside averages of predictions."""

import itertools
from math import factorial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.feature_selection import RFECV

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.shapley import shapley_values
from dirichletgp._gp.decisions.effects import effect

FAST = {"n_inducing": 25, "max_iter": 3, "random_state": 0}


def brute_force(value, n_columns):
    """Shapley values from a function of sets of known columns, by the definition."""
    subsets = itertools.product([False, True], repeat=n_columns)
    worth = {known: value(np.array(known)) for known in subsets}
    phi = []
    for j in range(n_columns):
        total = 0.0
        for known, before in worth.items():
            if known[j]:
                continue
            size = sum(known)
            after = worth[(*known[:j], True, *known[j + 1 :])]
            share = factorial(size) * factorial(n_columns - 1 - size) / factorial(n_columns)
            total = total + share * (after - before)
        phi.append(total)
    return np.array(phi)


@pytest.mark.parametrize("n_columns", [1, 2, 5, 10])
def test_the_integral_is_the_sum_over_all_subsets(n_columns):
    rng = np.random.default_rng(n_columns)
    factors, background = rng.uniform(0, 1, (2, n_columns, 7)), rng.uniform(0, 1, (n_columns, 7))
    factors[0, 0, 0] = background[0, 0] = 0.0
    weights = rng.normal(size=(7, 3))
    fast = shapley_values(factors, background, weights)
    for row, of_row in zip(factors, fast, strict=True):
        slow = brute_force(
            lambda known, row=row: np.where(known[:, None], row, background).prod(axis=0) @ weights,
            n_columns,
        )
        np.testing.assert_allclose(of_row, slow, atol=1e-12)


def expectation(classifier, row, known):
    """Latent means of a row whose unknown columns are drawn from the background, each by itself.

    The draws of one column after the other are averaged, so the columns are few and the background
    is small.
    """
    fitted = classifier._fitted
    background, origin = fitted.background, fitted.origin
    choices = [
        [row[origin == j]] if known[j] else list(background[:, origin == j])
        for j in range(len(known))
    ]
    mixed = []
    for pieces in itertools.product(*choices):
        whole = np.empty(len(origin))
        for j, piece in enumerate(pieces):
            whole[origin == j] = piece
        mixed.append(whole)
    model = fitted.model
    means, _ = model.posterior.latent(model.basis.vectors(np.array(mixed)))
    return means.mean(axis=0)


def mixed_rows(n=14):
    rng = np.random.default_rng(0)
    number = rng.normal(size=n)
    number[3] = np.nan
    day = pd.to_datetime("2024-01-31") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    word = rng.choice(["a", "b", "c"], n)
    frame = pd.DataFrame({"number": number, "day": day, "word": word})
    return frame, (np.nan_to_num(number) + (word == "a") > 0.3).astype(int)


@pytest.mark.parametrize("kernel", ["rbf", "product"])
def test_values_are_those_of_the_definition_with_categories_dates_and_holes(kernel):
    X, y = mixed_rows()
    classifier = DirichletGPClassifier(kernel, **FAST).fit(X, y)
    explanation = classifier.explain(X, output="latent")
    assert explanation.feature_names == ["number", "day", "word"]
    scaled = classifier._scaled(X)
    for i in (0, 3):
        slow = brute_force(lambda known, i=i: expectation(classifier, scaled[i], known), 3)
        np.testing.assert_allclose(explanation.values[i], slow, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "product"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_and_base_sum_to_the_prediction(kernel, n_classes):
    X, y = make_classification(80, 6, n_informative=4, n_classes=n_classes, random_state=0)
    classifier = DirichletGPClassifier(kernel, **FAST).fit(X, y)
    mean, _ = classifier.latent_mean_and_variance(X[:9])
    latent = classifier.explain(X[:9], output="latent")
    np.testing.assert_allclose(latent.values.sum(axis=1) + latent.base_values, mean, atol=1e-8)
    odds = classifier.explain(X[:9])
    total = odds.values.sum(axis=1) + odds.base_values
    if n_classes == 2:
        np.testing.assert_allclose(total, mean[:, 1] - mean[:, 0], atol=1e-8)
    else:
        others = (mean.sum(axis=1, keepdims=True) - mean) / 2
        np.testing.assert_allclose(total, mean - others, atol=1e-8)
    alone = classifier.explain(X[4:5]).values
    assert np.array_equal(alone, odds.values[4:5])


def test_contributions_survive_a_file_and_importance_is_their_mean(tmp_path):
    X, y = mixed_rows(60)
    classifier = DirichletGPClassifier("product", **FAST).fit(X, y)
    classifier.save(tmp_path / "model.dgp")
    again = DirichletGPClassifier.load(tmp_path / "model.dgp")
    values = classifier.explain(X).values
    assert np.array_equal(again.explain(X).values, values)
    np.testing.assert_allclose(classifier.importance(X), np.abs(values).mean(axis=0))


def test_the_background_holds_every_value_but_no_row():
    X, y = make_classification(40, 5, random_state=0)
    classifier = DirichletGPClassifier("rbf", **FAST).fit(X, y)
    background = classifier._fitted.background
    scaled = classifier._scaled(X)
    np.testing.assert_array_equal(np.sort(background, axis=0), np.sort(scaled, axis=0))
    assert not (background[:, None] == scaled).all(axis=2).any()


def test_kernels_and_scalers_that_cannot_be_taken_apart_are_refused():
    X, y = make_classification(40, 4, random_state=0)
    matern = DirichletGPClassifier("matern32", **FAST).fit(X, y)
    with pytest.raises(ValueError, match="kernel='matern32' is not a product"):
        matern.explain(X)
    turned = DirichletGPClassifier("rbf", scaler=PCA(4), **FAST).fit(X, y)
    with pytest.raises(ValueError, match="scaler mixes features"):
        turned.explain(X)
    with pytest.raises(ValueError, match="output='odds' is not"):
        DirichletGPClassifier("rbf", **FAST).fit(X, y).explain(X, output="odds")


def test_plots_of_shap_take_explanations_as_they_are():
    shap = pytest.importorskip("shap")
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = make_classification(40, 5, n_informative=3, n_classes=3, random_state=0)
    classifier = DirichletGPClassifier("rbf", **FAST).fit(X, y)
    explanation = classifier.explain(X)
    shap.plots.bar(explanation[:, :, 2], show=False)
    shap.plots.waterfall(explanation[0, :, 1], show=False)
    plt.close("all")


def test_an_effect_is_the_average_prediction_with_its_own_uncertainty():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=30) > 0).astype(int)
    classifier = DirichletGPClassifier("rbf", **FAST).fit(X, y)
    fitted = classifier._fitted
    model, lines = fitted.model, fitted.background
    scaled = classifier._scaled(X[:3])
    found = effect(fitted, scaled, [0], None)
    # Dense: the mean of the posterior process over rows mixed from the background.
    everything = np.array(list(itertools.product(lines[:, 0], lines[:, 1])))
    for i, row in enumerate(scaled):
        fixed = np.column_stack([np.full(len(lines), row[0]), lines[:, 1]])
        rows = np.concatenate([fixed, everything])
        sign = np.concatenate(
            [np.full(len(fixed), 1 / len(fixed)), np.full(len(everything), -1 / len(everything))]
        )
        kernel = model.kernel
        covariance = sum(
            np.outer(sign[a], sign[b]).ravel() @ kernel.values(rows[a], rows[b]).ravel()
            for a, b in itertools.product([slice(0, 30), slice(30, None)], repeat=2)
        )
        u = sign @ model.basis.vectors(rows)
        for c in range(2):
            beta, root = model.posterior.coefficients[c], model.posterior.roots[c]
            half = root @ u
            latent = u @ beta, covariance - u @ u + half @ half
            if c == 0:
                mean, variance = -latent[0], latent[1]
            else:
                mean, variance = mean + latent[0], variance + latent[1]
        np.testing.assert_allclose(found.mean[i, 1], mean, atol=1e-8)
        np.testing.assert_allclose(found.deviation[i, 1] ** 2, variance, rtol=1e-5, atol=1e-8)


def test_features_can_be_eliminated_by_importance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = X[:, 1] > 0
    classifier = DirichletGPClassifier("rbf", n_inducing=15, max_iter=3, random_state=0)
    assert not hasattr(classifier, "feature_importances_")
    chosen = RFECV(classifier, cv=2, min_features_to_select=1).fit(X, y)
    assert chosen.ranking_[1] == 1
    for kernel in ("rbf", "product", "matern32"):
        shares = clone(classifier).set_params(kernel=kernel).fit(X, y).feature_importances_
        assert shares.shape == (4,)
        assert_allclose(shares.sum(), 1.0)
        assert shares.argmax() == 1


def test_importances_are_those_of_the_columns_of_a_frame():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green"], size=90)
    frame = pd.DataFrame({"unit": ["mg"] * 90, "dose": rng.normal(size=90), "colour": colour})
    classifier = DirichletGPClassifier("product", n_inducing=15, max_iter=3, random_state=0)
    shares = classifier.fit(frame, colour == "red").feature_importances_
    assert shares.argmax() == 2
    assert shares[0] == 0.0
