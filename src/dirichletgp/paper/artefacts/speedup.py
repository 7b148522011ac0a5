"""How much faster GPD trains than GPC, on the same splits with the same points."""

from typing import Any

import numpy as np

from ...datasets import dataset_names
from ..drawing import new_figure, round_numbers
from ..evaluation_grid import evaluation_tasks, evaluations_of
from ..methods import METHODS
from ..page_section import Section, Table
from ..plan import Plan
from ..task import Task

NAME = "speedup"
TITLE = "Speed-up of GPD over GPC"
_COLUMNS = ["dataset", "inducing points", "splits", "GPD, s", "GPC, s", "speed-up"]


def tasks(plan: Plan) -> list[Task]:
    """The fits of the table of results by these two methods."""
    return [task for task in evaluation_tasks(plan) if task.settings["method"] in ("gpd", "gpc")]


def render(plan: Plan) -> Section:
    """Ratios of mean training times on the splits that both have."""
    section = Section(NAME, TITLE)
    section.text.append(
        "Training times of both methods in this library, from the same runs as the table of "
        "results. GPC here shares kernels, blocks, threads and inducing points with GPD, so the "
        "ratio is one of methods, not of programs."
    )
    rows = []
    ratios = {}
    for data in plan.available(*dataset_names()):
        gpd = evaluations_of(plan, data, "gpd")
        gpc = evaluations_of(plan, data, "gpc")
        n = min(len(gpd), len(gpc))
        if not n:
            continue
        fast = np.mean([result["fit_seconds"] for result in gpd[:n]])
        slow = np.mean([result["fit_seconds"] for result in gpc[:n]])
        ratio = float(slow / fast)
        ratios[data.label] = ratio
        times = [f"{fast:.2f}", f"{slow:.2f}", f"{ratio:.1f}"]
        rows.append([data.label, str(data.n_inducing), str(n), *times])
    section.tables.append(Table("speedup", "Training time and speed-up", _COLUMNS, rows))
    if ratios:
        caption = "Speed-up of GPD over GPC in training"
        section.keep(plan.out, "speedup", _figure(ratios), caption)
    return section


def _figure(ratios: dict[str, float]) -> Any:
    figure = new_figure(5.5, 0.6 + 0.4 * len(ratios))
    panel = figure.subplots()
    names = list(ratios)[::-1]
    lengths = [ratios[name] for name in names]
    bars = panel.barh(names, lengths, color=METHODS["gpd"].colour, height=0.6)
    panel.bar_label(bars, [f" {length:.1f} times" for length in lengths])
    panel.set(xscale="log", xlabel="training time of GPC / training time of GPD")
    panel.set_xlim(min(1.0, *lengths) * 0.8, max(lengths) * 2)
    round_numbers(panel.xaxis)
    panel.axvline(1, color="black", linewidth=0.8)
    panel.grid(axis="y", visible=False)
    return figure
