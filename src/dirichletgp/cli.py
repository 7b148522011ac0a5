"""The command `dirichletgp`: a thin front that puts the commands together.

A command is a function in a module of `dirichletgp._commands`; it is listed in `COMMANDS` and imported when the command
line is used, because it needs typer.
"""

import importlib
import sys

COMMANDS = ("paper",)


def main() -> None:
    """Run the command line."""
    try:
        import typer
    except ImportError:
        sys.exit('the command line needs typer; install it with: pip install "dirichletgp[cli]"')
    app = typer.Typer(
        name="dirichletgp",
        help="Calibrated classification with Dirichlet-based Gaussian processes.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.callback()(_no_command_alone)
    for name in COMMANDS:
        app.command(name)(getattr(importlib.import_module(f"._commands.{name}", __package__), name))
    app()


def _no_command_alone() -> None:
    """Calibrated classification with Dirichlet-based Gaussian processes."""


if __name__ == "__main__":
    main()
