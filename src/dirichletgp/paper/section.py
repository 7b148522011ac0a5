"""What an artefact shows: words, tables and figures, which end up in files, on the page and in the documentation."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..persistence.atomic_write import write_atomically

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)


@dataclass(frozen=True)
class Table:
    """A table; `columns` name it, cells are written as they are."""

    name: str
    caption: str
    columns: list[str]
    rows: list[list[str]]

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return [
            any(cells) and all(cell[:1].isdigit() for cell in cells if cell) for cells in columns
        ]

    def as_csv(self) -> str:
        """Comma-separated values."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def as_markdown(self) -> str:
        """A table of GitHub's Markdown; numbers are set to the right."""
        lines = [self.columns, ["---:" if right else "---" for right in self.numeric], *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class Figure:
    """A drawn figure, kept as SVG and as PNG under `figures/`."""

    name: str
    caption: str


@dataclass
class Section:
    """The outcome of an artefact."""

    name: str
    title: str
    text: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def keep(self, folder: Path, name: str, figure: Any, caption: str) -> None:
        """Save a matplotlib figure."""
        for kind in ("svg", "png"):
            content = io.BytesIO()
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(content, format=kind, dpi=150, metadata=metadata)
            write_atomically(folder / "figures" / f"{name}.{kind}", content.getvalue())
        self.figures.append(Figure(name, caption))


_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e0e0e0",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "dirichletgp",
}


@contextmanager
def drawing() -> Iterator[None]:
    """Matplotlib in a style that reads well in print; what the caller had set comes back afterwards."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "the figures need matplotlib; install it with: pip install matplotlib"
        ) from error
    with matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Any:
    """A figure of a size in inches, without a window."""
    from matplotlib.figure import Figure as Drawing

    return Drawing(figsize=(width, height), layout="constrained")


def round_numbers(axis: Any) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 times powers of ten, written out."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def write_tables(sections: list[Section], out: Path) -> None:
    """Each table as CSV and Markdown under `tables/`."""
    for section in sections:
        for table in section.tables:
            write_atomically(out / "tables" / f"{table.name}.csv", table.as_csv().encode())
            write_atomically(
                out / "tables" / f"{table.name}.md", (table.as_markdown() + "\n").encode()
            )
