"""What commands answer where something is unusual: many classes, threads, odd destinations."""

import json
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pa = pytest.importorskip("pyarrow", reason="the command line reads tables with pyarrow")

from dirichletgp import DirichletGPClassifier  # noqa: E402
from dirichletgp._gp.rows.tables.errors import TableError  # noqa: E402
from dirichletgp._gp.rows.tables.reading import read_table  # noqa: E402
from dirichletgp._gp.rows.texts import Texts  # noqa: E402
from dirichletgp.cli import main  # noqa: E402
from dirichletgp.cli.absent_columns import available_columns  # noqa: E402
from dirichletgp.cli.column_options import wishes_of  # noqa: E402
from dirichletgp.cli.labelled_table import LabelledTable, check_column  # noqa: E402
from dirichletgp.cli.new_values import NewValues  # noqa: E402
from dirichletgp.cli.table_model import TableModel  # noqa: E402
from dirichletgp.cli.table_writing import open_writer  # noqa: E402
from dirichletgp.cli.training_rows import check_classes, hold_out  # noqa: E402
from dirichletgp.persistence import ModelFileError, save  # noqa: E402

FILES = Path(__file__).parent / "files"
FAST = ("--n-inducing", "15", "--kernel", "rbf")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(3)
    path = tmp_path_factory.mktemp("replies") / "rows.csv"
    lines = [f"{a},{b},{'yes' if a > 0 else 'no'}" for a, b in X]
    path.write_text("\n".join(["dose,age,sick", *lines]) + "\n")
    return path


def test_audit_says_how_many_labels_to_look_at_and_where_the_list_is(run, table, tmp_path):
    out = tmp_path / "list.csv"
    code, said, told = run("audit", table, "-t", "sick", "-o", out, *FAST)
    assert code == 0
    assert "of 60 labels are not the likeliest of their row" in told
    assert "would not be the likeliest by chance alone" in told
    assert f"the list, the most suspicious first, is in {out}" in told
    assert out.exists()
    code, said, _ = run("audit", table, "-t", "sick", *FAST)
    assert code == 0
    assert said.startswith('"row"')
    code, said, told = run("audit", table, "-t", "sick", "--json", *FAST)
    assert code == 2
    assert "--json and the list cannot both go to standard output; pass -o" in told


def test_predict_says_in_json_what_it_did(run, tmp_path):
    out = tmp_path / "predicted.csv"
    code, said, _ = run("predict", FILES / "table.dgp", FILES / "table.csv", "-o", out, "--json")
    assert code == 0
    summary = json.loads(said)
    assert summary["rows"] == len(out.read_text().splitlines()) - 1
    assert summary["output"] == str(out)


def test_a_model_of_an_earlier_version_says_what_it_does_with_columns(run):
    model = TableModel.load(FILES / "table.dgp")
    assert [name for name, _ in model.described()]
    assert all(isinstance(treatment, str) and treatment for _, treatment in model.described())
    code, said, _ = run("info", FILES / "table.dgp")
    assert code == 0
    assert model.described()[0][0] in said


