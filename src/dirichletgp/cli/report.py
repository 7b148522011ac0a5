"""`dirichletgp report`: an HTML report of a model on labelled rows."""

from pathlib import Path
from typing import Annotated

import typer

from .._gp.rows.tables import check_destination, read_table
from .fit import write_table_report
from .options import AcceptNew, Encoding, Format, Json, ModelPath
from .speaking import Complaints, plainly, put_json, say
from .tabular_model import ShownRows, TabularModel


@plainly
def report(
    model: ModelPath,
    table: Annotated[
        str, typer.Argument(help="Table of labelled rows that the model was not fitted to.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    accept_new: AcceptNew = False,
    format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Write a report of a model on labelled rows: one HTML file that opens offline and prints well."""
    check_destination(output)
    fitted, rows = TabularModel.load(model), read_table(table, format, encoding)
    X, y = fitted.labelled(rows, table, Complaints(accept_new))
    write_table_report(
        output, fitted, X, y, ShownRows(rows, fitted.table_recipe.target, Path(table).name)
    )
    if as_json:
        put_json({"model": model, "table": table, "rows": len(y), "report": str(output)})
    else:
        say(f"report of {len(y):,} rows written to {output}")
