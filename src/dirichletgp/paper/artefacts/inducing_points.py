"""Error against training time of GPD as inducing points grow; the error of GPC as a line."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..averages import mean_and_error, written_average
from ..dataset import Dataset
from ..drawing import figure_with_panels, round_numbers
from ..evaluation import evaluation
from ..evaluation_grid import evaluations_of
from ..methods import METHODS
from ..page_section import Section, Table
from ..plan import Plan
from ..store import Result
from ..task import Task, stored_results

NAME = "inducing_points"
TITLE = "Error against training time"
# The paper's three, and one more that is complete.
DATASETS = ("letter", "miniboo", "mocap", "magic")
_MULTIPLES = (1, 2, 4)
_MOST_POINTS = 1_000
_SPLITS = 3
_COLUMNS = ["dataset", "method", "inducing points", "splits", "error rate", "MNLL", "training, s"]


def _numbers_of_points(data: Dataset) -> list[int]:
    """Numbers of inducing points, from the paper's up."""
    most = max(data.n_inducing, min(_MOST_POINTS, data.n_train // 2))
    return [m for k in _MULTIPLES if (m := k * data.n_inducing) <= most]


def _splits(plan: Plan, data: Dataset) -> range:
    return range(min(_SPLITS, plan.n_splits(data, "gpd")))


def tasks(plan: Plan) -> list[Task]:
    """GPD at each number of points on the first splits, and GPC at the first number."""
    wanted = []
    for data in plan.available(*DATASETS):
        for seed in _splits(plan, data):
            for m in _numbers_of_points(data):
                wanted.append(evaluation(data, "gpd", seed, n_inducing=m))
            wanted += [evaluation(data, method, seed) for method in plan.methods_for("gpc")]
    return wanted


@dataclass(frozen=True)
class Curve:
    """Results of GPD by number of points, and those of GPC with the fewest."""

    gpd: dict[int, list[Result]]
    gpc: list[Result]


def render(plan: Plan) -> Section:
    """A panel per dataset."""
    section = Section(NAME, TITLE)
    section.text.append(
        "GPD in the settings of the paper with more and more inducing points (numbers beside the "
        "curve). Dashed: the error of GPC with as many points as the fastest GPD; the square is "
        "its training time. Mean of the same splits."
    )
    rows = []
    curves = {}
    for data in plan.available(*DATASETS):
        curve = _curve(plan, data)
        if not curve.gpd:
            continue
        curves[data.label] = curve
        rows += [_row(data.label, "gpd", m, kept) for m, kept in curve.gpd.items()]
        if curve.gpc:
            rows.append(_row(data.label, "gpc", data.n_inducing, curve.gpc))
    caption = "Error and time as inducing points grow"
    section.tables.append(Table("inducing_points", caption, _COLUMNS, rows))
    if curves:
        caption = "Error against training time as inducing points grow"
        section.keep(plan.out, "inducing_points", _figure(curves), caption)
    return section


def _curve(plan: Plan, data: Dataset) -> Curve:
    seeds = _splits(plan, data)
    gpd = {}
    for m in _numbers_of_points(data):
        wanted = [evaluation(data, "gpd", seed, n_inducing=m) for seed in seeds]
        kept = stored_results(wanted, plan.store)
        if kept:
            gpd[m] = kept
    gpc = evaluations_of(plan, data, "gpc") if plan.methods_for("gpc") else []
    return Curve(gpd, gpc[: len(seeds)])


def _mean(kept: list[Result], key: str) -> float:
    return float(np.mean([result[key] for result in kept]))


def _row(label: str, method: str, m: int, kept: list[Result]) -> list[str]:
    return [
        label,
        METHODS[method].label,
        str(m),
        str(len(kept)),
        written_average([result["error"] for result in kept]),
        written_average([result["mnll"] for result in kept]),
        f"{_mean(kept, 'fit_seconds'):.2f}",
    ]


def _figure(curves: dict[str, Curve]) -> Any:
    figure, panels = figure_with_panels(len(curves), 3.6, 2.9, 0.3)
    for panel, (label, curve) in zip(panels, curves.items(), strict=True):
        _draw_gpd(panel, curve.gpd)
        if curve.gpc:
            _draw_gpc(panel, curve.gpc, min(curve.gpd))
        panel.set(xscale="log", title=label, xlabel="training time, s", ylabel="error rate")
        round_numbers(panel.xaxis)
        panel.margins(x=0.2, y=0.15)
        panel.legend(fontsize=8)
    return figure


def _draw_gpd(panel: Any, by_points: dict[int, list[Result]]) -> None:
    style = METHODS["gpd"]
    seconds = [_mean(kept, "fit_seconds") for kept in by_points.values()]
    errors = [mean_and_error([r["error"] for r in kept]) for kept in by_points.values()]
    mean, spread = np.array(errors).T
    look: dict[str, Any] = {"marker": style.marker, "color": style.colour, "capsize": 2}
    panel.errorbar(seconds, mean, np.nan_to_num(spread), label="GPD", **look)
    for x, y, m in zip(seconds, mean, by_points, strict=True):
        panel.annotate(f"{m:,}", (x, y), xytext=(4, 5), textcoords="offset points", fontsize=8)


def _draw_gpc(panel: Any, kept: list[Result], n_points: int) -> None:
    style = METHODS["gpc"]
    level = _mean(kept, "error")
    panel.axhline(level, linestyle="--", color=style.colour, linewidth=1)
    label = f"GPC, {n_points} points"
    panel.plot(_mean(kept, "fit_seconds"), level, style.marker, color=style.colour, label=label)
