"""The numbers of a report, and the page that is made of them."""

import html.parser
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    brier_score_loss,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood
from dirichletgp.report import gather, render, write_report
from dirichletgp.report.bootstrap import headline_metrics
from dirichletgp.report.calibration import (
    CalibrationError,
    calibration_error,
    error_by_chance,
    errors_if_calibrated,
)
from dirichletgp.report.curves import _words
from dirichletgp.report.layout import layout_of
from dirichletgp.report.outcomes import outcomes_by_threshold
from dirichletgp.report.proportions import wilson_interval
from dirichletgp.report.ranking import area_under_curve, label_scores
from dirichletgp.report.verdict import calibration_verdict

pytest.importorskip("jinja2", reason="the report needs jinja2")

NASTY = "</script><b>&amp;"


def labelled_rows(n, classes, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["dose", "age", NASTY])
    cuts = np.linspace(-1, 1, len(classes) + 1)[1:-1]
    return X, np.array(classes)[np.digitize(X["dose"] + 0.4 * rng.normal(size=n), cuts)]


@pytest.fixture(scope="module")
def two():
    X, y = labelled_rows(700, ["no", NASTY])
    model = DirichletGPClassifier("rbf", n_inducing=40, random_state=0).fit(X[:300], y[:300])
    return model, X[300:], y[300:]


@pytest.fixture(scope="module")
def many():
    X, y = labelled_rows(900, list("abcdefghijkl"))
    model = DirichletGPClassifier(n_inducing=40, random_state=0).fit(X[:500], y[:500])
    return model, X[500:], y[500:]


def embedded(page):
    return json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.S).group(1))


def test_the_headline_numbers_are_those_of_the_metrics_module_and_lie_in_their_intervals(two, many):
    for model, X, y in (two, many):
        prob = model.predict_proba(X)
        metric = {m.key: m for m in gather(model, X, y).metrics}
        assert_allclose(metric["accuracy"].value, 1 - error_rate(y, model.predict(X)))
        mnll = mean_negative_log_likelihood(y, prob, labels=model.classes_)
        assert_allclose(metric["mnll"].value, mnll)
        ece = expected_calibration_error(y, prob, labels=model.classes_)
        assert_allclose(metric["ece"].value, ece)
        for m in metric.values():
            assert m.low <= m.value <= m.high


def test_a_share_has_the_same_interval_wherever_it_stands_on_the_page(two):
    model, X, y = two
    numbers = gather(model, X, y, n_bootstrap=2)
    found = {metric.key: (metric.low, metric.high) for metric in numbers.metrics}
    called = model.predict(X) == "no"
    true = y == "no"
    right = np.sum(called & true)
    for key, k, n in (
        ("accuracy", np.sum(called == true), len(y)),
        ("precision", right, called.sum()),
        ("recall", right, true.sum()),
    ):
        assert_allclose(found[key], wilson_interval(k / n, n), err_msg=key)
    none_declined = numbers.rejection[0]
    assert_allclose(found["accuracy"], (none_declined["low"], none_declined["high"]))


def rows_all_right(n_classes, n=60):
    codes = np.arange(n) % n_classes
    prob = np.full((n, n_classes), 0.02)
    prob[np.arange(n), codes] += 1.0 - 0.02 * n_classes
    return prob, codes


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_that_are_all_right_leave_room_for_mistakes_to_come(n_classes):
    labels = [f"c{c}" for c in range(n_classes)]
    metrics, _ = headline_metrics(*rows_all_right(n_classes), 100, np.random.default_rng(0), labels)
    found = {metric.key: metric for metric in metrics}
    for key in ("accuracy", "auc", "precision", "recall", "f1"):
        assert found[key].value == found[key].high == 1.0, key
        assert 0.8 < found[key].low < 0.97, key


