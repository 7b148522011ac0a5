"""How commands speak: results on standard output, all else on standard error, errors in a line."""

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


def with_one_line_errors(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A command that ends with one line on standard error instead of a traceback.

    The exit code is 2 if something is wrong with the input, 1 for something unexpected, 130 if
    interrupted. The environment variable DIRICHLETGP_DEBUG=1 brings tracebacks back.
    """

    @functools.wraps(command)
    def run(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
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
            fail(_in_one_line(error), BAD_INPUT)
        except MemoryError:
            fail("not enough memory; try fewer inducing points (--n-inducing 200)", UNEXPECTED)
        except Exception as error:
            reason = f"{type(error).__name__}: {_in_one_line(error)}"
            fail(f"{reason} (DIRICHLETGP_DEBUG=1 shows where)", UNEXPECTED)

    return run


def fail(reason: str, code: int) -> NoReturn:
    """End with a reason and an exit code."""
    print(f"error: {reason}", file=sys.stderr)
    raise typer.Exit(code)


def say(text: str) -> None:
    """Something to know that is not the result."""
    print(text, file=sys.stderr)


def print_json(content: Any) -> None:
    """The result, as JSON."""
    print(json.dumps(content, indent=1, ensure_ascii=False))


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split()) or type(error).__name__
    option = getattr(error, "option", None)
    return f"{text}; pass {option}" if option else text
