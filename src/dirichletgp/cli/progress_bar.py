"""A progress bar for a fit, with the time left."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from .._gp.training.settings import Event, Stage, listening

# Share of a fit's time that its stages take, roughly and in their order; those left out of a fit
# are jumped over.
_STAGES = [
    (Stage.FIRST_PASS, 0.02),
    (Stage.CHOICE, 0.25),
    (Stage.POINTS, 0.02),
    (Stage.KERNEL, 0.28),
    (Stage.ALPHA, 0.02),
    (Stage.KERNEL, 0.03),
    (Stage.LABELS, 0.08),
    (Stage.LEFT_OUT, 0.03),
    (Stage.POINTS, 0.02),
    (Stage.KERNEL, 0.04),
    (Stage.STATISTICS, 0.06),
    (Stage.LABELS, 0.07),
    (Stage.POSTERIOR, 0.01),
    (Stage.COMPARISON, 0.02),
    (Stage.CORRECTION, 0.03),
    (Stage.INTERVALS, 0.02),
]
_WORDS = {
    Stage.FIRST_PASS: "looking at the columns",
    Stage.CHOICE: "choosing the kernel",
    Stage.POINTS: "placing inducing points",
    Stage.KERNEL: "learning the kernel",
    Stage.ALPHA: "choosing the label transform",
    Stage.LEFT_OUT: "finding where classes meet",
    Stage.STATISTICS: "passing over all rows",
    Stage.LABELS: "choosing the label transform",
    Stage.POSTERIOR: "solving",
    Stage.COMPARISON: "comparing with plainer models",
    Stage.CORRECTION: "asking the labels' likelihood",
    Stage.REGIONS: "trying regions",
    Stage.INTERVALS: "computing intervals",
}
# Evaluations that searches for a kernel usually take: shares of `max_iter`.
_EVALUATIONS = (1 / 5, 1 / 4, 1 / 33)
_MOST_OF_A_STAGE = 0.97
_SHARE_TO_JUDGE_BY = 0.04


class Estimate:
    """Which share of a fit is done, from the events it tells of.

    Attributes
    ----------
    share : float
        Between 0 and 1; never falls.
    words : str
        What is being done.

    Examples
    --------
    >>> estimate = Estimate(max_iter=80)
    >>> estimate(Event(Stage.KERNEL))
    >>> estimate(Event(Stage.KERNEL, evaluation=8))
    >>> round(estimate.share, 2), estimate.words
    (0.42, 'learning the kernel')
    """

    def __init__(self, max_iter: int):
        self.share = 0.0
        self.words = ""
        self._max_iter = max_iter
        self._place = 0
        self._begun = False
        self._searches = 0

    def __call__(self, event: Event) -> None:
        """Take an event into account."""
        if event.evaluation == 0:
            self._begin(event.stage)
            within = 0.0
        else:
            search = min(max(self._searches, 1), len(_EVALUATIONS)) - 1
            expected = _EVALUATIONS[search] * self._max_iter + 1
            within = min(event.evaluation / expected, _MOST_OF_A_STAGE)
        before = sum(share for _, share in _STAGES[: self._place])
        self.share = max(self.share, before + within * _STAGES[self._place][1])

    def _begin(self, stage: Stage) -> None:
        self.words = _WORDS.get(stage, stage.value)
        self._searches += stage is Stage.KERNEL
        first = self._place + self._begun
        ahead = [place for place in range(first, len(_STAGES)) if _STAGES[place][0] is stage]
        if ahead:
            self._place = ahead[0]
            self._begun = True


@contextmanager
def progress_bar(max_iter: int, visible: bool) -> Iterator[None]:
    """While the context lasts, fits are shown as a bar on standard error, if that is a terminal."""
    if not visible:
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    estimate = Estimate(max_iter)
    start = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0, left="")

        def show(event: Event) -> None:
            estimate(event)
            left = _time_left(time.monotonic() - start, estimate.share)
            bar.update(task, completed=estimate.share, description=estimate.words, left=left)

        with listening(show):
            yield


def _time_left(elapsed: float, share: float) -> str:
    if share <= _SHARE_TO_JUDGE_BY:
        return ""
    seconds = elapsed * (1 - share) / share
    return f"about {max(1, round(seconds))} s left"