def test_numbers_that_every_row_gives_alike_have_no_interval_by_resampling():
    metrics, _ = headline_metrics(*rows_all_right(2), 100, np.random.default_rng(0), ["no", "yes"])
    loss = next(metric for metric in metrics if metric.key == "mnll")
    assert loss.low is None
    assert loss.high is None
    assert loss.interval == "\u2013 (rows too alike)"
    assert "low" not in loss.texts


@pytest.mark.parametrize(
    ("n_classes", "n", "correct"), [(2, 60, 0.95), (3, 60, 0.97), (12, 120, 0.9)]
)
def test_intervals_of_precision_recall_f1_and_area_hold_nineteen_times_in_twenty(
    n_classes, n, correct
):
    rng = np.random.default_rng(0)

    def scores(n):
        codes = np.arange(n) % n_classes
        called = np.where(rng.random(n) < correct, codes, rng.integers(0, n_classes, n))
        prob = rng.random((n, n_classes)) + 0.7 * np.eye(n_classes)[called]
        return label_scores(np.eye(n_classes)[called], codes) | {
            "auc": area_under_curve(prob, codes)
        }

    truth = {key: value for key, (value, _, _) in scores(60_000).items()}
    drawn = [scores(n) for _ in range(100)]
    for key, true in truth.items():
        held = np.sum([found[key][1] <= true <= found[key][2] for found in drawn])
        assert held >= binom.ppf(0.01, 100, 0.95), key


def test_labels_drawn_from_the_probabilities_are_called_calibrated_and_sharpened_ones_are_not():
    rng = np.random.default_rng(3)
    prob = rng.dirichlet(np.ones(3), size=6000)
    y = np.minimum((prob.cumsum(axis=1) < rng.uniform(size=(6000, 1))).sum(axis=1), 2)

    class Says:
        classes_ = np.arange(3)

        def __init__(self, power):
            self.power = power

        def predict_proba(self, X):
            sharp = prob**self.power
            return sharp / sharp.sum(axis=1, keepdims=True)

    X = np.zeros((6000, 1))
    honest = gather(Says(power=1), X, y).verdict
    boastful = gather(Says(power=3), X, y).verdict
    assert honest.level == "good"
    assert boastful.level == "poor"
    assert "overconfident" in boastful.sentences[-1]


def test_a_calibrated_model_is_within_what_chance_allows_nineteen_times_in_twenty():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, size=1000)
    prob = np.column_stack([1 - confidence, confidence])
    limit = np.quantile(errors_if_calibrated(prob, rng), 0.95)
    errors = [
        expected_calibration_error(rng.uniform(size=1000) < confidence, confidence)
        for _ in range(200)
    ]
    assert 0.88 <= np.mean(errors <= limit) <= 0.99


def test_the_page_is_one_file_that_asks_for_nothing(two, tmp_path):
    page = write_report(tmp_path / "r.html", *two, title=NASTY).read_text(encoding="utf-8")
    assert not re.search(r'(src|href)\s*=\s*"(?!#)', page)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "default-src 'none'" in page


def test_no_label_or_column_name_can_break_out_of_the_page(two):
    page = render(gather(*two, title=NASTY))
    assert page.count("</script>") == 2
    assert embedded(page)["classes"] == [str(label) for label in two[0].classes_]
    texts = []
    parser = html.parser.HTMLParser()
    parser.handle_data = texts.append
    parser.feed(page)
    assert NASTY in texts


def test_the_embedded_numbers_are_the_gathered_ones(many):
    numbers = gather(*many, shown=many[1])
    data = embedded(render(numbers))
    assert data["n_rows"] == len(many[2]) == np.sum(numbers.confusion)
    assert len(data["classwise"]) == 12
    assert_allclose(sum(entry["share"] for entry in data["relevance"]), 1, rtol=1e-4)
    assert data["relevance"][0]["name"] == "dose"
    assert_allclose(data["rejection"][0]["accuracy"], numbers.metrics[0].value, rtol=1e-4)
    least = data["rows"]["least"]
    most = data["rows"]["most"]
    confidences = [row["confidence"] for row in least + most[::-1]]
    assert confidences == sorted(confidences)
    assert least[-1]["confidence"] < most[-1]["confidence"]
    assert all(row["predicted"] != row["true"] for row in data["rows"]["wrong"])
    X = many[1]
    assert most[0]["values"][0] == f"{X['dose'].iloc[most[0]['row'] - 1]:.4g}"


