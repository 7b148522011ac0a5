"""`dirichletgp fit`: from a table to a model file, with a test on rows held out."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from .._gp.classifier import DirichletGPClassifier
from .._gp.core.parallel import effective_threads
from .._gp.rows.tables.learning import learn_recipe
from .._gp.rows.tables.reading import read_table
from .._gp.rows.tables.recipe import Recipe
from .._gp.training.settings import choice
from .console import print_json, say, with_one_line_errors
from .new_values import NewValues
from .options import Encoding, Format, Json, KernelName, kernel_choices
from .progress_bar import progress_bar
from .scores import measured, print_scores
from .table_model import TableModel
from .table_report import ShownRows, write_table_report
from .table_writing import check_destination
from .training_rows import SplitTable, class_labels, hold_out

_MOST_COLUMNS = 60


@with_one_line_errors
def fit(
    train: Annotated[
        str,
        typer.Argument(help="Table of labelled rows: CSV, Parquet or Arrow; - is CSV on stdin."),
    ],
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.")],
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
    n_inducing: Annotated[
        int | None,
        typer.Option(min=1, help="Inducing points: more are better and slower; by default 1000."),
    ] = None,
    kernel: KernelName = "rbf",
    seed: Annotated[
        int,
        typer.Option(min=0, help="Decides which rows are held out, and where the search starts."),
    ] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads.")] = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Learn to predict a column of a table, and measure how well on rows that were held out.

    Numbers, categories, dates and missing values are taken as they come; what was done with each
    column is printed.
    """
    start = time.perf_counter()
    choice("kernel", kernel, kernel_choices())
    effective_threads(jobs)
    for path in (output, report):
        if path is not None:
            check_destination(path)

    table = read_table(train, format, encoding)
    labels = class_labels(table, target, train)
    if test is None:
        split = hold_out(table, labels, test_share, seed)
        tested_on = "held out"
    else:
        split = SplitTable(table, labels, read_table(test, None, encoding))
        tested_on = f"of {test}"
    recipe = learn_recipe(split.train, target, tuple(drop or ()))
    if not as_json:
        _print_columns(recipe, split.train.num_rows)

    accept_all = NewValues(accept=True)
    classifier = DirichletGPClassifier(
        kernel, n_inducing=n_inducing, random_state=seed, n_jobs=jobs
    )
    with progress_bar(classifier.max_iter, visible=not as_json):
        classifier.fit(recipe.rows(split.train, accept_all), split.labels)
    model = TableModel(classifier, recipe)

    test_name = test or train
    X_test, y_test = model.features_and_labels(split.test, test_name, accept_all)
    codes = np.searchsorted(classifier.classes_, y_test)
    scores = measured(classifier.predict_proba(X_test), codes, seed)
    facts = {
        "source": Path(train).name,
        "training_rows": split.train.num_rows,
        "tested_on": tested_on,
        "test": scores.as_json(),
    }
    model = replace(model, facts=facts)
    model.save(output)
    if report is not None:
        shown = ShownRows(split.test, target, Path(test_name).name, split.test_numbers)
        write_table_report(report, model, X_test, y_test, shown)

    seconds = time.perf_counter() - start
    if as_json:
        written = {"model": str(output), "report": None if report is None else str(report)}
        columns = [{"name": c.name, "treatment": c.treatment} for c in recipe.columns]
        print_json(written | {"seconds": round(seconds, 2), "columns": columns} | facts)
        return
    print_scores(scores, tested_on)
    and_report = f", report to {report}" if report else ""
    say(f"\nmodel written to {output}{and_report}, in {seconds:.0f} s")


def _print_columns(recipe: Recipe, n_rows: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    title = f"{n_rows:,} rows to learn from"
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    table.add_column("column")
    table.add_column("taken as")
    for column in recipe.columns[:_MOST_COLUMNS]:
        style = None if column.features else "dim"
        table.add_row(escape(column.name), escape(column.treatment), style=style)
    hidden = len(recipe.columns) - _MOST_COLUMNS
    if hidden > 0:
        table.add_row(f"... {hidden} more", "")
    Console().print(table)
    print()
