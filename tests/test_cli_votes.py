"""Several target columns on the command line: votes for the classes they are called after."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="the command line reads tables with pyarrow")

from dirichletgp import DirichletGPClassifier
from dirichletgp.cli.console import print_json
from dirichletgp.cli.voted_table import _drawn

TARGETS = ("-t", "wolf", "-t", "cat", "-t", "dog")
FAST = ("--n-inducing", "20", "--kernel", "rbf", "--json")


def animals(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    p = np.exp(3 * np.column_stack([X[:, 0], -X[:, 0], X[:, 1]]))
    votes = [rng.multinomial(3, each / each.sum()) for each in p]
    frame = pd.DataFrame(X.round(4), columns=["size", "noise"])
    return frame.join(pd.DataFrame(votes, columns=["wolf", "cat", "dog"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("votes")
    animals(120, 0).to_csv(folder / "train.csv", index=False)
    animals(80, 1).to_csv(folder / "test.csv", index=False)
    return folder


@pytest.fixture
def model(folder, run):
    path = folder / "model.dgp"
    if not path.exists():
        test = ("--test", folder / "test.csv")
        report = ("--report", folder / "report.html")
        code, _, error = run(
            "fit", folder / "train.csv", *TARGETS, "-o", path, *test, *report, *FAST
        )
        assert code == 0, error
    return path


def test_the_model_is_that_of_the_same_votes_in_python(folder, model):
    train, test = pd.read_csv(folder / "train.csv"), pd.read_csv(folder / "test.csv")
    names = ["size", "noise"]
    expected = DirichletGPClassifier("rbf", n_inducing=20, random_state=0)
    expected.fit(train[names], train[["cat", "dog", "wolf"]])
    found = DirichletGPClassifier.load(model)
    assert found.classes_.tolist() == ["cat", "dog", "wolf"]
    np.testing.assert_allclose(
        found.predict_proba(test[names]), expected.predict_proba(test[names]), atol=1e-10
    )


def test_every_command_knows_the_columns_of_votes(folder, model, run, tmp_path):
    test = folder / "test.csv"
    said = json.loads(run("info", model, "--json")[1])
    assert said["target"] == ["wolf", "cat", "dog"]
    assert "votes for: cat, dog, wolf" in run("info", model)[1]
    code, out, _ = run("evaluate", model, test, "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 80
    assert json.loads(out)["metrics"] == said["test"]["metrics"]
    assert run("report", model, test, "-o", tmp_path / "report.html")[0] == 0
    for path in (folder / "report.html", tmp_path / "report.html"):
        assert "a vote for cat, dog, wolf" in path.read_text(encoding="utf-8")
    assert run("predict", model, test, "-o", tmp_path / "predicted.csv")[0] == 0
    options = ("--label", "dog", "--recall", "0.8")
    assert "--new-rows" in run("threshold", model, test, *options)[2]
    assert run("threshold", model, test, *options, "--new-rows")[0] == 0


def test_rows_are_held_out_with_all_of_their_votes(folder, run, tmp_path):
    code, out, error = run("fit", folder / "train.csv", *TARGETS, "-o", tmp_path / "m.dgp", *FAST)
    assert code == 0, error
    said = json.loads(out)
    assert said["training_rows"] == 120
    assert said["tested_on"] == "held out, each with one of its votes"
    assert {column["name"] for column in said["columns"]} == {"size", "noise"}


def test_votes_are_drawn_as_often_as_they_are_given():
    votes = np.tile([1.0, 0.0, 3.0], (4_000, 1))
    drawn = _drawn(votes, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn) / 4_000, [0.25, 0.0, 0.75], atol=0.03)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: rows.assign(cat="many"), "the target 'cat' holds 'many' in row 1"),
        (lambda rows: rows.assign(cat=-1), "the target 'cat' holds '-1' in row 1"),
        (lambda rows: rows.assign(cat=0, dog=1), "nobody votes for the target 'cat'"),
        (lambda rows: rows.drop(columns="cat"), "has no column 'cat', the target"),
        (
            lambda rows: rows.assign(**dict.fromkeys(("cat", "dog", "wolf"), 0)),
            "120 rows have no votes, the first is row 1",
        ),
    ],
)
def test_columns_that_hold_no_votes_are_named(folder, run, tmp_path, change, problem):
    change(pd.read_csv(folder / "train.csv")).to_csv(tmp_path / "rows.csv", index=False)
    code, _, error = run("fit", tmp_path / "rows.csv", *TARGETS, "-o", tmp_path / "m.dgp", *FAST)
    assert code == 2
    assert problem in error


def test_rows_without_votes_are_left_out_on_request(folder, run, tmp_path):
    rows = pd.read_csv(folder / "train.csv")
    rows.loc[3, ["cat", "dog", "wolf"]] = 0
    rows.to_csv(tmp_path / "rows.csv", index=False)
    command = ("fit", tmp_path / "rows.csv", *TARGETS, "-o", tmp_path / "m.dgp", *FAST)
    code, _, error = run(*command)
    assert code == 2
    assert "--drop-unlabelled" in error
    code, out, error = run(*command, "--drop-unlabelled")
    assert code == 0
    assert "1 row of" in error
    said = json.loads(out)
    assert said["training_rows"] == 119


def test_the_same_column_twice_is_refused(folder, run):
    code, _, error = run("fit", folder / "train.csv", "-t", "cat", "-t", "cat")
    assert code == 2
    assert "the same column twice" in error


def test_audit_compares_the_majority_with_what_is_predicted_without_the_votes(folder, run):
    frame = animals(120, 2)
    wrong = frame.nlargest(1, "size").index[0]  # a wolf, and everyone calls it a cat
    frame.loc[wrong, ["wolf", "cat", "dog"]] = [0, 3, 0]
    frame.to_csv(folder / "votes.csv", index=False)
    out = folder / "audit.csv"
    code, said, error = run("audit", folder / "votes.csv", *TARGETS, "-o", out, *FAST)
    assert code == 0, error
    listed = pd.read_csv(out)
    assert json.loads(said)["issues"] == len(listed)
    assert json.loads(said)["expected"] is None  # of single votes, and these are majorities
    first = listed[listed["row"] == wrong + 1].iloc[0]
    assert (first["given"], first["suggested"]) == ("cat", "wolf")
    assert first["probability"] < 0.1
    assert first["cat"] == 3
    votes = listed[["wolf", "cat", "dog"]].to_numpy()
    given = [["wolf", "cat", "dog"].index(label) for label in listed["given"]]
    np.testing.assert_array_equal(votes[np.arange(len(votes)), given], votes.max(axis=1))


def test_majorities_are_not_compared_with_the_chance_of_a_single_vote(folder, run, tmp_path):
    command = ("audit", folder / "train.csv", *TARGETS, "-o", tmp_path / "a.csv", *FAST[:-1])
    code, _, told = run(*command)
    assert code == 0, told
    assert "of 120 labels are not the likeliest of their row" in told
    assert "by chance" not in told


def test_threshold_says_which_labels_there_are(folder, model, run):
    table = folder / "test.csv"
    code, _, error = run("threshold", model, table, "--precision", "0.9", "--new-rows")
    assert code != 0
    assert "the model has 3 labels: cat, dog, wolf; pass --label" in " ".join(error.split())


def test_json_has_null_where_a_number_is_infinite(capsys):
    print_json({"interval": (0.5, float("inf")), "nothing": float("nan")})
    assert json.loads(capsys.readouterr().out) == {"interval": [0.5, None], "nothing": None}
