"""The HTML report of a model on labelled rows of a table."""

from pathlib import Path
from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from .table_model import TableModel

_MOST_NAMED = 10


class ShownRows:
    """The columns of a table as people know them, for the rows of a report.

    Parameters
    ----------
    table : pyarrow.Table
    target : str
        The column that is left out.
    source : str
        Where the table comes from.
    numbers : ndarray of shape (n,), default=None
        Which rows of the source these are, counted from one; None: all of them.
    """

    def __init__(self, table: Any, target: str, source: str, numbers: Integers | None = None):
        self.source = source
        self.numbers = np.arange(1, table.num_rows + 1) if numbers is None else numbers
        self.columns = [name for name in table.column_names if name != target]
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, number: int) -> list[Any]:
        return [self._table.column(name)[number].as_py() for name in self.columns]


def write_table_report(
    path: Path, model: TableModel, X: Array, y: AnyArray, shown: ShownRows
) -> None:
    """Write the report of a model on labelled rows of a table."""
    from ..report import write_report

    write_report(
        path,
        model.classifier,
        X,
        y,
        title=f"How well is {model.recipe.target} predicted?",
        feature_names=model.recipe.features,
        shown=shown,
        made=_how_it_was_made(model),
    )


def _how_it_was_made(model: TableModel) -> dict[str, str]:
    recipe = model.recipe
    unused = [column for column in recipe.columns if not column.features]
    used = len(recipe.columns) - len(unused)
    made = {
        "Source": f"{model.facts.get('source', 'unknown')}, target {recipe.target}",
        "Columns": f"{used} of {len(recipe.columns)} used, as {len(recipe.features)} features",
    }
    if unused:
        reasons = [f"{c.name} ({c.treatment.removeprefix('not used: ')})" for c in unused]
        more = " ..." if len(reasons) > _MOST_NAMED else ""
        made["Columns left out"] = ", ".join(reasons[:_MOST_NAMED]) + more
    return made
