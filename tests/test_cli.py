"""The command line, as somebody with a file meets it."""

import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("typer", reason="the command line needs typer")
pa = pytest.importorskip("pyarrow", reason="the command line reads tables with pyarrow")
from pyarrow import csv as arrow_csv  # noqa: E402
from pyarrow import ipc, parquet  # noqa: E402

from dirichletgp import DirichletGPClassifier  # noqa: E402
from dirichletgp._gp.training.settings import Event, Progress, Stage, listening  # noqa: E402
from dirichletgp.cli import main  # noqa: E402
from dirichletgp.cli.options import kernel_choices  # noqa: E402
from dirichletgp.cli.progress_bar import Estimate  # noqa: E402

TRAIN, NEW = 240, 150
COLOURS = ["red", "green", "blue", "?"]


def messy_rows(n, seed=0):
    """A table as people have them: categories, dates, gaps, a row number, a name, a constant."""
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    colour = rng.integers(0, 4, size=n)
    sick = dose + (colour == 0) + 0.5 * rng.normal(size=n) > 0.3
    days = rng.integers(0, 700, size=n)
    return {
        "id": [str(i + 1) for i in range(n)],
        "name": [f"person {i}" for i in range(n)],
        "dose": ["" if rng.uniform() < 0.1 else f"{d:.4f}" for d in dose],
        "colour": [f" {COLOURS[c]}" for c in colour],
        "seen": [str(np.datetime64("2022-01-01") + d) for d in days.astype("timedelta64[D]")],
        "unit": ["mg"] * n,
        "sick": ["yes" if s else "no" for s in sick],
    }


