"""`dirichletgp evaluate`: how good is a model on labelled rows?"""

from typing import Annotated

import numpy as np
import typer

from .._gp.rows.tables.reading import read_table
from .console import print_json, say, with_one_line_errors
from .new_values import NewValues
from .options import AcceptNew, DropUnlabelled, Encoding, Format, Json, ModelPath, TargetName
from .scores import measured, print_scores
from .table_model import TableModel
from .voted_table import labelled_or_voted, one_or_several


@with_one_line_errors
def evaluate(
    model: ModelPath,
    table: Annotated[str, typer.Argument(help="Table of labelled rows; - is CSV on stdin.")],
    target: TargetName = None,
    accept_new: AcceptNew = False,
    drop_unlabelled: DropUnlabelled = False,
    format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Measure a model on labelled rows: accuracy, calibration, log loss and Brier score.

    Every number comes with an interval.
    """
    fitted = TableModel.load(model, one_or_several(target) if target else None)
    read = read_table(table, format, encoding)
    rows = labelled_or_voted(read, fitted.target, table, drop_unlabelled)
    X, y = fitted.rows_and_labels(rows, table, NewValues(accept_new))
    codes = np.searchsorted(fitted.classifier.classes_, y)
    classes = fitted.classifier.classes_
    scores = measured(fitted.classifier.predict_proba(X), codes, classes)
    warnings = fitted.warnings(X, y)
    for warning in warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json({"model": model, "table": table, "warnings": warnings} | scores.as_json())
    else:
        print_scores(scores, f"of {table}")
