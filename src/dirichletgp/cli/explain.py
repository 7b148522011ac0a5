"""`dirichletgp explain`: which columns the predictions of a table's rows stand on."""

from typing import Annotated

import numpy as np
import typer

from .._gp.rows.tables.reading import read_table
from .console import in_markup, print_json, with_one_line_errors
from .new_values import NewValues
from .options import AcceptNew, Encoding, Format, Json, ModelPath
from .table_model import TableModel


@with_one_line_errors
def explain(
    model: ModelPath,
    table: Annotated[str, typer.Argument(help="Table of rows; - is CSV on stdin.")],
    accept_new: AcceptNew = False,
    format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Say how much each column contributes to the predictions of a table's rows, on average.

    Contributions are exact Shapley values of the log-odds; `dirichletgp predict --explain` has
    those of every row.
    """
    fitted = TableModel.load(model)
    rows = read_table(table, format, encoding)
    new_values = NewValues(accept_new)
    fitted.available(rows.column_names, table, new_values)
    values, _, names = fitted.classifier.contributions(fitted.rows(rows, new_values))
    importance = np.abs(values).mean(axis=(0, 2))
    order = np.argsort(-importance, kind="stable").tolist()
    if as_json:
        found = [{"column": names[j], "importance": float(importance[j])} for j in order]
        print_json({"model": model, "table": table, "rows": len(values), "columns": found})
        return
    from rich.console import Console
    from rich.table import Table

    shown = Table(
        title=f"{len(values):,} rows of {in_markup(table)}", title_justify="left", box=None
    )
    shown.add_column("column")
    shown.add_column("mean size of the contribution to the log-odds", justify="right")
    for j in order:
        shown.add_row(in_markup(names[j]), f"{importance[j]:.3f}")
    Console().print(shown)
