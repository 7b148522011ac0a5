"""The tables and figures of the paper: one module each, listed here in the order of the page."""

from typing import Protocol

from ..page_section import Section
from ..plan import Plan
from ..task import Task
from . import (
    alpha,
    dataset_table,
    inducing_points,
    loss_convergence,
    one_dimensional,
    reliability,
    results,
    speedup,
)


class Artefact(Protocol):
    """What a module of this package has.

    Attributes
    ----------
    NAME : str
        The name by which it is asked for; also the kind of the tasks that are its own.
    TITLE : str
        Its heading on the page.
    """

    NAME: str
    TITLE: str

    def tasks(self, plan: Plan) -> list[Task]:
        """What must be computed."""

    def render(self, plan: Plan) -> Section:
        """What is shown of it."""


_IN_ORDER: tuple[Artefact, ...] = (
    dataset_table,
    results,
    speedup,
    inducing_points,
    reliability,
    alpha,
    loss_convergence,
    one_dimensional,
)

REGISTRY: dict[str, Artefact] = {artefact.NAME: artefact for artefact in _IN_ORDER}

# Computed in this order: cheap ones first, so that much is there if a run is stopped.
CHEAP_FIRST = sorted(
    REGISTRY, key=lambda name: name not in ("one_dimensional", "loss_convergence", "alpha")
)
