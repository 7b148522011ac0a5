"""`dirichletgp audit`: rows of a table whose label looks wrong."""

import time
from typing import Annotated, Any

import numpy as np
import typer

from .._gp.classifier import DirichletGPClassifier
from .._gp.core.parallel import effective_threads
from .._gp.decisions.label_issues import UNLIKELY, LabelIssues
from .._gp.rows.arrays import ArrayRows
from .._gp.rows.columns import Matrix
from .._gp.rows.frames import Frame
from .._gp.rows.learning import learned_columns
from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.reading import read_table
from .._gp.training.kernel_choice import AUTO
from .._gp.training.settings import choice
from ..persistence.file_kinds import TABLE
from .column_options import wishes_of
from .console import print_json, say, with_one_line_errors
from .destinations import STANDARD_OUTPUT, Output, check_outputs
from .earlier_tables import EarlierTable
from .labelled_table import LabelledTable
from .new_values import NewValues
from .options import DropUnlabelled, Encoding, Force, Format, KernelName, kernel_choices
from .progress_bar import progress_bar
from .table_writing import open_writer
from .training_rows import check_classes
from .voted_table import VotesByClass, labelled_or_voted, one_or_several

_SHOWN = 10
_OWN_COLUMNS = ("row", "given", "suggested", "probability", "suggested_probability", "twin")
_RESULT = EarlierTable("audit", _OWN_COLUMNS)


@with_one_line_errors
def audit(
    table: Annotated[
        str,
        typer.Argument(help="Table of labelled rows: CSV, Parquet or Arrow; - is CSV on stdin."),
    ],
    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            "-t",
            help="The column of labels; or, repeated, a column of votes for each class.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write; - is CSV on stdout.")
    ] = STANDARD_OUTPUT,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out (repeatable).")
    ] = None,
    drop_unlabelled: DropUnlabelled = False,
    n_inducing: Annotated[
        int | None,
        typer.Option(min=1, help="Inducing points: more are better and slower; by default 1000."),
    ] = None,
    kernel: KernelName = AUTO,
    seed: Annotated[int, typer.Option(min=0, help="Decides where the search starts.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads.")] = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a summary as JSON (with -o to a file).")
    ] = False,
) -> None:
    """List rows whose label looks wrong, the most suspicious first.

    A model is fitted to all rows, and each is predicted without itself. Columns of the result: the
    number of the row, its label, the label that is likelier, the probability of either, the number
    of a row that is all but the same and has another label (a twin), and the row itself. Of votes
    the label is the one with most of them; all votes of a row are left out together.
    """
    start = time.perf_counter()
    if as_json and output == STANDARD_OUTPUT:
        raise TableError("--json and the list cannot both go to standard output; pass -o")
    check_outputs([Output("--output", output, TABLE, _RESULT)], (table,), force)
    choice("kernel", kernel, kernel_choices())
    effective_threads(jobs)
    wanted = one_or_several(target)
    rows = labelled_or_voted(
        read_table(table, format, encoding), wanted, table, drop_unlabelled, seed
    )
    check_classes(rows, wanted, table)
    classifier = DirichletGPClassifier(
        kernel, n_inducing=n_inducing, random_state=seed, n_jobs=jobs
    )
    quiet = as_json or output == STANDARD_OUTPUT
    issues = _issues(classifier, rows, target, drop or [], quiet)
    with open_writer(output) as write:
        write(_listed(issues, rows, target))
    seconds = round(time.perf_counter() - start, 2)
    if as_json:
        shown = [_entry(issues, rows, place) for place in range(min(_SHOWN, len(issues)))]
        print_json(
            {
                "table": table,
                "rows": len(rows.numbers),
                "issues": len(issues),
                "unlikely": issues.n_unlikely,
                "expected": round(issues.expected, 1),
                "output": output,
                "seconds": seconds,
                "first": shown,
            }
        )
    elif output != STANDARD_OUTPUT:
        say(_in_words(issues, len(rows.numbers)))
        say(f"the list, the most suspicious first, is in {output} ({seconds:.0f} s)")


def _issues(
    classifier: DirichletGPClassifier,
    rows: LabelledTable,
    target: list[str],
    drop: list[str],
    quiet: bool,
) -> LabelIssues:
    """Fit to all rows, and leave each out."""
    from pyarrow import types

    features = rows.table.drop_columns(target)
    typed = not all(types.is_string(field.type) for field in features.schema)
    wishes = wishes_of(
        features.column_names,
        typed=typed,
        drop=drop,
        numbers=(),
        categories=(),
        date_formats=(),
        decimal=None,
    )
    columns = learned_columns(Frame(features), wishes, rows.labels)
    X = columns.matrix(features, NewValues(accept=True))
    with progress_bar(classifier.max_iter, visible=not quiet):
        classifier.fit(ArrayRows(rows.training_rows(X), columns))
    given: Any = rows.labels
    if rows.votes is not None:
        given = VotesByClass(list(rows.texts.distinct), rows.votes)
    return classifier.label_issues(Matrix.of(X), given)


def _listed(issues: LabelIssues, rows: LabelledTable, target: list[str]) -> Any:
    """The list as an Arrow batch, with the rows themselves."""
    import pyarrow as pa

    twins = [None if twin < 0 else int(rows.numbers[twin]) for twin in issues.twin.tolist()]
    columns: dict[str, Any] = {
        "row": rows.numbers[issues.rows],
        "given": pa.array([str(label) for label in issues.given.tolist()], pa.string()),
        "suggested": pa.array([str(label) for label in issues.suggested.tolist()], pa.string()),
        "probability": issues.probability,
        "suggested_probability": issues.suggested_probability,
        "twin": pa.array(twins, pa.int64()),
    }
    listed = rows.table.take(issues.rows)
    for name in listed.column_names:
        if name not in target or rows.votes is not None:
            free = f"{name}_" if name in _OWN_COLUMNS else name
            columns[free] = listed.column(name).combine_chunks()
    return pa.RecordBatch.from_pydict(columns)


def _in_words(issues: LabelIssues, n_rows: int) -> str:
    """How many labels to look at: where classes overlap, a label may be unlikely and right."""
    said = (
        f"{len(issues):,} of {n_rows:,} labels are not the likeliest of their row, "
        f"{issues.n_unlikely:,} of them have a probability below {100 * UNLIKELY:.0f} %"
    )
    if issues.voted:
        return said
    return (
        f"{said}; by these probabilities about {issues.expected:,.0f} would not be the likeliest "
        "by chance alone"
    )


def _entry(issues: LabelIssues, rows: LabelledTable, place: int) -> dict[str, Any]:
    twin = int(issues.twin[place])
    return {
        "row": int(rows.numbers[issues.rows[place]]),
        "given": str(issues.given[place]),
        "suggested": str(issues.suggested[place]),
        "probability": float(np.round(issues.probability[place], 6)),
        "twin": None if twin < 0 else int(rows.numbers[twin]),
    }