def test_it_says_how_the_model_was_made(two):
    model, X, y = two
    made = dict(gather(model, X, y, made={"Table": "rows.csv"}).made)
    assert made["Classifier"] == "DirichletGPClassifier"
    assert made["Training rows"] == "300"
    assert made["Inducing points"] == "40"
    assert made["Kernel"].startswith("squared exponential, one lengthscale per feature, variance")
    assert made["Settings"] == "kernel='rbf', n_inducing=40, random_state=0"
    assert made["Table"] == "rows.csv"


def test_it_says_which_kernel_was_chosen(many):
    made = dict(gather(*many).made)
    assert made["Kernel"].startswith(many[0].fitted_kernel()[0].title)
    assert "kernel" not in made["Settings"]


def test_the_same_rows_give_the_same_numbers(two):
    first = gather(*two).as_dict()
    second = gather(*two).as_dict()
    assert first | {"created": ""} == second | {"created": ""}


def test_a_pipeline_of_any_classifier_gets_the_sections_it_can_fill(two):
    _, X, y = two
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    numbers = gather(model, X, y)
    page = render(numbers)
    assert numbers.uncertainty is None
    assert "Does it come true" in page
    assert "Noisy labels" not in page
    assert "How training went" not in page


def test_very_many_rows_are_examined_by_a_sample(two, monkeypatch):
    monkeypatch.setattr("dirichletgp.report.gathering.MOST_EXAMINED", 100)
    numbers = gather(*two)
    assert numbers.uncertainty["examined"] == 100
    assert np.sum(numbers.confusion) == len(two[2])
    assert max(row["row"] for row in numbers.rows["least"]) > 100


def test_bad_input_is_named(two):
    model, X, y = two
    unknown = r"labels that the model was not fitted with: \['maybe'\]"
    with pytest.raises(ValueError, match=unknown):
        gather(model, X[:2], ["maybe", "no"])
    with pytest.raises(TypeError, match="StandardScaler has no predict_proba"):
        gather(StandardScaler(), X, y)


def test_without_jinja2_the_error_names_the_install_command(two, monkeypatch):
    numbers = gather(*two, n_bootstrap=2)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match="pip install jinja2"):
        render(numbers)


def test_a_table_with_categories_and_many_values_has_a_report(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "amount": 10.0 * rng.integers(0, 30, 1_200),
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, 1_200)],
            "size": np.where(rng.random(1_200) < 0.2, np.nan, rng.normal(size=1_200)),
        }
    )
    y = (table["amount"] > 150) ^ (table["colour"] == "red")
    settings = {"n_inducing": 20, "max_iter": 3, "random_state": 0}
    classifier = DirichletGPClassifier(**settings).fit(table, y)
    write_report(tmp_path / "report.html", classifier, table, y)
    page = (tmp_path / "report.html").read_text()
    assert "Choice of the kernel" in page
    assert all(name in page for name in table)


