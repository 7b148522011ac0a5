"""Dirichlet regression in one dimension: latent posteriors, and what softmax makes of them."""

from typing import Any

import numpy as np

from ... import DirichletGPClassifier, LabelTransform
from ..._gp.core.arrays import Array, Booleans
from ..drawing import BLUE, VERMILION, new_figure
from ..methods import parameters
from ..page_section import Section
from ..plan import Plan
from ..store import Result
from ..task import Task

NAME = "one_dimensional"
TITLE = "Dirichlet regression in one dimension"
_ALPHA = 0.01
_ROWS = 30
_REACH = 1.96
_GREY = "#555555"


def _data() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 10, size=_ROWS))
    probability = 1 / (1 + np.exp(-3 * np.sin(0.8 * x)))
    return x, (rng.uniform(size=_ROWS) < probability).astype(int)


def _model() -> DirichletGPClassifier:
    return DirichletGPClassifier(
        "rbf",
        ard=False,
        scaler=None,
        label_transform="dirichlet",
        alpha_epsilon=_ALPHA,
        random_state=0,
    )


def _compute() -> Result:
    x, y = _data()
    model = _model()
    grid = np.linspace(-1.5, 11.5, 261)
    model.fit(x[:, None], y)
    mean, variance = model.latent_mean_and_variance(grid[:, None])
    lower, upper = model.predict_interval(grid[:, None], kind="latent")
    arrays = {"grid": grid, "mean": mean, "variance": variance, "lower": lower, "upper": upper}
    arrays["probability"] = model.predict_proba(grid[:, None])
    return {key: value.tolist() for key, value in arrays.items()}


def _task() -> Task:
    settings = {"size": _ROWS, "estimator": parameters(_model())}
    return Task(NAME, settings, _compute, 0.5)


def tasks(plan: Plan) -> list[Task]:
    """One fit."""
    return [_task()]


def render(plan: Plan) -> Section:
    """Four panels."""
    section = Section(NAME, TITLE)
    section.text.append(
        f"{_ROWS} labels drawn from a smooth probability, alpha_epsilon = {_ALPHA}. Left: "
        "transformed labels with the standard deviation of their noise, and the latent posterior "
        "of each class; they are no mirror images, because the noise in and out of a class "
        "differs. Right: class probabilities, which are mirror images."
    )
    task = _task()
    kept = plan.store.get(task.kind, task.settings)
    if kept is not None:
        curves = {key: np.array(value) for key, value in kept.items()}
        caption = "Latent posteriors and class probabilities"
        section.keep(plan.out, "one_dimensional", _figure(curves), caption)
    return section


def _figure(curves: dict[str, Any]) -> Any:
    x, y = _data()
    figure = new_figure(7.5, 4.6)
    panels = figure.subplots(2, 2, sharex=True)
    for c, colour in enumerate((BLUE, VERMILION)):
        latent, probability = panels[c]
        _draw_latent(latent, c, curves, x, y == c, colour)
        _draw_probability(probability, c, curves, x, y == c, colour)
    panels[0, 0].set_title("latent posterior")
    panels[0, 1].set_title("after softmax")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    for panel in panels[1]:
        panel.set_xlabel("x")
    return figure


def _draw_latent(
    panel: Any, c: int, curves: dict[str, Any], x: Array, inside: Booleans, colour: str
) -> None:
    transform = LabelTransform.dirichlet(_ALPHA)
    target = np.where(inside, transform.target_in, transform.target_out)
    noise = np.sqrt(np.where(inside, transform.noise_in, transform.noise_out))
    points: dict[str, Any] = {"fmt": "o", "color": _GREY, "markersize": 3, "linewidth": 0.8}
    panel.errorbar(x, target, noise, label="transformed labels", **points)
    mean = curves["mean"][:, c]
    reach = _REACH * np.sqrt(curves["variance"][:, c])
    area: dict[str, Any] = {"color": colour, "alpha": 0.25, "linewidth": 0}
    panel.fill_between(curves["grid"], mean - reach, mean + reach, label="95 %", **area)
    panel.plot(curves["grid"], mean, color=colour, label="posterior mean")
    panel.set_ylabel(f"latent function of class {c}")


def _draw_probability(
    panel: Any, c: int, curves: dict[str, Any], x: Array, inside: Booleans, colour: str
) -> None:
    area: dict[str, Any] = {"color": colour, "alpha": 0.25, "linewidth": 0}
    panel.fill_between(curves["grid"], curves["lower"][:, c], curves["upper"][:, c], **area)
    panel.plot(curves["grid"], curves["probability"][:, c], color=colour)
    panel.plot(x, inside.astype(float), "|", color=_GREY, markersize=8)
    panel.set(ylabel=f"probability of class {c}", ylim=(-0.06, 1.06))
