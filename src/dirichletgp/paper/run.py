"""A run: tasks, then tables, figures and the page; and the front of each artefact that is run alone."""

import argparse
import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from .. import __version__
from ..datasets import DatasetError, dataset_names
from ..persistence.atomic_write import write_atomically
from .evaluation import KIND
from .fingerprint import code_fingerprint
from .methods import METHODS
from .page import page
from .plan import Plan
from .section import Section, drawing, write_tables
from .task import Task, duration, run_tasks, without_repetition

ARTEFACTS = (
    "dataset_table",
    "results",
    "speedup",
    "inducing_points",
    "reliability",
    "alpha",
    "loss_convergence",
    "one_dimensional",
)
# Cheap ones first, so that much is there if a run is stopped.
_CHEAP_FIRST = ("one_dimensional", "loss_convergence", "alpha")


def run_paper(
    plan: Plan, artefacts: tuple[str, ...] = (), command: str = "", draw_only: bool = False
) -> dict[str, Any]:
    """Compute what is missing and write everything.

    Parameters
    ----------
    plan : Plan
    artefacts : tuple of str, default=()
        Which ones; none means all.
    command : str
        What was typed, for the page.
    draw_only : bool, default=False
        Compute nothing; write tables, figures and page from the results there are.

    Returns
    -------
    dict
        Summary of the run: folder, page, artefacts, results, seconds, what was left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dirichletgp.paper import Plan, run_paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = run_paper(Plan(Path(folder)), ("one_dimensional",))
    ...     sorted(path.name for path in Path(folder, "figures").iterdir())
    ['one_dimensional.png', 'one_dimensional.svg']
    """
    unknown = [name for name in artefacts if name not in ARTEFACTS]
    if unknown:
        raise ValueError(f"artefact {unknown[0]!r} is unknown; choose from {', '.join(ARTEFACTS)}")
    wanted = [name for name in ARTEFACTS if not artefacts or name in artefacts]
    with drawing():  # says that matplotlib is missing before anything is computed
        pass
    start = time.perf_counter()
    modules = {name: importlib.import_module(f".{name}", __package__) for name in wanted}
    order = sorted(wanted, key=lambda name: name not in _CHEAP_FIRST)
    tasks = [task for name in order for task in modules[name].tasks(plan)]
    tasks = without_repetition(tasks, plan.store)
    computed, failures = (0, []) if draw_only else run_tasks(tasks, plan.store)
    with drawing():
        sections: list[Section] = [module.render(plan) for module in modules.values()]
    write_tables(sections, plan.out)
    kept = [
        result for task in tasks if (result := plan.store.get(task.kind, task.settings)) is not None
    ]
    summary = {
        "out": str(plan.out),
        "page": str(plan.out / "index.html"),
        "artefacts": wanted,
        "results": len(kept),
        "computed": computed,
        "seconds": round(time.perf_counter() - start, 1),
        "seconds_of_all_results": round(sum(result["seconds"] for result in kept), 1),
        "left_out": plan.skipped,
        "failed": failures,
        "command": command,
        "machine": machine(),
    }
    write_atomically(plan.out / "results.jsonl", _tidy(tasks, plan).encode())
    write_atomically(plan.out / "summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    write_atomically(plan.out / "index.html", page(sections, summary, plan.out).encode())
    return summary


def machine() -> dict[str, str | int]:
    """What the times were measured on, without names."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return {
        "cores": cores,
        "processor": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "dirichletgp": __version__,
        "code": code_fingerprint(),
    }


def _tidy(tasks: list[Task], plan: Plan) -> str:
    """All evaluations as JSON lines, one per dataset, method, number of inducing points and split."""
    lines = []
    for task in tasks:
        result = plan.store.get(task.kind, task.settings)
        if task.kind == KIND and result is not None:
            what = {
                key: task.settings[key]
                for key in ("dataset", "partial", "n_train", "method", "split")
            }
            what["n_inducing"] = task.settings["estimator"]["n_inducing"]
            numbers = {
                key: value for key, value in result.items() if key not in ("curves", "seconds")
            }
            lines.append(json.dumps({**what, **numbers}) + "\n")
    return "".join(lines)


def report(summary: dict[str, Any]) -> str:
    """The last lines of a run."""
    lines = [
        f"{summary['results']} results, {summary['computed']} of them new, in {duration(summary['seconds'])}"
    ]
    return "\n".join([*lines, *summary["failed"], f"page: {summary['page']}"])


def main(artefact: str, arguments: list[str] | None = None) -> None:
    """Run one artefact from the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m dirichletgp.paper.{artefact}")
    parser.add_argument(
        "--out", type=Path, default=Path("paper-results"), help="folder for results"
    )
    parser.add_argument("--data", type=Path, help="folder of datasets")
    parser.add_argument("--dataset", action="append", default=[], choices=dataset_names())
    parser.add_argument("--method", action="append", default=[], choices=list(METHODS))
    parser.add_argument("--splits", type=int)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args(arguments)
    try:
        plan = Plan(
            given.out,
            tuple(given.dataset),
            tuple(given.method),
            given.splits,
            given.quick,
            given.data,
        )
        print(report(run_paper(plan, (artefact,), command=parser.prog)))
    except KeyboardInterrupt:
        sys.exit("interrupted; what was computed is kept, the same command goes on from here")
    except (ValueError, ImportError, DatasetError) as error:
        sys.exit(str(error))