def test_a_report_says_what_labels_mistakes_and_thresholds_are_worth(two):
    model, X, y = two
    numbers = gather(model, X, y, n_bootstrap=20)
    prob = model.predict_proba(X)
    codes = np.searchsorted(model.classes_, y)
    own = prob[np.arange(len(y)), codes]
    assert numbers.checks["found"] == int((own < 0.05).sum())
    assert_allclose(numbers.checks["expected"], prob[prob < 0.05].sum())
    plain = next(curve for curve in numbers.costs if curve["ratio"] == 1)
    assert_allclose(plain["points"][0], [0.0, error_rate(y, prob)])
    assert plain["points"][-1] == [1.0, 0.0]
    lines = {(line["target"], line["wanted"]): line for line in numbers.thresholds}
    found = lines["recall", 0.9]
    assert_allclose(np.mean(prob[codes == 1, 1] >= found["value"]), found["recall"])
    assert found["recall"] >= 0.9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    prob = np.round(rng.dirichlet(np.ones(n_classes), size=120), 1)
    prob /= prob.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(n_classes, p=row) for row in prob])
    labels = [f"c{c}" for c in range(n_classes)]
    metrics, _ = headline_metrics(prob, codes, 200, rng, labels)
    found = {metric.key: metric for metric in metrics}
    called = prob.argmax(axis=1)
    kind = "binary" if n_classes == 2 else "macro"
    truth = np.eye(n_classes)[codes]
    half = 2.0 if n_classes == 2 else 1.0
    areas = [roc_auc_score(truth[:, c], prob[:, c]) for c in range(n_classes)]
    expected = {
        "brier": np.sum((prob - truth) ** 2, axis=1).mean() / half,
        "auc": np.mean(areas),
        "precision": precision_score(codes, called, average=kind),
        "recall": recall_score(codes, called, average=kind),
        "f1": f1_score(codes, called, average=kind),
    }
    if n_classes == 2:
        assert_allclose(expected["brier"], brier_score_loss(codes, prob[:, 1]))
    for key, value in expected.items():
        assert_allclose(found[key].value, value, err_msg=key)
        assert found[key].low <= value <= found[key].high


def test_the_interval_of_the_area_is_as_wide_as_the_areas_of_other_rows_differ():
    rng = np.random.default_rng(0)

    def drawn():
        score = rng.uniform(size=200)
        return np.column_stack([1 - score, score]), (rng.uniform(size=200) < score).astype(int)

    areas = [area_under_curve(*drawn()) for _ in range(300)]
    width = np.mean([high - low for _, low, high in areas]) / (2 * 1.96)
    assert_allclose(width, np.std([area for area, _, _ in areas]), rtol=0.15)


def drawn_rows(n, bias, rng):
    """Probabilities of two classes that promise `bias` too much, and labels of the true ones."""
    confidence = rng.uniform(0.6, 0.95, n)
    second = rng.random(n) < 0.5
    true = rng.random(n) < confidence - bias
    prob = np.where(second, confidence, 1.0 - confidence)
    return np.column_stack([1.0 - prob, prob]), np.where(true, second, ~second).astype(int)


@pytest.mark.parametrize("bias", [0.0, 0.03, 0.12])
def test_what_is_said_of_the_calibration_error_holds_nineteen_times_in_twenty(bias):
    rng = np.random.default_rng(0)
    found = [calibration_error(*drawn_rows(400, bias, rng), rng) for _ in range(60)]
    assert np.mean([error.low <= bias <= error.high for error in found]) >= 0.95


@pytest.mark.parametrize("bias", [0.0, 0.02, 0.05, 0.1])
def test_verdicts_on_other_rows_of_the_same_model_do_not_contradict_each_other(bias):
    rng = np.random.default_rng(1)
    said = [
        headline_metrics(*drawn_rows(600, bias, rng), 2, rng, ["no", "yes"])[1].level
        for _ in range(60)
    ]
    holds = {"good": bias <= 0.05, "slight": bias > 0, "noticeable": bias >= 0.02}
    holds |= {"poor": bias >= 0.05, "open": True}
    # What is said is wrong once in 20 times; of 60 it may be a few more.
    assert np.sum([not holds[level] for level in said]) <= binom.ppf(0.975, 60, 0.05)
    assert not {"good", "poor"} <= set(said)


def test_the_verdict_names_the_interval_that_the_metric_has(two):
    numbers = gather(*two)
    error = next(metric for metric in numbers.metrics if metric.key == "ece")
    between = f"between {100 * error.low:.1f} and {100 * error.high:.1f} percentage points"
    assert between in numbers.verdict.sentences[1]


