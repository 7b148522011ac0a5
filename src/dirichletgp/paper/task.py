"""A unit of work, and the doing of many with word of how long it will take."""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TextIO

from .store import Result, Settings, Store


@dataclass(frozen=True)
class Task:
    """One result to have: small enough that losing it under way does not hurt.

    Attributes
    ----------
    kind : str
        Folder of the store.
    settings : dict
        All that the result depends on, as JSON; the key in the store.
    compute : callable
        From nothing to the result, as JSON.
    seconds : float
        A guess of how long it takes, for the time left before anything like it was measured.
    """

    kind: str
    settings: Settings
    compute: Callable[[], Result]
    seconds: float

    @property
    def title(self) -> str:
        """What to say while it runs."""
        words = [self.kind.replace("_", " ")]
        for key in ("dataset", "method", "size", "alpha_epsilon"):
            if key in self.settings:
                words.append(str(self.settings[key]))
        for key in ("split", "chunk"):
            if key in self.settings:
                words.append(f"{key} {self.settings[key]}")
        return " ".join(words)

    @property
    def family(self) -> tuple[Any, ...]:
        """Tasks of a family take about as long as each other."""
        keys = ("dataset", "method", "size", "n_train")
        points = self.settings.get("estimator", {}).get("n_inducing")
        return self.kind, points, *(self.settings.get(key) for key in keys)


def without_repetition(tasks: Iterable[Task], store: Store) -> list[Task]:
    """Each task once: artefacts share some."""
    return list({store.path(task.kind, task.settings): task for task in tasks}.values())


def stored_results(tasks: Iterable[Task], store: Store) -> list[Result]:
    """The results there are, in the order of their tasks."""
    found = (store.get(task.kind, task.settings) for task in tasks)
    return [result for result in found if result is not None]


def run_tasks(
    tasks: list[Task], store: Store, stream: TextIO | None = None
) -> tuple[int, list[str]]:
    """Compute what the store does not have yet; how many that was, and what went wrong.

    Results are kept as they come. A task that fails is said and passed over: one bad fit should
    not cost a night. It is tried again by the next run.
    """
    stream = stream or sys.stderr
    failures: list[str] = []
    known: dict[tuple[Any, ...], float] = {}
    missing = []
    for task in tasks:
        result = store.get(task.kind, task.settings)
        if result is None:
            missing.append(task)
        else:
            known[task.family] = result["seconds"]
    there = len(tasks) - len(missing)
    if there:
        print(f"{there} of {len(tasks)} results are there already", file=stream, flush=True)
    guessed = spent = 1e-9
    for number, task in enumerate(missing, start=1):
        pace = spent / guessed if number > 1 else 1.0
        left = sum(known.get(other.family, other.seconds * pace) for other in missing[number - 1 :])
        place = f"[{number}/{len(missing)}, {duration(left)} left]"
        print(f"{place} {task.title}", file=stream, end="", flush=True)
        start = time.perf_counter()
        try:
            result = task.compute()
        except Exception as error:
            reason = f"failed: {type(error).__name__}: {error}"
            failures.append(f"{task.title} {reason}")
            print(f" {reason}", file=stream, flush=True)
            continue
        except BaseException:
            print(file=stream, flush=True)
            raise
        seconds = time.perf_counter() - start
        store.put(task.kind, task.settings, result, seconds)
        print(f": {seconds:.1f} s", file=stream, flush=True)
        known[task.family] = seconds
        guessed += task.seconds
        spent += seconds
    return len(missing) - len(failures), failures


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
