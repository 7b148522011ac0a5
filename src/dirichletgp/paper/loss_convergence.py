"""How fast classifiers with different losses come to the true probabilities, on one-dimensional data.

The paper does not say which true function, sizes and maximum-likelihood classifier it has. Here
labels are drawn with probability f(x) = 1/2 + 0.45 sin(2 pi x), x uniform on [0, 1]; the
maximum-likelihood classifier is logistic regression on ten Gaussian bumps without any penalty,
which can follow f and has nothing to hold it back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from .. import DirichletGPClassifier
from ..baselines import GPRegressionClassifier, VariationalGPClassifier
from .methods import METHODS, parameters
from .plan import Plan
from .section import BLACK, PURPLE, Section, Table, new_figure, round_numbers
from .store import Result
from .task import Task

Array = NDArray[np.float64]

NAME, TITLE = "loss_convergence", "Convergence of classifiers with different losses"
SIZES = (25, 50, 100, 200)
GRID = np.linspace(0, 1, 101)
_CHUNK = 25
_POINTS = 30
_QUICK_REPETITIONS = 25
_LABELS = {
    "ml": "ML, cross entropy",
    "gpr": "GPR (Bayes, squared error)",
    "gpc": "GPC (Bayes, cross entropy)",
    "gpd": "GPD (alpha by training rows)",
    "ours": "GPD (alpha by leave-one-out)",
}
_GUESSES = {"gpc": 10.0, "ml": 0.3}


def true_probability(x: Array) -> Array:
    """f(x)."""
    return np.asarray(0.5 + 0.45 * np.sin(2 * np.pi * x))


def sample(size: int, repetition: int) -> tuple[Array, NDArray[np.int64]]:
    """A training set in which both classes occur."""
    rng = np.random.default_rng([size, repetition])
    while True:
        x = rng.uniform(size=size)
        y = (rng.uniform(size=size) < true_probability(x)).astype(np.int64)
        if 0 < y.sum() < size:
            return x[:, None], y


def maximum_likelihood(x: Array, y: NDArray[np.int64]) -> Array:
    """Probabilities on the grid by logistic regression on Gaussian bumps, without a penalty."""
    centres = np.linspace(0, 1, 10)

    def features(at: Array) -> Array:
        return np.column_stack(
            [np.ones(len(at)), np.exp(-0.5 * ((at[:, None] - centres) / 0.15) ** 2)]
        )

    rows, signs = features(x[:, 0]), 2.0 * y - 1.0

    def loss(weights: Array) -> tuple[float, Array]:
        margin = signs * (rows @ weights)
        return float(np.logaddexp(0, -margin).mean()), -(rows.T @ (signs * expit(-margin))) / len(
            rows
        )

    found = minimize(
        loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 1000}
    ).x
    return np.asarray(expit(features(GRID) @ found))


_SHARED: dict[str, Any] = {
    "ard": False,
    "scaler": "minmax",
    "n_inducing": _POINTS,
    "n_jobs": 1,
    "random_state": 0,
}
# None: maximum likelihood, which is no estimator.
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "ml": lambda: None,
    "gpr": lambda: GPRegressionClassifier(**_SHARED),
    "gpc": lambda: VariationalGPClassifier(likelihood="probit", **_SHARED),
    "gpd": lambda: DirichletGPClassifier(
        alpha_epsilon="training", label_transform="dirichlet", **_SHARED
    ),
    "ours": lambda: DirichletGPClassifier(
        alpha_epsilon="auto", label_transform="dirichlet", **_SHARED
    ),
}


def _on_grid(model: Any, x: Array, y: NDArray[np.int64]) -> Array:
    return (
        maximum_likelihood(x, y)
        if model is None
        else np.asarray(model.fit(x, y).predict_proba(GRID[:, None])[:, 1])
    )


def _task(method: str, size: int, chunk: int, repetitions: range) -> Task:
    model = CLASSIFIERS[method]()

    def compute() -> Result:
        curves = np.array(
            [_on_grid(model, *sample(size, repetition)) for repetition in repetitions]
        )
        mse = np.square(curves - true_probability(GRID)).mean(axis=1)
        return {
            "mse": mse.tolist(),
            "sum": curves.sum(axis=0).tolist(),
            "squares": np.square(curves).sum(axis=0).tolist(),
        }

    settings = {
        "method": method,
        "size": size,
        "chunk": chunk,
        "repetitions": [repetitions.start, repetitions.stop],
        "estimator": {} if model is None else parameters(model),
    }
    return Task(NAME, settings, compute, _GUESSES.get(method, 0.6))


def _methods(plan: Plan) -> list[str]:
    return ["ml", *plan.methods_for(*(method for method in CLASSIFIERS if method != "ml"))]


def _chunks(plan: Plan, method: str, size: int) -> list[Task]:
    n = min(plan.repetitions, _QUICK_REPETITIONS) if plan.quick else plan.repetitions
    starts = range(0, n, _CHUNK)
    return [
        _task(method, size, chunk, range(start, min(n, start + _CHUNK))) for chunk, start in enumerate(starts)
    ]  # fmt: skip


def tasks(plan: Plan) -> list[Task]:
    """Chunks of repetitions for each classifier and size."""
    return [
        task for method in _methods(plan) for size in SIZES for task in _chunks(plan, method, size)
    ]


def render(plan: Plan) -> Section:
    """MSE against size, and the averaged classifiers."""
    section = Section(NAME, TITLE)
    section.text.append(
        "Mean squared error to the true function over random training sets of four sizes. Labels are drawn with "
        "probability f(x) = 1/2 + 0.45 sin(2πx), x uniform on [0, 1]; ML is logistic regression on ten Gaussian bumps "
        "without a penalty; the constant of GPD is chosen by the likelihood of the training rows, the paper's rule, "
        "or of rows left out (the paper does not state its function, sizes and classifier). The last "
        "column is the standard deviation of a classifier over training sets, averaged over x."
    )
    found: dict[str, dict[int, dict[str, Array]]] = {}
    for method in _methods(plan):
        for size in SIZES:
            chunks = [
                plan.store.get(task.kind, task.settings) for task in _chunks(plan, method, size)
            ]
            kept = [chunk for chunk in chunks if chunk is not None]
            if kept:
                found.setdefault(method, {})[size] = _summary(kept)
    columns = [
        "classifier",
        "training rows",
        "training sets",
        "MSE, mean",
        "MSE, standard deviation",
        "standard deviation of the classifier",
    ]
    rows = [
        [
            _LABELS[method],
            str(size),
            str(len(s["mse"])),
            f"{s['mse'].mean():.5f}",
            f"{s['mse'].std(ddof=1):.5f}",
            f"{s['deviation'].mean():.4f}",
        ]
        for method, sizes in found.items()
        for size, s in sizes.items()
    ]
    section.tables.append(Table("loss_convergence", "MSE to the true function", columns, rows))
    if found:
        section.keep(
            plan.out, "loss_convergence", _figure(found), "Convergence to the true function"
        )
    return section


def _summary(chunks: list[Result]) -> dict[str, Array]:
    mse = np.concatenate([chunk["mse"] for chunk in chunks])
    mean = np.sum([chunk["sum"] for chunk in chunks], axis=0) / len(mse)
    square = np.sum([chunk["squares"] for chunk in chunks], axis=0) / len(mse)
    return {"mse": mse, "mean": mean, "deviation": np.sqrt(np.maximum(square - mean**2, 0.0))}


def _figure(found: dict[str, dict[int, dict[str, Array]]]) -> Any:
    colours = {
        "ml": PURPLE,
        **{method: METHODS[method].colour for method in ("gpr", "gpc", "gpd", "ours")},
    }
    styles: dict[str, Any] = {"ml": ":", "gpr": "--", "gpc": "-.", "gpd": "-", "ours": (0, (6, 2))}
    figure = new_figure(9.0, 4.4)
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.5))
    panel = left.subplots()
    for number, (method, sizes) in enumerate(found.items()):
        mean = np.array([summary["mse"].mean() for summary in sizes.values()])
        low, high = np.array(
            [np.quantile(summary["mse"], [0.1, 0.9]) for summary in sizes.values()]
        ).T
        place = np.array(list(sizes)) * 1.04 ** (number - 1.5)
        marker = METHODS[method].marker if method in METHODS else "x"
        panel.errorbar(
            place, mean, [np.maximum(mean - low, 0), np.maximum(high - mean, 0)], linestyle=styles[method],
            marker=marker, color=colours[method], label=_LABELS[method], markersize=5, capsize=2, linewidth=1.2,
        )  # fmt: skip
    panel.set(
        xscale="log",
        yscale="log",
        xlabel="training rows",
        ylabel="MSE to the true function (bars: 10 to 90 %)",
    )
    round_numbers(panel.yaxis)
    panel.set_xticks(SIZES, [str(size) for size in SIZES])
    panel.minorticks_off()
    panels = right.subplots(2, 2, sharex=True, sharey=True).ravel()
    for panel_of_size, size in zip(panels, SIZES, strict=True):
        panel_of_size.plot(
            GRID,
            true_probability(GRID),
            color=BLACK,
            linewidth=2.2,
            alpha=0.5,
            label="true function",
        )
        for method, sizes in found.items():
            if size in sizes:
                line = {"linestyle": styles[method], "color": colours[method], "linewidth": 1.4}
                panel_of_size.plot(GRID, sizes[size]["mean"], **line)
        panel_of_size.set(title=f"{size} rows", ylim=(0, 1))
    for place in (0, 2):
        panels[place].set_ylabel("averaged classifier")
        panels[2 + place // 2].set_xlabel("x")
    handles, labels = (
        a + b
        for a, b in zip(
            panel.get_legend_handles_labels(), panels[0].get_legend_handles_labels(), strict=True
        )
    )
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return figure


if __name__ == "__main__":
    from .run import main

    main(NAME)
