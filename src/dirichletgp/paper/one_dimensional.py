"""Dirichlet regression of a one-dimensional problem: latent posteriors, and what softmax makes of them."""

from typing import Any

import numpy as np

from .. import DirichletGPClassifier, LabelTransform
from .methods import parameters
from .plan import Plan
from .section import BLUE, VERMILION, Section, new_figure
from .store import Result
from .task import Task

NAME, TITLE = "one_dimensional", "Dirichlet regression in one dimension"
_ALPHA = 0.01
_ROWS = 30
_REACH = 1.96


def _data() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 10, size=_ROWS))
    return x, (rng.uniform(size=_ROWS) < 1 / (1 + np.exp(-3 * np.sin(0.8 * x)))).astype(int)


def _model() -> DirichletGPClassifier:
    return DirichletGPClassifier(
        ard=False, scaler=None, label_transform="dirichlet", alpha_epsilon=_ALPHA, random_state=0
    )


def _compute() -> Result:
    x, y = _data()
    model = _model()
    grid = np.linspace(-1.5, 11.5, 261)
    model.fit(x[:, None], y)
    mean, variance = model.latent_mean_and_variance(grid[:, None])
    lower, upper = model.predict_interval(grid[:, None])
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
        f"{_ROWS} labels drawn from a smooth probability, alpha_epsilon = {_ALPHA}. Left: transformed labels with the "
        "standard deviation of their noise, and the latent posterior of each class; they are no mirror images, because "
        "the noise in and out of a class differs. Right: class probabilities, which are mirror images."
    )
    task = _task()
    kept = plan.store.get(task.kind, task.settings)
    if kept is not None:
        curves = {key: np.array(value) for key, value in kept.items()}
        section.keep(
            plan.out,
            "one_dimensional",
            _figure(curves),
            "Latent posteriors and class probabilities",
        )
    return section


def _figure(curves: dict[str, Any]) -> Any:
    x, y = _data()
    transform = LabelTransform.dirichlet(_ALPHA)
    figure = new_figure(7.5, 4.6)
    panels = figure.subplots(2, 2, sharex=True)
    for c, colour in enumerate((BLUE, VERMILION)):
        latent, probability = panels[c]
        inside = y == c
        target = np.where(inside, transform.target_in, transform.target_out)
        noise = np.sqrt(np.where(inside, transform.noise_in, transform.noise_out))
        latent.errorbar(
            x,
            target,
            noise,
            fmt="o",
            color="#555555",
            markersize=3,
            linewidth=0.8,
            label="transformed labels",
        )
        mean, reach = curves["mean"][:, c], _REACH * np.sqrt(curves["variance"][:, c])
        latent.fill_between(
            curves["grid"],
            mean - reach,
            mean + reach,
            color=colour,
            alpha=0.25,
            linewidth=0,
            label="95 %",
        )
        latent.plot(curves["grid"], mean, color=colour, label="posterior mean")
        latent.set_ylabel(f"latent function of class {c}")
        probability.fill_between(
            curves["grid"],
            curves["lower"][:, c],
            curves["upper"][:, c],
            color=colour,
            alpha=0.25,
            linewidth=0,
        )
        probability.plot(curves["grid"], curves["probability"][:, c], color=colour)
        probability.plot(x, inside.astype(float), "|", color="#555555", markersize=8)
        probability.set(ylabel=f"probability of class {c}", ylim=(-0.06, 1.06))
    panels[0, 0].set_title("latent posterior")
    panels[0, 1].set_title("after softmax")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    for panel in panels[1]:
        panel.set_xlabel("x")
    return figure


if __name__ == "__main__":
    from .run import main

    main(NAME)
