import sys

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirichletgp.metrics import expected_calibration_error, reliability_curve
from dirichletgp.plotting import ReliabilityDisplay

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


class WithInterval(LogisticRegression):
    """A classifier that is unsure of its own probabilities, by a constant on the log-odds."""

    def predict_interval(self, X, level):
        width = 2 * level
        odds = self.decision_function(X)[:, None] * [-1, 1]
        return 1 / (1 + np.exp(width - odds)), 1 / (1 + np.exp(-width - odds))


def two_classes(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    return X, y


def three_classes(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.ones(3), size=n)
    return np.minimum((prob.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1), 2), prob


def test_the_line_is_the_reliability_curve_of_the_positive_class():
    X, y = two_classes()
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y)
    curve = reliability_curve(y, model.predict_proba(X), pos_label="yes")
    assert_allclose(display.line_.get_xdata(), curve.confidence)
    assert_allclose(display.line_.get_ydata(), curve.accuracy)
    assert_allclose([bar.get_height() for bar in display.bars_], curve.mass)
    assert display.band_ is None
    assert "class yes" in display.ax_histogram_.get_xlabel()


def test_the_legend_prints_the_ece_of_the_tables():
    X, y = two_classes()
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y)
    ece = expected_calibration_error(y, model.predict_proba(X))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"LogisticRegression (ECE {ece:.3f})" in texts


def test_the_band_is_bounded_by_the_mean_quantiles_of_the_rows_in_each_bin():
    X, y = two_classes()
    model = WithInterval().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, level=0.9)
    lower, upper = model.predict_interval(X, level=0.9)
    corners = display.band_.get_path().vertices
    in_third_bin = np.ceil(model.predict_proba(X)[:, 1] * 10) == 3
    accuracy = np.mean(y[in_third_bin] == "yes")
    for quantile, drawn in ((lower, display.lower), (upper, display.upper)):
        assert_allclose(drawn.confidence[2], quantile[in_third_bin, 1].mean())
        assert_allclose(drawn.accuracy[2], accuracy)
        for point in np.column_stack([drawn.confidence, drawn.accuracy]):
            assert np.abs(corners - point).sum(axis=1).min() < 1e-12
    assert "90 % quantile" in display.band_.get_label()


def test_the_band_of_few_rows_neither_crosses_itself_nor_leaves_the_curve():
    import matplotlib.pyplot as plt

    _, pair = plt.subplots(2)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        prob = rng.uniform(size=25)
        y = rng.uniform(size=25) < prob
        for ax in pair:
            ax.clear()
        display = ReliabilityDisplay.from_predictions(
            y, prob, lower=np.maximum(prob - 0.1, 0), upper=np.minimum(prob + 0.1, 1), ax=pair
        )
        path = display.band_.get_path()
        held = display.curve.mass > 0
        assert np.all(display.lower.confidence[held] <= display.upper.confidence[held])
        middle = np.column_stack([display.curve.confidence, display.curve.accuracy])[held]
        between = (middle[:-1] + middle[1:]) / 2
        assert path.contains_points(between, radius=1e-9).all()
        quadrangles = path.vertices.reshape(held.sum() - 1, -1, 2)
        assert min(polygon_area(corners) for corners in quadrangles) >= 0  # all turn the same way


def polygon_area(corners):
    x, y = corners.T
    return 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))


def test_a_calibrated_model_has_the_identity_in_its_band():
    X, y = two_classes(20_000)
    model = WithInterval().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y)
    diagonal = np.linspace(0.2, 0.8, 13)
    path = display.band_.get_path()
    assert path.contains_points(np.column_stack([diagonal, diagonal])).all()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: GridSearchCV(model, {"C": [1.0]}, cv=2),
        lambda model: make_pipeline(StandardScaler(), GridSearchCV(model, {"C": [1.0]}, cv=2)),
    ],
)
def test_pipelines_and_searches_keep_band_and_name(wrap):
    X, y = two_classes(300)
    display = ReliabilityDisplay.from_estimator(wrap(WithInterval()).fit(X, y), X, y)
    assert display.band_ is not None
    assert display.name == "WithInterval"


def test_many_classes_are_drawn_by_confidence_in_the_predicted_class():
    y, prob = three_classes()
    display = ReliabilityDisplay.from_predictions(y, prob)
    curve = reliability_curve(y, prob)
    held = curve.mass > 0
    assert not held.all()  # three classes: nobody is less than a third sure
    assert_allclose(display.line_.get_ydata(), curve.accuracy[held])
    assert display.ax_.get_ylabel() == "Accuracy"


