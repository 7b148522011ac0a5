"""How commands speak: results on standard output, everything else on standard error, failures in one line."""

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar

import typer

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 1, 130


def plainly(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A command that ends with one line on standard error and a non-zero exit code instead of a traceback.

    2 means that something is wrong with the input, 1 something unexpected, 130 interrupted. The
    environment variable DIRICHLETGP_DEBUG=1 brings tracebacks back.
    """

    @functools.wraps(command)
    def plain(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        if os.environ.get("DIRICHLETGP_DEBUG"):
            return command(*args, **options)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: say(f"note: {message}")
                return command(*args, **options)
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)
        except BrokenPipeError:
            # Whoever reads our output has had enough, as `head` has; nothing more can be written
            # there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except typer.Exit:
            raise
        except (ValueError, OSError, ImportError) as error:
            fail(_one_line(error), BAD_INPUT)
        except MemoryError:
            fail("not enough memory; try fewer inducing points (--n-inducing 200)", UNEXPECTED)
        except Exception as error:
            fail(
                f"{type(error).__name__}: {_one_line(error)} (DIRICHLETGP_DEBUG=1 shows where)",
                UNEXPECTED,
            )

    return plain


def fail(reason: str, code: int) -> NoReturn:
    """End with a reason and an exit code."""
    print(f"error: {reason}", file=sys.stderr)
    raise typer.Exit(code)


def say(text: str) -> None:
    """Something to know that is not the result."""
    print(text, file=sys.stderr)


def put_json(content: Any) -> None:
    """The result, as JSON."""
    print(json.dumps(content, indent=1, ensure_ascii=False))


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    return text


class Complaints:
    """Values that cannot be used as they are: an error, or a note said once."""

    def __init__(self, accept: bool):
        self.accept = accept
        self.notes: list[str] = []
        self._columns: set[str] = set()

    def __call__(self, column: str, sentence: str) -> None:
        if not self.accept:
            raise ValueError(
                f"{sentence}; to take them as missing or as none of the known ones pass --accept-new"
            )
        if column not in self._columns:
            self._columns.add(column)
            self.notes.append(sentence)
            say(f"note: {sentence}")
