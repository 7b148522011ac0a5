"""The numbers of a model on labelled rows, as a table and as JSON."""

from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from ..report.bootstrap import headline_metrics
from ..report.numbers import Metric, Verdict
from .console import in_markup

_RESAMPLES = 1_000
_WIDE = 110  # columns of a terminal
_COLOURS = {
    "good": "green",
    "open": "cyan",
    "slight": "green",
    "noticeable": "yellow",
    "poor": "red",
}


class Scores(NamedTuple):
    """Metrics with intervals on so many rows, and the verdict on calibration."""

    n_rows: int
    metrics: list[Metric]
    verdict: Verdict

    def as_json(self) -> dict[str, Any]:
        """Dicts, lists, texts and numbers."""
        values = {
            metric.key: {
                "value": float(metric.value),
                "low": metric.low,
                "high": metric.high,
                "baseline": metric.baseline,
            }
            for metric in self.metrics
        }
        return {"rows": self.n_rows, "metrics": values, "verdict": asdict(self.verdict)}


def measured(prob: Array, codes: Integers, classes: AnyArray, seed: int = 0) -> Scores:
    """Scores of probabilities.

    Parameters
    ----------
    prob : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Columns of the true classes.
    classes : ndarray of shape (C,)
    seed : int, default=0
        Of the resampling that gives intervals.
    """
    labels = [str(label) for label in classes.tolist()]
    rng = np.random.default_rng(seed)
    metrics, verdict = headline_metrics(prob, codes, _RESAMPLES, rng, labels)
    return Scores(len(codes), metrics, verdict)


def print_scores(scores: Scores, where: str) -> None:
    """The metrics as a table, and the verdict beneath; meanings have room beside wide ones."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    wide = console.width >= _WIDE
    title = f"{scores.n_rows:,} rows {in_markup(where)}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("guessing", justify="right", no_wrap=True)
    if wide:
        table.add_column("")
    for metric in scores.metrics:
        texts = metric.texts
        meaning = f"[dim]{in_markup(metric.meaning)}[/dim]"
        cells = [metric.name, texts["value"], metric.interval, texts.get("baseline", "")]
        table.add_row(*cells, *([meaning] if wide else []))
    console.print(table)
    if not wide:
        console.print()
    for metric in [] if wide else scores.metrics:
        console.print(f" [dim]{metric.name}: {in_markup(metric.meaning)}[/dim]", highlight=False)
    verdict = scores.verdict
    console.print(f"\n[bold {_COLOURS[verdict.level]}]{verdict.headline}.[/]", highlight=False)
    for sentence in verdict.sentences:
        console.print(sentence, highlight=False)
