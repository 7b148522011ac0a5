"""What a long fit says while it works."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Called with ("stage", name) and ("evaluation", number within the stage).
Listener = Callable[[str, Any], None]

_SECONDS_BETWEEN_LINES = 10.0

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within this context a fit tells `listener` what it is doing; how progress bars are fed."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _tell(event: str, what: Any) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(event, what)


class Progress:
    """Prints one line per stage, with what it found and how long it took; silent at verbosity 0.

    Keeps the same as `history`: per stage its name, seconds, note, and the bound per row at every evaluation.

    Parameters
    ----------
    verbose : int
        0 is silent, 1 prints stages, 2 prints every evaluation of the bound too.
    """

    def __init__(self, verbose: int = 0):
        self.verbose = verbose
        self.history: list[dict[str, Any]] = []
        self._notes: list[str] = []
        self._bounds: list[float] = []
        self._start = time.perf_counter()
        self._live = verbose == 1 and sys.stdout.isatty()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A stage of the work; notes made inside stand in its line."""
        self._notes, self._bounds, self._name, start = [], [], name, time.perf_counter()
        _tell("stage", name)
        if self._live:
            self._show("...", end="\r")
        yield
        seconds, note = time.perf_counter() - start, ", ".join(self._notes)
        self.history.append({"stage": name, "seconds": seconds, "note": note, "bound_per_row": self._bounds})
        if self.verbose:
            self._show(f"{seconds:7.2f} s  {note}")

    def note(self, text: str) -> None:
        """Something worth saying at the end of the stage under way."""
        self._notes.append(text)

    def evaluation(self, count: int, bound_per_row: float) -> None:
        """One evaluation of the bound was made."""
        self._bounds.append(float(bound_per_row))
        _tell("evaluation", count)
        if self.verbose > 1:
            self._show(f"evaluation {count}, bound per row {bound_per_row:.6f}")
        elif self._live:
            self._show(f"... evaluation {count}, bound per row {bound_per_row:.4f}", end="\r")

    def begin_rows(self, done: int, total: int) -> None:
        """A pass over rows begins, some of which may have been done before."""
        self._first, self._total = done, total
        self._since = self._shown = time.perf_counter()

    def rows(self, done: int) -> None:
        """So many rows of the pass are done."""
        now = time.perf_counter()
        if not self.verbose or now - self._shown < (0.2 if self._live else _SECONDS_BETWEEN_LINES):
            return
        speed = (done - self._first) / (now - self._since)
        left = (self._total - done) / speed
        self._show(f"{done:,} rows, {speed:,.0f} rows/s, {left:.0f} s left", end="\r" if self._live else "\n")
        self._shown = now

    def done(self) -> None:
        """The whole work is finished."""
        if self.verbose:
            self._name = "total"
            self._show(f"{time.perf_counter() - self._start:7.2f} s")

    def _show(self, text: str, end: str = "\n") -> None:
        # Padded, so that a live line leaves nothing behind when a shorter one replaces it.
        print(
            f"[dirichletgp] {self._name:<44} {text:<50}".rstrip()
            if end == "\n" and not self._live
            else f"[dirichletgp] {self._name:<44} {text:<50}",
            end=end,
            flush=True,
        )
