"""Exploration of alpha_epsilon: is the value that training rows prefer good on test rows?

The kernel is fitted again for each value, as in the paper.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from ..._gp.core.arrays import AnyArray, Array
from ...metrics import mean_negative_log_likelihood
from ..averages import written_average
from ..dataset import Dataset
from ..drawing import BLACK, BLUE, VERMILION, figure_with_panels
from ..methods import estimator, parameters
from ..page_section import Section, Table
from ..plan import Plan
from ..store import Result
from ..task import Task, stored_results

NAME = "alpha"
TITLE = "Exploration of alpha_epsilon"
DATASETS = ("htru2", "magic", "letter", "drive")
ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_SPLITS = 3
_QUICK_DATASETS = ("magic", "letter")
_QUICK_ALPHAS = (0.001, 0.01, 0.1)
_BEST_COLUMNS = [
    "dataset",
    "the paper's",
    "best by training MNLL",
    "best by test MNLL",
    "test MNLL lost by the choice",
]
_COLUMNS = ["dataset", "alpha", "splits", "training MNLL", "test MNLL"]


def _task(data: Dataset, alpha: float, seed: int) -> Task:
    template = estimator("gpd", data, seed, alpha_epsilon=alpha)

    def compute() -> Result:
        split = data.split(seed)
        model = clone(template).fit(split.X, split.y)
        return {
            "train_mnll": _mnll(model, split.X, split.y),
            "test_mnll": _mnll(model, split.X_test, split.y_test),
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


def _mnll(model: Any, X: Array, y: AnyArray) -> float:
    return mean_negative_log_likelihood(y, model.predict_proba(X), labels=model.classes_)


def _datasets(plan: Plan) -> list[Dataset]:
    return plan.available(*(_QUICK_DATASETS if plan.quick else DATASETS))


def _alphas(plan: Plan) -> tuple[float, ...]:
    return _QUICK_ALPHAS if plan.quick else ALPHAS


def _splits(plan: Plan, data: Dataset) -> range:
    return range(1 if plan.quick else min(_SPLITS, plan.n_splits(data, "gpd")))


def tasks(plan: Plan) -> list[Task]:
    """A fit per dataset, split and value."""
    return [
        _task(data, alpha, seed)
        for data in _datasets(plan)
        for seed in _splits(plan, data)
        for alpha in _alphas(plan)
    ]


# Results of a dataset, value by value.
ByAlpha = dict[float, list[Result]]


def render(plan: Plan) -> Section:
    """A panel per dataset."""
    section = Section(NAME, TITLE)
    section.text.append(
        "MNLL of GPD on training and test rows for values of alpha_epsilon, with the kernel fitted "
        "again for each. Larger symbols mark the best values. Dotted: the value that the paper "
        "chose."
    )
    curves = [(data, by_alpha) for data in _datasets(plan) if (by_alpha := _by_alpha(plan, data))]
    rows = [
        [
            data.label,
            f"{alpha:g}",
            str(len(kept)),
            written_average([result["train_mnll"] for result in kept]),
            written_average([result["test_mnll"] for result in kept]),
        ]
        for data, by_alpha in curves
        for alpha, kept in by_alpha.items()
    ]
    best = [_best(data, by_alpha) for data, by_alpha in curves]
    section.tables.append(Table("alpha_best", "Best values", _BEST_COLUMNS, best))
    section.tables.append(Table("alpha", "Training and test MNLL", _COLUMNS, rows))
    if curves:
        caption = "Training and test MNLL against alpha_epsilon"
        section.keep(plan.out, "alpha", _figure(curves), caption)
    return section


def _by_alpha(plan: Plan, data: Dataset) -> ByAlpha:
    """The results there are; no entry for a value without any."""
    found = {}
    for alpha in _alphas(plan):
        wanted = [_task(data, alpha, seed) for seed in _splits(plan, data)]
        kept = stored_results(wanted, plan.store)
        if kept:
            found[alpha] = kept
    return found


def _mean(by_alpha: ByAlpha, key: str) -> Array:
    return np.array([np.mean([result[key] for result in kept]) for kept in by_alpha.values()])


def _best(data: Dataset, by_alpha: ByAlpha) -> list[str]:
    alphas = list(by_alpha)
    test = _mean(by_alpha, "test_mnll")
    chosen = int(_mean(by_alpha, "train_mnll").argmin())
    best = int(test.argmin())
    return [
        data.label,
        f"{data.alpha_epsilon:g}",
        f"{alphas[chosen]:g}",
        f"{alphas[best]:g}",
        f"{test[chosen] - test[best]:.4f}",
    ]


def _figure(curves: list[tuple[Dataset, ByAlpha]]) -> Any:
    figure, panels = figure_with_panels(len(curves), 3.4, 2.6, 0.4, sharex=True)
    for panel, (data, by_alpha) in zip(panels, curves, strict=True):
        alphas = list(by_alpha)
        for key, name, colour, style in (
            ("train_mnll", "training rows", BLUE, "o--"),
            ("test_mnll", "test rows", VERMILION, "s-"),
        ):
            mean = _mean(by_alpha, key)
            panel.plot(alphas, mean, style, color=colour, markersize=4, label=name)
            panel.plot(alphas[mean.argmin()], mean.min(), style[0], color=colour, markersize=9)
        dotted: dict[str, Any] = {"linestyle": ":", "color": BLACK, "linewidth": 1}
        panel.axvline(data.alpha_epsilon, label="the paper's", **dotted)
        panel.set(xscale="log", title=data.label, ylabel="MNLL", xlabel=r"$\alpha_\epsilon$")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
