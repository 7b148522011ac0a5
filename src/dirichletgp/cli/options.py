"""Options that several commands share, and what they may be."""

from typing import Annotated

import typer

from .._gp.core.kernels import KERNELS
from .._gp.training.kernel_choice import AUTO


def kernel_choices() -> tuple[str, ...]:
    """What `--kernel` takes: "auto", and the kernels there are, as they are registered."""
    return (AUTO, *KERNELS)


Format = Annotated[
    str | None,
    typer.Option(help="csv, parquet or arrow; by default as the name says.", metavar="FORMAT"),
]
Encoding = Annotated[str, typer.Option(help="Encoding of CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
KernelName = Annotated[str, typer.Option(help=f"One of {', '.join(kernel_choices())}.")]
ModelPath = Annotated[
    str, typer.Argument(help="Model file that `dirichletgp fit`, or `save` in Python, wrote.")
]
TargetName = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        help=(
            "The column of labels, if the model does not know it (models saved in Python) or the "
            "table calls it otherwise; repeated, columns of votes."
        ),
    ),
]
AcceptNew = Annotated[
    bool,
    typer.Option(
        "--accept-new",
        help=(
            "Take categories the model has not seen as none of those it knows, texts among "
            "numbers as missing, and columns that are not there as missing in all rows."
        ),
    ),
]
DropUnlabelled = Annotated[
    bool, typer.Option("--drop-unlabelled", help="Leave out rows that have no label.")
]
ShowValues = Annotated[
    bool,
    typer.Option(
        "--show-values",
        help="Show in the report what the cells of its rows hold; by default they have numbers.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace an existing file though it is no earlier result.")
]
