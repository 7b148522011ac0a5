"""The displays besides the reliability diagram."""

import sys

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import classwise_calibration_error
from dirichletgp.plotting import (
    ClasswiseCalibrationDisplay,
    EffectDisplay,
    FeatureRelevanceDisplay,
    RejectionDisplay,
    TrainingHistoryDisplay,
    UncertaintyDisplay,
    feature_relevance,
    rejection_curve,
)

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-0.5, 0.5])]
    pipeline = make_pipeline(StandardScaler(), DirichletGPClassifier(n_inducing=40, random_state=0))
    return pipeline.fit(X, y), X, y


def test_refusing_the_least_confident_rows_leaves_the_accuracy_of_the_others():
    rng = np.random.default_rng(1)
    prob = rng.dirichlet(np.ones(3), size=200)
    y = rng.integers(0, 3, size=200)
    curve = rejection_curve(y, prob)
    kept = prob.max(axis=1) >= curve.threshold[70]
    assert_allclose(curve.accuracy[70], np.mean(prob[kept].argmax(axis=1) == y[kept]))
    assert_allclose(curve.rejected[70], 1 - kept.mean())
    assert_allclose(curve.accuracy[0], np.mean(prob.argmax(axis=1) == y))


def test_rows_of_equal_confidence_are_refused_together():
    curve = rejection_curve([0, 1, 0, 1], [0.4, 0.6, 0.6, 0.9])
    assert_allclose(curve.rejected, [0, 0.75])
    assert_allclose(curve.accuracy, [0.75, 1])


def test_the_rejection_curve_starts_at_the_accuracy_and_is_drawn_over_another(fitted):
    model, X, y = fitted
    display = RejectionDisplay.from_estimator(model, X, y)
    assert_allclose(display.line_.get_ydata()[0], model.score(X, y))
    assert display.name == "DirichletGPClassifier"
    again = RejectionDisplay.from_estimator(
        LogisticRegression().fit(X, y), X, y, ax=display.ax_, color="black"
    )
    assert [line.get_gid() for line in again.ax_.lines].count("random") == 1


def test_every_class_has_a_curve_and_the_worst_have_names(fitted):
    model, X, y = fitted
    display = ClasswiseCalibrationDisplay.from_estimator(model, X, y, n_named=2)
    expected = classwise_calibration_error(y, model.predict_proba(X), per_class=True)
    assert_allclose(display.calibration_error, expected)
    assert len(display.lines_) == 3
    named = [text.get_text()[0] for text in display.ax_.get_legend().get_texts()][:2]
    worst = model.classes_[np.argsort(-expected)][:2]
    assert_array_equal(sorted(named), sorted(worst))


def test_each_row_is_a_point_where_its_uncertainty_puts_it(fitted):
    model, X, y = fitted
    display = UncertaintyDisplay.from_estimator(model, X, y)
    right = model.predict(X) == y
    _, aleatoric, epistemic = model[-1].predict_uncertainty(model[:-1].transform(X))
    places = np.column_stack([aleatoric, epistemic])
    assert_allclose(display.points_[0].get_offsets(), places[right])
    assert_allclose(display.points_[1].get_offsets(), places[~right])
    assert len(UncertaintyDisplay.from_estimator(model, X).points_[1].get_offsets()) == 0


def test_relevance_shares_add_up_and_find_the_feature_that_matters(fitted):
    model, _, _ = fitted
    relevance = feature_relevance(model[-1])
    assert_allclose(relevance.sum(), 1)
    assert relevance.argmax() == 0
    display = FeatureRelevanceDisplay.from_estimator(
        model, feature_names=["dose", "age", "size"], max_features=2
    )
    assert [bar.get_width() for bar in display.bars_] == sorted(relevance, reverse=True)[:2]
    assert display.ax_.get_yticklabels()[0].get_text() == "dose"


def test_a_feature_that_is_the_same_for_nearly_all_rows_is_not_the_most_relevant():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[:, 1] = np.arange(300) == 0
    model = DirichletGPClassifier(
        lengthscale=[1.0, 0.01], variance=4.0, inducing=X, max_iter=0
    ).fit(X, X[:, 0] > 0)
    assert feature_relevance(model)[1] < 0.05


def test_a_shared_lengthscale_and_constant_columns_have_a_relevance_too():
    X = np.random.default_rng(0).normal(size=(80, 2)) * [1, 0]
    model = DirichletGPClassifier(ard=False, n_inducing=20, random_state=0).fit(X, X[:, 0] > 0)
    assert_allclose(feature_relevance(model), [1, 0])