def test_one_of_many_classes_can_be_looked_at_with_its_band():
    y, prob = three_classes()
    display = ReliabilityDisplay.from_predictions(
        y, prob, pos_label=1, lower=0.8 * prob, upper=np.minimum(1.2 * prob, 1)
    )
    curve = reliability_curve(y, prob, pos_label=1)
    assert_allclose(display.line_.get_ydata(), curve.accuracy)
    assert display.calibration_error == curve.calibration_error
    assert display.band_ is not None


def test_the_histogram_keeps_equal_widths_when_the_bins_have_equal_mass():
    y, prob = three_classes()
    display = ReliabilityDisplay.from_predictions(y, prob, strategy="quantile", n_bins=8)
    assert_allclose(display.curve.mass, 1 / 8, atol=1e-3)
    assert_allclose([bar.get_width() for bar in display.bars_], 1 / 8)
    assert_allclose(sum(bar.get_height() for bar in display.bars_), 1)


def test_given_axes_are_drawn_into_and_two_models_share_them():
    import matplotlib.pyplot as plt

    y, prob = three_classes()
    _, axes = plt.subplots(1, 2)
    first = ReliabilityDisplay.from_predictions(y, prob, ax=axes[1], name="one")
    pair = (first.ax_, first.ax_histogram_)
    second = ReliabilityDisplay.from_predictions(y, prob, ax=pair, name="two", color="black")
    assert first.ax_ is axes[1]
    assert second.line_.get_color() == "black"
    labels = [line.get_label() for line in first.ax_.lines]
    assert labels.count("Perfect calibration") == 1
    first.figure_.canvas.draw()


def test_a_display_can_be_drawn_again_under_another_name():
    y, prob = three_classes()
    display = ReliabilityDisplay.from_predictions(y, prob)
    before = display.figure_
    assert display.plot(name="again") is display
    assert display.figure_ is not before
    assert display.line_.get_label().startswith("again")


def test_weights_reach_curve_histogram_and_band():
    X, y = two_classes(500)
    weight = np.random.default_rng(1).integers(0, 3, size=500)
    model = WithInterval().fit(X, y)
    weighted = ReliabilityDisplay.from_estimator(model, X, y, sample_weight=weight)
    repeated = ReliabilityDisplay.from_estimator(model, X.repeat(weight, 0), y.repeat(weight))
    assert_allclose(weighted.mass, repeated.mass)
    assert_allclose(weighted.curve.accuracy, repeated.curve.accuracy)
    assert_allclose(weighted.band_.get_path().vertices, repeated.band_.get_path().vertices)


def test_nothing_is_cut_off_at_the_edge_of_the_figure():
    X, y = two_classes()
    display = ReliabilityDisplay.from_estimator(WithInterval().fit(X, y), X, y)
    display.figure_.canvas.draw()
    inside = display.figure_.bbox
    for ax in (display.ax_, display.ax_histogram_):
        box = ax.get_tightbbox()
        assert_array_equal([box.x0 >= inside.x0, box.x1 <= inside.x1], True)
        assert_array_equal([box.y0 >= inside.y0, box.y1 <= inside.y1], True)


def test_bad_input_is_named():
    y, prob = three_classes(50)
    draw = ReliabilityDisplay.from_predictions
    with pytest.raises(ValueError, match="choose it with pos_label"):
        draw(y, prob, lower=prob, upper=prob)
    with pytest.raises(ValueError, match="pass both or neither"):
        draw(y, prob, lower=prob, pos_label=1)
    with pytest.raises(ValueError, match=r"lower has shape \(50, 2\), expected \(n, 3\)"):
        draw(y, prob, lower=prob[:, :2], upper=prob, pos_label=1)
    with pytest.raises(ValueError, match=r"upper: .*found 2\.0"):
        draw(y, prob, lower=prob, upper=np.full(50, 2.0), pos_label=1)
    with pytest.raises(TypeError, match="has no predict_proba"):
        ReliabilityDisplay.from_estimator(StandardScaler(), prob, y)


def test_axes_that_cannot_be_divided_are_refused():
    import matplotlib.pyplot as plt

    y, prob = three_classes(50)
    loose = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match=r"pass two Axes, ax=\(diagram, histogram\)"):
        ReliabilityDisplay.from_predictions(y, prob, ax=loose)


def test_without_matplotlib_the_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    y, prob = three_classes(50)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        ReliabilityDisplay.from_predictions(y, prob)
