"""The section of a report about regions says where rows are, and how good the model is there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dirichletgp import DirichletGPClassifier
from dirichletgp.report import gather, render
from dirichletgp.report.region_numbers import region_numbers

pytest.importorskip("jinja2", reason="the report needs jinja2")


def quick(**parameters):
    few = {"kernel": "rbf", "n_inducing": 15, "max_iter": 1, "random_state": 0, "n_jobs": 1}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier(**{**few, **labels, "n_regions": 6, **parameters})


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"height": rng.normal(2_000, 300, 900), "width": rng.uniform(size=900)})
    X["colour"] = rng.choice(["<red>", "green"], 900)
    X.loc[::50, "width"] = np.nan
    y = np.where(np.sin(X["height"] / 150) + 0.3 * rng.normal(size=900) > 0, "hill", "dale")
    return X, y


@pytest.fixture(scope="module")
def model(rows):
    X, y = rows
    return quick().fit(X[:500], y[:500])


def numbers_of(model, X, y):
    prob = model.predict_proba(X)
    codes = np.searchsorted(model.classes_, y)
    return region_numbers(model, X, prob, codes), prob, codes


def test_each_region_is_measured_on_the_rows_that_are_mostly_in_it(model, rows):
    X, y = (part[500:] for part in rows)
    found, prob, codes = numbers_of(model, X, y)
    regions, _, scaled = model.fitted_regions(X)
    home = []
    for i in range(len(X)):
        places = regions.regions.places(scaled[i : i + 1])
        home.append(places.regions[places.weights.argmax()])
    home = np.array(home)
    assert found["summary"]["regions"] == 6
    assert len(found["listed"]) == len(np.unique(home))
    for region in found["listed"]:
        own = home == region["number"] - 1
        p = prob[own, codes[own]]
        assert region["rows"] == own.sum()
        assert region["mnll"] == pytest.approx(-np.log(p).mean())
        assert region["accuracy"] == pytest.approx(np.mean(prob[own].argmax(axis=1) == codes[own]))
    assert sum(region["loss_share"] for region in found["listed"]) == pytest.approx(1.0)
    losses = [region["loss_share"] for region in found["listed"]]
    assert losses == sorted(losses, reverse=True)
    steps = found["steps"]
    assert sum(step["share"] for step in steps) == pytest.approx(1.0)
    assert sum(s["share"] * s["mnll"] for s in steps) == pytest.approx(found["mnll"])
    assert [s["mnll"] for s in steps] == sorted(s["mnll"] for s in steps)


def test_columns_say_where_regions_are():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"height": rng.normal(size=600), "width": 0.1 * rng.normal(size=600)})
    y = (np.sin(3 * X["height"]) > 0).to_numpy()
    classifier = quick(n_regions=2, scaler=None, ard=False).fit(X, y)
    found, _, _ = numbers_of(classifier, X, y.astype(int))
    assert found["cuts"][0]["name"] == "height"
    assert found["cuts"][0]["share"] > 0.9
    for region in found["listed"]:
        assert region["where"][0].startswith("height ")


def test_the_section_is_there_only_with_several_regions(model, rows):
    X, y = (part[500:] for part in rows)
    page = render(gather(model, X, y, n_bootstrap=10))
    assert "Regions: where it is good" in page
    plain = quick(n_regions=1).fit(X[:200], y[:200])
    numbers = gather(plain, X[200:], y[200:], n_bootstrap=10)
    assert numbers.regions is None
    assert "Regions: where it is good" not in render(numbers)


def test_regions_of_a_classifier_in_a_pipeline_are_found(rows):
    X, y = (part[:600] for part in rows)
    numbers = X[["height"]]
    pipeline = make_pipeline(FunctionTransformer(np.log, feature_names_out="one-to-one"), quick())
    pipeline.fit(numbers[:400], y[:400])
    found = gather(pipeline, numbers[400:], y[400:], n_bootstrap=10).regions
    assert found["summary"]["regions"] == 6
    assert sum(region["rows"] for region in found["listed"]) == 200
