"""Sets, decisions, explanations and labels to check on the command line."""

import csv
import io
import json

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="the command line reads tables with pyarrow")

from dirichletgp import DirichletGPClassifier

FAST = ("--n-inducing", "25", "--kernel", "rbf")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table with three labels that are wrong, and a model of it."""
    folder = tmp_path_factory.mktemp("decisions")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    sick = X[:, 0] > 0
    X[:, 0] += np.where(sick, 1.5, -1.5)
    sick[:3] = ~sick[:3]
    lines = [f"{a:.4f},{b:.4f},{'yes' if s else 'no'}" for (a, b), s in zip(X, sick, strict=True)]
    table = folder / "rows.csv"
    table.write_text("\n".join(["dose,age,sick", *lines]) + "\n")
    return folder, table


@pytest.fixture
def model(files, run):
    folder, table = files
    path = folder / "model.dgp"
    if not path.exists():
        code, _, error = run("fit", table, "-t", "sick", "-o", path, "--json", *FAST)
        assert not code, error
    return path


def read(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_audit_lists_wrong_labels_first(files, run):
    folder, table = files
    out = folder / "audit.csv"
    code, said, error = run("audit", table, "--target", "sick", "-o", out, "--json", *FAST)
    assert not code, error
    rows = read(out)
    assert {row["row"] for row in rows[:3]} == {"1", "2", "3"}
    assert all(row["given"] != row["suggested"] for row in rows)
    summary = json.loads(said)
    assert summary["rows"] == 160
    assert summary["issues"] == len(rows)
    assert summary["unlikely"] == sum(float(row["probability"]) < 0.05 for row in rows)
    assert 0 < summary["expected"] < 160
    assert summary["first"][0]["row"] == int(rows[0]["row"])
    assert set(rows[0]) >= {"probability", "twin", "dose", "age"}


def test_predictions_have_sets_decisions_and_contributions(files, model, run):
    folder, table = files
    out = folder / "predicted.csv"
    options = ("--set", "0.9", "--explain", "--cost", "yes:no=9", "--decline", "0.2")
    code, _, error = run("predict", model, table, "-o", out, *options)
    assert not code, error
    rows = read(out)
    classifier = DirichletGPClassifier.load(model)
    import pandas as pd

    X = pd.read_csv(table)[["dose", "age"]]
    sets = classifier.predict_set(X, 0.9)
    assert [row["set"].split("|") for row in rows] == [
        classifier.classes_[inside].tolist() for inside in sets
    ]
    decision = classifier.decide(X, [[0, 1], [9, 0]], 0.2)
    assert [row["declined"] == "true" for row in rows] == decision.declined.tolist()
    assert all((row["decision"] == "") == (row["declined"] == "true") for row in rows)
    mean, _ = classifier.latent_mean_and_variance(X)
    odds = mean[:, 1] - mean[:, 0]
    for row, value in zip(rows, odds, strict=True):
        parts = ("contribution_base", "contribution_dose", "contribution_age")
        total = sum(float(row[part]) for part in parts)
        assert total == pytest.approx(value if row["label"] == "yes" else -value, abs=1e-6)


def test_importance_and_thresholds_as_json(files, model, run):
    _, table = files
    code, said, error = run("explain", model, table, "--json")
    assert not code, error
    assert json.loads(said)["columns"][0]["column"] == "dose"
    code, said, error = run("threshold", model, table, "--recall", "0.8", "--json")
    assert not code, error
    assert json.loads(said)["recall"] >= 0.8
    assert json.loads(said)["label"] == "yes"
    for command in ("explain", "threshold"):
        more = () if command == "explain" else ("--precision", "0.7")
        code, said, error = run(command, model, table, *more)
        assert not code, error
        assert "dose" in said or "threshold" in said


def test_a_threshold_that_nothing_reaches_is_told_in_words(files, model, run, monkeypatch):
    _, table = files
    found = DirichletGPClassifier.threshold

    def unreachable(*arguments, **options):
        return found(*arguments, **options)._replace(value=np.inf)

    monkeypatch.setattr(DirichletGPClassifier, "threshold", unreachable)
    code, said, error = run("threshold", model, table, "--precision", "0.9")
    assert not code, error
    assert said == "label yes\nno threshold reaches a precision of 0.9 on these rows\n"


def test_a_threshold_is_told_with_its_label_and_needs_one_target(files, model, run):
    _, table = files
    for options, label in (((), "yes"), (("--label", "no"), "no")):
        code, said, error = run("threshold", model, table, "--recall", "0.8", *options)
        assert not code, error
        assert said.startswith(f"label {label}\nthreshold 0.")
    for options in ((), ("--recall", "0.8", "--precision", "0.9")):
        code, _, error = run("threshold", model, table, *options)
        assert code == 2
        assert "of --precision and --recall" in error
        assert "pass one of them, such as --precision 0.9" in " ".join(error.split())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--cost", "yes-no=9"), "is not TRUE:DECIDED=COST"),
        (("--set", "2"), "--set=2.0 is not valid"),
        (
            ("--cost", "yes:no=5", "--cost", "no:yes=1", "--cost", "yes:no=7"),
            "--cost 'yes:no=5' and --cost 'yes:no=7' say twice what one mistake costs",
        ),
        (("--decline", "-1"), "--decline=-1.0 is not valid: to decline cannot cost less than noth"),
        (("--decline", "nan"), "--decline=nan is not valid"),
    ],
)
def test_wrong_options_are_refused_in_a_line(files, model, run, options, problem):
    _, table = files
    code, _, error = run("predict", model, table, *options)
    assert code == 2
    assert error.startswith("error: ")
    assert problem in error


@pytest.fixture
def others(files):
    """Rows like those of the table, none of which the model was fitted to."""
    folder, table = files
    header, *lines = table.read_text().splitlines()
    moved = [f"{float(line.split(',', 1)[0]) + 0.01:.4f},{line.split(',', 1)[1]}" for line in lines]
    path = folder / "others.csv"
    path.write_text("\n".join([header, *moved]) + "\n")
    return path


def test_rows_that_were_never_there_choose_no_threshold_as_if_left_out(model, others, run):
    code, said, error = run("threshold", model, others, "--recall", "0.8")
    assert (code, said) == (2, "")
    error = " ".join(error.split())
    assert "rows seem not to be rows that the model was fitted to" in error
    assert "--new-rows for rows that the model has never seen" in error
    code, said, error = run("threshold", model, others, "--recall", "0.8", "--new-rows", "--json")
    assert not code, error
    assert json.loads(said)["warnings"] == []


def test_one_corrected_label_is_warned_of_and_the_others_choose_the_threshold(files, model, run):
    folder, table = files
    header, first, *lines = table.read_text().splitlines()
    other = {"yes": "no", "no": "yes"}
    start, label = first.rsplit(",", 1)
    corrected = folder / "corrected.csv"
    corrected.write_text("\n".join([header, f"{start},{other[label]}", *lines]) + "\n")
    code, said, error = run("threshold", model, corrected, "--recall", "0.8", "--json")
    assert not code, error
    (warning,) = json.loads(said)["warnings"]
    assert warning.startswith("about 1 of 160 rows seem not to be rows")
    assert "fit again if labels were corrected" in warning
    assert " ".join(error.split()).count("seem not to be rows") == 1


def test_training_rows_that_are_called_new_are_warned_of(files, model, run):
    _, table = files
    code, said, error = run("threshold", model, table, "--recall", "0.8", "--new-rows", "--json")
    assert not code, error
    assert "all 160 rows seem to be rows that the model was fitted to" in " ".join(error.split())
    assert len(json.loads(said)["warnings"]) == 1


def test_a_table_without_rows_is_told_in_one_line_and_nothing_is_written(files, model, run):
    folder, table = files
    header = folder / "header.csv"
    header.write_text(table.read_text().splitlines()[0] + "\n")
    out = folder / "none.csv"
    for more in ((), ("-o", out)):
        code, said, error = run("predict", model, header, *more)
        assert (code, said) == (2, "")
        assert "header.csv has no rows" in " ".join(error.split())
        assert len(error.splitlines()) <= 2
    assert not out.exists()