def test_the_direction_of_miscalibration_is_told_only_if_it_is_more_than_chance():
    rng = np.random.default_rng(2)
    for bias, words in ((0.0, "no more apart than by chance"), (0.2, "overconfident")):
        _, verdict = headline_metrics(*drawn_rows(300, bias, rng), 2, rng, ["no", "yes"])
        assert words in verdict.sentences[-1]


def test_a_verdict_that_names_a_direction_never_says_that_there_is_no_sign():
    # The error in bins is within chance, the difference of the means is not.
    found = CalibrationError(172, 0.045, 0.05, confidence=0.80, accuracy=0.84, doubt=0.03)
    verdict = calibration_verdict(found)
    assert "underconfident" in verdict.sentences[-1]
    assert verdict.level == "slight"
    assert "between 1.0 and 9.5 percentage points" in verdict.headline
    rng = np.random.default_rng(4)
    for _ in range(40):
        error = calibration_error(*drawn_rows(150, -0.03, rng), rng)
        said = calibration_verdict(error)
        assert (said.level in ("good", "open")) <= ("no more apart" in said.sentences[-1])


def test_a_verdict_says_what_its_lower_end_rests_on_where_bins_alone_would_not_tell_it():
    by_means = CalibrationError(500, 0.031, 0.035, confidence=0.84, accuracy=0.868, doubt=0.026)
    said = calibration_verdict(by_means).sentences[1]
    assert "between 0.2 and 6.6 percentage points (95\u00a0%); the lower end rests on" in said
    assert "2.8 percentage points apart and would be up to 2.6 by chance" in said
    for by_bins in (by_means._replace(value=0.08), by_means._replace(doubt=0.03)):
        assert "rests on" not in calibration_verdict(by_bins).sentences[1]


def test_the_error_by_chance_of_a_class_is_what_labels_drawn_from_it_show():
    rng = np.random.default_rng(3)
    score = rng.uniform(size=800)
    errors = [expected_calibration_error_of(score, rng) for _ in range(300)]
    assert_allclose(error_by_chance(score), np.quantile(errors, 0.95), rtol=0.1)


def expected_calibration_error_of(score, rng):
    gaps = np.bincount((score * 10).astype(int), (rng.random(len(score)) < score) - score)
    return np.abs(gaps).sum() / len(score)


def test_the_rejection_curve_has_intervals_and_ends_where_few_rows_are_left(two):
    model, X, y = two
    points = gather(model, X, y, n_bootstrap=2).rejection
    assert all(point["low"] < point["accuracy"] <= point["high"] + 1e-9 for point in points)
    assert min(point["left"] for point in points) >= 50
    assert points[-1]["left"] < 60
    few = gather(model, X[:30], y[:30], n_bootstrap=2)
    assert [point["left"] for point in few.rejection] == [30]
    assert "too few rows to decline any" in render(few)


def test_a_band_that_misses_the_diagonal_or_cannot_is_put_into_words(two):
    model, X, y = two
    numbers = gather(model, X, y, n_bootstrap=2)
    bins = numbers.reliability.bins
    missed = sum(not b["low"] <= b["confidence"] <= b["high"] for b in bins)
    wide = sum(b["upper"] - b["lower"] > 0.5 for b in bins)
    words = " ".join(numbers.reliability.words)
    verb = "misses" if missed == 1 else "miss"
    assert f"{missed or 'None'} of {len(bins)} intervals {verb} the diagonal" in words
    assert "The band" in words
    assert ("no evidence" in words) == (wide > 0)
    assert numbers.reliability.words[0] in html.unescape(render(numbers))


def a_point(came_true, rows, lower, upper):
    """A point of a reliability diagram in the middle of its band."""
    share = came_true / rows
    low, high = wilson_interval(share, rows)
    ends = {"low": low, "high": high, "lower": lower, "upper": upper}
    return {"accuracy": share, "rows": float(rows), "confidence": (lower + upper) / 2, **ends}


