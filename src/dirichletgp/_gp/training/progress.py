"""What a fit works with, and what it says while it works."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.parallel import Workers

_PACKAGE = str(Path(__file__).parents[2]) + os.sep
_SECONDS_BETWEEN_LINES = 10.0


class Stage(Enum):
    """The kinds of stages that a fit goes through; what is printed of them may say more."""

    SCALING = "scaling"
    FIRST_PASS = "first pass"
    POINTS = "inducing points"
    KERNEL = "kernel"
    ALPHA = "alpha_epsilon"
    LEFT_OUT = "left-out predictions"
    STATISTICS = "statistics"
    LABELS = "label transform"
    POSTERIOR = "posterior"
    COMPARISON = "comparison"
    BELIEF = "belief"


class Event(NamedTuple):
    """A stage begins (`evaluation` is 0), or so many evaluations were made in it."""

    stage: Stage
    evaluation: int = 0


Listener = Callable[[Event], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within this context a fit tells `listener` what it is doing; how progress bars are fed."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _tell(event: Event) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(event)


class Progress:
    """Prints one line per stage, with what it found and how long it took; silent at verbosity 0.

    Keeps the same as `history`: per stage its name, seconds, note, and the bound per row at every
    evaluation.

    Parameters
    ----------
    verbose : int
        0 is silent, 1 prints stages, 2 prints every evaluation of the bound too.
    """

    def __init__(self, verbose: int = 0):
        self.verbose = verbose
        self.history: list[dict[str, Any]] = []
        self._stage = Stage.SCALING
        self._name = ""
        self._notes: list[str] = []
        self._bounds: list[float] = []
        self._start = time.perf_counter()
        self._live = verbose == 1 and sys.stdout.isatty()

    @contextmanager
    def stage(self, stage: Stage, name: str | None = None) -> Iterator[None]:
        """A stage of the work, printed as `name`; notes made inside stand in its line."""
        self._stage = stage
        self._name = stage.value if name is None else name
        self._notes, self._bounds = [], []
        start = time.perf_counter()
        _tell(Event(stage))
        if self._live:
            self._show("...", end="\r")
        yield
        seconds = time.perf_counter() - start
        note = ", ".join(self._notes)
        self.history.append(
            {"stage": self._name, "seconds": seconds, "note": note, "bound_per_row": self._bounds}
        )
        if self.verbose:
            self._show(f"{seconds:7.2f} s  {note}")

    def note(self, text: str) -> None:
        """Something worth saying at the end of the stage under way."""
        self._notes.append(text)

    def evaluation(self, count: int, bound_per_row: float) -> None:
        """One evaluation of the bound was made."""
        self._bounds.append(float(bound_per_row))
        _tell(Event(self._stage, count))
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
        pause = 0.2 if self._live else _SECONDS_BETWEEN_LINES
        if not self.verbose or now - self._shown < pause:
            return
        speed = (done - self._first) / (now - self._since)
        left = (self._total - done) / speed
        words = f"{done:,} rows, {speed:,.0f} rows/s, {left:.0f} s left"
        self._show(words, end="\r" if self._live else "\n")
        self._shown = now

    def done(self) -> None:
        """The whole work is finished."""
        if self.verbose:
            self._name = "total"
            self._show(f"{time.perf_counter() - self._start:7.2f} s")

    def _show(self, text: str, end: str = "\n") -> None:
        line = f"[dirichletgp] {self._name:<44} {text:<50}"
        # Live lines stay padded, so that a shorter one leaves nothing of a longer one behind.
        print(line if self._live else line.rstrip(), end=end, flush=True)


class Resources(NamedTuple):
    """What a fit works with: threads, randomness, and somebody to tell."""

    workers: Workers
    rng: np.random.RandomState
    progress: Progress


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside the library that led here, however deep in the library this is."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
