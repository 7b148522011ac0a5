"""`dirichletgp evaluate`: how good is a model on labelled rows?"""

from typing import Annotated

import numpy as np
import typer

from .._gp.rows.tables import read_table
from .options import AcceptNew, Encoding, Format, Json, ModelPath
from .scores import print_scores, public, scores
from .speaking import Complaints, plainly, put_json
from .tabular_model import TabularModel


@plainly
def evaluate(
    model: ModelPath,
    table: Annotated[str, typer.Argument(help="Table of labelled rows; - is CSV on stdin.")],
    accept_new: AcceptNew = False,
    format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Measure a model on labelled rows: accuracy, calibration, log loss and Brier score, with intervals."""
    fitted = TabularModel.load(model)
    X, y = fitted.labelled(read_table(table, format, encoding), table, Complaints(accept_new))
    classifier = fitted.classifier
    found = scores(classifier.predict_proba(X), np.searchsorted(classifier.classes_, y))
    if as_json:
        put_json({"model": model, "table": table} | public(found))
    else:
        print_scores(found, f"of {table}")
