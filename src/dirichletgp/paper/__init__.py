"""Every table and figure of the paper, regenerated.

`artefacts` has one module per table or figure; each has `tasks`, what must be computed, and
`render`, what is shown of it. Results of tasks are kept in a `Store`, one file each, so that
nothing is computed twice and a killed run goes on where it was. `dirichletgp paper` runs all of
them, `dirichletgp paper --artefact NAME` one.
"""

from .plan import Plan
from .run import ARTEFACTS, run_paper

__all__ = ["ARTEFACTS", "Plan", "run_paper"]
