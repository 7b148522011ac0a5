"""Error rate, MNLL and ECE of all methods on all datasets, with standard errors."""

from typing import Any

import numpy as np

from ..datasets import dataset_names
from .evaluation import evaluation
from .methods import METHODS, QUICK_POINTS
from .plan import Data, Plan
from .section import Section, Table, new_figure, round_numbers
from .store import Result
from .task import Task

NAME, TITLE = "results", "Error rate, likelihood and calibration"
METRICS = {
    "error": "error rate",
    "mnll": "MNLL",
    "ece": "ECE (mean confidence)",
    "ece_midpoint": "ECE (bin midpoint)",
}
_COLUMNS = ["dataset", "method", "splits", *METRICS.values(), "training, s"]


def tasks(plan: Plan) -> list[Task]:
    """Every method on every split; the dear ones last, so that much is there early."""
    found = [
        (data, method, seed)
        for data in plan.available(*dataset_names())
        for method in plan.methods_for(*METHODS)
        for seed in range(plan.n_splits(data, method))
    ]
    return sorted((evaluation(*item) for item in found), key=lambda task: task.seconds)


def results_of(plan: Plan, data: Data, method: str) -> list[Result]:
    """What is known of a method on a dataset, split by split."""
    tasks_of_splits = (
        evaluation(data, method, seed) for seed in range(plan.n_splits(data, method))
    )
    stored = (plan.store.get(task.kind, task.settings) for task in tasks_of_splits)
    return [result for result in stored if result is not None]


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN for the error of a single value."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def written(values: list[float], digits: int = 4) -> str:
    """Mean and standard error as text."""
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def render(plan: Plan) -> Section:
    """A table of all, and a figure with a row of panels per metric."""
    section = Section(NAME, TITLE)
    found = {
        (data.label, method): results
        for data in plan.available(*dataset_names())
        for method in plan.methods_for(*METHODS)
        if (results := results_of(plan, data, method))
    }
    section.text.append(
        "Mean over random splits ± standard error of the mean; lower is better. All methods in the settings of the "
        f"paper but for GPD (defaults), which is the library as it comes: {_default_points(plan)} inducing points, a "
        "lengthscale per feature, normal-score scaling, a learned label transform. ECE has 10 bins of equal width; the "
        "experiments of the paper take the middle of a bin as its confidence, everybody else the mean."
    )
    if plan.quick:
        section.text.append(
            "A quick run: few rows, few splits and few inducing points, to see that everything works. The numbers mean "
            "little."
        )
    rows = [
        [
            label,
            METHODS[method].label,
            str(len(results)),
            *(written([result[key] for result in results]) for key in METRICS),
            f"{np.mean([result['fit_seconds'] for result in results]):.2f}",
        ]
        for (label, method), results in found.items()
    ]
    section.text += _warnings(found)
    section.tables.append(Table("results", "All methods on all datasets", _COLUMNS, rows))
    if found:
        section.keep(
            plan.out,
            "results",
            _figure(found),
            "Error rate, MNLL and ECE; bars are standard errors",
        )
    return section


def _default_points(plan: Plan) -> str:
    return f"{QUICK_POINTS} instead of 1,000" if plan.quick else "1,000"


def _warnings(found: dict[tuple[str, str], list[Result]]) -> list[str]:
    """What fits complained of, and how many of them."""
    said = []
    for (label, method), kept in found.items():
        for message in sorted({message for result in kept for message in result["warnings"]}):
            count = sum(message in result["warnings"] for result in kept)
            said.append(
                f"{METHODS[method].label} on {label}, {count} of {len(kept)} fits: {message}"
            )
    return said


def _figure(found: dict[tuple[str, str], list[Result]]) -> Any:
    labels = list(dict.fromkeys(label for label, _ in found))
    methods = [method for method in METHODS if any(method == other for _, other in found)]
    figure = new_figure(max(7.0, 1.15 * len(labels) + 1.5), 8.5)
    panels = figure.subplots(len(METRICS), 1, sharex=True)
    for panel, (key, title) in zip(panels, METRICS.items(), strict=True):
        for number, method in enumerate(methods):
            shift = (number - (len(methods) - 1) / 2) * 0.13
            points = [
                (place + shift, *mean_and_error([result[key] for result in found[label, method]]))
                for place, label in enumerate(labels)
                if (label, method) in found
            ]
            place, mean, error = np.array(
                [point for point in points if point[1] > 0] or [(np.nan,) * 3]
            ).T
            style = METHODS[method]
            panel.errorbar(
                place, mean, np.nan_to_num(error), fmt=style.marker, color=style.colour, label=style.label,
                markersize=5, capsize=2, linewidth=1,
            )  # fmt: skip
        panel.set_ylabel(title)
        if any(result[key] > 0 for results in found.values() for result in results):
            panel.set_yscale("log")  # on which a mean of zero has no place
            round_numbers(panel.yaxis)
        for edge in np.arange(len(labels) - 1) + 0.5:
            panel.axvline(edge, color="#bbbbbb", linewidth=0.6)
        panel.grid(axis="x", visible=False)
    panels[-1].set_xticks(range(len(labels)), [label.replace(" (", "\n(") for label in labels])
    panels[-1].set_xlim(-0.5, len(labels) - 0.5)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=min(6, len(methods)),
    )
    return figure


if __name__ == "__main__":
    from .run import main

    main(NAME)
