"""Runs of the paper on tiny data: every artefact, the same tables after a kill, clear words."""

import csv
import gc
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dirichletgp.paper import ARTEFACTS, Plan, run_paper
from dirichletgp.paper.artefacts import REGISTRY
from dirichletgp.paper.drawing import figure_with_panels
from dirichletgp.paper.methods import METHODS, estimator

pytest.importorskip("matplotlib")
pytest.importorskip("typer")

NEVER_THE_SAME = ("training, s", "GPD, s", "GPC, s", "speed-up")
FIGURES = (
    "alpha",
    "inducing_points",
    "loss_convergence",
    "one_dimensional",
    "reliability_many_classes",
    "reliability_two_classes",
    "results",
    "speedup",
)
ALL_BUT_THE_DEFAULTS = tuple(name for name in METHODS if name != "ours")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files that stand for part of a two-class and of a many-class dataset."""
    place = tmp_path_factory.mktemp("data")
    for name, n_features, n_classes in (("magic", 10, 2), ("letter", 16, 4)):
        rng = np.random.default_rng(len(name))
        y = np.arange(120) % n_classes
        X = rng.normal(size=(120, n_features)) + 0.3 * y[:, None]
        np.savez(place / f"{name}_partial.npz", X=X, y=y)
    return place


def plan(folder, out, **changes):
    usual = {"data": folder, "splits": 2, "repetitions": 2}
    return Plan(out, ("magic", "letter"), **(usual | changes))


@dataclass(frozen=True)
class Run:
    out: Path
    summary: dict


@pytest.fixture(scope="module")
def whole_run(folder, tmp_path_factory):
    """Every artefact, with all methods but the slowest."""
    out = tmp_path_factory.mktemp("whole")
    quick = plan(folder, out, methods=ALL_BUT_THE_DEFAULTS, quick=True)
    return Run(out, run_paper(quick))


def tables(out):
    """All tables, without the columns that no two runs have in common."""
    found = {}
    for path in sorted((out / "tables").glob("*.csv")):
        with path.open() as file:
            rows = list(csv.DictReader(file))
        found[path.name] = [
            {key: row[key] for key in row if key not in NEVER_THE_SAME} for row in rows
        ]
    return found


@pytest.mark.slow
def test_every_artefact_has_its_tables_and_figures(whole_run):
    figures = {path.name for path in (whole_run.out / "figures").iterdir()}
    assert figures == {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")}
    assert whole_run.summary["artefacts"] == list(ARTEFACTS)
    assert whole_run.summary["failed"] == []
    page = (whole_run.out / "index.html").read_text()
    assert page.count("<img ") == len(FIGURES)
    loaded = re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert not loaded, "the page loads nothing from elsewhere"
    lines = (whole_run.out / "results.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    assert {result["method"] for result in results} == set(ALL_BUT_THE_DEFAULTS)
    assert all(result["partial"] for result in results)


@pytest.mark.slow
def test_partial_data_are_called_partial_wherever_a_result_is_shown(whole_run):
    for name, rows in tables(whole_run.out).items():
        assert rows, name
        assert all("(partial)" in row["dataset"] for row in rows if "dataset" in row), name
    for name in FIGURES:
        svg = (whole_run.out / "figures" / f"{name}.svg").read_text()
        # Matplotlib writes the text of a label as a comment beside its shapes.
        assert "partial" in svg or name in ("loss_convergence", "one_dimensional"), name


@dataclass(frozen=True)
class BrokenRun:
    """What is left of a run that was interrupted, started again, and killed."""

    command: list
    out: Path
    exit_code: int
    words: str


@pytest.fixture(scope="module")
def broken_run(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("broken")
    command = ["paper", "--dataset=magic", "--dataset=letter"]
    command += ["--artefact=results", "--artefact=alpha"]
    command += [f"--method={name}" for name in ALL_BUT_THE_DEFAULTS]
    command += ["--quick", "--splits=2", "--data", str(folder), "--out", str(out)]
    rng = np.random.default_rng()

    def ended_by(signal_):
        process = subprocess.Popen(
            [sys.executable, "-m", "dirichletgp.cli", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        )
        for _ in range(rng.integers(3, 9)):  # lines of progress, one per task
            process.stderr.readline()
        assert process.poll() is None, "the run was over before it could be ended"
        process.send_signal(signal_)
        _, words = process.communicate()
        return process.returncode, words

    # Background jobs of a shell start with SIGINT ignored, and hand that on; a handler is not
    # handed on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    exit_code, words = ended_by(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    ended_by(signal.SIGKILL)
    return BrokenRun(command, out, exit_code, words)


def test_control_c_says_how_to_go_on(broken_run):
    assert broken_run.exit_code == 130
    assert "To go on from here:\n  dirichletgp paper --dataset=magic" in broken_run.words
    assert "Traceback" not in broken_run.words


@pytest.mark.slow
def test_a_run_that_is_killed_and_started_again_gives_the_same_tables(whole_run, broken_run, run):
    code, _, words = run(*broken_run.command)
    assert code == 0
    assert "are there already" in words
    expected = tables(whole_run.out)
    found = tables(broken_run.out)
    assert set(found) == {"alpha.csv", "alpha_best.csv", "results.csv"}
    assert found == {name: expected[name] for name in found}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dataset=egg"], "dataset 'egg' is unknown; choose from eeg"),
        (["--method=svm"], "method 'svm' is unknown; choose from gpc"),
        (["--artefact=table"], "artefact 'table' is unknown; choose from"),
        (["--data=nowhere", "--dataset=eeg"], "data='nowhere' is not a folder"),
    ],
)
def test_bad_options_get_one_line(run, tmp_path, arguments, words):
    code, _, said = run("paper", "--out", tmp_path, "--artefact=results", *arguments)
    assert code == 2
    assert words in said
    assert said.count("\n") == 1


def test_an_artefact_runs_alone(run, folder, tmp_path):
    where = ["--out", tmp_path, "--data", folder]
    code, said, _ = run("paper", "--artefact=dataset_table", "--dataset=magic", *where)
    assert code == 0
    assert str(tmp_path / "index.html") in said
    assert list(tables(tmp_path)) == ["datasets.csv"]


def test_the_registry_has_every_module_of_the_artefacts_under_its_name():
    package = Path(sys.modules["dirichletgp.paper.artefacts"].__file__).parent
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    assert set(REGISTRY) == modules
    assert tuple(REGISTRY) == ARTEFACTS


def test_the_real_run_has_a_task_for_every_split_method_and_value(folder, tmp_path):
    real = plan(folder, tmp_path, methods=("gpd", "nkrr"))
    settings = [task.settings for task in REGISTRY["results"].tasks(real)]
    evaluated = {(s["dataset"], s["method"], s["split"]) for s in settings}
    assert len(evaluated) == len(settings) == 2 * 2 * 2
    settings = [task.settings for task in REGISTRY["alpha"].tasks(real)]
    explored = {(s["dataset"], s["alpha_epsilon"], s["split"]) for s in settings}
    assert len(explored) == len(settings) == 2 * 7 * 2
    sizes = [task.settings["size"] for task in REGISTRY["loss_convergence"].tasks(real)]
    assert sorted(sizes) == sorted(2 * [25, 50, 100, 200])


def test_splits_have_their_sizes_and_do_not_depend_on_the_order_of_the_file(folder, tmp_path):
    first = plan(folder, tmp_path).available("magic")[0]
    assert (first.n_train, first.n_test) == (88, 32)
    split = first.split(0)
    assert (split.X.shape, split.X_test.shape) == ((88, 10), (32, 10))
    assert len(np.unique(np.vstack([split.X, split.X_test]), axis=0)) == 120
    assert not np.array_equal(split.X, first.split(1).X)
    with np.load(folder / "magic_partial.npz") as file:
        np.savez(tmp_path / "magic_partial.npz", X=file["X"][::-1], y=file["y"][::-1])
    other = plan(tmp_path, tmp_path).available("magic")[0].split(0)
    np.testing.assert_array_equal(split.X, other.X)
    np.testing.assert_array_equal(split.y_test, other.y_test)


def test_settings_of_the_paper(folder, tmp_path):
    data = plan(folder, tmp_path).available("letter")[0]
    settings = {
        "kernel": "rbf",
        "ard": False,
        "scaler": "minmax",
        "inducing": "kmeans",
        "n_inducing": 200,
        "random_state": 3,
    }
    for name in ("gpd", "gpr", "gpr-platt", "gpc"):
        assert settings.items() <= estimator(name, data, seed=3).get_params().items()
    assert estimator("gpd", data, 0).alpha_epsilon == 0.001
    assert estimator("gpd", data, 0).label_transform == "dirichlet"


def fitted_models():
    gc.collect()
    # Not isinstance, which asks lazy modules for attributes that they warn about.
    models = [
        thing
        for thing in gc.get_objects()
        if issubclass(type(thing), BaseEstimator) and type(thing).__module__[:12] == "dirichletgp."
    ]
    return {id(model) for model in models if vars(model).keys() > model.get_params().keys()}


def test_fitted_models_are_forgotten_while_the_run_goes_on(folder, tmp_path):
    chosen = plan(folder, tmp_path, quick=True)
    tasks = [*REGISTRY["results"].tasks(chosen)[:2], REGISTRY["alpha"].tasks(chosen)[0]]
    before = fitted_models()
    kept = estimator("gpd", chosen.available("magic")[0], 0)
    kept.fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    assert id(kept) in fitted_models()
    for task in tasks:
        task.compute()
    assert fitted_models() <= before | {id(kept)}


def test_quick_runs_are_small_and_never_mistaken_for_real_ones(folder, tmp_path):
    quick = plan(folder, tmp_path, quick=True).available("magic")[0]
    real = plan(folder, tmp_path, quick=False).available("magic")[0]
    assert quick.n_inducing < real.n_inducing
    assert quick.label == "magic (partial) (88 rows)"


def test_a_dataset_that_cannot_be_had_is_left_out_and_said(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DIRICHLETGP_CACHE", str(tmp_path / "cache"))
    some = Plan(tmp_path, ("magic", "eeg"), data=folder, allow_download=False)
    summary = run_paper(some, ("dataset_table",))
    assert summary["left_out"][0].startswith("eeg was left out")
    assert "eeg was left out" in capsys.readouterr().err
    assert "eeg was left out" in (tmp_path / "index.html").read_text()


def test_a_page_can_be_drawn_before_anything_was_computed(folder, tmp_path):
    summary = run_paper(plan(folder, tmp_path), draw_only=True)
    assert summary["computed"] == 0
    drawn = {path.stem for path in (tmp_path / "figures").glob("*.png")}
    assert drawn <= {"one_dimensional"}
    counts = {name: len(rows) for name, rows in tables(tmp_path).items()}
    assert counts["datasets.csv"] == 2
    assert {n for name, n in counts.items() if name != "datasets.csv"} == {0}


def test_what_one_method_has_is_drawn_beside_a_place_for_the_other(folder, tmp_path):
    artefacts = ("reliability", "speedup", "results")
    of_one = plan(folder, tmp_path, methods=("nkrr",), quick=True, splits=1)
    run_paper(of_one, ("results",))
    of_both = plan(folder, tmp_path, methods=("nkrr", "gpd"), quick=True, splits=1)
    run_paper(of_both, artefacts, draw_only=True)
    found = tables(tmp_path)
    assert {row["method"] for row in found["results.csv"]} == {METHODS["nkrr"].label}
    assert found["speedup.csv"] == []


@pytest.mark.parametrize(("name", "value", "least"), [("splits", 0, 1), ("repetitions", 1, 2)])
def test_a_run_of_next_to_nothing_is_refused(folder, tmp_path, name, value, least):
    with pytest.raises(ValueError, match=f"{name} must be at least {least}, got {value}"):
        plan(folder, tmp_path, **{name: value})


def test_what_is_left_out_is_said_once(folder, tmp_path, capsys):
    run = plan(folder, tmp_path)
    for _ in range(2):
        run.skip("eeg was left out: it is not here")
    assert run.skipped == ["eeg was left out: it is not here"]
    assert capsys.readouterr().err.count("eeg was left out") == 1


def test_the_summary_comes_as_json_and_the_documentation_is_filled(run, folder, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "paper.md").write_text("<!-- table: datasets -->\n<!-- end -->\n")
    where = ["--out", tmp_path / "out", "--data", folder, "--dataset=magic"]
    code, said, _ = run("paper", "--artefact=dataset_table", "--json", "--docs", docs, *where)
    assert code == 0
    assert json.loads(said)["artefacts"] == ["dataset_table"]
    assert "| magic (partial) | 2 | 88 |" in (docs / "paper.md").read_text()


def test_a_run_with_failures_says_so_and_ends_with_an_error(run, folder, tmp_path, monkeypatch):
    from dirichletgp.cli import paper as paper_command

    def failed(plan, artefacts, command, draw_only):
        summary = run_paper(plan, artefacts, command, draw_only=True)
        return summary | {"failed": ["magic gpd split 0 failed: MemoryError"]}

    monkeypatch.setattr(paper_command, "run_paper", failed)
    where = ["--out", tmp_path, "--data", folder, "--dataset=magic", "--artefact=dataset_table"]
    code, said, _ = run("paper", *where)
    assert code == 1
    assert "magic gpd split 0 failed: MemoryError" in said


def test_of_very_many_rows_fewer_splits_are_taken(folder, tmp_path):
    run = plan(folder, tmp_path, splits=None)
    data = run.available("magic")[0]
    assert run.n_splits(data, "gpd") >= run.n_splits(data, "gpc") >= 1
    object.__setattr__(data, "n_train", 10**6)
    assert 1 <= run.n_splits(data, "gpc") <= run.n_splits(data, "gpd")


@pytest.mark.parametrize("n_panels", [1, 2, 3])
def test_a_figure_has_as_many_panels_as_there_are_things_to_show(n_panels):
    figure, panels = figure_with_panels(n_panels, 2.0, 2.0, 0.2)
    assert len(panels) == len(figure.axes) == n_panels