def test_the_history_holds_every_evaluation_of_the_bound(fitted):
    model, _, _ = fitted
    history = model[-1].history_
    assert sum(len(stage["bound_per_row"]) for stage in history) == model[-1].n_iter_
    assert all(stage["seconds"] >= 0 for stage in history)
    display = TrainingHistoryDisplay.from_estimator(model)
    drawn = np.concatenate([line.get_ydata() for line in display.lines_])
    assert_allclose(drawn, np.concatenate([stage["bound_per_row"] for stage in history]))
    numbers = np.concatenate([line.get_xdata() for line in display.lines_])
    assert_array_equal(numbers, np.arange(1, model[-1].n_iter_ + 1))


def test_estimators_without_what_is_drawn_are_named():
    X = np.eye(2)
    y = [0, 1]
    model = LogisticRegression().fit(X, y)
    with pytest.raises(TypeError, match="LogisticRegression has no predict_uncertainty"):
        UncertaintyDisplay.from_estimator(model, X, y)
    with pytest.raises(TypeError, match="LogisticRegression has no lengthscale_"):
        FeatureRelevanceDisplay.from_estimator(model)
    with pytest.raises(TypeError, match="LogisticRegression has no history_"):
        TrainingHistoryDisplay.from_estimator(model)
    with pytest.raises(TypeError, match="StandardScaler has no predict_proba"):
        RejectionDisplay.from_estimator(StandardScaler(), X, y)
    with pytest.raises(ValueError, match=r"same shape \(n,\)"):
        UncertaintyDisplay.from_predictions([0.1], [0.1, 0.2])
    with pytest.raises(ValueError, match="feature_names has shape"):
        FeatureRelevanceDisplay.from_predictions([0.1], feature_names=["a", "b"])


def test_without_matplotlib_the_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        RejectionDisplay.from_predictions([0, 1], [0.1, 0.8])


def test_an_effect_is_a_curve_with_a_band_or_points_or_a_surface():
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"dose": rng.normal(size=80), "word": rng.choice(["a", "b"], 80)})
    X.loc[0, "word"] = None
    y = (X["dose"] + (X["word"] == "a") > 0.4).to_numpy()
    model = DirichletGPClassifier("product", n_inducing=20, max_iter=3, random_state=0).fit(X, y)
    curve = EffectDisplay.from_estimator(model, X, "dose", n_points=30)
    assert curve.ax_.get_xlabel() == "dose"
    assert len(curve.values[0]) == 30
    assert curve.mean[-1] > curve.mean[0]
    words = EffectDisplay.from_estimator(model, X, 1)
    assert sorted(words.values[0]) == ["a", "b", "missing"]
    pair = EffectDisplay.from_estimator(model, X, "dose", "word")
    assert pair.mean.shape == (25, 3)
    with pytest.raises(ValueError, match="feature='age' is neither"):
        model.effect(X, "age")
    with pytest.raises(ValueError, match="label='x' is not among"):
        EffectDisplay.from_estimator(model, X, "dose", label="x")
    with pytest.raises(TypeError, match="name one feature or two after the rows, got 0"):
        EffectDisplay.from_estimator(model, "dose")


def test_effects_are_drawn_as_the_model_reads_the_columns():
    import pandas as pd

    rng = np.random.default_rng(0)
    price, days = rng.gamma(2.0, 800.0, 200), rng.integers(0, 600, 200)
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")
    word = rng.choice(["room", "house"], 200)
    X = pd.DataFrame(
        {
            "price": [f"${value:,.2f}" for value in price],
            "seen": dates.strftime("%d.%m.%Y"),
            "stamp": dates,
            "title": [f"{w} {n:06d}" for n, w in enumerate(word)],
            "level": pd.Categorical((days % 3) * 10),
        }
    )
    y = (np.log(price) + 3 * (word == "room") + rng.normal(size=200) > 8.5).astype(int)
    model = DirichletGPClassifier("product", n_inducing=25, max_iter=4, random_state=0).fit(X, y)
    assert model.columns_["price"] == "number"
    assert model.columns_["seen"].startswith("date, read as %d.%m.%Y")
    numbers = EffectDisplay.from_estimator(model, X, "price")
    assert numbers.values[0].dtype == np.float64
    assert numbers.mean[-1] > numbers.mean[0]
    for name in ("seen", "stamp"):
        times = EffectDisplay.from_estimator(model, X, name).values[0]
        assert (times[0], times[-1]) == (dates.min(), dates.max())
    words = EffectDisplay.from_estimator(model, X, "title")
    assert sorted(words.values[0]) == ["house", "none of them", "room"]
    effect = dict(zip(words.values[0].tolist(), words.mean, strict=True))
    assert effect["room"] > effect["none of them"]
    assert sorted(EffectDisplay.from_estimator(model, X, "level").values[0]) == ["0", "10", "20"]
    assert EffectDisplay.from_estimator(model, X, "seen", "title").mean.shape == (25, 3)
