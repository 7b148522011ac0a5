"""How fast classifiers with different losses come to the true probabilities, in one dimension.

The paper does not say which true function, sizes and maximum-likelihood classifier it has. Here
labels are drawn with probability f(x) = 1/2 + 0.45 sin(2 pi x), x uniform on [0, 1]; the
maximum-likelihood classifier is logistic regression on ten Gaussian bumps without any penalty,
which can follow f and has nothing to hold it back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ... import DirichletGPClassifier
from ..._gp.core.arrays import Array, Integers
from ...baselines import GPRegressionClassifier, VariationalGPClassifier
from ..drawing import BLACK, PURPLE, new_figure, round_numbers
from ..methods import METHODS, parameters
from ..page_section import Section, Table
from ..plan import Plan
from ..store import Result
from ..task import Task, stored_results

NAME = "loss_convergence"
TITLE = "Convergence of classifiers with different losses"
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
_COLUMNS = [
    "classifier",
    "training rows",
    "training sets",
    "MSE, mean",
    "MSE, standard deviation",
    "standard deviation of the classifier",
]


def true_probability(x: Array) -> Array:
    """f(x)."""
    return np.asarray(0.5 + 0.45 * np.sin(2 * np.pi * x))


def sample(size: int, repetition: int) -> tuple[Array, Integers]:
    """A training set in which both classes occur."""
    rng = np.random.default_rng([size, repetition])
    while True:
        x = rng.uniform(size=size)
        y = (rng.uniform(size=size) < true_probability(x)).astype(np.intp)
        if 0 < y.sum() < size:
            return x[:, None], y


def maximum_likelihood(x: Array, y: Integers) -> Array:
    """Probabilities on the grid by logistic regression on Gaussian bumps, without a penalty."""
    centres = np.linspace(0, 1, 10)

    def features(at: Array) -> Array:
        bumps = np.exp(-0.5 * ((at[:, None] - centres) / 0.15) ** 2)
        return np.column_stack([np.ones(len(at)), bumps])

    rows = features(x[:, 0])
    signs = 2.0 * y - 1.0

    def loss(weights: Array) -> tuple[float, Array]:
        margin = signs * (rows @ weights)
        gradient = -(rows.T @ (signs * expit(-margin))) / len(rows)
        return float(np.logaddexp(0, -margin).mean()), gradient

    start = np.zeros(rows.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000})
    return np.asarray(expit(features(GRID) @ found.x))


_SHARED: dict[str, Any] = {
    "kernel": "rbf",
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


def _on_grid(model: Any, x: Array, y: Integers) -> Array:
    if model is None:
        return maximum_likelihood(x, y)
    return np.asarray(model.fit(x, y).predict_proba(GRID[:, None])[:, 1])


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
    ranges = [range(start, min(n, start + _CHUNK)) for start in range(0, n, _CHUNK)]
    return [_task(method, size, chunk, within) for chunk, within in enumerate(ranges)]


def tasks(plan: Plan) -> list[Task]:
    """Chunks of repetitions for each classifier and size."""
    return [
        task for method in _methods(plan) for size in SIZES for task in _chunks(plan, method, size)
    ]


# Of a classifier, by number of training rows.
BySize = dict[int, dict[str, Array]]


def render(plan: Plan) -> Section:
    """MSE against size, and the averaged classifiers."""
    section = Section(NAME, TITLE)
    section.text.append(
        "Mean squared error to the true function over random training sets of four sizes. Labels "
        "are drawn with probability f(x) = 1/2 + 0.45 sin(2πx), x uniform on [0, 1]; ML is "
        "logistic regression on ten Gaussian bumps without a penalty; the constant of GPD is "
        "chosen by the likelihood of the training rows, the paper's rule, or of rows left out (the "
        "paper does not state its function, sizes and classifier). The last column is the standard "
        "deviation of a classifier over training sets, averaged over x."
    )
    found: dict[str, BySize] = {}
    for method in _methods(plan):
        for size in SIZES:
            chunks = stored_results(_chunks(plan, method, size), plan.store)
            if chunks:
                found.setdefault(method, {})[size] = _summary(chunks)
    rows = [
        [
            _LABELS[method],
            str(size),
            str(len(summary["mse"])),
            f"{summary['mse'].mean():.5f}",
            f"{summary['mse'].std(ddof=1):.5f}",
            f"{summary['deviation'].mean():.4f}",
        ]
        for method, sizes in found.items()
        for size, summary in sizes.items()
    ]
    section.tables.append(Table("loss_convergence", "MSE to the true function", _COLUMNS, rows))
    if found:
        caption = "Convergence to the true function"
        section.keep(plan.out, "loss_convergence", _figure(found), caption)
    return section


def _summary(chunks: list[Result]) -> dict[str, Array]:
    mse = np.concatenate([chunk["mse"] for chunk in chunks])
    mean = np.sum([chunk["sum"] for chunk in chunks], axis=0) / len(mse)
    square = np.sum([chunk["squares"] for chunk in chunks], axis=0) / len(mse)
    return {"mse": mse, "mean": mean, "deviation": np.sqrt(np.maximum(square - mean**2, 0.0))}


_COLOURS = {
    "ml": PURPLE,
    **{method: METHODS[method].colour for method in ("gpr", "gpc", "gpd", "ours")},
}
_LINES: dict[str, Any] = {"ml": ":", "gpr": "--", "gpc": "-.", "gpd": "-", "ours": (0, (6, 2))}


def _figure(found: dict[str, BySize]) -> Any:
    figure = new_figure(9.0, 4.4)
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.5))
    errors = left.subplots()
    _draw_errors(errors, found)
    panels = right.subplots(2, 2, sharex=True, sharey=True)
    for panel, size in zip(panels.ravel(), SIZES, strict=True):
        _draw_averages(panel, size, found)
    for panel in panels[:, 0]:
        panel.set_ylabel("averaged classifier")
    for panel in panels[1]:
        panel.set_xlabel("x")
    handles, labels = errors.get_legend_handles_labels()
    more_handles, more_labels = panels[0, 0].get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "outside upper center", "ncols": 3, "fontsize": 8}
    figure.legend(handles + more_handles, labels + more_labels, **place)
    return figure


def _draw_errors(panel: Any, found: dict[str, BySize]) -> None:
    """MSE against size, a line per classifier; bars that do not cover each other."""
    for number, (method, sizes) in enumerate(found.items()):
        mean = np.array([summary["mse"].mean() for summary in sizes.values()])
        ends = [np.quantile(summary["mse"], [0.1, 0.9]) for summary in sizes.values()]
        low, high = np.array(ends).T
        panel.errorbar(
            np.array(list(sizes)) * 1.04 ** (number - 1.5),
            mean,
            [np.maximum(mean - low, 0), np.maximum(high - mean, 0)],
            linestyle=_LINES[method],
            marker=METHODS[method].marker if method in METHODS else "x",
            color=_COLOURS[method],
            label=_LABELS[method],
            markersize=5,
            capsize=2,
            linewidth=1.2,
        )
    panel.set(xscale="log", xlabel="training rows")
    panel.set(yscale="log", ylabel="MSE to the true function (bars: 10 to 90 %)")
    round_numbers(panel.yaxis)
    panel.set_xticks(SIZES, [str(size) for size in SIZES])
    panel.minorticks_off()


def _draw_averages(panel: Any, size: int, found: dict[str, BySize]) -> None:
    """The mean classifiers of a size, and the true function."""
    true: dict[str, Any] = {"color": BLACK, "linewidth": 2.2, "alpha": 0.5}
    panel.plot(GRID, true_probability(GRID), label="true function", **true)
    for method, sizes in found.items():
        if size in sizes:
            line = {"linestyle": _LINES[method], "color": _COLOURS[method], "linewidth": 1.4}
            panel.plot(GRID, sizes[size]["mean"], **line)
    panel.set(title=f"{size} rows", ylim=(0, 1))
