"""How much faster GPD trains than GPC, on the same splits with the same points."""

import numpy as np

from ..datasets import dataset_names
from . import results
from .methods import METHODS
from .plan import Plan
from .section import Section, Table, new_figure, round_numbers
from .task import Task

NAME, TITLE = "speedup", "Speed-up of GPD over GPC"
_COLUMNS = ["dataset", "inducing points", "splits", "GPD, s", "GPC, s", "speed-up"]


def tasks(plan: Plan) -> list[Task]:
    """The fits of the table of results by these two methods."""
    return [task for task in results.tasks(plan) if task.settings["method"] in ("gpd", "gpc")]


def render(plan: Plan) -> Section:
    """Ratios of mean training times on the splits that both have."""
    section = Section(NAME, TITLE)
    rows, ratios = [], {}
    for data in plan.available(*dataset_names()):
        gpd, gpc = (results.results_of(plan, data, method) for method in ("gpd", "gpc"))
        n = min(len(gpd), len(gpc))
        if not n:
            continue
        fast, slow = (
            np.mean([result["fit_seconds"] for result in found[:n]]) for found in (gpd, gpc)
        )
        ratios[data.label] = slow / fast
        rows.append(
            [data.label, str(data.n_inducing), str(n), f"{fast:.2f}", f"{slow:.2f}", f"{slow / fast:.1f}"]
        )  # fmt: skip
    section.text.append(
        "Training times of both methods in this library, from the same runs as the table of results. GPC here shares "
        "kernels, blocks, threads and inducing points with GPD, so the ratio is one of methods, not of programs."
    )
    section.tables.append(Table("speedup", "Training time and speed-up", _COLUMNS, rows))
    if ratios:
        figure = new_figure(5.5, 0.6 + 0.4 * len(ratios))
        panel = figure.subplots()
        names = list(ratios)[::-1]
        bars = panel.barh(
            names, [ratios[name] for name in names], color=METHODS["gpd"].colour, height=0.6
        )
        panel.bar_label(bars, [f" {ratios[name]:.1f} times" for name in names])
        panel.set(xscale="log", xlabel="training time of GPC / training time of GPD")
        panel.set_xlim(min(1.0, *ratios.values()) * 0.8, max(ratios.values()) * 2)
        round_numbers(panel.xaxis)
        panel.axvline(1, color="black", linewidth=0.8)
        panel.grid(axis="y", visible=False)
        section.keep(plan.out, "speedup", figure, "Speed-up of GPD over GPC in training")
    return section


if __name__ == "__main__":
    from .run import main

    main(NAME)
