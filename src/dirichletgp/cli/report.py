"""`dirichletgp report`: an HTML report of a model on labelled rows."""

from pathlib import Path
from typing import Annotated

import typer

from .._gp.rows.tables.reading import read_table
from ..persistence.file_kinds import PAGE
from .console import print_json, say, with_one_line_errors
from .destinations import Output, check_outputs
from .new_values import NewValues
from .options import (
    AcceptNew,
    DropUnlabelled,
    Encoding,
    Force,
    Format,
    Json,
    ModelPath,
    ShowValues,
    TargetName,
)
from .table_model import TableModel
from .table_report import ShownRows, check_possible, write_table_report
from .voted_table import labelled_or_voted, one_or_several


@with_one_line_errors
def report(
    model: ModelPath,
    table: Annotated[
        str, typer.Argument(help="Table of labelled rows that the model was not fitted to.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    target: TargetName = None,
    accept_new: AcceptNew = False,
    drop_unlabelled: DropUnlabelled = False,
    format: Format = None,
    encoding: Encoding = "utf-8",
    show_values: ShowValues = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a report of a model on labelled rows.

    It is one HTML file that opens offline and prints well.
    """
    check_possible()
    check_outputs([Output("--output", output, PAGE)], (model, table), force)
    fitted = TableModel.load(model, one_or_several(target) if target else None)
    read = read_table(table, format, encoding)
    rows = labelled_or_voted(read, fitted.target, table, drop_unlabelled)
    X, y = fitted.rows_and_labels(rows, table, NewValues(accept_new))
    shown = ShownRows(rows, fitted.target, Path(table).name, show_values)
    warnings = fitted.warnings(X, y)
    for warning in warnings:
        say(f"warning: {warning}")
    write_table_report(output, fitted, X, y, shown, warnings)
    if as_json:
        written = {"model": model, "table": table, "rows": len(y), "report": str(output)}
        print_json(written | {"warnings": warnings})
    else:
        say(f"report of {len(y):,} rows written to {output}")
