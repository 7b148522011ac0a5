"""Every table and figure of the paper, regenerated.

One module per artefact; each has `tasks`, what must be computed, and `render`, what is shown of it.
Tasks are kept in a `Store`, one file each, so that nothing is computed twice and a killed run goes
on where it was. `python -m dirichletgp.paper.<artefact>` runs one of them, `dirichletgp paper` all.
"""

from .plan import Plan
from .run import ARTEFACTS, run_paper

__all__ = ["ARTEFACTS", "Plan", "run_paper"]