def write_csv(path, columns, encoding="utf-8", delimiter=","):
    lines = [delimiter.join(columns)] + [
        delimiter.join(row) for row in zip(*columns.values(), strict=True)
    ]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return str(path)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A table to train on, new rows, and what `fit` made of them."""
    folder = tmp_path_factory.mktemp("cli")
    write_csv(folder / "train.csv", messy_rows(TRAIN))
    write_csv(folder / "new.csv", messy_rows(NEW, seed=1))
    write_csv(folder / "small.csv", messy_rows(80))
    command = ["fit", "train.csv", "-t", "sick", "-o", "model.dgp", "--report", "report.html"]
    command.append("--show-values")
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["dirichletgp", *command, "--json", "--n-inducing", "30"])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    (folder / "fit.json").write_text(out.getvalue())
    return folder


def assert_fails(outcome, reason):
    """One line that names the reason, exit code 2, nothing on standard output, no traceback."""
    code, out, err = outcome
    assert code == 2
    assert reason in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert out == ""


def test_fit_says_what_it_did_with_each_column_and_how_well_it_went(folder):
    said = json.loads((folder / "fit.json").read_text())
    treatment = {column["name"]: column["treatment"] for column in said["columns"]}
    assert treatment["id"] == "not used: an id, different in every row"
    assert "nearly one per row" in treatment["name"]
    assert treatment["dose"] == "number, missing is a value of its own"
    assert treatment["colour"] == "3 categories, missing is a value of its own"
    assert treatment["seen"].startswith("date: day, season, weekday")
    assert treatment["unit"] == "not used: always 'mg'"
    assert said["test"]["rows"] == TRAIN // 4
    assert said["test"]["metrics"]["accuracy"]["value"] > 0.75
    assert said["test"]["verdict"]["level"] in (
        "good",
        "open",
        "slight",
        "noticeable",
        "poor",
    )
    assert "How well is sick predicted?" in (folder / "report.html").read_text(encoding="utf-8")


def test_fit_prints_columns_metrics_and_verdict_for_people(run, folder, tmp_path):
    code, out, err = run(
        "fit", folder / "small.csv", "-t", "sick", "-o", tmp_path / "m.dgp", "--n-inducing", 20
    )
    assert code == 0
    for words in (
        "rows to learn from",
        "not used: an id, different in every row",
        "Calibration error",
        "percentage point",
    ):
        assert words in out
    assert "model written to" in err


def test_predictions_are_those_of_the_saved_classifier_whatever_the_file_format(
    run, folder, tmp_path
):
    table = arrow_csv.read_csv(folder / "new.csv")
    parquet.write_table(table, tmp_path / "new.parquet")
    with ipc.new_file(tmp_path / "new.arrow", table.schema) as writer:
        writer.write_table(table)
    results = []
    for name in (folder / "new.csv", tmp_path / "new.parquet", tmp_path / "new.arrow"):
        out = tmp_path / "out.parquet"
        code, _, err = run("predict", folder / "model.dgp", name, "-o", out, "--keep", "id")
        assert code == 0, err
        results.append(parquet.read_table(out))
    first = results[0]
    names = ["label", "probability", "lower", "upper", "uncertainty", "noise", "lack_of_data"]
    assert first.column_names == ["id", *names, "probability_no", "probability_yes"]
    for other in results[1:]:
        assert other.drop_columns("id").equals(first.drop_columns("id"))
    probability = first["probability"].to_numpy()
    assert_allclose(
        probability,
        np.maximum(first["probability_no"].to_numpy(), first["probability_yes"].to_numpy()),
    )
    assert np.all(first["lower"].to_numpy() <= probability)
    assert np.all(probability <= first["upper"].to_numpy())
    parts = first["noise"].to_numpy() + first["lack_of_data"].to_numpy()
    assert_allclose(first["uncertainty"].to_numpy(), parts, atol=1e-8)


def test_predictions_agree_with_the_truth_as_evaluate_says(run, folder, tmp_path):
    run("predict", folder / "model.dgp", folder / "new.csv", "-o", tmp_path / "out.csv")
    label = arrow_csv.read_csv(tmp_path / "out.csv")["label"].to_numpy(zero_copy_only=False)
    truth = arrow_csv.read_csv(folder / "new.csv")["sick"].to_numpy(zero_copy_only=False)
    _, out, _ = run("evaluate", folder / "model.dgp", folder / "new.csv", "--json")
    assert_allclose(json.loads(out)["metrics"]["accuracy"]["value"], np.mean(label == truth))


def test_rows_of_the_report_have_the_numbers_they_have_in_the_file(folder):
    page = (folder / "report.html").read_text()
    rows = json.loads(
        re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
    )["rows"]
    table = messy_rows(TRAIN)
    place = rows["columns"].index("dose")
    assert rows["source"] == "train.csv"
    for row in rows["least"] + rows["most"]:
        assert row["values"][place] == (table["dose"][row["row"] - 1] or "\u2013")


def test_rows_go_through_pipes(run, folder, tmp_path):
    code, out, _ = run(
        "predict", folder / "model.dgp", "-", stdin=(folder / "new.csv").read_bytes()
    )
    assert code == 0
    assert out.count("\n") == NEW + 1
    run("predict", folder / "model.dgp", folder / "new.csv", "-o", tmp_path / "out.csv")
    assert out == (tmp_path / "out.csv").read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_or_device_is_written_to_and_not_replaced(run, folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    arguments = (folder / "new.csv", "-o", pipe, "--output-format", "csv")
    code, _, err = run("predict", folder / "model.dgp", *arguments)
    assert code == 0, err
    reader.join(timeout=60)
    assert read[0].count(b"\n") == NEW + 1
    assert pipe.is_fifo()


def test_a_reader_that_has_had_enough_ends_the_command_quietly(folder):
    rows = (folder / "new.csv").read_bytes().splitlines(keepends=True)
    (folder / "long.csv").write_bytes(rows[0] + b"".join(rows[1:]) * 80)
    command = f"{sys.executable} -m dirichletgp.cli predict model.dgp long.csv | head -1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith('"label"')
    assert done.stderr == ""


def test_prediction_works_a_batch_at_a_time(run, folder, tmp_path, monkeypatch):
    run("predict", folder / "model.dgp", folder / "new.csv", "-o", tmp_path / "whole.parquet")
    monkeypatch.setattr("dirichletgp._gp.rows.tables.csv_tables._BLOCK_BYTES", 4_000)
    run("predict", folder / "model.dgp", folder / "new.csv", "-o", tmp_path / "parts.parquet")
    assert parquet.ParquetFile(tmp_path / "parts.parquet").num_row_groups > 1
    assert parquet.read_table(tmp_path / "parts.parquet").equals(
        parquet.read_table(tmp_path / "whole.parquet")
    )


def test_info_says_what_the_model_needs_and_how_it_did(run, folder):
    code, out, _ = run("info", folder / "model.dgp", "--json")
    said = json.loads(out)
    assert code == 0
    assert said["classes"] == ["no", "yes"]
    assert said["target"] == "sick"
    assert said["test"]["rows"] == TRAIN // 4
    code, out, _ = run("info", folder / "model.dgp")
    assert re.search(r"colour +3 categories", out)


def test_numbers_stay_whole_in_a_narrow_terminal(run, folder):
    for command, table in (("info", ()), ("evaluate", (folder / "new.csv",))):
        code, out, _ = run(command, folder / "model.dgp", *table, columns=80)
        lines = [line.rstrip() for line in out.replace("\u00a0", " ").splitlines()]
        assert code == 0
        assert max(map(len, lines)) <= 80
        assert any(re.search(r"[Aa]ccuracy +\d+\.\d %", line) for line in lines)
        assert not any(line.lstrip().startswith("%") for line in lines)
        if command == "info":
            assert "dose" in "\n".join(lines[lines.index("Columns") :])


def test_report_and_evaluate_of_a_given_test_file(run, folder, tmp_path):
    arguments = (folder / "model.dgp", folder / "new.csv", "-o", tmp_path / "r.html", "--json")
    code, out, _ = run("report", *arguments, "--show-values")
    assert code == 0
    assert json.loads(out)["rows"] == NEW
    assert "person 1" in (tmp_path / "r.html").read_text(encoding="utf-8")
    arguments = ("-o", tmp_path / "m.dgp", "--json", "--n-inducing", 20)
    arguments += ("--test", folder / "new.csv")
    code, out, _ = run("fit", folder / "train.csv", "-t", "sick", *arguments)
    assert json.loads(out)["test"]["rows"] == NEW
    assert json.loads(out)["training_rows"] == TRAIN


def test_other_delimiters_encodings_and_date_patterns_are_read(run, tmp_path):
    rows = messy_rows(80)
    rows["größe"] = rows.pop("dose")
    rows["seen"] = [f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in rows["seen"]]
    path = write_csv(tmp_path / "t.csv", rows, "latin-1", ";")
    arguments = ("--encoding", "latin-1", "-o", tmp_path / "m.dgp", "--json", "--n-inducing", 20)
    code, out, err = run("fit", path, "-t", "sick", *arguments)
    assert code == 0, err
    treatment = {column["name"]: column["treatment"] for column in json.loads(out)["columns"]}
    assert treatment["größe"].startswith("number")
    assert "%d.%m.%Y" in treatment["seen"]


def treatments(out):
    return {column["name"]: column["treatment"] for column in json.loads(out)["columns"]}


def fit_table(run, tmp_path, rows, *arguments):
    path = write_csv(tmp_path / "t.csv", rows, delimiter=";")
    model = tmp_path / "m.dgp"
    return run("fit", path, "-t", "sick", "-o", model, "--json", "--n-inducing", 20, *arguments)


def test_numbers_and_dates_written_as_texts_are_read(run, tmp_path):
    rows = messy_rows(80)
    days = [np.datetime64(day).astype(object) for day in rows["seen"]]
    rows["price"] = [f"${1000 + 7.25 * i:,.2f}" for i in range(80)]
    rows["weight"] = [f"1.{100 + i},{i % 10}" for i in range(80)]
    rows["share"] = [f"{i % 50} %" for i in range(80)]
    rows["dirty"] = ["n.n.", *(f"{i / 8}" for i in range(79))]
    rows["zip"] = [f"0{1000 + i % 5}" for i in range(80)]
    for name, pattern in {
        "day_first": "%d-%m-%Y",
        "month_first": "%m/%d/%y",
        "with_time": "%m/%d/%Y 10:29",
        "in_words": "%d %B %Y",
    }.items():
        rows[name] = [day.strftime(pattern) for day in days]
    code, out, err = fit_table(run, tmp_path, rows)
    assert code == 0, err
    said = treatments(out)
    assert said["price"] == said["weight"] == said["share"] == "number"
    assert said["dirty"].endswith("'n.n.' taken as missing")
    assert said["zip"] == "5 categories"
    for name, pattern in {
        "day_first": "%d-%m-%Y",
        "month_first": "%m/%d/%y",
        "with_time": "%m/%d/%Y %H:%M",
        "in_words": "%d %B %Y",
    }.items():
        assert said[name].startswith(f"date, read as {pattern}: day")


def test_what_columns_hold_can_be_said(run, tmp_path):
    rows = messy_rows(80)
    rows["ward"] = [str(i % 3) for i in range(80)]
    rows["size"] = [f"{i % 9}" if i % 3 else "large" for i in range(80)]
    rows["length"] = [f"{i % 9},500" for i in range(80)]
    rows["odd_day"] = [f"{1 + i % 28}|{1 + i % 12}|2020" for i in range(80)]
    rows["odd_too"] = rows["odd_day"]
    code, out, err = fit_table(run, tmp_path, rows)
    assert code == 0, err
    assert treatments(out)["ward"] == "number"
    assert treatments(out)["size"] == "7 categories"
    arguments = ("--category", "ward", "--number", "size", "--decimal", ",", "--drop", "odd_too")
    code, out, err = fit_table(run, tmp_path, rows, *arguments, "--date-format", "odd_day=%d|%m|%Y")
    assert code == 0, err
    said = treatments(out)
    assert said["ward"] == "3 categories"
    assert said["size"] == "number, missing is a value of its own, 'large' taken as missing"
    assert said["odd_day"].startswith("date, read as %d|%m|%Y")
    assert said["odd_too"] == "not used: as asked"
    code, out, err = fit_table(run, tmp_path, rows, "--date-format", "%d|%m|%Y")
    assert treatments(out)["odd_too"].startswith("date, read as %d|%m|%Y")
    loaded = DirichletGPClassifier.load(tmp_path / "m.dgp")
    assert loaded.predict_proba(pd.DataFrame(rows).drop(columns="sick")).shape == (80, 2)


def test_wrong_words_on_columns_are_refused_in_one_line(run, folder, tmp_path):
    def fit(*arguments):
        return run("fit", folder / "small.csv", "-t", "sick", "-o", tmp_path / "m.dgp", *arguments)

    assert_fails(fit("--number", "doses"), "--number doses: there is no such column; columns: id")
    assert_fails(fit("--decimal", ";"), "--decimal ';' is not known")
    assert_fails(fit("--date-format", "seen=soon"), "is no format of dates")
    assert_fails(fit("--number", "unit"), "column 'unit' holds no number, but texts such as 'mg'")
    assert_fails(
        fit("--number", "dose", "--category", "dose"), "given to both --number and --category"
    )


def test_rows_without_a_label_can_be_left_out(run, folder, tmp_path):
    rows = messy_rows(80)
    rows["sick"] = ["?", "", *rows["sick"][2:]]
    path = write_csv(tmp_path / "t.csv", rows)
    fit = ("fit", path, "-t", "sick", "-o", tmp_path / "m.dgp", "--json", "--n-inducing", 20)
    assert_fails(run(*fit), "missing in 2 rows, the first is row 1; pass --drop-unlabelled")
    code, out, err = run(*fit, "--drop-unlabelled")
    assert code == 0, err
    assert "2 rows of" in err
    said = json.loads(out)
    assert said["training_rows"] == 78
    evaluate = ("evaluate", folder / "model.dgp", path, "--json")
    assert_fails(run(*evaluate), "missing in 2 rows")
    code, out, err = run(*evaluate, "--drop-unlabelled")
    assert json.loads(out)["rows"] == 78


def test_a_model_of_the_command_line_takes_raw_frames_in_python(run, folder, tmp_path):
    run("predict", folder / "model.dgp", folder / "new.csv", "-o", tmp_path / "out.csv")
    expected = arrow_csv.read_csv(tmp_path / "out.csv")["probability_yes"].to_numpy()
    frame = pd.read_csv(folder / "new.csv")
    loaded = DirichletGPClassifier.load(folder / "model.dgp")
    for raw in (frame, frame[frame.columns[::-1]], frame[["seen", "dose", "colour"]]):
        assert_allclose(loaded.predict_proba(raw)[:, 1], expected, rtol=0, atol=1e-9)
    assert loaded.feature_names_in_.tolist() == ["id", "name", "dose", "colour", "seen", "unit"]


def test_a_model_fitted_to_a_frame_predicts_on_the_command_line(run, folder, tmp_path):
    frame = pd.read_csv(folder / "train.csv")
    classifier = DirichletGPClassifier(n_inducing=20, max_iter=3, random_state=0)
    classifier.fit(frame[["dose", "colour"]], frame["sick"]).save(tmp_path / "m.dgp")
    out = tmp_path / "out.csv"
    code, _, err = run("predict", tmp_path / "m.dgp", folder / "new.csv", "-o", out, "--accept-new")
    assert code == 0, err
    found = arrow_csv.read_csv(out)["probability_yes"].to_numpy()
    new = pd.read_csv(folder / "new.csv")[["dose", "colour"]]
    assert_allclose(found, classifier.predict_proba(new)[:, 1], atol=1e-12)
    assert_fails(run("evaluate", tmp_path / "m.dgp", folder / "new.csv"), "saved from Python")


def test_a_column_may_be_absent_if_that_is_accepted(run, folder, tmp_path):
    rows = {name: values for name, values in messy_rows(30).items() if name != "dose"}
    path, out = write_csv(tmp_path / "t.csv", rows), tmp_path / "o.csv"
    code, _, err = run("predict", folder / "model.dgp", path, "-o", out, "--accept-new")
    assert code == 0
    assert "warning: " in err
    assert "has no column 'dose'" in err


def test_bad_training_tables_are_refused_in_one_line(run, folder, tmp_path):
    def fit(path, target="sick"):
        return run("fit", path, "-t", target, "-o", tmp_path / "never.dgp")

    rows = messy_rows(60)
    assert_fails(
        fit(folder / "train.csv", "sic"), "has no column 'sic', the target; its columns: id, name"
    )
    assert_fails(fit(tmp_path / "nowhere.csv"), "no such file")
    (tmp_path / "empty.csv").write_bytes(b"")
    assert_fails(fit(tmp_path / "empty.csv"), "is empty")
    (tmp_path / "header.csv").write_bytes(b"dose,sick\n")
    assert_fails(fit(tmp_path / "header.csv"), "has no rows")
    (tmp_path / "binary.csv").write_bytes("dose,größe\n1,ä\n".encode("latin-1"))
    assert_fails(fit(tmp_path / "binary.csv"), "is not UTF-8 text")
    (tmp_path / "utf16.csv").write_bytes("dose,sick\n1,yes\n".encode("utf-16"))
    assert_fails(fit(tmp_path / "utf16.csv"), "pass --encoding utf-16")
    parquet.write_table(pa.table(rows), tmp_path / "parquet.csv")
    assert_fails(fit(tmp_path / "parquet.csv"), "pass --format parquet")
    (tmp_path / "late.csv").write_bytes("dose,sick\n1,ä\n".encode("latin-1"))
    assert_fails(fit(tmp_path / "late.csv"), "is not UTF-8 text")
    assert_fails(
        fit(write_csv(tmp_path / "one.csv", rows | {"sick": ["yes"] * 60})), "one class only, 'yes'"
    )
    assert_fails(
        fit(write_csv(tmp_path / "gap.csv", rows | {"sick": ["?", *rows["sick"][1:]]})),
        "missing in 1 row,",
    )
    wide = {f"c{j}": ["1", "2"] for j in range(100_000)} | {"sick": ["yes", "no"]}
    assert_fails(fit(write_csv(tmp_path / "wide.csv", wide)), "has 100,001 columns; at most 5,000")
    assert_fails(
        fit(write_csv(tmp_path / "only.csv", {"sick": rows["sick"]})), "no column can be used"
    )
    (tmp_path / "ragged.csv").write_bytes(b"dose,sick\n1,yes\n2,no,3\n")
    assert_fails(fit(tmp_path / "ragged.csv"), "cannot be read: line 3 has 3 values")
    (tmp_path / "fake.parquet").write_bytes(b"dose,sick\n1,yes\n")
    assert_fails(fit(tmp_path / "fake.parquet"), "cannot be read")
    assert_fails(fit(tmp_path / "t.xlsx"), "the name does not end in one of .csv")
    numbers = rows | {"sick": [f"{i / 7:.5f}" for i in range(60)]}
    assert_fails(
        fit(write_csv(tmp_path / "numbers.csv", numbers)),
        "different numbers; a number is estimated by regression",
    )
    assert_fails(
        run("fit", folder / "train.csv", "-t", "sick", "-o", "/nowhere/m.dgp"),
        "there is no folder /nowhere",
    )
    assert not (tmp_path / "never.dgp").exists()


def test_wrong_usage_is_refused_in_one_line(run, folder):
    assert_fails(run("fit", folder / "train.csv"), "--target")
    assert_fails(
        run("fit", folder / "train.csv", "-t", "sick", "--n-inducing", "many"),
        "dirichletgp fit --help",
    )
    assert_fails(run("frobnicate"), "No such command 'frobnicate'")
    assert_fails(run("--frobnicate"), "No such option")


def test_folders_are_refused_before_any_work(run, folder, tmp_path):
    train, model, new = folder / "train.csv", folder / "model.dgp", folder / "new.csv"
    assert_fails(run("fit", tmp_path, "-t", "sick"), "is a folder; pass a file")
    assert_fails(run("predict", model, tmp_path), "is a folder; pass a file")
    assert_fails(
        run("fit", train, "-t", "sick", "-o", tmp_path),
        "is a folder; pass the name of a file to write",
    )
    assert_fails(
        run("fit", train, "-t", "sick", "--report", tmp_path),
        "is a folder; pass the name of a file to write",
    )
    assert_fails(
        run("report", model, new, "-o", tmp_path), "is a folder; pass the name of a file to write"
    )
    assert_fails(
        run("predict", model, new, "-o", tmp_path, "--output-format", "csv"), "is a folder"
    )


@pytest.mark.skipif(
    not os.path.isdir("/proc"), reason="this system has no folder that not even root may write to"
)
def test_a_destination_that_cannot_be_written_is_refused_before_any_work(run, folder):
    assert_fails(
        run("fit", folder / "train.csv", "-t", "sick", "-o", "/proc/m.dgp"),
        "cannot write in the folder /proc",
    )


def test_a_kernel_that_does_not_exist_is_refused_before_any_work(run, folder):
    assert_fails(run("fit", folder / "train.csv", "-t", "sick", "--kernel", "foo"), "kernel='foo'")


def test_every_kernel_of_the_registry_can_be_chosen_and_is_named_in_the_help(run, tmp_path):
    _, out, _ = run("fit", "--help")
    for kernel in kernel_choices():
        assert kernel in out
        refused = run("fit", tmp_path / "no.csv", "-t", "sick", "--kernel", kernel)
        assert_fails(refused, "no such file")


def test_version_and_defaults_are_said(run):
    code, out, _ = run("--version")
    assert (code, out.split()[0]) == (0, "dirichletgp")
    _, out, _ = run("fit", "--help")
    assert "by default 1000" in " ".join(out.replace("│", " ").split())


def test_bad_tables_to_predict_are_refused_in_one_line(run, folder, tmp_path):
    rows = messy_rows(30)
    out = tmp_path / "out.parquet"

    def predict(path, model=folder / "model.dgp"):
        return run("predict", model, path, "-o", out)

    (tmp_path / "none.csv").write_bytes(
        (folder / "new.csv").read_bytes().splitlines(keepends=True)[0]
    )
    assert_fails(predict(tmp_path / "none.csv"), "none.csv has no rows")
    without = {name: values for name, values in rows.items() if name != "dose"}
    assert_fails(
        predict(write_csv(tmp_path / "a.csv", without)),
        "has no column 'dose', which the model needs",
    )
    new = rows | {"colour": ["mauve", *rows["colour"][1:]]}
    assert_fails(
        predict(write_csv(tmp_path / "b.csv", new)),
        "holds categories the model has not seen: 'mauve'",
    )
    for name, what in (
        ("dose", "texts that are not numbers: 'soon'"),
        ("seen", "texts that are not dates"),
    ):
        strange = write_csv(tmp_path / "s.csv", rows | {name: ["soon", *rows[name][1:]]})
        assert_fails(predict(strange), f"column '{name}' holds {what}")
    assert_fails(predict(folder / "new.csv", folder / "train.csv"), "train.csv")
    assert_fails(predict(folder / "new.csv", tmp_path / "no.dgp"), "no.dgp")
    truncated = (folder / "model.dgp").read_bytes()[:-200]
    (tmp_path / "cut.dgp").write_bytes(truncated)
    assert_fails(predict(folder / "new.csv", tmp_path / "cut.dgp"), "cut.dgp")
    assert_fails(
        run("predict", folder / "model.dgp", folder / "new.csv", "--json"), "pass -o with a file"
    )
    assert_fails(run("evaluate", folder / "model.dgp", tmp_path / "a.csv"), "has no column 'dose'")
    other = write_csv(tmp_path / "c.csv", rows | {"sick": ["maybe", *rows["sick"][1:]]})
    assert_fails(
        run("evaluate", folder / "model.dgp", other), "'maybe', a class the model does not know"
    )
    assert not out.exists()


def test_new_categories_and_unreadable_numbers_can_be_accepted(run, folder, tmp_path):
    rows = messy_rows(30)
    rows["colour"][0], rows["dose"][1] = "mauve", "a lot"
    arguments = (write_csv(tmp_path / "t.csv", rows), "-o", tmp_path / "o.csv", "--accept-new")
    code, _, err = run("predict", folder / "model.dgp", *arguments)
    assert code == 0
    assert "note: column 'colour' holds categories" in err
    assert "note: column 'dose' holds texts that are not numbers: 'a lot'" in err


def test_a_model_saved_from_python_says_that_it_knows_no_columns(run, folder, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    DirichletGPClassifier("rbf", n_inducing=10, random_state=0).fit(X, X[:, 0] > 0).save(
        tmp_path / "m.dgp"
    )
    assert_fails(
        run("predict", tmp_path / "m.dgp", folder / "new.csv", "-o", tmp_path / "o.csv"),
        "saved from Python",
    )
    code, out, _ = run("info", tmp_path / "m.dgp", "--json")
    assert code == 0
    assert json.loads(out)["columns"] == []


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (0.0, 1.0)])
def test_a_model_saved_from_python_is_measured_if_the_target_is_named(run, tmp_path, labels):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["dose", "age"])
    y = np.array(labels)[(X["dose"] + 0.5 * rng.normal(size=80) > 0).astype(int)]
    model, table = tmp_path / "m.dgp", tmp_path / "t.csv"
    fitted = DirichletGPClassifier("rbf", n_inducing=10, max_iter=2, random_state=0)
    fitted.fit(X[:40], y[:40]).save(model)
    X.assign(sick=y)[40:].to_csv(table, index=False)
    assert_fails(run("evaluate", model, table), "pass --target with its name")
    code, out, err = run("evaluate", model, table, "--target", "sick", "--json")
    assert code == 0, err
    accuracy = json.loads(out)["metrics"]["accuracy"]["value"]
    assert accuracy == pytest.approx(fitted.score(X[40:], y[40:]))
    page = tmp_path / "r.html"
    code, _, err = run("report", model, table, "--target", "sick", "-o", page, "--json")
    assert code == 0, err
    assert "How well is sick predicted?" in page.read_text()
    more = ("--recall", "0.8", "--new-rows", "--label", str(labels[1]), "--json")
    assert run("threshold", model, table, "--target", "sick", *more)[0] == 0
    X.assign(sick=y)[:40].to_csv(table, index=False)
    code, out, _ = run("evaluate", model, table, "--target", "sick", "--json")
    assert "rows that the model was fitted to" in json.loads(out)["warnings"][0]


def test_labels_that_are_the_same_numbers_are_the_same_classes(run, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["dose", "age"])
    y = (X["dose"] + 0.5 * rng.normal(size=120) > 0).astype(int)
    rows = {"whole": y, "real": y.astype(float), "odd": y.where(y == 0, 2)}
    for name, labels in rows.items():
        X.assign(sick=labels)[80:].to_csv(tmp_path / f"{name}.csv", index=False)
    X.assign(sick=y)[:80].to_csv(tmp_path / "train.csv", index=False)
    model, fast = tmp_path / "m.dgp", ("--n-inducing", "10", "--kernel", "rbf", "--json")
    fit = ("fit", tmp_path / "train.csv", "-t", "sick", "-o", model, *fast, "--test")

    def replies(table):
        """The scores of a fit that is tested on a table, and those of commands."""
        test = json.loads(run(*fit, tmp_path / table)[1])["test"]
        evaluated = json.loads(run("evaluate", model, tmp_path / table, "--json")[1])["metrics"]
        more = ("--recall", "0.8", "--new-rows", "--label", "1.0", "--json")
        reached = json.loads(run("threshold", model, tmp_path / table, *more)[1])
        assert run("report", model, tmp_path / table, "-o", tmp_path / "r.html")[0] == 0
        return test, evaluated, reached["value"]

    assert replies("real.csv") == replies("whole.csv")
    known = "holds '2', a class the model does not know; its classes: 0, 1"
    assert_fails(run("evaluate", model, tmp_path / "odd.csv"), known)
    assert_fails(run(*fit, tmp_path / "odd.csv"), known)


def test_the_target_may_have_another_name_in_the_table(run, folder, tmp_path):
    text = (folder / "new.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace("sick", "outcome", 1))
    code, _, err = run("evaluate", folder / "model.dgp", tmp_path / "t.csv", "-t", "outcome")
    assert code == 0, err


@pytest.mark.parametrize("command", ["predict", "evaluate", "report", "info"])
def test_a_command_reads_the_model_file_once(run, folder, tmp_path, monkeypatch, command):
    from dirichletgp.persistence import model_file

    reads = []
    read_archive = model_file.read_archive

    def counting(path, kind):
        reads.append(path)
        return read_archive(path, kind)

    monkeypatch.setattr(model_file, "read_archive", counting)
    table = () if command == "info" else (folder / "new.csv",)
    output = ("-o", tmp_path / "out.csv") if command in ("predict", "report") else ()
    code, _, err = run(command, folder / "model.dgp", *table, *output)
    assert code == 0, err
    assert len(reads) == 1


def test_rows_come_as_an_arrow_stream_on_standard_input_but_not_as_parquet(run, folder, tmp_path):
    table = arrow_csv.read_csv(folder / "new.csv")
    stream, file = io.BytesIO(), io.BytesIO()
    for sink, new in ((stream, ipc.new_stream), (file, ipc.new_file)):
        with new(sink, table.schema) as writer:
            writer.write_table(table)
    predict = ("predict", folder / "model.dgp", "-", "--format")
    code, out, err = run(*predict, "arrow", stdin=stream.getvalue())
    assert code == 0, err
    run("predict", folder / "model.dgp", folder / "new.csv", "-o", tmp_path / "out.csv")
    assert out == (tmp_path / "out.csv").read_text()
    refused = run(*predict, "arrow", stdin=file.getvalue())
    assert_fails(refused, "an Arrow file cannot be read from standard input")
    assert_fails(run(*predict, "parquet"), "Parquet cannot be read from standard input")


def test_the_bar_follows_stages_whatever_they_are_called(monkeypatch):
    estimate = Estimate(max_iter=10)
    shares = []

    def listener(event):
        estimate(event)
        shares.append(estimate.share)

    show_stage = Progress.stage
    monkeypatch.setattr(
        Progress, "stage", lambda self, stage, name=None: show_stage(self, stage, "reworded")
    )
    X = np.random.default_rng(0).normal(size=(150, 2))
    with listening(listener):
        DirichletGPClassifier("rbf", n_inducing=20, max_iter=10, random_state=0).fit(X, X[:, 0] > 0)
    assert shares == sorted(shares)
    assert len(set(shares)) > 5
    assert 0.9 < shares[-1] < 1.0
    assert estimate.words == "computing intervals"


def test_the_bar_never_goes_back_nor_beyond_its_end():
    estimate = Estimate(max_iter=10)
    shares = [estimate.share]
    for stage in [*Stage, *Stage]:
        for evaluation in (0, 1, 5, 1_000):
            estimate(Event(stage, evaluation))
            shares.append(estimate.share)
            assert estimate.words
    assert shares == sorted(shares)
    assert shares[-1] < 1.0


def test_the_command_line_without_typer_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("dirichletgp.cli")]:
        monkeypatch.delitem(sys.modules, name)
    command_line = importlib.import_module("dirichletgp.cli")
    with pytest.raises(SystemExit, match="pip install typer"):
        command_line.main()


def test_the_same_seed_gives_the_same_model(run, folder, tmp_path):
    predictions = []
    for name in ("a", "b"):
        model, out = tmp_path / f"{name}.dgp", tmp_path / f"{name}.csv"
        code, _, err = run(
            "fit", folder / "small.csv", "-t", "sick", "-o", model, "--n-inducing", 20
        )
        assert code == 0, err
        run("predict", model, folder / "new.csv", "-o", out)
        predictions.append(out.read_bytes())
    assert predictions[0] == predictions[1]
