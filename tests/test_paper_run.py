"""Runs of the paper on tiny data: every artefact, the same tables after a kill, clear words."""

import csv
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dirichletgp.paper import ARTEFACTS, Plan, alpha, results, run, run_paper
from dirichletgp.paper.methods import METHODS, estimator

pytest.importorskip("matplotlib")
pytest.importorskip("typer")

NEVER_THE_SAME = ("training, s", "GPD, s", "GPC, s", "speed-up")


def rows_of(n, n_features, n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, n_features)) + 0.3 * y[:, None], y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files that stand for part of a two-class and of a many-class dataset."""
    place = tmp_path_factory.mktemp("data")
    for name, n_features, n_classes in (("magic", 10, 2), ("letter", 16, 4)):
        X, y = rows_of(120, n_features, n_classes, seed=len(name))
        np.savez(place / f"{name}_partial.npz", X=X, y=y)
    return place


def plan(folder, out, **changes):
    return Plan(
        out, ("magic", "letter"), data=folder, **({"splits": 2, "repetitions": 2} | changes)
    )


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


def command(folder, out, *more):
    small = ["--data", str(folder), "--out", str(out), "--splits", "2"]
    which = [f"--method={name}" for name in ("gpd", "gpr", "gpr-platt", "nkrr")]
    datasets = ["--dataset=magic", "--dataset=letter"]
    artefacts = ["--artefact=results", "--artefact=reliability", "--artefact=alpha"]
    return [
        sys.executable,
        "-m",
        "dirichletgp.cli",
        "paper",
        *datasets,
        *which,
        *artefacts,
        *small,
        *more,
    ]


def environment():
    return {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}


@pytest.mark.slow
def test_every_artefact_has_its_tables_and_figures(folder, tmp_path):
    methods = tuple(name for name in METHODS if name != "ours")
    summary = run_paper(plan(folder, tmp_path, methods=methods))
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    names = [
        "results",
        "inducing_points",
        "reliability_two_classes",
        "reliability_many_classes",
        "alpha",
    ]
    names += ["loss_convergence", "one_dimensional", "speedup"]
    assert figures == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    assert summary["artefacts"] == list(ARTEFACTS)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<img ") == len(names)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page), (
        "the page loads nothing from elsewhere"
    )
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert {line["method"] for line in lines} == set(methods)
    assert all(line["partial"] for line in lines)


def test_partial_data_are_called_partial_wherever_a_result_is_shown(folder, tmp_path):
    run_paper(
        plan(folder, tmp_path, methods=("gpd",)),
        ("results", "reliability", "dataset_table", "inducing_points"),
    )
    for name, rows in tables(tmp_path).items():
        assert rows, name
        assert all("(partial)" in row["dataset"] for row in rows), name
    for name in ("results", "reliability_two_classes", "inducing_points"):
        svg = (tmp_path / "figures" / f"{name}.svg").read_text()
        assert "partial" in svg, (
            name
        )  # matplotlib writes the text of a label as a comment beside its shapes


@pytest.mark.slow
def test_a_run_that_is_killed_and_started_again_gives_the_same_tables(folder, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(folder, whole), check=True, capture_output=True, env=environment())
    rng, kills = np.random.default_rng(int(time.time())), 0
    for _ in range(2):
        process = subprocess.Popen(
            command(folder, broken),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        # Somewhere between the first words about a task and a few dozen tasks later.
        for _ in range(rng.integers(1, 12)):
            process.stderr.readline()
        time.sleep(rng.uniform(0, 0.2))
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert kills, "the run was over before it could be killed"
    last = subprocess.run(
        command(folder, broken), check=True, capture_output=True, text=True, env=environment()
    )
    assert "are there already" in last.stderr
    assert tables(broken) == tables(whole)


def test_control_c_says_how_to_go_on(folder, tmp_path):
    # Background jobs of a shell start with SIGINT ignored, and hand that on; a handler is not
    # handed on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command(folder, tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    signal.signal(signal.SIGINT, before)
    for _ in range(3):
        process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, words = process.communicate()
    assert process.returncode == 130
    assert "To go on from here:\n  dirichletgp paper --dataset=magic" in words
    assert "Traceback" not in words


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
    for name in ("gpd", "gpr", "gpr-platt", "gpc"):
        model = estimator(name, data, seed=3)
        chosen = (
            model.kernel,
            model.ard,
            model.scaler,
            model.inducing,
            model.n_inducing,
            model.random_state,
        )
        assert chosen == ("rbf", False, "minmax", "kmeans", 200, 3)
    assert estimator("gpd", data, 0).alpha_epsilon == 0.001
    assert estimator("gpd", data, 0).label_transform == "dirichlet"


def fitted_models():
    gc.collect()
    # Not isinstance, which asks lazy modules for attributes that they warn about.
    kept = [thing for thing in gc.get_objects() if issubclass(type(thing), BaseEstimator)]
    return {id(model) for model in kept if "_model" in vars(model)}


def test_fitted_models_are_forgotten_while_the_run_goes_on(folder, tmp_path):
    chosen, before = plan(folder, tmp_path, quick=True), fitted_models()
    tasks = [*results.tasks(chosen)[:2], alpha.tasks(chosen)[0]]
    for task in tasks:
        task.compute()
    assert fitted_models() <= before


def test_quick_runs_are_small_and_never_mistaken_for_real_ones(folder, tmp_path):
    quick, real = (
        plan(folder, tmp_path, quick=value).available("magic")[0] for value in (True, False)
    )
    assert quick.n_inducing < real.n_inducing
    assert quick.label == "magic (partial) (88 rows)"


def test_a_dataset_that_cannot_be_had_is_left_out_and_said(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DIRICHLETGP_CACHE", str(tmp_path / "cache"))
    some = Plan(tmp_path, ("magic", "eeg"), ("gpd",), splits=1, data=folder, allow_download=False)
    summary = run_paper(some, ("results",))
    assert summary["left_out"][0].startswith("eeg was left out")
    assert "eeg was left out" in capsys.readouterr().err
    assert "eeg was left out" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dataset=egg"], "dataset 'egg' is unknown; choose from eeg"),
        (["--method=svm"], "method 'svm' is unknown; choose from gpc"),
        (["--artefact=table"], "artefact 'table' is unknown; choose from"),
        (["--data=nowhere", "--dataset=eeg"], "data='nowhere' is not a folder"),
    ],
)
def test_bad_options_get_one_line(tmp_path, arguments, words):
    given = [
        sys.executable,
        "-m",
        "dirichletgp.cli",
        "paper",
        "--out",
        str(tmp_path),
        "--artefact=results",
        *arguments,
    ]
    done = subprocess.run(given, capture_output=True, text=True, env=environment())
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_artefact_runs_alone(folder, tmp_path):
    run.main("one_dimensional", ["--out", str(tmp_path), "--data", str(folder)])
    assert (tmp_path / "figures" / "one_dimensional.svg").is_file()
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-m", "dirichletgp.paper.dataset_table", "--out", str(tmp_path)]
        + ["--data", str(folder), "--dataset", "magic"],
        check=True, capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    assert str(Path(tmp_path, "index.html")) in done.stdout
