"""The command line as a whole: puts the commands together and runs the one that is asked for.

A command is a function in the module of its name. It is listed in `COMMANDS` and imported when the
command line is used, because it needs typer.
"""

import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .._gp.version import __version__

COMMANDS = (
    "fit",
    "predict",
    "evaluate",
    "report",
    "audit",
    "explain",
    "threshold",
    "info",
    "paper",
)
_INTERRUPTED = 130
_ABOUT = "Calibrated classification with Dirichlet-based Gaussian processes."


def main() -> None:
    """Run the command line; whenever it is interrupted, it ends with one line."""
    try:
        _run()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)


def _run() -> None:
    with _ending_at_once():
        try:
            import typer  # noqa: F401
        except ImportError:
            sys.exit(
                "the command line needs more packages; "
                "install them with: pip install typer rich pyarrow jinja2"
            )
        app = _app()
    try:
        with _ending_on_request():
            sys.exit(app(standalone_mode=False))
    except Exception as error:
        # Wrong usage, which typer would show in a box. The class is click's, or private to typer,
        # as versions have it.
        if not hasattr(error, "format_message"):
            raise
        _refuse(error)


@contextmanager
def _ending_at_once() -> Iterator[None]:
    """Lets Ctrl-C end the process while packages are imported, when nothing is half done.

    An exception would not do: compiled modules that are interrupted raise another, or print it.
    """

    def end(*_: Any) -> NoReturn:
        os.write(2, b"error: interrupted\n")
        os._exit(_INTERRUPTED)

    # Whoever runs us in the background may have told us to ignore it.
    as_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not as_usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _ending_on_request() -> Iterator[None]:
    """Lets a request to end (SIGTERM) tidy up what is half written, as an error does."""

    def end(signal_number: int, _: Any) -> NoReturn:
        sys.exit(128 + signal_number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _app() -> Any:
    import typer

    app = typer.Typer(
        name="dirichletgp",
        help=_ABOUT,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            print(f"dirichletgp {__version__}")
            raise typer.Exit

    version_option = typer.Option(
        False,
        "--version",
        help="Say which version this is.",
        is_eager=True,
        callback=show_version,
    )

    @app.callback(help=_ABOUT)
    def before_any_command(version: bool = version_option) -> None:
        pass

    for name in COMMANDS:
        module = importlib.import_module(f".{name}", __package__)
        app.command(name)(getattr(module, name))
    return app


def _refuse(error: Any) -> NoReturn:
    """End because of wrong usage, in one line; without arguments typer has printed the help."""
    if len(sys.argv) > 1:
        command = error.ctx.command_path if getattr(error, "ctx", None) else "dirichletgp"
        reason = " ".join(error.format_message().split()).rstrip(".")
        from .console import printable

        print(f"error: {printable(reason)}; see {command} --help", file=sys.stderr)
    sys.exit(error.exit_code)
