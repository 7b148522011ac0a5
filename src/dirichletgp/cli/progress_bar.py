"""A progress bar for a fit, with the time left."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._gp.training.progress import listening

# Share of a fit's time that its stages take, roughly and in their order; those left out of a fit
# are jumped over.
_STAGES = [
    ("checks and scaling", 0.02),
    ("inducing points", 0.05),
    ("kernel", 0.40),
    ("alpha_epsilon", 0.03),
    ("kernel", 0.12),
    ("left-out predictions", 0.03),
    ("inducing points", 0.05),
    ("kernel", 0.18),
    ("statistics", 0.04),
    ("label transform", 0.06),
    ("posterior", 0.02),
]
_WORDS = {
    "checks and scaling": "looking at the columns",
    "inducing points": "placing inducing points",
    "kernel": "learning the kernel",
    "alpha_epsilon": "choosing the label transform",
    "left-out predictions": "finding where classes meet",
    "statistics": "passing over all rows",
    "label transform": "choosing the label transform",
    "posterior": "solving",
}


class Estimate:
    """Which share of a fit is done, from what it says.

    Examples
    --------
    >>> estimate = Estimate(max_iter=80)
    >>> estimate("stage", "kernel: 400 points, 4000 rows")
    >>> estimate("evaluation", 20)
    >>> round(estimate.share, 2)
    0.17
    """

    def __init__(self, max_iter: int):
        self._most = [max_iter, max_iter / 4, max_iter / 10]
        self._stage, self._kernels, self.share, self.words = -1, 0, 0.0, ""

    def __call__(self, event: str, what: Any) -> None:
        if event == "stage":
            name = re.sub(r"^\d+ ", "", str(what)).split(":")[0]
            self._stage = next(
                (i for i, s in enumerate(_STAGES) if i > self._stage and s[0] == name), self._stage
            )
            self._kernels += name == "kernel"
            self.words = _WORDS.get(name, name)
            self.share = max(self.share, self._before())
        else:
            most = self._most[min(max(self._kernels, 1), 3) - 1]
            within = min(what / (most + 1), 0.97)
            self.share = max(self.share, self._before() + within * _STAGES[self._stage][1])

    def _before(self) -> float:
        return sum(share for _, share in _STAGES[: self._stage])


@contextmanager
def fit_bar(max_iter: int, visible: bool) -> Iterator[None]:
    """While the context lasts, fits are shown as a bar on standard error, if that is a terminal."""
    if not visible:
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    estimate, start = Estimate(max_iter), time.monotonic()
    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0, left="")

        def show(event: str, what: Any) -> None:
            estimate(event, what)
            elapsed = time.monotonic() - start
            left = (
                elapsed * (1 - estimate.share) / estimate.share if estimate.share > 0.04 else None
            )
            text = "" if left is None else f"about {max(1, round(left))} s left"
            bar.update(task, completed=estimate.share, description=estimate.words, left=text)

        with listening(show):
            yield