def test_words_on_the_band_say_on_which_side_it_is_too_narrow():
    inside = a_point(50, 100, 0.45, 0.55)
    above = a_point(500, 500, 0.94, 0.98)
    below = a_point(10, 400, 0.15, 0.25)
    nowhere = "The band, allowing for chance in so many rows, misses it nowhere."
    assert _words([inside])[1:] == [nowhere]
    start = "The band misses it at 1 of 2 points by more than chance, where it is too narrow: "
    more = "more came true than its upper end allows for (at 96\u00a0%)."
    assert _words([inside, above])[1:] == [start + more]
    fewer = "fewer came true than its lower end allows for (at 20\u00a0%), "
    assert fewer + more in _words([below, inside, above])[1]


def test_a_band_is_not_too_narrow_where_few_rows_came_true_by_chance():
    few = [a_point(rows, rows, 0.5, 0.9) for rows in (1, 2, 4, 5)]
    assert not any("too narrow" in sentence for sentence in _words(few))
    assert not any("too narrow" in sentence for sentence in _words([a_point(64, 64, 0.99, 0.998)]))
    assert any("too narrow" in sentence for sentence in _words([a_point(64, 64, 0.8, 0.9)]))


@given(
    st.lists(st.tuples(st.integers(1, 300), *[st.floats(0.0, 1.0)] * 3), min_size=1, max_size=10)
)
def test_no_point_is_both_outside_a_band_and_in_one_too_wide_to_miss(drawn):
    bins = [a_point(round(share * rows), rows, *sorted(ends)) for rows, share, *ends in drawn]
    said = _words(bins)[1:]
    counted = [re.search(r"(\d+) of \d+ points|the one point", text) for text in said]
    numbers = [int(found.group(1) or 1) for found in counted if found]
    assert sum(numbers) <= len(bins)


def test_a_diagram_of_one_point_speaks_of_one():
    honest = " ".join(_words([a_point(64, 64, 0.1, 1.0)]))
    assert "The one interval includes the diagonal" not in honest  # 64 of 64, and 55 % was said
    assert "The one interval misses the diagonal (at 55\u00a0%)" in honest
    assert "At the one point the band is so wide" in honest
    assert _words([a_point(64, 64, 0.99, 0.998)])[0].startswith("The one interval includes")
    two = _words([a_point(64, 64, 0.99, 0.998), a_point(64, 64, 0.4, 0.6)])
    assert two[0].startswith("1 of 2 intervals misses the diagonal")


def test_the_numbers_behind_the_diagram_are_called_what_they_are(two, many):
    for rows, name in ((two, "Probability of no"), (many, "Confidence")):
        page = render(gather(*rows, n_bootstrap=2))
        behind = page.split("Numbers behind the diagram")[1]
        assert re.search('<th scope="col">(.*?)</th>', behind).group(1) == name


def test_one_label_to_check_is_one_row():
    prob = np.full((80, 2), [0.995, 0.005])
    for found, words in ((1, "1 row has a label"), (2, "2 rows have a label")):
        y = (np.arange(80) < found).astype(int)
        assert words in render(gather(Constant(prob), np.zeros((80, 1)), y, n_bootstrap=2))


class Constant:
    """Says the same of any rows."""

    classes_ = np.arange(2)

    def __init__(self, prob):
        self.prob = prob

    def predict_proba(self, X):
        return self.prob


