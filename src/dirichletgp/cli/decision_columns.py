"""Columns of predictions that are there on request: sets, decisions, contributions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._gp.core.arrays import Array
from .._gp.decisions.costs import checked_decline
from .._gp.rows.tables.errors import TableError
from .._gp.training.settings import fraction
from .table_model import TableModel


class DecisionColumns:
    """What is to be added to predictions, checked before the work.

    Parameters
    ----------
    model : TableModel
    coverage : float or None
        Of sets; None: no sets.
    explain : bool
        Whether contributions of columns to the log-odds of the label are wanted.
    costs : list of str
        TRUE:DECIDED=COST.
    decline : float or None
        What it costs to decline. Without costs and this no decisions are wanted.
    """

    def __init__(
        self,
        model: TableModel,
        coverage: float | None,
        explain: bool,
        costs: Sequence[str],
        decline: float | None,
    ):
        self._classifier = model.classifier
        self._coverage = None if coverage is None else fraction("--set", coverage)
        self._explain = explain
        self._decline = None if decline is None else checked_decline(decline, "--decline")
        self._costs: Array | None = None
        if costs or decline is not None:
            self._costs = cost_table(costs, [str(c) for c in model.classifier.classes_.tolist()])

    def of_rows(self, X: Any) -> dict[str, Any]:
        """Columns for rows X."""
        columns: dict[str, Any] = {}
        labels = np.array([str(label) for label in self._classifier.classes_.tolist()])
        if self._coverage is not None:
            inside = self._classifier.predict_set(X, self._coverage)
            columns["set"] = ["|".join(labels[row]) for row in inside]
            columns["set_size"] = inside.sum(axis=1)
        if self._costs is not None:
            decision = self._classifier.decide(X, self._costs, self._decline)
            chosen = [str(label) for label in decision.labels.tolist()]
            undecided = decision.declined.tolist()
            columns["decision"] = [
                "" if no else label for label, no in zip(chosen, undecided, strict=True)
            ]
            columns["declined"] = decision.declined
            columns["expected_cost"] = decision.cost
        if self._explain:
            columns |= self._contributions(X)
        return columns

    def _contributions(self, X: Any) -> dict[str, Any]:
        """What each column added to the log-odds of the predicted label against the others."""
        values, base, names = self._classifier.contributions(X)
        best = self._classifier.predict_proba(X).argmax(axis=1)
        rows = np.arange(len(best))
        own = values[rows, :, best]
        columns = {"contribution_base": base[rows, best]}
        return columns | {f"contribution_{name}": own[:, j] for j, name in enumerate(names)}


def cost_table(given: Sequence[str], labels: list[str]) -> Array:
    """Costs (C, C) from texts TRUE:DECIDED=COST; mistakes that are not named cost 1."""
    table = 1.0 - np.eye(len(labels))
    pairs = {
        f"{true}:{decided}": (i, j)
        for i, true in enumerate(labels)
        for j, decided in enumerate(labels)
    }
    named: dict[str, str] = {}
    for text in given:
        pair, _, number = text.rpartition("=")
        if pair in named:
            raise TableError(
                f"--cost {named[pair]!r} and --cost {text!r} say twice what one mistake costs; "
                "pass one of them"
            )
        named[pair] = text
        try:
            table[pairs[pair]] = float(number)
        except (KeyError, ValueError):
            example = f"{labels[0]}:{labels[1]}=5"
            raise TableError(
                f"--cost {text!r} is not TRUE:DECIDED=COST with labels among {labels[:5]}; "
                f"an example: {example}"
            ) from None
    return table
