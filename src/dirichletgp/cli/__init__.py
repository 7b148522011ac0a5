"""The command `dirichletgp`: a thin front that puts the commands together.

A command is a function in a module of `dirichletgp.cli`; it is listed in `COMMANDS` and imported
when the command line is used, because it needs typer.
"""

import importlib
import sys
from typing import Any, NoReturn

from .._gp.version import __version__

COMMANDS = ("fit", "predict", "evaluate", "report", "info", "paper")


def main() -> None:
    """Run the command line."""
    try:
        import typer
    except ImportError:
        sys.exit(
            "the command line needs more packages; install them with: pip install typer rich pyarrow jinja2"
        )
    app = typer.Typer(
        name="dirichletgp",
        help="Calibrated classification with Dirichlet-based Gaussian processes.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            print(f"dirichletgp {__version__}")
            raise typer.Exit

    @app.callback()
    def front(
        version: bool = typer.Option(
            False,
            "--version",
            help="Say which version this is.",
            is_eager=True,
            callback=show_version,
        ),
    ) -> None:
        """Calibrated classification with Dirichlet-based Gaussian processes."""

    for name in COMMANDS:
        app.command(name)(getattr(importlib.import_module(f".{name}", __package__), name))
    try:
        sys.exit(app(standalone_mode=False))
    except Exception as error:
        # Wrong usage, which typer would show in a box. The class is click's, or private to typer,
        # as versions have it.
        if not hasattr(error, "format_message"):
            raise
        _refuse(error)


def _refuse(error: Any) -> NoReturn:
    """End because of wrong usage, in one line; without any arguments typer has printed the help by now."""
    if len(sys.argv) > 1:
        command = error.ctx.command_path if getattr(error, "ctx", None) else "dirichletgp"
        reason = " ".join(error.format_message().split()).rstrip(".")
        print(f"error: {reason}; see {command} --help", file=sys.stderr)
    sys.exit(error.exit_code)
