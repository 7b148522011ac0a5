"""The numbers of a model on labelled rows, as a table and as JSON."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..report.bootstrap import expected_error_if_calibrated, headline_metrics
from ..report.verdict import calibration_verdict

Array = NDArray[np.float64]


def scores(prob: Array, codes: NDArray[np.intp], seed: int = 0) -> dict[str, Any]:
    """Metrics with intervals and the verdict, ready for JSON; `prob` (n, C) and columns `codes` (n,) of the truth."""
    rng = np.random.default_rng(seed)
    metrics, values = headline_metrics(prob, codes, 1_000, rng)
    confidence = float(prob.max(axis=1).mean())
    by_chance = expected_error_if_calibrated(prob, rng)
    verdict = calibration_verdict(
        len(codes), values["ece"], by_chance, confidence, values["accuracy"]
    )
    return {
        "rows": len(codes),
        "metrics": {
            m.key: {"value": float(m.value), "low": float(m.low), "high": float(m.high)}
            for m in metrics
        },
        "verdict": asdict(verdict),
        "_names": {m.key: [m.name, m.meaning] for m in metrics},
    }


def print_scores(found: dict[str, Any], where: str) -> None:
    """The metrics as a table, and the verdict beneath."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(
        title=f"{found['rows']:,} rows {where}", title_justify="left", title_style="bold", box=None
    )
    for heading, side in (("", "left"), ("", "right"), ("95 % interval", "left"), ("", "left")):
        table.add_column(heading, justify=side, no_wrap=heading != "")  # type: ignore[arg-type]
    for key, metric in found["metrics"].items():
        name, meaning = found["_names"][key]
        interval = f"{metric['low']:.3f} to {metric['high']:.3f}"
        table.add_row(name, f"{metric['value']:.3f}", interval, f"[dim]{meaning}[/dim]")
    console.print(table)
    verdict = found["verdict"]
    colour = {"good": "green", "slight": "green", "noticeable": "yellow", "poor": "red"}[
        verdict["level"]
    ]
    console.print(
        f"\n[bold {colour}]{verdict['headline']}.[/] " + " ".join(verdict["sentences"]),
        highlight=False,
    )


def public(found: dict[str, Any]) -> dict[str, Any]:
    """What JSON shows of them."""
    return {key: value for key, value in found.items() if not key.startswith("_")}
