"""`dirichletgp fit`: from a table to a model file, with a test on rows held out."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from .._gp.classifier import DirichletGPClassifier
from .._gp.core.arguments import choice
from .._gp.core.kernels import KERNELS
from .._gp.core.threads import effective_threads
from .._gp.rows.tables import TableError, check_destination, learn_recipe, read_table
from .._gp.rows.tables.values import as_number, texts_of
from .options import Encoding, Format, Json
from .progress_bar import fit_bar
from .scores import print_scores, public, scores
from .speaking import Complaints, plainly, put_json, say
from .tabular_model import ShownRows, TabularModel

_MOST_CLASSES = 1_000
_MOST_NUMBERS = 50
_MOST_TEST_ROWS = 50_000


@plainly
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
    kernel: Annotated[str, typer.Option(help="rbf, matern52, matern32 or matern12.")] = "rbf",
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
    choice("kernel", kernel, KERNELS)
    effective_threads(jobs)
    for path in (output, report):
        if path is not None:
            check_destination(path)
    table = read_table(train, format, encoding)
    labels = _labels(table, target, train)
    if test is None:
        kept, held = _held_out(labels, test_share, seed)
        test_table, where = table.take(held), "held out"
        numbers = held + 1
        table, labels = table.take(kept), labels[kept]
    else:
        test_table, where = read_table(test, None, encoding), f"of {test}"
        numbers = None
    recipe = learn_recipe(table, target, tuple(drop or ()))
    if not as_json:
        _print_columns(recipe, table.num_rows)
    classifier = DirichletGPClassifier(
        kernel, n_inducing=n_inducing, random_state=seed, n_jobs=jobs
    )
    with fit_bar(classifier.max_iter, visible=not as_json):
        classifier.fit(recipe.rows(table, Complaints(accept=True)), labels)

    model = TabularModel(classifier, recipe)
    X_test, y_test = model.labelled(test_table, test or train, Complaints(accept=True))
    codes = np.searchsorted(classifier.classes_, y_test)
    found = scores(classifier.predict_proba(X_test), codes, seed)
    facts = {
        "source": Path(train).name,
        "training_rows": table.num_rows,
        "tested_on": where,
        "test": public(found),
    }
    model = TabularModel(classifier, recipe, facts)
    model.save(output)
    if report is not None:
        shown = ShownRows(test_table, target, Path(test or train).name, numbers)
        write_table_report(report, model, X_test, y_test, shown)
    seconds = time.perf_counter() - start
    if as_json:
        columns = [{"name": c.name, "treatment": c.treatment} for c in recipe.columns]
        written = {"model": str(output), "report": None if report is None else str(report)}
        put_json(written | {"seconds": round(seconds, 2), "columns": columns} | facts)
        return
    print_scores(found, where)
    say(
        f"\nmodel written to {output}"
        + (f", report to {report}" if report else "")
        + f", in {seconds:.0f} s"
    )


def write_table_report(
    path: Path, model: TabularModel, X: Any, y: NDArray[Any], shown: ShownRows
) -> None:
    """The report of a model on labelled rows of a table."""
    from ..report import write_report

    recipe, facts = model.table_recipe, model.facts
    used = sum(bool(column.features) for column in recipe.columns)
    made = {
        "Source": f"{facts.get('source', 'unknown')}, target {recipe.target}",
        "Columns": f"{used} of {len(recipe.columns)} used, as {len(recipe.features)} features",
    }
    not_used = [
        f"{c.name} ({c.treatment.removeprefix('not used: ')})"
        for c in recipe.columns
        if not c.features
    ]
    if not_used:
        made["Columns left out"] = ", ".join(not_used[:10]) + (" ..." if len(not_used) > 10 else "")
    write_report(
        path,
        model.classifier,
        X,
        y,
        title=f"How well is {recipe.target} predicted?",
        feature_names=recipe.features,
        shown=shown,
        made=made,
    )


def _labels(table: Any, target: str, name: str) -> NDArray[Any]:
    if target not in table.column_names:
        listed = ", ".join(table.column_names[:8]) + (
            ", ..." if len(table.column_names) > 8 else ""
        )
        raise TableError(f"{name} has no column {target!r}, the target; its columns: {listed}")
    texts = texts_of(table.column(target))
    missing = int(np.sum(texts.codes < 0))
    if missing:
        row = int(np.flatnonzero(texts.codes < 0)[0]) + 1
        raise TableError(
            f"{name}: the target {target!r} is missing in {missing:,} rows, the first is row {row}"
        )
    if len(texts.distinct) < 2:
        raise TableError(f"{name}: the target {target!r} has one class only, {texts.distinct[0]!r}")
    numbers = not any(np.isnan(as_number(text)) for text in texts.distinct)
    if len(texts.distinct) > (_MOST_NUMBERS if numbers else _MOST_CLASSES):
        what = (
            "numbers; a number is estimated by regression" if numbers else "texts; that is no class"
        )
        raise TableError(
            f"{name}: the target {target!r} has {len(texts.distinct):,} different {what}"
        )
    return np.array(texts.distinct)[texts.codes]


def _held_out(
    labels: NDArray[Any], share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows to test on, in proportion from every class; the last row of a class is not held out."""
    rng = np.random.default_rng(seed)
    share = min(share, _MOST_TEST_ROWS / len(labels))
    held = []
    for label in np.unique(labels):
        own = rng.permutation(np.flatnonzero(labels == label))
        held.append(own[: min(len(own) - 1, round(share * len(own)))])
    test = np.sort(np.concatenate(held))
    if len(test) == 0:
        raise TableError(
            "no class has rows enough to hold some out; pass another --target, more rows, or --test"
        )
    return np.setdiff1d(np.arange(len(labels)), test), test


def _print_columns(recipe: Any, n_rows: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=f"{n_rows:,} rows to learn from", title_justify="left", title_style="bold", box=None
    )
    table.add_column("column")
    table.add_column("taken as")
    for column in recipe.columns[:60]:
        style = None if column.features else "dim"
        table.add_row(escape(column.name), escape(column.treatment), style=style)
    if len(recipe.columns) > 60:
        table.add_row(f"... {len(recipe.columns) - 60} more", "")
    Console().print(table)
    print()
