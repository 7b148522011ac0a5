"""Error against training time of GPD as inducing points grow, with the error of GPC as a dashed line."""

from typing import Any

import numpy as np

from . import results
from .evaluation import evaluation
from .methods import METHODS
from .plan import Data, Plan
from .section import Section, Table, new_figure, round_numbers
from .store import Result
from .task import Task

NAME, TITLE = "inducing_points", "Error against training time"
# The paper's three, and one more that is complete.
DATASETS = ("letter", "miniboo", "mocap", "magic")
_MULTIPLES, _MOST_POINTS, _SPLITS = (1, 2, 4), 1_000, 3
_COLUMNS = ["dataset", "method", "inducing points", "splits", "error rate", "MNLL", "training, s"]


def points(data: Data) -> list[int]:
    """Numbers of inducing points, from the paper's up."""
    most = max(data.n_inducing, min(_MOST_POINTS, data.n_train // 2))
    return [m for k in _MULTIPLES if (m := k * data.n_inducing) <= most]


def _splits(plan: Plan, data: Data) -> range:
    return range(min(_SPLITS, plan.n_splits(data, "gpd")))


def tasks(plan: Plan) -> list[Task]:
    """GPD at each number of points on the first splits, and GPC at the first number."""
    wanted = []
    for data in plan.available(*DATASETS):
        for seed in _splits(plan, data):
            wanted += [evaluation(data, "gpd", seed, n_inducing=m) for m in points(data)]
            wanted += [evaluation(data, method, seed) for method in plan.methods_for("gpc")]
    return wanted


def _known(plan: Plan, found: list[Task]) -> list[Result]:
    stored = (plan.store.get(task.kind, task.settings) for task in found)
    return [result for result in stored if result is not None]


def render(plan: Plan) -> Section:
    """A panel per dataset."""
    section = Section(NAME, TITLE)
    section.text.append(
        "GPD in the settings of the paper with more and more inducing points (numbers beside the curve). Dashed: the "
        "error of GPC with as many points as the fastest GPD; the square is its training time. Mean of the same splits."
    )
    rows, curves = [], {}
    for data in plan.available(*DATASETS):
        seeds = _splits(plan, data)
        curve = [
            (m, kept)
            for m in points(data)
            if (
                kept := _known(
                    plan, [evaluation(data, "gpd", seed, n_inducing=m) for seed in seeds]
                )
            )
        ]
        if not curve:
            continue
        gpc = results.results_of(plan, data, "gpc")[: len(seeds)] if plan.methods_for("gpc") else []
        curves[data.label] = curve, gpc
        rows += [_row(data.label, "gpd", m, kept) for m, kept in curve]
        rows += [_row(data.label, "gpc", data.n_inducing, gpc)] if gpc else []
    section.tables.append(
        Table("inducing_points", "Error and time as inducing points grow", _COLUMNS, rows)
    )
    if curves:
        caption = "Error against training time as inducing points grow"
        section.keep(plan.out, "inducing_points", _figure(curves), caption)
    return section


def _row(label: str, method: str, m: int, kept: list[Result]) -> list[str]:
    error, mnll = (results.written([result[key] for result in kept]) for key in ("error", "mnll"))
    seconds = np.mean([result["fit_seconds"] for result in kept])
    return [label, METHODS[method].label, str(m), str(len(kept)), error, mnll, f"{seconds:.2f}"]


def _figure(curves: dict[str, tuple[list[tuple[int, list[Result]]], list[Result]]]) -> Any:
    columns = min(2, len(curves))
    figure = new_figure(3.6 * columns, 2.9 * -(-len(curves) // columns) + 0.3)
    panels = figure.subplots(-(-len(curves) // columns), columns, squeeze=False).ravel()
    for panel, (label, (curve, gpc)) in zip(panels, curves.items(), strict=False):
        seconds = [np.mean([result["fit_seconds"] for result in kept]) for _, kept in curve]
        error, spread = np.array(
            [results.mean_and_error([r["error"] for r in kept]) for _, kept in curve]
        ).T
        style = METHODS["gpd"]
        panel.errorbar(
            seconds,
            error,
            np.nan_to_num(spread),
            marker=style.marker,
            color=style.colour,
            capsize=2,
            label="GPD",
        )
        for x, y, (m, _) in zip(seconds, error, curve, strict=True):
            panel.annotate(f"{m:,}", (x, y), xytext=(4, 5), textcoords="offset points", fontsize=8)
        if gpc:
            level, time = (
                np.mean([result[key] for result in gpc]) for key in ("error", "fit_seconds")
            )
            style = METHODS["gpc"]
            panel.axhline(level, linestyle="--", color=style.colour, linewidth=1)
            panel.plot(
                time, level, style.marker, color=style.colour, label=f"GPC, {curve[0][0]} points"
            )
        panel.set(xscale="log", title=label, xlabel="training time, s", ylabel="error rate")
        round_numbers(panel.xaxis)
        panel.margins(x=0.2, y=0.15)
        panel.legend(fontsize=8)
    for panel in panels[len(curves) :]:
        panel.remove()
    return figure


if __name__ == "__main__":
    from .run import main

    main(NAME)