def test_a_recipe_that_does_not_fit_its_classifier_is_refused(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    classifier = DirichletGPClassifier("rbf", max_iter=0, random_state=0).fit(X, y)
    columns = [{"kind": "number", "name": "a", "median": 0.0, "missing": False}]
    described = {"recipe": {"target": "y", "columns": columns}, "facts": {}}
    save(classifier, tmp_path / "m.dgp", {"table.json": json.dumps(described).encode()})
    with pytest.raises(ModelFileError, match="do not agree on the number of features"):
        TableModel.load(tmp_path / "m.dgp")


def test_info_of_many_classes_names_some_of_them(run):
    code, said, _ = run("info", FILES / "v0_2_many_classes.dgp")
    assert code == 0
    assert "11, ... (20 in all)" in said


def test_with_debugging_an_error_is_a_traceback(monkeypatch, tmp_path):
    monkeypatch.setenv("DIRICHLETGP_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["dirichletgp", "info", str(tmp_path / "nothing.dgp")])
    with pytest.raises(FileNotFoundError):
        main()


def test_commands_run_in_any_thread(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dirichletgp", "info", str(FILES / "two_classes.dgp")])
    ended = []

    def run():
        try:
            main()
        except SystemExit as end:
            ended.append(end.code or 0)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ended == [0]


def test_a_place_that_no_table_can_be_written_to_is_refused(tmp_path):
    for path, format, reason in (
        (tmp_path / "out.txt", None, "the name does not end in one of"),
        (tmp_path / "out.csv", "excel", "output format 'excel' is not known"),
    ):
        with pytest.raises(TableError, match=reason), open_writer(str(path), format):
            pass
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TableError, match="format 'excel' is not known"):
        read_table(str(tmp_path / "in.csv"), "excel")


def test_new_values_of_a_column_are_said_once(capsys):
    new = NewValues(accept=True)
    for colour in ("mauve", "teal"):
        new("colour", f"column 'colour' holds {colour!r}", 4)
    assert new.notes == ["column 'colour' holds 'mauve', first in row 5"]
    assert capsys.readouterr().err.count("mauve") == 1


def labelled(texts):
    distinct = sorted(set(texts))
    codes = np.array([distinct.index(text) for text in texts])
    rows = pa.table({"label": texts})
    return LabelledTable(rows, Texts(distinct, codes), np.arange(1, len(texts) + 1))


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["a"] * 4, "has one class only, 'a'"),
        ([str(i) for i in range(60)], "60 different numbers; a number is estimated by regression"),
        ([f"t{i}" for i in range(1_001)], "1,001 different texts; that is no class"),
        (
            [*(f"t{i}" for i in range(38)), "t0", "t0"],
            "38 different texts; that is no class; of 40 values nearly all are different",
        ),
    ],
)
def test_targets_that_are_no_classes_are_refused(texts, reason):
    with pytest.raises(TableError, match=reason):
        check_classes(labelled(texts), "y", "rows.csv")


def test_a_target_that_is_spelled_otherwise_is_suggested():
    rows = pa.table({"Survived": ["yes", "no"], "Age": [1.0, 2.0]})
    with pytest.raises(TableError, match=r"its columns: Survived, Age; did you mean 'Survived'\?"):
        check_column(rows, "survived", "rows.csv")
    with pytest.raises(TableError, match="did you mean 'Survived'"):
        check_column(rows, "Suvived", "rows.csv")
    with pytest.raises(TableError, match=r"its columns: Survived, Age$"):
        check_column(rows, "class", "rows.csv")
    with pytest.raises(TableError, match=r"--drop age: .* did you mean 'Age'\?"):
        wishes_of(rows.column_names, typed=True, drop=["age"])


def test_columns_that_are_something_else_are_no_misnamed_ones():
    def available(columns, known=()):
        new = NewValues(accept=True)
        found = available_columns(["Sex", "x+", "%"], columns, "rows.csv", new, known)
        return found, new.notes

    # A column that the model knows by its name, as the target or as one that it does not use.
    assert available(["sex", "x+", "%"], ["sex"])[0] == ["x+", "%"]
    with pytest.raises(TableError, match=r"'Sex', which .* did you mean 'sex'\? Rename"):
        available(["sex", "x+", "%"])
    # Names without letters are all alike, and say nothing.
    assert available(["Sex", "x+", "#"])[0] == ["Sex", "x+"]
    # One that is somewhat alike may be another one: it is suggested, not insisted on.
    found, notes = available(["Sexx", "x+", "%"])
    assert found == ["x+", "%"]
    assert notes[0].endswith("taken as missing in all rows; did you mean 'Sexx'?")
    with pytest.raises(TableError, match=r"'Sex' and 2 more, which .* needs; did you mean 'Sexx'"):
        available(["Sexx"])


def test_one_absent_column_is_it_and_several_are_them():
    for absent, words in (
        (["a"], "to take it as missing"),
        (["a", "b"], "to take them as missing"),
    ):
        needed = [*absent, "c"]
        with pytest.raises(ValueError, match=f"{words} pass --accept-new"):
            available_columns(needed, ["c"], "rows.csv", NewValues(accept=False))


def test_rows_cannot_be_held_out_where_every_class_has_one():
    with pytest.raises(TableError, match="no class has rows enough to hold some out"):
        hold_out(labelled(["a", "b", "c"]), 0.25, 0)
    few = hold_out(labelled(["a", "b"] * 8), 0.25, 0)
    assert (len(few.train.numbers), len(few.test.numbers)) == (12, 4)
