"""`dirichletgp predict`: probabilities, labels, intervals and uncertainties of the rows of a table."""

import time
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from .._gp.core.probabilities.softmax import class_probabilities, probability_interval, uncertainty
from .._gp.rows.tables import TableError, open_table, open_writer
from .options import AcceptNew, Encoding, Format, ModelPath
from .speaking import Complaints, plainly, put_json, say
from .tabular_model import TabularModel

_INTERVAL = 0.95


@plainly
def predict(
    model: ModelPath,
    table: Annotated[
        str, typer.Argument(help="Table of rows: CSV, Parquet or Arrow; - is CSV on stdin.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write; - is CSV on stdout.")
    ] = "-",
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to carry over, such as an id (repeatable).")
    ] = None,
    interval: Annotated[
        bool, typer.Option(help="Whether to compute intervals; many classes are faster without.")
    ] = True,
    accept_new: AcceptNew = False,
    format: Format = None,
    output_format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a summary as JSON (with -o to a file).")
    ] = False,
) -> None:
    """Predict the rows of a table of any size, a batch at a time.

    Columns of the result: the label, its probability with a 95 % credible interval, uncertainty in
    nats (all of it, the part that is noise, the part that is lack of data), and the probability of
    every class.
    """
    start = time.perf_counter()
    if as_json and output == "-":
        raise TableError(
            "--json and predictions cannot both go to standard output; pass -o with a file"
        )
    fitted, rows = TabularModel.load(model), 0
    complaints = Complaints(accept_new)
    with open_table(table, format, encoding) as batches:
        fitted.table_recipe.check(batches.columns, batches.name)
        for name in keep or ():
            if name not in batches.columns:
                raise TableError(f"{batches.name} has no column {name!r} to keep")
        with open_writer(output, output_format) as write:
            for batch in batches:
                write(_predicted(fitted, batch, keep or [], interval, complaints))
                rows += batch.num_rows
            if not rows:
                raise TableError(f"{batches.name} has no rows")
    seconds = time.perf_counter() - start
    if as_json:
        put_json(
            {
                "rows": rows,
                "output": output,
                "seconds": round(seconds, 2),
                "notes": complaints.notes,
            }
        )
    elif output != "-":
        say(f"{rows:,} rows predicted in {seconds:.1f} s, written to {output}")


def _predicted(
    fitted: TabularModel, batch: Any, keep: list[str], interval: bool, complaints: Complaints
) -> Any:
    """The result for a batch of rows, as an Arrow batch."""
    import pyarrow as pa

    classes = fitted.classifier.classes_
    mean, variance = fitted.classifier.latent_mean_and_variance(
        fitted.table_recipe.rows(batch, complaints)
    )
    prob = class_probabilities(mean, variance)
    best = prob.argmax(axis=1)
    rows = np.arange(len(best))
    columns: dict[str, Any] = {name: batch.column(name) for name in keep}
    columns["label"] = pa.array(classes[best].tolist(), pa.string())
    columns["probability"] = prob[rows, best]
    if interval:
        lower, upper = probability_interval(mean, variance, _INTERVAL)
        columns |= {"lower": lower[rows, best], "upper": upper[rows, best]}
    columns |= dict(
        zip(("uncertainty", "noise", "lack_of_data"), _nats(mean, variance), strict=True)
    )
    columns |= {f"probability_{label}": prob[:, c] for c, label in enumerate(classes.tolist())}
    return pa.RecordBatch.from_pydict(columns)


def _nats(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [np.maximum(part, 0.0) for part in uncertainty(mean, variance)]
