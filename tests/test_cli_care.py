"""The command line takes care: of files it is given, of work done, of what people conclude."""

import gzip
import json
import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pa = pytest.importorskip("pyarrow", reason="the command line reads tables with pyarrow")

from pyarrow import ipc, parquet  # noqa: E402

from dirichletgp import DirichletGPClassifier  # noqa: E402
from dirichletgp._gp.rows.tables.errors import TableError  # noqa: E402
from dirichletgp.cli import destinations, main  # noqa: E402
from dirichletgp.cli.destinations import Output, check_outputs  # noqa: E402
from dirichletgp.persistence.file_kinds import TABLE  # noqa: E402
from dirichletgp.report.numbers import Metric  # noqa: E402

FAST = ("--n-inducing", "25", "--kernel", "rbf")


def table_text(n=80, seed=0, labels=("no", "yes"), **more):
    """CSV with a number, a category, and more columns as they are given."""
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    sick = (dose + 0.5 * rng.normal(size=n) > 0).astype(int)
    columns = {
        "dose": [f"{d:.4f}" for d in dose],
        "colour": rng.choice(["red", "green", "blue"], size=n).tolist(),
        "sick": [labels[s] for s in sick],
    }
    for name, values in more.items():
        columns[name] = values(dose, sick) if callable(values) else values
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Run a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def fit(run):
    """Fit a table in the folder, quickly."""
    return lambda table, *arguments: run("fit", table, "-t", "sick", *FAST, *arguments)


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory):
    """A model file of a table of the command line."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "p.csv").write_text(table_text())
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["fit", folder / "p.csv", "-t", "sick", "-o", folder / "m.dgp", "--json", *FAST]
        patch.setattr(sys, "argv", ["dirichletgp", *map(str, arguments)])
        with pytest.raises(SystemExit):
            main()
    return (folder / "m.dgp").read_bytes()


@pytest.fixture
def kept(tmp_path, saved_model):
    """Files that are there; afterwards each must hold what it held."""
    files = {
        "p.csv": table_text().encode(),
        "new.csv": table_text(40, seed=1).encode(),
        "m.dgp": saved_model,
        "page.html": b"<!doctype html><title>mine</title>",
        "notes.bin": b"PK\x03\x04\0\0something else",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    yield tmp_path
    for name, content in files.items():
        assert (tmp_path / name).read_bytes() == content, name


def assert_refused(outcome, reason):
    code, out, err = outcome
    assert code == 2
    assert err.startswith("error: ")
    assert reason in err
    assert err.count("\n") == 1
    assert out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "p.csv", "-t", "sick", "-o", "p.csv", *FAST),
        ("fit", "p.csv", "-t", "sick", "-o", "new.dgp", "--report", "p.csv", *FAST),
        ("fit", "p.csv", "-t", "sick", "-o", "new.csv", "--test", "new.csv", *FAST),
        ("predict", "m.dgp", "new.csv", "-o", "new.csv"),
        ("predict", "m.dgp", "new.csv", "-o", "m.dgp", "--output-format", "csv"),
        ("report", "m.dgp", "new.csv", "-o", "m.dgp"),
        ("report", "m.dgp", "new.csv", "-o", "new.csv"),
        ("audit", "p.csv", "-t", "sick", "-o", "p.csv", *FAST),
    ],
)
def test_an_input_is_never_replaced_not_even_by_force(run, kept, arguments):
    assert_refused(run(*arguments), "would replace the input")
    assert_refused(run(*arguments, "--force"), "would replace the input")


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["link", "hard link"])
def test_an_input_is_recognised_under_another_name(run, kept, link):
    link("new.csv", "other.csv")
    assert_refused(run("predict", "m.dgp", "new.csv", "-o", "other.csv"), "would replace the input")
    assert_refused(run("predict", "m.dgp", "other.csv", "-o", "new.csv"), "would replace the input")


def test_a_file_on_standard_input_is_an_input_too(kept):
    command = [sys.executable, "-m", "dirichletgp.cli", "predict", "m.dgp", "-", "-o", "new.csv"]
    with (kept / "new.csv").open() as rows:
        done = subprocess.run(
            command, stdin=rows, cwd=kept, capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert "would replace the input -" in done.stderr


def test_two_outputs_are_two_files(fit, kept):
    refused = fit("p.csv", "-o", "same", "--report", "./same")
    assert_refused(refused, "--output and --report are the same file")
    assert not (kept / "same").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("fit", "p.csv", "-t", "sick", "-o", "new.csv"), "new.csv exists and is no model"),
        (("fit", "p.csv", "-t", "sick", "-o", "page.html"), "page.html exists and is no model"),
        (("report", "m.dgp", "new.csv", "-o", "notes.bin"), "notes.bin exists and is no HTML page"),
        (("predict", "m.dgp", "new.csv", "-o", "page.html", "--output-format", "csv"), "no table"),
        (("predict", "m.dgp", "new.csv", "-o", "notes.bin", "--output-format", "csv"), "no table"),
    ],
)
def test_a_file_of_another_kind_is_replaced_only_by_force(run, kept, arguments, reason):
    assert_refused(run(*arguments), f"{reason}; pass another name, or --force")


def test_force_replaces_a_file_of_another_kind_and_the_same_kind_needs_none(run, kept):
    (kept / "old.txt").write_text("something")
    arguments = ("report", "m.dgp", "new.csv", "-o", "old.txt")
    assert run(*arguments, "--force")[0] == 0
    assert "<html" in (kept / "old.txt").read_text()
    assert run(*arguments)[0] == 0
    for _ in range(2):
        assert run("predict", "m.dgp", "new.csv", "-o", "out.csv")[0] == 0


PREDICT = ("predict", "m.dgp", "new.csv", "-o")
AUDIT = ("audit", "p.csv", "-t", "sick", *FAST, "-o")


def as_parquet(table, path):
    parquet.write_table(table, path)


def as_arrow(table, path):
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def as_arrow_stream(table, path):
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


PRECIOUS = {
    "precious.csv": lambda path: path.write_text("name,probability\nmine,1\n"),
    "latin.csv": lambda path: path.write_bytes("größe,row\n1,2\n".encode("latin-1")),
    "blank.csv": lambda path: path.write_text("\n\n"),
    "notes.txt": lambda path: path.write_text('not a table, "but words\n'),
    "precious.parquet": lambda path: as_parquet(pa.table({"label": ["mine"]}), path),
    "precious.arrow": lambda path: as_arrow(pa.table({"row": [1]}), path),
    "stream.arrow": lambda path: as_arrow_stream(pa.table({"row": [1]}), path),
    "broken.parquet": lambda path: path.write_bytes(b"PAR1 and nothing more"),
    "broken.arrow": lambda path: path.write_bytes(b"\xff\xff\xff\xff\x10\0\0\0and no more"),
}


@pytest.mark.parametrize("name", PRECIOUS)
@pytest.mark.parametrize("command", [PREDICT, AUDIT], ids=["predict", "audit"])
def test_a_table_that_is_no_earlier_result_is_replaced_only_by_force(
    run, kept, monkeypatch, command, name
):
    without_training(monkeypatch)
    path = kept / name
    PRECIOUS[name](path)
    before = path.read_bytes()
    reason = f"{name} exists and is no earlier result of {command[0]}; pass another name, or --for"
    assert_refused(run(*command, name), reason)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "r.arrow"])
def test_an_earlier_result_of_the_same_command_is_replaced(run, kept, name):
    assert run(*PREDICT, name, "--keep", "dose", "--no-interval")[0] == 0
    assert run(*PREDICT, name, "--set", "0.9")[0] == 0
    assert_refused(run(*AUDIT, name), f"{name} exists and is no earlier result of audit")
    assert run(*AUDIT, name, "--force")[0] == 0
    assert run(*AUDIT, name)[0] == 0
    assert_refused(run(*PREDICT, name), f"{name} exists and is no earlier result of predict")
    (kept / name).write_bytes(b"")
    assert run(*PREDICT, name)[0] == 0


def test_a_file_that_may_not_be_read_is_not_replaced(kept, monkeypatch):
    def refuse(path, kind):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(destinations, "may_replace", refuse)
    output = Output("--output", kept / "secret.csv", TABLE)
    with pytest.raises(TableError, match=r"secret.csv exists and cannot be read \(permission den"):
        check_outputs([output], ())
    check_outputs([output], (), force=True)


def test_models_and_pages_do_not_go_to_standard_output(run, fit, kept):
    assert_refused(fit("p.csv", "-o", "-"), "a model cannot be written to standard output")
    assert_refused(run("report", "m.dgp", "new.csv", "-o", "-"), "cannot be written to standard")
    assert not (kept / "-").exists()


def without_training(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("training began")

    monkeypatch.setattr(DirichletGPClassifier, "fit", refuse)


def test_test_rows_are_checked_before_training(fit, kept, monkeypatch):
    without_training(monkeypatch)
    (kept / "other.csv").write_text(table_text(20, labels=("no", "maybe")))
    assert_refused(fit("p.csv", "--test", "other.csv"), "holds 'maybe', a class the model does not")
    (kept / "columns.csv").write_text("age,sick\n1,yes\n2,no\n")
    assert_refused(fit("p.csv", "--test", "columns.csv"), "has no column 'dose'")


def test_what_a_report_needs_is_checked_before_training(fit, kept, monkeypatch):
    without_training(monkeypatch)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert_refused(fit("p.csv", "-o", "a.dgp", "--report", "r.html"), "a report needs jinja2")


def test_a_report_that_fails_leaves_the_model(fit, kept, monkeypatch):
    def fail(*_, **__):
        raise OSError("no more")

    # By module: as an attribute of the package it is gone where other tests imported that anew.
    monkeypatch.setattr(import_module("dirichletgp.cli.fit"), "write_table_report", fail)
    assert fit("p.csv", "-o", "a.dgp", "--report", "r.html")[0] == 2
    assert DirichletGPClassifier.load(kept / "a.dgp").classes_.tolist() == ["no", "yes"]


def test_a_second_fit_that_is_interrupted_leaves_the_model_that_was_measured(
    fit, kept, monkeypatch
):
    whole_fit = DirichletGPClassifier.fit
    fits = []

    def fit_once(self, *arguments):
        fits.append(self)
        if len(fits) == 2:
            raise KeyboardInterrupt
        return whole_fit(self, *arguments)

    monkeypatch.setattr(DirichletGPClassifier, "fit", fit_once)
    assert fit("p.csv", "-o", "a.dgp")[0] == 130
    assert DirichletGPClassifier.load(kept / "a.dgp").class_count_.sum() == 60


def test_the_model_that_is_kept_has_learned_from_all_rows(run, fit, kept):
    code, out, err = fit("p.csv", "-o", "a.dgp", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert (said["training_rows"], said["test"]["rows"], said["refitted"]) == (80, 20, True)
    assert DirichletGPClassifier.load("a.dgp").class_count_.sum() == 80
    assert "measured before it was fitted again, to all 80 rows" in run("info", "a.dgp")[1]
    _, out, _ = fit("p.csv", "-o", "b.dgp", "--json", "--no-refit")
    apart = json.loads(out)
    assert (apart["training_rows"], apart["refitted"]) == (60, False)
    assert DirichletGPClassifier.load("b.dgp").class_count_.sum() == 60
    assert apart["test"] == said["test"]


def test_a_category_of_held_out_rows_only_is_known_to_the_model_that_is_kept(run, kept):
    names = [f"c{i}" for i in range(80)]
    (kept / "many.csv").write_text(table_text(town=names))
    _, _, err = run("fit", "many.csv", "-t", "sick", "-o", "a.dgp", "--category", "town", *FAST)
    assert "has not seen" not in err
    assert run("predict", "a.dgp", "many.csv", "-o", "out.csv")[0] == 0


def test_a_column_that_is_kept_is_there_whatever_its_name(run, kept):
    rows = (kept / "new.csv").read_text().replace("sick", "label")
    (kept / "named.csv").write_text(rows)
    code, out, err = run("predict", "m.dgp", "named.csv", "--keep", "label")
    assert code == 0
    assert "note: column 'label' is kept as 'label_'" in err
    header, first = out.splitlines()[:2]
    assert header.startswith('"label_","label","probability"')
    assert first.split(",")[0].strip('"') == rows.splitlines()[1].split(",")[2]


def renamed(text, **names):
    """CSV with other names of columns."""
    header, rows = text.split("\n", 1)
    return ",".join(names.get(name, name) for name in header.split(",")) + "\n" + rows


@pytest.mark.parametrize("name", ["Dose", "dose ", "_dose_"])
@pytest.mark.parametrize(
    "command", [("predict",), ("explain",), ("evaluate",), ("threshold", "--recall", "0.9")]
)
def test_a_column_that_is_called_a_little_otherwise_is_not_missing(run, kept, name, command):
    (kept / "n.csv").write_text(renamed(table_text(40, seed=1), dose=name))
    for option in ((), ("--accept-new",)):
        refused = run(command[0], "m.dgp", "n.csv", *command[1:], *option)
        reason = f"n.csv has no column 'dose', which the model needs; did you mean {name!r}? Rename"
        assert_refused(refused, reason)
        assert "--accept-new" not in refused[2]


def test_test_rows_with_a_misnamed_column_are_refused(fit, kept, monkeypatch):
    without_training(monkeypatch)
    (kept / "n.csv").write_text(renamed(table_text(40, seed=1), colour="Colour"))
    assert_refused(fit("p.csv", "-o", "n.dgp", "--test", "n.csv"), "did you mean 'Colour'? Rename")


def test_a_missing_column_that_is_accepted_is_warned_of(run, kept):
    (kept / "n.csv").write_text(renamed(table_text(40, seed=1), dose="dosis"))
    missing = "n.csv has no column 'dose', which the model needs; "
    assert_refused(
        run("predict", "m.dgp", "n.csv", "-o", "o.csv"),
        missing + "to take it as missing pass --accept-new",
    )
    code, said, told = run("predict", "m.dgp", "n.csv", "-o", "o.csv", "--accept-new", "--json")
    assert code == 0
    warning = missing + "taken as missing in all rows"
    assert f"warning: {warning}" in told
    assert json.loads(said)["notes"][0].startswith(warning)
    assert "columns that are not there as missing in all rows" in plain_help(run, "predict")


def plain_help(run, command):
    return " ".join(run(command, "--help")[1].replace("│", " ").split())


def test_the_target_cannot_be_left_out(fit, kept):
    assert_refused(fit("p.csv", "--drop", "sick"), "--drop sick: that is the target")


def test_errors_of_files_name_the_file(run, fit, kept):
    (kept / "cut.csv.gz").write_bytes(gzip.compress((kept / "p.csv").read_bytes())[:300])
    assert_refused(fit("cut.csv.gz", "-o", "a.dgp"), "cut.csv.gz cannot be read")
    if os.path.exists("/dev/full"):
        full = ("-o", "/dev/full", "--output-format", "csv")
        refused = run("predict", "m.dgp", "new.csv", *full)
        assert_refused(refused, "/dev/full: No space left on device")
        assert_refused(
            fit("p.csv", "-o", "/dev/full", "--json"), "/dev/full: No space left on device"
        )


def test_a_table_without_a_line_of_names_is_recognised(fit, kept):
    rows = (kept / "p.csv").read_text().split("\n", 1)[1]
    (kept / "nameless.csv").write_text(rows)
    assert_refused(fit("nameless.csv"), "the file has no line of names: put one before the first")


def test_errors_say_which_line_of_a_table_is_wrong(run, fit, kept):
    lines = (kept / "p.csv").read_text().splitlines()
    (kept / "ragged.csv").write_text("\n".join([*lines[:40], "1.5,red", *lines[40:]]))
    reason = "line 41 has 2 values where the first line has 3 names: 1.5,red"
    assert_refused(fit("ragged.csv"), reason)


def test_errors_say_which_row_of_a_prediction_is_wrong(run, kept, monkeypatch):
    monkeypatch.setattr("dirichletgp._gp.rows.tables.csv_tables._BLOCK_BYTES", 500)
    header, *lines = (kept / "new.csv").read_text().splitlines()
    for wrong, what in (("soon,red,no", "not numbers: 'soon'"), ("1,mauve,no", "seen: 'mauve'")):
        (kept / "wrong.csv").write_text("\n".join([header, *lines, wrong]))
        refused = run("predict", "m.dgp", "wrong.csv", "-o", "out.csv")
        assert_refused(refused, f"{what}, first in row 41")


def test_numbers_are_written_as_people_write_them(fit, kept):
    (kept / "constant.csv").write_text(table_text(income=["96860"] * 80))
    _, out, _ = fit("constant.csv", "-o", "a.dgp")
    assert "always 96,860" in out


def test_an_interruption_at_any_time_is_one_line(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    module = sys.modules["dirichletgp.cli.main"]
    monkeypatch.setattr(module.importlib, "import_module", interrupted)
    assert run("--help") == (130, "", "error: interrupted\n")


def warnings_of(outcome):
    code, out, err = outcome
    assert code == 0, err
    return json.loads(out)["warnings"]


def test_a_column_that_gives_the_label_away_is_named(fit, kept):
    def price(dose, sick):
        return ["" if s else "12.5" for s in sick]

    def day(dose, sick):
        return [f"{10 * s + 0.01 * i:.2f}" for i, s in enumerate(sick)]

    (kept / "telling.csv").write_text(table_text(200, price=price, day=day))
    found = warnings_of(fit("telling.csv", "-o", "a.dgp", "--json"))
    assert [text.split("'")[1] for text in found] == ["price", "day"]
    assert all("is it known before the label is?" in text for text in found)
    assert warnings_of(fit("p.csv", "-o", "a.dgp", "--json")) == []


def test_test_rows_that_were_training_rows_are_counted(fit, kept):
    rows = (kept / "p.csv").read_text().splitlines()
    (kept / "half.csv").write_text("\n".join([*rows[:31], *table_text(30, 5).splitlines()[1:]]))
    found = warnings_of(fit("p.csv", "--test", "half.csv", "-o", "a.dgp", "--json"))
    assert "30 of 60 test rows are training rows too" in found[0]
    assert warnings_of(fit("p.csv", "--test", "new.csv", "-o", "a.dgp", "--json")) == []


def test_rows_that_are_equal_by_chance_are_no_copies(fit, kept):
    coarse = ["1" if i % 3 else "2" for i in range(80)]
    rows = [f"{a},{'yes' if i % 2 else 'no'}" for i, a in enumerate(coarse)]
    (kept / "coarse.csv").write_text("\n".join(["dose,sick", *rows]))
    assert warnings_of(fit("coarse.csv", "--test", "coarse.csv", "-o", "a.dgp", "--json")) == []


def test_a_class_with_few_rows_is_named_also_on_the_page(fit, kept):
    rows = (kept / "p.csv").read_text().replace("no\n", "never\n", 8).replace("never", "rare", 7)
    (kept / "rare.csv").write_text(rows)
    arguments = ("-o", "a.dgp", "--report", "r.html")
    found = warnings_of(fit("rare.csv", *arguments, "--json"))
    assert "fewer than 10 rows to learn from: 'never' (1), 'rare'" in found[0]
    assert "rows to learn from: &#39;never&#39; (1)" in (kept / "r.html").read_text()


def test_intervals_are_the_same_for_people_for_scripts_and_in_reports(fit, run, kept):
    # The label is told by its column: every row is right.
    rows = [
        f"{i % 7 - 3 + (0.4 if i % 7 < 3 else 0)},{'yes' if i % 7 > 2 else 'no'}" for i in range(70)
    ]
    (kept / "easy.csv").write_text("\n".join(["dose,sick", *rows]))
    fit("easy.csv", "-o", "a.dgp")
    _, out, _ = run("evaluate", "a.dgp", "easy.csv", "--json")
    found = json.loads(out)["metrics"]
    assert found["accuracy"]["value"] == 1.0
    _, people, _ = run("evaluate", "a.dgp", "easy.csv")
    run("report", "a.dgp", "easy.csv", "-o", "r.html")
    page = (kept / "r.html").read_text()
    for key in ("accuracy", "precision", "recall", "f1", "auc"):
        metric = Metric(
            key, key, **{k: found[key][k] for k in ("value", "low", "high")}, meaning=""
        )
        assert metric.low < metric.high
        assert metric.interval in people
        assert f'<dd class="interval">{metric.interval}</dd>' in page


def test_a_single_row_to_test_on_leaves_intervals_open_and_the_model_loads(fit, run, kept):
    lines = (kept / "new.csv").read_text().splitlines()
    (kept / "one.csv").write_text("\n".join(lines[:2]))
    _, out, _ = fit("p.csv", "--test", "one.csv", "-o", "a.dgp", "--json")
    assert json.loads(out)["test"]["metrics"]["mnll"]["low"] is None
    code, out, _ = run("info", "a.dgp", "--json")
    assert code == 0
    assert json.loads(out)["test"]["metrics"]["mnll"]["high"] is None
    _, people, _ = run("evaluate", "a.dgp", "one.csv")
    assert "rows too alike" in people


def test_scores_stand_beside_those_of_guessing(fit, kept):
    _, out, _ = fit("p.csv", "--test", "new.csv", "-o", "a.dgp", "--json")
    metrics = json.loads(out)["test"]["metrics"]
    truth = [row.split(",")[2] for row in (kept / "new.csv").read_text().splitlines()[1:]]
    often = max(truth.count("yes"), truth.count("no")) / len(truth)
    assert metrics["accuracy"]["baseline"] == pytest.approx(often)
    assert metrics["auc"]["baseline"] == 0.5
    assert metrics["ece"]["baseline"] is None
    _, out, _ = fit("p.csv", "-o", "a.dgp")
    assert "guessing" in out
    assert "\u00a0pp" in out


@pytest.mark.parametrize("package", ["numpy", "scipy", "sklearn", "typer", "pyarrow"])
def test_an_interruption_while_packages_are_imported_is_one_line(tmp_path, package):
    stub = tmp_path / package
    stub.mkdir()
    interrupts = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n"
    (stub / "__init__.py").write_text(interrupts)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "dirichletgp.cli", "fit", "no.csv", "-t", "y"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_evaluate_and_report_notice_rows_that_the_model_was_fitted_to(run, kept):
    for arguments in (("evaluate", "m.dgp"), ("report", "m.dgp")):
        output = ("-o", "r.html") if arguments[0] == "report" else ()
        found = warnings_of(run(*arguments, "p.csv", *output, "--json"))
        assert "all 80 rows seem to be rows that the model was fitted to" in found[0]
        if output:
            assert "scores on them say nothing about new rows" in (kept / "r.html").read_text()
        assert warnings_of(run(*arguments, "new.csv", *output, "--json")) == []
    assert "warning: all 80 rows" in run("evaluate", "m.dgp", "p.csv")[2]


def test_contents_of_rows_and_paths_stay_out_of_a_report_unless_asked_for(run, kept):
    names = [f"Ann-{i} Miller" for i in range(80)]
    (kept / "inner").mkdir()
    table = kept / "inner" / "people.csv"
    table.write_text(table_text(name=names, country=["Elbonia"] * 80))
    fit = ("fit", table, "-t", "sick", *FAST, "-o", "a.dgp", "--json", "--force")
    assert run(*fit, "--report", "r.html", "--test", table)[0] == 0
    page = (kept / "r.html").read_text()
    for text in ("Miller", "Elbonia", str(kept), "inner", ">red<"):
        assert text not in page, text
    assert str(kept) not in (kept / "a.dgp").read_bytes().decode("latin-1")
    assert run("report", "a.dgp", table, "-o", "r.html", "--show-values")[0] == 0
    assert "Miller" in (kept / "r.html").read_text()
