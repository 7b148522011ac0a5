"""How commands speak: results on standard output, all else on standard error, errors in a line."""

import functools
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar

import typer

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 1, 130
# All control characters but tab and new line, and those that turn the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


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


def printable(text: str) -> str:
    r"""A text without what a terminal would obey: control characters are shown, not sent.

    Names of columns, labels and files come from anywhere.

    Examples
    --------
    >>> printable("red\x1b[31m")
    'red\\x1b[31m'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def in_markup(text: str) -> str:
    """A text as it is in tables of rich: neither the terminal nor rich takes it for a command."""
    from rich.markup import escape

    return escape(printable(text))


def fail(reason: str, code: int) -> NoReturn:
    """End with a reason and an exit code."""
    print(f"error: {printable(reason)}", file=sys.stderr)
    raise typer.Exit(code)


def say(text: str) -> None:
    """Something to know that is not the result."""
    print(printable(text), file=sys.stderr)


def print_json(content: Any) -> None:
    """The result, as JSON; what else a terminal would obey is written as JSON writes controls."""
    text = json.dumps(_finite(content), indent=1, ensure_ascii=False, allow_nan=False)
    print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _finite(content: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        reason = os.strerror(error.errno) if error.errno else error.strerror
        return f"{error.filename}: {reason}"
    text = " ".join(str(error).split()) or type(error).__name__
    option = getattr(error, "option", None)
    return f"{text}; pass {option}" if option else text
