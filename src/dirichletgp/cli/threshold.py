"""`dirichletgp threshold`: from which probability on a label has a precision or a recall."""

from math import isinf
from typing import Annotated, Any
from warnings import catch_warnings, simplefilter

import typer

from .._gp.core.arrays import AnyArray
from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.reading import read_table
from .class_names import class_called
from .console import print_json, printable, say, with_one_line_errors
from .labelled_table import listed
from .new_values import NewValues
from .options import AcceptNew, DropUnlabelled, Encoding, Format, Json, ModelPath, TargetName
from .table_model import TableModel
from .voted_table import labelled_or_voted, one_or_several

# With more rows than this share that are none of the fit, the table is not that of the fit.
_MOST_STRANGERS = 0.5


@with_one_line_errors
def threshold(
    model: ModelPath,
    table: Annotated[str, typer.Argument(help="Table of rows that the model was fitted to.")],
    label: Annotated[
        str | None, typer.Option(help="The label; by default the second of two.")
    ] = None,
    precision: Annotated[float | None, typer.Option(help="The precision that is wanted.")] = None,
    recall: Annotated[float | None, typer.Option(help="The recall that is wanted.")] = None,
    new_rows: Annotated[
        bool,
        typer.Option("--new-rows", help="The rows are not those that the model was fitted to."),
    ] = False,
    target: TargetName = None,
    accept_new: AcceptNew = False,
    drop_unlabelled: DropUnlabelled = False,
    format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Find the threshold on a label's probability that reaches a precision or a recall.

    The rows that the model was fitted to choose it, each predicted without itself; or, with
    --new-rows, rows that it was not fitted to.
    """
    if (precision is None) == (recall is None):
        given = "neither" if precision is None else "both"
        raise TableError(
            f"{given} of --precision and --recall: say which of the two is wanted, and how much",
            "one of them, such as --precision 0.9",
        )
    fitted = TableModel.load(model, one_or_several(target) if target else None)
    if not isinstance(fitted.target, str) and not new_rows:
        raise TableError(
            "the model was fitted to votes, and rows it was fitted to have no one label; "
            "pass other rows and --new-rows"
        )
    classes = fitted.classifier.classes_
    labels = [str(known) for known in classes.tolist()]
    place = 1 if label is None else class_called(label, classes)
    if label is None and len(labels) > 2:
        raise TableError(f"the model has {len(labels)} labels: {listed(labels)}", "--label")
    if place is None:
        raise TableError(f"--label {label!r} is none of the labels: {listed(labels)}")
    wanted_label = classes.tolist()[place]
    read = read_table(table, format, encoding)
    rows = labelled_or_voted(read, fitted.target, table, drop_unlabelled)
    X, y = fitted.rows_and_labels(rows, table, NewValues(accept_new))
    warnings = fitted.warnings(X, y) if new_rows else _about_strangers(fitted, X, y)
    for warning in warnings:
        say(f"warning: {warning}")
    wanted: dict[str, Any] = {"precision": precision, "recall": recall, "label": wanted_label}
    with catch_warnings():
        # What the estimator says of strangers was said, in the words of the command line.
        simplefilter("ignore", UserWarning)
        found = fitted.classifier.threshold(X, y, left_out=not new_rows, **wanted)
    if as_json:
        asked = {"model": model, "table": table, "rows": len(y), "label": labels[place]}
        print_json(asked | {"warnings": warnings} | found._asdict())
        return
    low, high = found.value_interval
    print(f"label {printable(labels[place])}")
    if isinf(found.value):
        print(f"no threshold reaches a precision of {precision:g} on these rows")
        return
    print(f"threshold {found.value:.4f} (95 % interval {low:.4f} to {high:.4f})")
    for name in ("precision", "recall"):
        low, high = getattr(found, f"{name}_interval")
        print(f"{name} {getattr(found, name):.3f} ({low:.3f} to {high:.3f})")
    how = "taken as new" if new_rows else "each predicted without itself"
    say(f"from {len(y):,} rows, {how}")


def _about_strangers(fitted: TableModel, X: AnyArray, y: AnyArray) -> list[str]:
    """What to say of rows (n, D) with labels (n,) that are to be left out and were never there.

    `TableError` if most of them were not: these are not the rows of the fit.
    """
    strangers = fitted.classifier.rows_not_seen_in(X, y)
    if strangers is None:
        return []
    if strangers.share > _MOST_STRANGERS:
        raise TableError(
            f"{strangers.said}: what was never there cannot be left out; pass the table of the fit "
            "as it was, or --new-rows for rows that the model has never seen"
        )
    return [
        f"{strangers.said}: their probabilities are wrong here. Pass the rows of the fit alone "
        "(fit --no-refit holds some out), or fit again if labels were corrected"
    ]
