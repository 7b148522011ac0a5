"""Displays, reports and datasets where something is missing, empty, or more than fits."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from dirichletgp import DirichletGPClassifier
from dirichletgp.baselines import GPRegressionClassifier, VariationalGPClassifier
from dirichletgp.metrics import reliability_curve
from dirichletgp.plotting import (
    EffectDisplay,
    FeatureRelevanceDisplay,
    UncertaintyDisplay,
    feature_relevance,
)
from dirichletgp.plotting.kernels import feature_names_of
from dirichletgp.plotting.quantile_band import draw_band
from dirichletgp.report import gather
from dirichletgp.report.calibration import CalibrationError
from dirichletgp.report.confusion import confusion_table
from dirichletgp.report.deciding import thresholds_table
from dirichletgp.report.verdict import calibration_verdict

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    settings = {"kernel": "rbf", "n_inducing": 15, "max_iter": 2, "random_state": 0, "n_jobs": 1}
    return DirichletGPClassifier(**settings).fit(X, y)


# Displays


def test_effects_of_two_features_of_an_array_are_drawn_on_their_grid(fitted):
    display = EffectDisplay.from_estimator(fitted, X, 0, 1)
    assert display.names == ["x0", "x1"]
    assert np.ndim(display.mean) == 2
    single = EffectDisplay.from_estimator(fitted, X, 1)
    assert single.names == ["x1"]


def test_effects_of_two_features_of_a_frame_of_polars_are_those_of_an_array(fitted):
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    settings = {"kernel": "rbf", "n_inducing": 15, "max_iter": 0, "random_state": 0, "n_jobs": 1}
    names = ["a", "b", "c"]
    of_pandas = pd.DataFrame(X, columns=names)
    of_polars = pl.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    means = []
    for frame in (of_pandas, of_polars):
        model = DirichletGPClassifier(**settings).fit(frame, y)
        means.append(EffectDisplay.from_estimator(model, frame, "a", "b").mean)
    np.testing.assert_allclose(means[0], means[1], atol=1e-12)


def test_relevances_have_names_and_share_alike_where_nothing_matters():
    display = FeatureRelevanceDisplay([0.25, 0.75])
    assert display.feature_names.tolist() == ["x0", "x1"]

    class Flat:
        lengthscale_ = 1.0

        def fitted_kernel(self):
            class Kernel:
                def relevance(self, points):
                    return np.zeros(points.shape[1])

            return Kernel(), np.zeros((4, 5))

    np.testing.assert_allclose(feature_relevance(Flat()), 0.2)


def test_names_of_any_estimator_are_found():
    class Named:
        feature_names_in_ = np.array(["a", "b"], dtype=object)

    assert feature_names_of(Named()) == ["a", "b"]
    assert feature_names_of(object()) is None


def test_uncertainties_and_what_was_right_are_of_the_same_rows():
    with pytest.raises(ValueError, match=r"correct has shape \(2,\), expected \(3,\)"):
        UncertaintyDisplay(np.zeros(3), np.zeros(3), np.ones(2))
    with pytest.raises(ValueError, match="must have the same shape"):
        UncertaintyDisplay(np.zeros(3), np.zeros(2))


def test_a_band_needs_two_bins(fitted):
    import matplotlib.pyplot as plt

    curve = reliability_curve(np.array([0, 1, 1]), np.array([0.52, 0.55, 0.58]), n_bins=5)
    figure, ax = plt.subplots()
    assert draw_band(ax, curve, curve, "band") is None
    plt.close(figure)


# Reports


def test_very_many_classes_have_mistakes_and_no_table():
    matrix = np.diag(np.full(50, 3))
    matrix[4, 7] = 2
    found = confusion_table(matrix.tolist(), [str(c) for c in range(50)])
    assert found == {"matrix": None, "top": [{"true": "4", "predicted": "7", "rows": 2}]}


def test_classes_without_rows_have_no_thresholds():
    p = np.full((4, 3), 1 / 3)
    table = thresholds_table(p, np.array([0, 0, 1, 1]), ["a", "b", "c"])
    assert {line["label"] for line in table} == {"a", "b"}


@pytest.mark.parametrize(
    ("seen", "by_chance", "level"),
    [
        (0.08, 0.01, "poor"),
        (0.04, 0.01, "noticeable"),
        (0.02, 0.01, "slight"),
        (0.01, 0.02, "good"),
        (0.08, 0.1, "open"),
    ],
)
def test_words_follow_from_what_is_certain(seen, by_chance, level):
    error = CalibrationError(1_000, seen, by_chance, 0.8, 0.8, 0.01)
    assert calibration_verdict(error).level == level


def test_a_report_of_no_rows_is_refused(fitted):
    with pytest.raises(ValueError, match=r"y has shape \(60, 1\)"):
        gather(fitted, X, y[:, None], n_bootstrap=2)


def test_a_report_says_the_names_it_is_given(fitted):
    numbers = gather(fitted, X, y, feature_names=["one", "two", "three"], n_bootstrap=2)
    assert {entry["name"] for entry in numbers.relevance} == {"one", "two", "three"}


# Rivals


@pytest.mark.filterwarnings("ignore:The bound still rose")
@pytest.mark.parametrize("max_iter", [0, 2])
@pytest.mark.parametrize("rival", [GPRegressionClassifier, VariationalGPClassifier])
def test_a_rival_has_all_its_points_and_the_names_of_columns(rival, max_iter, monkeypatch):
    pd = pytest.importorskip("pandas")
    from dirichletgp._gp.training.inducing_points import PointPlacer

    first_points = PointPlacer.first_points
    monkeypatch.setattr(
        PointPlacer, "first_points", lambda self, kernel: first_points(self, kernel, 5)
    )
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = rival(n_inducing=12, max_iter=max_iter, random_state=0).fit(frame, y)
    assert len(model.inducing_points_) == 12
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0)
