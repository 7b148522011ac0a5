"""Error rate, MNLL and ECE of all methods on all datasets, with standard errors."""

from typing import Any

import numpy as np

from ...datasets import dataset_names
from ..averages import mean_and_error, written_average
from ..drawing import new_figure, round_numbers
from ..evaluation_grid import evaluation_tasks, evaluations_of
from ..methods import METHODS, QUICK_POINTS
from ..page_section import Section, Table
from ..plan import Plan
from ..store import Result
from ..task import Task

NAME = "results"
TITLE = "Error rate, likelihood and calibration"
METRICS = {
    "error": "error rate",
    "mnll": "MNLL",
    "ece": "ECE (mean confidence)",
    "ece_midpoint": "ECE (bin midpoint)",
}
_COLUMNS = ["dataset", "method", "splits", *METRICS.values(), "training, s"]

# Results by label of the dataset and method.
Found = dict[tuple[str, str], list[Result]]


def tasks(plan: Plan) -> list[Task]:
    """Every method on every split."""
    return evaluation_tasks(plan)


def render(plan: Plan) -> Section:
    """A table of all, and a figure with a row of panels per metric."""
    section = Section(NAME, TITLE)
    found = {
        (data.label, method): kept
        for data in plan.available(*dataset_names())
        for method in plan.methods_for(*METHODS)
        if (kept := evaluations_of(plan, data, method))
    }
    section.text.append(
        "Mean over random splits ± standard error of the mean; lower is better. All methods in "
        "the settings of the paper but for GPD (defaults), which is the library as it comes: "
        f"{_default_points(plan)} inducing points, a lengthscale per feature, normal-score "
        "scaling, a learned label transform. ECE has 10 bins of equal width; the experiments of "
        "the paper take the middle of a bin as its confidence, everybody else the mean."
    )
    if plan.quick:
        section.text.append(
            "A quick run: few rows, few splits and few inducing points, to see that everything "
            "works. The numbers mean little."
        )
    section.text += _warnings(found)
    rows = [_row(label, method, kept) for (label, method), kept in found.items()]
    section.tables.append(Table("results", "All methods on all datasets", _COLUMNS, rows))
    if found:
        caption = "Error rate, MNLL and ECE; bars are standard errors"
        section.keep(plan.out, "results", _figure(found), caption)
    return section


def _row(label: str, method: str, kept: list[Result]) -> list[str]:
    seconds = np.mean([result["fit_seconds"] for result in kept])
    scores = [written_average([result[key] for result in kept]) for key in METRICS]
    return [label, METHODS[method].label, str(len(kept)), *scores, f"{seconds:.2f}"]


def _default_points(plan: Plan) -> str:
    return f"{QUICK_POINTS} instead of 1,000" if plan.quick else "1,000"


def _warnings(found: Found) -> list[str]:
    """What fits complained of, and how many of them."""
    said = []
    for (label, method), kept in found.items():
        for message in sorted({message for result in kept for message in result["warnings"]}):
            count = sum(message in result["warnings"] for result in kept)
            said.append(
                f"{METHODS[method].label} on {label}, {count} of {len(kept)} fits: {message}"
            )
    return said


def _figure(found: Found) -> Any:
    labels = list(dict.fromkeys(label for label, _ in found))
    methods = [method for method in METHODS if any(method == other for _, other in found)]
    figure = new_figure(max(7.0, 1.15 * len(labels) + 1.5), 8.5)
    panels = figure.subplots(len(METRICS), 1, sharex=True)
    for panel, (key, title) in zip(panels, METRICS.items(), strict=True):
        for number, method in enumerate(methods):
            shift = (number - (len(methods) - 1) / 2) * 0.13
            _draw_method(panel, key, method, shift, labels, found)
        panel.set_ylabel(title)
        if any(result[key] > 0 for kept in found.values() for result in kept):
            panel.set_yscale("log")  # on which a mean of zero has no place
            round_numbers(panel.yaxis)
        for edge in np.arange(len(labels) - 1) + 0.5:
            panel.axvline(edge, color="#bbbbbb", linewidth=0.6)
        panel.grid(axis="x", visible=False)
    panels[-1].set_xticks(range(len(labels)), [label.replace(" (", "\n(") for label in labels])
    panels[-1].set_xlim(-0.5, len(labels) - 0.5)
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=min(6, len(methods)))
    return figure


def _draw_method(
    panel: Any, key: str, method: str, shift: float, labels: list[str], found: Found
) -> None:
    """A point with its standard error per dataset."""
    points = []
    for place, label in enumerate(labels):
        if (label, method) in found:
            mean, error = mean_and_error([result[key] for result in found[label, method]])
            if mean > 0:
                points.append((place + shift, mean, error))
    places, means, errors = np.array(points or [(np.nan,) * 3]).T
    style = METHODS[method]
    look: dict[str, Any] = {"fmt": style.marker, "color": style.colour, "label": style.label}
    look |= {"markersize": 5, "capsize": 2, "linewidth": 1}
    panel.errorbar(places, means, np.nan_to_num(errors), **look)
