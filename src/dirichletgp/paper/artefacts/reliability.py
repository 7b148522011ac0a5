"""Reliability diagrams: two-class datasets with 95 % bands, and many-class ones without."""

from typing import Any

import numpy as np

from ..._gp.core.arrays import Array
from ...datasets import dataset_names
from ...metrics import ReliabilityCurve
from ..dataset import Dataset
from ..drawing import new_figure
from ..evaluation import LEVEL, pooled_curve
from ..evaluation_grid import evaluation_tasks, evaluations_of
from ..methods import METHODS, Method
from ..page_section import Section, Table
from ..plan import Plan
from ..store import Result
from ..task import Task

NAME = "reliability"
TITLE = "Reliability diagrams"
# Bins with a smaller share of the rows than the first are not drawn, than the second are open.
_FEWEST = 0.001
_ENOUGH = 0.01
_SHOWN = ("gpc", "gpd", "gpr", "gpr-platt")

# A dataset with the results of methods on it.
Evaluated = tuple[Dataset, dict[str, list[Result]]]


def tasks(plan: Plan) -> list[Task]:
    """The fits of the table of results; their bins are kept."""
    return [task for task in evaluation_tasks(plan) if task.settings["method"] in _SHOWN]


def render(plan: Plan) -> Section:
    """Both figures, and how wide the bands are."""
    section = Section(NAME, TITLE)
    methods = plan.methods_for(*_SHOWN)
    section.text.append(
        "Bins are pooled over all splits. Solid: the mean classifier. Grey: between the "
        f"classifiers that answer with the lower and the upper {100 * LEVEL:.0f} % quantile of the "
        "predictive distribution. Dashed: perfect calibration. Bars: the proportion of test rows "
        "in each bin. Bins with less than 0.1 % of the rows are not drawn, those with less than "
        "1 % have open symbols."
    )
    two_classes: list[Evaluated] = []
    many_classes: list[Evaluated] = []
    for data in plan.available(*dataset_names()):
        found = {method: evaluations_of(plan, data, method) for method in methods}
        by_method = {method: kept for method, kept in found.items() if kept}
        if by_method:
            (two_classes if data.binary else many_classes).append((data, by_method))
    if two_classes:
        figure = _two_class_figure(two_classes, methods)
        section.keep(plan.out, "reliability_two_classes", figure, "Two classes")
        section.tables.append(_width_table(two_classes, methods))
    if many_classes:
        figure = _many_class_figure(many_classes)
        section.keep(plan.out, "reliability_many_classes", figure, "Many classes")
    return section


def _width_table(found: list[Evaluated], methods: list[str]) -> Table:
    rows = []
    for data, by_method in found:
        widths = [_mean_width(by_method.get(method, [])) for method in methods]
        rows.append([data.label, *widths])
    columns = ["dataset", *(METHODS[method].label for method in methods)]
    caption = f"Mean width of the {100 * LEVEL:.0f} % interval of a probability"
    return Table("interval_width", caption, columns, rows)


def _mean_width(kept: list[Result]) -> str:
    widths = [result["interval_width"] for result in kept]
    return f"{np.mean(widths):.4f}" if widths else ""


def _two_class_figure(found: list[Evaluated], methods: list[str]) -> Any:
    figure = new_figure(2.1 * len(methods) + 0.4, 2.1 * len(found) + 0.4)
    panels = figure.subplots(len(found), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, (data, by_method) in zip(panels, found, strict=True):
        for panel, method in zip(row, methods, strict=True):
            if method in by_method:
                _draw_two_classes(panel, by_method[method], METHODS[method])
            else:
                panel.text(0.5, 0.5, "not run", ha="center", va="center", color="#777777")
        row[0].set_ylabel(f"{data.label}\nobserved frequency")
    for panel, method in zip(panels[0], methods, strict=True):
        panel.set_title(METHODS[method].label)
        panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        panel.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        panel.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    for panel in panels[-1]:
        panel.set_xlabel("predicted probability")
    return figure


def _draw_two_classes(panel: Any, kept: list[Result], method: Method) -> None:
    mean = pooled_curve(kept, "mean")
    lower = pooled_curve(kept, "lower")
    upper = pooled_curve(kept, "upper")
    assert mean is not None
    bars: dict[str, Any] = {"color": "#d9d9d9", "edgecolor": "#bdbdbd", "linewidth": 0.5}
    edges = mean.bin_edges
    panel.bar(edges[:-1], mean.mass, np.diff(edges), align="edge", **bars)
    panel.plot([0, 1], [0, 1], "--", color="black", linewidth=0.8)
    if lower is not None and upper is not None:
        _draw_band(panel, lower, upper)
    _draw_curve(panel, mean, method.colour, "o", None)


def _draw_band(panel: Any, lower: ReliabilityCurve, upper: ReliabilityCurve) -> None:
    x_low, y_low = _drawn_points(lower)
    x_high, y_high = _drawn_points(upper)
    # Where both have rows: beyond that one of them would be a guess.
    grid = np.linspace(max(x_low[0], x_high[0]), min(x_low[-1], x_high[-1]), 200)
    below = np.interp(grid, x_low, y_low)
    above = np.interp(grid, x_high, y_high)
    panel.fill_between(grid, below, above, color="#666666", alpha=0.35, lw=0)


def _drawn_points(curve: ReliabilityCurve) -> tuple[Array, Array]:
    drawn = curve.mass >= _FEWEST
    return curve.confidence[drawn], curve.accuracy[drawn]


def _draw_curve(
    panel: Any, curve: ReliabilityCurve, colour: str, marker: str, label: str | None
) -> None:
    panel.plot(*_drawn_points(curve), "-", color=colour, linewidth=1.3)
    x = curve.confidence
    y = curve.accuracy
    enough = curve.mass >= _ENOUGH
    few = (curve.mass >= _FEWEST) & ~enough
    panel.plot(x[enough], y[enough], marker, color=colour, markersize=4, label=label)
    panel.plot(x[few], y[few], marker, color=colour, markersize=4, markerfacecolor="white")


def _many_class_figure(found: list[Evaluated]) -> Any:
    figure = new_figure(2.9 * len(found) + 0.3, 3.6)
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for panel, (data, by_method) in zip(panels, found, strict=True):
        panel.plot([0, 1], [0, 1], "--", color="black", linewidth=0.8)
        for name, kept in by_method.items():
            curve = pooled_curve(kept, "mean")
            assert curve is not None
            method = METHODS[name]
            _draw_curve(panel, curve, method.colour, method.marker, method.label)
        panel.set(title=data.label, xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="confidence")
    panels[0].set_ylabel("accuracy")
    drawn = max(panels, key=lambda panel: len(panel.get_legend_handles_labels()[0]))
    columns = 4 if len(found) > 1 else 2
    figure.legend(*drawn.get_legend_handles_labels(), loc="outside upper center", ncols=columns)
    return figure
