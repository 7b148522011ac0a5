"""`dirichletgp paper`: every table and figure of the paper."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..paper import ARTEFACTS, Plan, run_paper
from ..paper.docs import write_docs
from ..paper.run import report
from .console import INTERRUPTED, UNEXPECTED, print_json, say, with_one_line_errors


@with_one_line_errors
def paper(
    artefact: Annotated[
        list[str] | None,
        typer.Option(help=f"Only this artefact (repeatable): {', '.join(ARTEFACTS)}."),
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only this dataset (repeatable).")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Only this method (repeatable): gpc, gpd, gpr, gpr-platt, nkrr, ours."),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(min=1, help="At most so many splits (default: the paper's number)."),
    ] = None,
    repetitions: Annotated[
        int,
        typer.Option(
            min=2, help="Training sets per size for the convergence of losses; the paper has 1000."
        ),
    ] = 200,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small data, few splits: a few minutes.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for results, tables, figures and index.html.")
    ] = Path("paper-results"),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of datasets (default: the one that DIRICHLETGP_DATA names)."),
    ] = None,
    download: Annotated[
        bool, typer.Option(help="Whether missing datasets may be downloaded.")
    ] = True,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Compute nothing; draw the results there are.")
    ] = False,
    docs: Annotated[
        Path | None,
        typer.Option(
            help="Also bring the tables and figures of this folder's paper.md up to date."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Regenerate the tables and figures of the paper, and a page with all of them.

    What was computed is kept: the same command, started again, goes on where it was.
    """
    command = shlex.join(["dirichletgp", *sys.argv[1:]])
    plan = Plan(
        out,
        datasets=tuple(dataset or ()),
        methods=tuple(method or ()),
        splits=splits,
        quick=quick,
        data=data,
        allow_download=download,
        repetitions=repetitions,
    )
    try:
        summary = run_paper(plan, tuple(artefact or ()), command, draw_only)
        if docs is not None:
            write_docs(out, docs)
    except KeyboardInterrupt:
        say(
            f"\ninterrupted; what was computed is in {out}, whole. To go on from here:\n  {command}"
        )
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(summary)
    else:
        print(report(summary))
    if summary["failed"]:
        raise typer.Exit(UNEXPECTED)
