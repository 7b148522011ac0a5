"""`dirichletgp predict`: probabilities, labels, sets, decisions and explanations of rows."""

import time
from collections.abc import Container
from typing import Annotated, Any

import numpy as np
import typer

from .._gp.core.arrays import Array
from .._gp.core.probabilities.dirichlet import dirichlet_interval, dirichlet_uncertainty
from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.reading import open_table
from ..persistence.file_kinds import TABLE
from .console import print_json, say, with_one_line_errors
from .decision_columns import DecisionColumns
from .destinations import STANDARD_OUTPUT, Output, check_outputs
from .earlier_tables import EarlierTable
from .new_values import NewValues
from .options import AcceptNew, Encoding, Force, Format, ModelPath
from .table_model import TableModel
from .table_writing import open_writer

_INTERVAL = 0.95
_RESULT = EarlierTable("predict", ("label", "probability", "uncertainty", "noise", "lack_of_data"))


@with_one_line_errors
def predict(
    model: ModelPath,
    table: Annotated[
        str, typer.Argument(help="Table of rows: CSV, Parquet or Arrow; - is CSV on stdin.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write; - is CSV on stdout.")
    ] = STANDARD_OUTPUT,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to carry over, such as an id (repeatable).")
    ] = None,
    interval: Annotated[
        bool, typer.Option(help="Whether to compute intervals; many classes are faster without.")
    ] = True,
    coverage: Annotated[
        float | None,
        typer.Option("--set", help="Add the set of labels with this coverage, such as 0.9."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add what each column contributed to the label.")
    ] = False,
    cost: Annotated[
        list[str] | None,
        typer.Option(help="Add decisions; TRUE:DECIDED=COST, else 1 if wrong (repeatable)."),
    ] = None,
    decline: Annotated[
        float | None, typer.Option(help="Add decisions; what it costs to decline.")
    ] = None,
    accept_new: AcceptNew = False,
    format: Format = None,
    output_format: Format = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a summary as JSON (with -o to a file).")
    ] = False,
) -> None:
    """Predict the rows of a table of any size, a batch at a time.

    Columns of the result: the label, its probability with a 95 % credible interval, uncertainty in
    nats (all of it, the part that is noise, the part that is lack of data), and the probability of
    every class. On request sets, decisions of least expected cost, and contributions of columns.
    """
    start = time.perf_counter()
    if as_json and output == STANDARD_OUTPUT:
        raise TableError(
            "--json and predictions cannot both go to standard output; pass -o with a file"
        )
    check_outputs([Output("--output", output, TABLE, _RESULT)], (model, table), force)
    fitted = TableModel.load(model)
    more = DecisionColumns(fitted, coverage, explain, cost or [], decline)
    rows = open_table(table, format, encoding)
    new_values = NewValues(accept_new)
    needed = fitted.available(rows.columns, rows.name, new_values)
    kept = keep or []
    for name in kept:
        if name not in rows.columns:
            raise TableError(f"{rows.name} has no column {name!r} to keep")
    wanted = list(dict.fromkeys([*needed, *kept]))
    n_rows = 0
    with open_writer(output, output_format) as write:
        for batch in rows.batches(wanted):
            X = fitted.rows(batch, new_values)
            found = _predicted(fitted, X, interval) | more.of_rows(X)
            names = {name: _free_name(name, found) for name in kept}
            for name, free in names.items():
                if free != name and not n_rows:
                    say(f"note: column {name!r} is kept as {free!r}; predictions have that name")
            write(_batch({free: batch.column(name) for name, free in names.items()} | found))
            n_rows += batch.num_rows
            new_values.rows_before = n_rows
        if not n_rows:
            raise TableError(f"{rows.name} has no rows")
    seconds = time.perf_counter() - start
    if as_json:
        summary = {"rows": n_rows, "output": output, "seconds": round(seconds, 2)}
        print_json(summary | {"notes": new_values.notes})
    elif output != STANDARD_OUTPUT:
        say(f"{n_rows:,} rows predicted in {seconds:.1f} s, written to {output}")


def _free_name(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _batch(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(columns)


def _predicted(fitted: TableModel, X: Array, interval: bool) -> dict[str, Any]:
    """Columns of the result for rows X (n, D)."""
    import pyarrow as pa

    classes = fitted.classifier.classes_
    known = fitted.classifier.predict_dirichlet(X)
    prob = known / known.sum(axis=1, keepdims=True)
    best = prob.argmax(axis=1)
    rows = np.arange(len(best))
    columns = {
        "label": pa.array([str(label) for label in classes[best].tolist()], pa.string()),
        "probability": prob[rows, best],
    }
    if interval:
        lower, upper = dirichlet_interval(known, _INTERVAL)
        columns["lower"] = lower[rows, best]
        columns["upper"] = upper[rows, best]
    total, noise, lack_of_data = dirichlet_uncertainty(known)
    columns["uncertainty"] = np.maximum(total, 0.0)
    columns["noise"] = np.maximum(noise, 0.0)
    columns["lack_of_data"] = np.maximum(lack_of_data, 0.0)
    for place, label in enumerate(classes.tolist()):
        columns[f"probability_{label}"] = prob[:, place]
    return columns