def test_features_say_which_way_they_work():
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "dose": rng.normal(size=n),
            "rest": rng.normal(size=n),
            "age": rng.normal(size=n),
            "colour": rng.choice(["red", "blue"], size=n),
            "town": np.where(np.arange(n) < 4, "Nowhere", "Somewhere"),
        }
    )
    height = 2 * table["dose"] - 2 * table["rest"] + 2 * (table["colour"] == "red")
    y = np.where(height + 0.3 * rng.normal(size=n) > 1, "yes", "no")
    settings = {"n_inducing": 60, "max_iter": 10, "random_state": 0}
    model = DirichletGPClassifier("product", **settings).fit(table, y)
    numbers = gather(model, table, y, n_bootstrap=2)
    words = {entry["name"]: entry.get("words") for entry in numbers.relevance}
    assert words["dose"] == "higher: yes likelier"
    assert words["rest"] == "higher: yes less likely"
    assert words["colour"] == "yes likeliest where it is red, least where blue"
    page = render(numbers)
    assert "higher: yes less likely" in page
    assert "Nowhere" not in page  # four rows are too few to be named


@pytest.mark.parametrize("n_classes", [2, 4])
def test_counts_behind_the_slider_are_those_of_calling_rows(n_classes):
    rng = np.random.default_rng(0)
    prob = np.round(rng.dirichlet(np.ones(n_classes), size=90), 2)
    codes = rng.integers(0, n_classes, 90)
    labels = [f"c{c}" for c in range(n_classes)]
    found = outcomes_by_threshold(prob, codes, labels)
    assert len(found["classes"]) == (1 if n_classes == 2 else n_classes)
    for entry in found["classes"]:
        c = labels.index(entry["label"])
        assert entry["rows"] == np.sum(codes == c)
        for place in (0, 30, 53, 106):
            called = prob[:, c] >= found["thresholds"][place]
            assert entry["taken"][place] == called.sum()
            assert entry["right"][place] == (called & (codes == c)).sum()


def test_what_is_in_the_rows_stays_out_unless_it_is_asked_for(two):
    model, X, y = two
    X = X.assign(name=[f"Person {i}" for i in range(len(X))])
    values = [f"{value:.4g}" for value in X["dose"]]
    quiet = render(gather(model, X[model.feature_names_in_], y, n_bootstrap=2))
    assert not any(f">{value}<" in quiet for value in values)
    told = render(gather(model, X[model.feature_names_in_], y, shown=X, n_bootstrap=2))
    assert "Person " in told
    assert any(f">{value}<" in told for value in values)


def test_labels_that_look_wrong_are_compared_with_what_chance_allows(two):
    checks = gather(*two, n_bootstrap=2).checks
    assert checks["at_most"] >= checks["expected"]
    assert f"hardly more than {checks['at_most']:,}" in render(gather(*two, n_bootstrap=2))


def test_a_report_on_training_rows_says_so(two):
    model, X, y = two
    rows, labels = labelled_rows(700, ["no", NASTY])
    said = "rows seem to be rows that the model was fitted to"
    assert any(said in caution for caution in gather(model, rows[:300], labels[:300]).cautions)
    assert not any(said in caution for caution in gather(model, X, y).cautions)


def test_a_page_does_not_replace_a_table(two, tmp_path):
    (tmp_path / "rows.csv").write_text("age,label")
    with pytest.raises(FileExistsError, match=r"rows.csv' exists and is no HTML page.*overwrite"):
        write_report(tmp_path / "rows.csv", *two)
    assert (tmp_path / "rows.csv").read_text() == "age,label"


def test_every_card_stands_once_and_tables_of_many_classes_take_the_whole_width(two, many):
    for case, wide in ((two, False), (many, True)):
        layout = layout_of(gather(*case, n_bootstrap=2))
        cards = [*layout.columns[0], *layout.columns[1], *layout.wide]
        assert len(cards) == len(set(cards)) == 13
        assert ("confusion" in layout.wide) == wide


def test_every_calibration_error_of_the_page_is_in_percentage_points(two):
    page = html.unescape(render(gather(*two, n_bootstrap=2)).partition("<script")[0])
    for text in re.findall(r"[Cc]alibration error\D{0,40}?([0-9.]+)(.{12})", page):
        assert text[1].startswith(("\u00a0pp", " percentage")), text
