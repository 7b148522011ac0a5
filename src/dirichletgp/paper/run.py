"""A run: tasks, then tables, figures and the page."""

import json
import os
import platform
import time
from typing import Any

import numpy as np
import scipy
import sklearn

from .. import __version__
from ..persistence.atomic_write import write_atomically
from .artefacts import CHEAP_FIRST, REGISTRY
from .drawing import drawing_style
from .evaluation import KIND
from .fingerprint import code_fingerprint
from .page_section import write_tables
from .plan import Plan
from .task import Task, duration, run_tasks, stored_results, without_repetition
from .web_page import web_page

ARTEFACTS = tuple(REGISTRY)


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
    with drawing_style():  # says that matplotlib is missing before anything is computed
        pass
    start = time.perf_counter()
    order = [name for name in CHEAP_FIRST if name in wanted]
    tasks = [task for name in order for task in REGISTRY[name].tasks(plan)]
    tasks = without_repetition(tasks, plan.store)
    computed, failures = (0, []) if draw_only else run_tasks(tasks, plan.store)
    with drawing_style():
        sections = [REGISTRY[name].render(plan) for name in wanted]
    write_tables(sections, plan.out)
    kept = stored_results(tasks, plan.store)
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
    write_atomically(plan.out / "results.jsonl", _as_json_lines(tasks, plan).encode())
    write_atomically(plan.out / "summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    write_atomically(plan.out / "index.html", web_page(sections, summary, plan.out).encode())
    return summary


def machine() -> dict[str, str | int]:
    """What the times were measured on, without names."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
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


def _as_json_lines(tasks: list[Task], plan: Plan) -> str:
    """All evaluations, a line per dataset, method, number of inducing points and split."""
    lines = []
    for task in tasks:
        result = plan.store.get(task.kind, task.settings)
        if task.kind != KIND or result is None:
            continue
        keys = ("dataset", "partial", "n_train", "method", "split")
        entry = {key: task.settings[key] for key in keys}
        entry["n_inducing"] = task.settings["estimator"]["n_inducing"]
        entry |= {key: result[key] for key in result if key not in ("curves", "seconds")}
        lines.append(json.dumps(entry) + "\n")
    return "".join(lines)


def report(summary: dict[str, Any]) -> str:
    """The last lines of a run."""
    took = duration(summary["seconds"])
    first = f"{summary['results']} results, {summary['computed']} of them new, in {took}"
    return "\n".join([first, *summary["failed"], f"page: {summary['page']}"])
