"""`dirichletgp fit`: from a table to a model file, with a test on rows held out."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.base import clone

from .._gp.classifier import DirichletGPClassifier
from .._gp.core.parallel import effective_threads
from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.reading import read_table
from .._gp.training.kernel_choice import AUTO
from .._gp.training.settings import choice
from ..persistence.file_kinds import MODEL, PAGE
from .class_names import as_classes
from .column_options import wishes_of
from .console import print_json, say, with_one_line_errors
from .destinations import Output, can_be_replaced, check_outputs
from .options import (
    DropUnlabelled,
    Encoding,
    Force,
    Format,
    Json,
    KernelName,
    ShowValues,
    kernel_choices,
)
from .prepared_rows import Experiment
from .printed_columns import print_columns
from .progress_bar import progress_bar
from .scores import measured, print_scores
from .table_model import TableModel
from .table_report import ShownRows, check_possible, write_table_report
from .training_rows import SplitTable, check_classes, hold_out
from .voted_table import labelled_or_voted, one_or_several


@with_one_line_errors
def fit(
    train: Annotated[
        str,
        typer.Argument(help="Table of labelled rows: CSV, Parquet or Arrow; - is CSV on stdin."),
    ],
    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            "-t",
            help="The column to predict; or, repeated, a column of votes for each class.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")] = Path(
        "model.dgp"
    ),
    test: Annotated[
        str | None, typer.Option(help="Table to test on; without it, rows are held out.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report, an HTML file.")] = None,
    test_share: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of rows to hold out.")
    ] = 0.25,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out (repeatable).")
    ] = None,
    number: Annotated[
        list[str] | None,
        typer.Option(help="A column of numbers; other texts in it are missing (repeatable)."),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help="A column of categories, though they may be numbers (repeatable)."),
    ] = None,
    date_format: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=%d.%m.%Y, or a format to try on all columns (repeatable)."),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option(help="Whether to fit again, to all rows, once held-out rows have measured."),
    ] = True,
    decimal: Annotated[
        str | None, typer.Option(help="The mark before fractions: . or ,", metavar="MARK")
    ] = None,
    drop_unlabelled: DropUnlabelled = False,
    n_inducing: Annotated[
        int | None,
        typer.Option(min=1, help="Inducing points: more are better and slower; by default 1000."),
    ] = None,
    n_regions: Annotated[
        int | None,
        typer.Option(min=1, help="Regions with points of their own; by default as many as pay."),
    ] = None,
    kernel: KernelName = AUTO,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Decides which rows are held out, and where the search starts."),
    ] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads.")] = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    show_values: ShowValues = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Learn to predict a column of a table, and measure how well on rows that were held out.

    Numbers, categories, dates and missing values are taken as they come; what was done with each
    column is printed. Once it is measured, the model is fitted again, to all rows.
    """
    start = time.perf_counter()
    choice("kernel", kernel, kernel_choices())
    effective_threads(jobs)
    outputs = [Output("--output", output, MODEL)]
    if report is not None:
        outputs.append(Output("--report", report, PAGE))
        check_possible()
    check_outputs(outputs, (train, test), force)

    wanted = one_or_several(target)
    table = read_table(train, format, encoding)
    rows = labelled_or_voted(table, wanted, train, drop_unlabelled, seed)
    check_classes(rows, wanted, train)
    if test is None:
        split = hold_out(rows, test_share, seed)
        tested_on = "held out"
    else:
        test_table = read_table(test, None, encoding)
        test_rows = labelled_or_voted(test_table, wanted, test, drop_unlabelled, seed)
        tested_on = f"of {test}"
        where = f"{test}: the target {', '.join(target)!r}"
        known = as_classes(test_rows.texts, np.unique(rows.labels), where)
        if rows.votes is None:  # votes are in the order of their columns
            test_rows = test_rows._replace(texts=known)
        split = SplitTable(rows, test_rows)
    if rows.votes is not None:
        tested_on += ", each with one of its votes"
    names = [name for name in rows.table.column_names if name not in target]
    dropped = [name for name in target if name in (drop or ())]
    if dropped:
        raise TableError(f"--drop {dropped[0]}: that is the target, which is to be predicted")
    if not names:
        raise TableError("no column can be used: there is none besides the target")
    wishes = wishes_of(
        names,
        typed=not _all_texts(rows.table.select(names)),
        drop=drop or (),
        numbers=number or (),
        categories=category or (),
        date_formats=date_format or (),
        decimal=decimal,
    )
    # Rows of a test table of its own are not learned from.
    again = refit and test is None
    rows_of = Experiment.prepared(rows, split, names, wishes, test or train, again)
    if not as_json:
        title = f"{len(rows_of.train.labels):,} rows to learn from"
        print_columns(rows_of.train.columns.described(), title)
        print()
    for caution in rows_of.cautions:
        say(f"warning: {caution}")

    classifier = DirichletGPClassifier(
        kernel,
        n_inducing=n_inducing,
        n_regions="auto" if n_regions is None else n_regions,
        random_state=seed,
        n_jobs=jobs,
    )
    with progress_bar(classifier.max_iter, visible=not as_json):
        classifier.fit(rows_of.train.source())
    codes = np.searchsorted(classifier.classes_, rows_of.y_test)
    scores = measured(classifier.predict_proba(rows_of.X_test), codes, classifier.classes_, seed)
    facts = {
        "source": Path(train).name,
        "training_rows": len(rows_of.train.labels),
        "refitted": False,
        "tested_on": tested_on if test is None else tested_on.replace(test, Path(test).name),
        "test": scores.as_json(),
        "warnings": rows_of.cautions,
    }
    tested = TableModel(classifier, wanted, facts)
    if rows_of.again is None or can_be_replaced(output):
        tested.save(output)
    if not as_json:
        print_scores(scores, tested_on)
    if rows_of.again is not None:
        n_rows = len(rows_of.again.labels)
        final = clone(classifier)
        with progress_bar(classifier.max_iter, visible=not as_json):
            final.fit(rows_of.again.source())
        facts = facts | {"training_rows": n_rows, "refitted": True}
        TableModel(final, wanted, facts).save(output)
    if report is not None:
        shown = ShownRows(split.test, wanted, Path(test or train).name, show_values)
        tested = replace(tested, facts=facts)
        X, y = rows_of.X_test, rows_of.y_test
        write_table_report(report, tested, X, y, shown, rows_of.cautions)

    seconds = time.perf_counter() - start
    if as_json:
        written = {"model": str(output), "report": None if report is None else str(report)}
        columns = (rows_of.again or rows_of.train).columns
        said = [{"name": name, "treatment": words} for name, words in columns.described()]
        print_json(written | {"seconds": round(seconds, 2), "columns": said} | facts)
        return
    say(_closing(output, report, facts, seconds))


def _closing(output: Path, report: Path | None, facts: Mapping[str, Any], seconds: float) -> str:
    """What was written, and which rows the model has seen."""
    rows = f"{facts['training_rows']:,} rows"
    which = f"fitted to {rows}"
    if facts["refitted"]:
        which = f"fitted again, to all {rows}, after it was measured"
    and_report = f", report to {report}" if report else ""
    return f"\nmodel written to {output} ({which}){and_report}, in {seconds:.0f} s"


def _all_texts(table: Any) -> bool:
    """Whether the types of columns say nothing, as those of CSV."""
    from pyarrow import types

    return all(types.is_string(field.type) for field in table.schema)
