"""What an artefact shows: words, tables and figures, for files, page and documentation."""

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..persistence.atomic_write import write_atomically


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
        rule = ["---:" if right else "---" for right in self.numeric]
        lines = [self.columns, rule, *self.rows]
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


def write_tables(sections: list[Section], out: Path) -> None:
    """Each table as CSV and Markdown under `tables/`."""
    for section in sections:
        for table in section.tables:
            path = out / "tables" / f"{table.name}.csv"
            write_atomically(path, table.as_csv().encode())
            write_atomically(path.with_suffix(".md"), f"{table.as_markdown()}\n".encode())
