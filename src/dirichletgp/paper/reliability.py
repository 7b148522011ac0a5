"""Reliability diagrams: two-class datasets with 95 % bands, and many-class ones without."""

from typing import Any

import numpy as np

from ..datasets import dataset_names
from . import results
from .evaluation import LEVEL, pooled_curve
from .methods import METHODS
from .plan import Data, Plan
from .section import Section, Table, new_figure
from .store import Result
from .task import Task

NAME, TITLE = "reliability", "Reliability diagrams"
# Shares of the rows: bins with fewer are not drawn, or with an open symbol.
_FEWEST, _ENOUGH = 0.001, 0.01
_SHOWN = ("gpc", "gpd", "gpr", "gpr-platt")


def tasks(plan: Plan) -> list[Task]:
    """The fits of the table of results; their bins are kept."""
    return [task for task in results.tasks(plan) if task.settings["method"] in _SHOWN]


def render(plan: Plan) -> Section:
    """Both figures, and how wide the bands are."""
    section = Section(NAME, TITLE)
    methods = plan.methods_for(*_SHOWN)
    found = [
        (
            data,
            {
                method: kept
                for method in methods
                if (kept := results.results_of(plan, data, method))
            },
        )
        for data in plan.available(*dataset_names())
    ]
    binary = [(data, by_method) for data, by_method in found if data.binary and by_method]
    multi = [(data, by_method) for data, by_method in found if not data.binary and by_method]
    section.text.append(
        "Bins are pooled over all splits. Solid: the mean classifier. Grey: between the classifiers that answer with "
        f"the lower and the upper {100 * LEVEL:.0f} % quantile of the predictive distribution. Dashed: perfect "
        "calibration. Bars: the proportion of test rows in each bin. Bins with less than 0.1 % of the "
        "rows are not drawn, those with less than 1 % have open symbols."
    )
    if binary:
        section.keep(
            plan.out, "reliability_two_classes", _binary_figure(binary, methods), "Two classes"
        )
        section.tables.append(_width_table(binary, methods))
    if multi:
        section.keep(plan.out, "reliability_many_classes", _multi_figure(multi), "Many classes")
    return section


def _width_table(binary: list[tuple[Data, dict[str, list[Result]]]], methods: list[str]) -> Table:
    rows = []
    for data, by_method in binary:
        widths = [
            f"{np.mean([result['interval_width'] for result in by_method[method]]):.4f}"
            if method in by_method
            else ""
            for method in methods
        ]
        rows.append([data.label, *widths])
    columns = ["dataset", *(METHODS[method].label for method in methods)]
    return Table(
        "interval_width",
        f"Mean width of the {100 * LEVEL:.0f} % interval of a probability",
        columns,
        rows,
    )


def _binary_figure(binary: list[tuple[Data, dict[str, list[Result]]]], methods: list[str]) -> Any:
    figure = new_figure(2.1 * len(methods) + 0.4, 2.1 * len(binary) + 0.4)
    panels = figure.subplots(len(binary), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, (data, by_method) in zip(panels, binary, strict=True):
        for panel, method in zip(row, methods, strict=True):
            if method in by_method:
                _draw_binary(panel, by_method[method], METHODS[method].colour)
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


def _draw_binary(panel: Any, kept: list[Result], colour: str) -> None:
    mean, lower, upper = (pooled_curve(kept, which) for which in ("mean", "lower", "upper"))
    assert mean is not None
    edges = mean.bin_edges
    panel.bar(
        edges[:-1],
        mean.mass,
        np.diff(edges),
        align="edge",
        color="#d9d9d9",
        edgecolor="#bdbdbd",
        linewidth=0.5,
    )
    panel.plot([0, 1], [0, 1], "--", color="black", linewidth=0.8)
    if lower is not None and upper is not None:
        edges_of_band = [
            (c.confidence[c.mass >= _FEWEST], c.accuracy[c.mass >= _FEWEST]) for c in (lower, upper)
        ]
        # Where both have rows: beyond that one of them would be a guess.
        grid = np.linspace(
            max(x[0] for x, _ in edges_of_band), min(x[-1] for x, _ in edges_of_band), 200
        )
        panel.fill_between(
            grid,
            *(np.interp(grid, x, y) for x, y in edges_of_band),
            color="#666666",
            alpha=0.35,
            lw=0,
        )
    _draw_curve(panel, mean.confidence, mean.accuracy, mean.mass, colour, "o", None)


def _draw_curve(
    panel: Any, x: Any, y: Any, mass: Any, colour: str, marker: str, label: str | None
) -> None:
    panel.plot(x[mass >= _FEWEST], y[mass >= _FEWEST], "-", color=colour, linewidth=1.3)
    enough = mass >= _ENOUGH
    few = (mass >= _FEWEST) & ~enough
    panel.plot(x[enough], y[enough], marker, color=colour, markersize=4, label=label)
    panel.plot(x[few], y[few], marker, color=colour, markersize=4, markerfacecolor="white")


def _multi_figure(multi: list[tuple[Data, dict[str, list[Result]]]]) -> Any:
    figure = new_figure(2.9 * len(multi) + 0.3, 3.6)
    panels = figure.subplots(1, len(multi), sharey=True, squeeze=False)[0]
    for panel, (data, by_method) in zip(panels, multi, strict=True):
        panel.plot([0, 1], [0, 1], "--", color="black", linewidth=0.8)
        for method, kept in by_method.items():
            curve, style = pooled_curve(kept, "mean"), METHODS[method]
            assert curve is not None
            _draw_curve(
                panel, curve.confidence, curve.accuracy, curve.mass, style.colour, style.marker, style.label
            )  # fmt: skip
        panel.set(title=data.label, xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="confidence")
    panels[0].set_ylabel("accuracy")
    drawn = max(panels, key=lambda panel: len(panel.get_legend_handles_labels()[0]))
    figure.legend(
        *drawn.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=4 if len(multi) > 1 else 2,
    )
    return figure


if __name__ == "__main__":
    from .run import main

    main(NAME)
