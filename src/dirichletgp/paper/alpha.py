"""Exploration of alpha_epsilon: does the likelihood of the training rows pick a value that is good on test rows?

The kernel is fitted again for each value, as in the paper.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from ..metrics import mean_negative_log_likelihood
from . import results
from .methods import estimator, parameters
from .plan import Data, Plan
from .section import BLACK, BLUE, VERMILION, Section, Table, new_figure
from .store import Result
from .task import Task

NAME, TITLE = "alpha", "Exploration of alpha_epsilon"
DATASETS = ("htru2", "magic", "letter", "drive")
ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_QUICK_ALPHAS, _QUICK_DATASETS, _SPLITS = (0.001, 0.01, 0.1), ("magic", "letter"), 3
_COLUMNS = ["dataset", "alpha", "splits", "training MNLL", "test MNLL"]


def _task(data: Data, alpha: float, seed: int) -> Task:
    template = estimator("gpd", data, seed, alpha_epsilon=alpha)

    def compute() -> Result:
        split = data.split(seed)
        model = clone(template).fit(split.X, split.y)
        score = {
            "train_mnll": mean_negative_log_likelihood(
                split.y, model.predict_proba(split.X), labels=model.classes_
            ),
            "test_mnll": mean_negative_log_likelihood(
                split.y_test, model.predict_proba(split.X_test), labels=model.classes_
            ),
        }
        return {
            **score,
            "lengthscale": float(model.lengthscale_),
            "variance": float(model.variance_),
        }

    settings = {
        **data.settings,
        "split": seed,
        "alpha_epsilon": alpha,
        "estimator": parameters(template),
    }
    return Task(NAME, settings, compute, 3.0 * data.n_train / 15_000)


def _grid(plan: Plan) -> tuple[list[Data], tuple[float, ...]]:
    return plan.available(
        *(_QUICK_DATASETS if plan.quick else DATASETS)
    ), _QUICK_ALPHAS if plan.quick else ALPHAS


def _splits(plan: Plan, data: Data) -> range:
    return range(1 if plan.quick else min(_SPLITS, plan.n_splits(data, "gpd")))


def tasks(plan: Plan) -> list[Task]:
    """A fit per dataset, split and value."""
    datasets, alphas = _grid(plan)
    return [
        _task(data, alpha, seed)
        for data in datasets
        for seed in _splits(plan, data)
        for alpha in alphas
    ]


def render(plan: Plan) -> Section:
    """A panel per dataset."""
    section = Section(NAME, TITLE)
    section.text.append(
        "MNLL of GPD on training and test rows for values of alpha_epsilon, with the kernel fitted again for each. "
        "Larger symbols mark the best values. Dotted: the value that the paper chose."
    )
    datasets, alphas = _grid(plan)
    curves: dict[str, tuple[Data, dict[float, list[Result]]]] = {}
    for data in datasets:
        stored = {
            alpha: [_task(data, alpha, seed) for seed in _splits(plan, data)] for alpha in alphas
        }
        kept = {
            alpha: [r for t in found if (r := plan.store.get(t.kind, t.settings))]
            for alpha, found in stored.items()
        }
        kept = {alpha: found for alpha, found in kept.items() if found}
        if kept:
            curves[data.label] = data, kept
    rows = [
        [
            label,
            f"{alpha:g}",
            str(len(found)),
            *(results.written([r[key] for r in found]) for key in ("train_mnll", "test_mnll")),
        ]
        for label, (_, kept) in curves.items()
        for alpha, found in kept.items()
    ]
    section.tables.append(Table("alpha_best", "Best values", *_best(curves)))
    section.tables.append(Table("alpha", "Training and test MNLL", _COLUMNS, rows))
    if curves:
        section.keep(
            plan.out, "alpha", _figure(curves), "Training and test MNLL against alpha_epsilon"
        )
    return section


def _mean(kept: dict[float, list[Result]], key: str) -> Any:
    return np.array([np.mean([r[key] for r in found]) for found in kept.values()])


def _best(
    curves: dict[str, tuple[Data, dict[float, list[Result]]]],
) -> tuple[list[str], list[list[str]]]:
    columns = [
        "dataset",
        "the paper's",
        "best by training MNLL",
        "best by test MNLL",
        "test MNLL lost by the choice",
    ]
    rows = []
    for label, (data, kept) in curves.items():
        alphas, train, test = list(kept), _mean(kept, "train_mnll"), _mean(kept, "test_mnll")
        chosen, best = int(train.argmin()), int(test.argmin())
        lost = f"{test[chosen] - test[best]:.4f}"
        rows.append(
            [label, f"{data.alpha_epsilon:g}", f"{alphas[chosen]:g}", f"{alphas[best]:g}", lost]
        )
    return columns, rows


def _figure(curves: dict[str, tuple[Data, dict[float, list[Result]]]]) -> Any:
    columns = min(2, len(curves))
    figure = new_figure(3.4 * columns, 2.6 * -(-len(curves) // columns) + 0.4)
    panels = figure.subplots(
        -(-len(curves) // columns), columns, squeeze=False, sharex=True
    ).ravel()
    for panel, (label, (data, kept)) in zip(panels, curves.items(), strict=False):
        alphas = list(kept)
        for key, name, colour, style in (
            ("train_mnll", "training rows", BLUE, "o--"),
            ("test_mnll", "test rows", VERMILION, "s-"),
        ):
            mean = _mean(kept, key)
            panel.plot(alphas, mean, style, color=colour, markersize=4, label=name)
            panel.plot(alphas[mean.argmin()], mean.min(), style[0], color=colour, markersize=9)
        panel.axvline(
            data.alpha_epsilon, linestyle=":", color=BLACK, linewidth=1, label="the paper's"
        )
        panel.set(xscale="log", title=label, ylabel="MNLL", xlabel=r"$\alpha_\epsilon$")
    for panel in panels[len(curves) :]:
        panel.remove()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


if __name__ == "__main__":
    from .run import main

    main(NAME)
