"""The tables and figures of a documentation page, brought up to date from a run.

The page says where they go: what stands between `<!-- table: results -->` and `<!-- end -->` is
replaced by that table, the same with `figure` and `run`. Everything else, such as a verdict, is
left alone.
"""

import json
import re
from pathlib import Path

from ..persistence.atomic_write import write_atomically
from .task import duration

_PLACE = re.compile(
    r"<!-- (table|figure|run): (\w+)(?: \| ([^>]*?))? -->\n.*?<!-- end -->", re.DOTALL
)


def write_docs(out: Path, docs: Path, name: str = "paper.md") -> None:
    """Fill the places of `docs/paper.md`, and copy the figures it shows to `docs/images/paper`.

    Parameters
    ----------
    out : Path
        Folder of a run.
    docs : Path
    name : str
    """
    page = docs / name
    if not page.is_file():
        raise ValueError(
            f"docs={str(docs)!r} has no {name} to fill; pass the folder of the documentation"
        )

    def filled(place: re.Match[str]) -> str:
        kind, what, title = place.groups()
        head = f"<!-- {kind}: {what}{f' | {title}' if title else ''} -->"
        return f"{head}\n{_content(kind, what, title, out, docs)}\n<!-- end -->"

    write_atomically(page, _PLACE.sub(filled, page.read_text()).encode())


def _content(kind: str, what: str, title: str | None, out: Path, docs: Path) -> str:
    if kind == "run":
        return _about(json.loads((out / "summary.json").read_text()))
    if kind == "table":
        path = out / "tables" / f"{what}.md"
        return path.read_text().strip() if path.is_file() else "*Not in this run.*"
    path = out / "figures" / f"{what}.png"
    if not path.is_file():
        return "*Not in this run.*"
    for suffix in (".png", ".svg"):
        copy = docs / "images" / "paper" / f"{what}{suffix}"
        write_atomically(copy, path.with_suffix(suffix).read_bytes())
    return f"![{title or what}](images/paper/{what}.png)"


def _about(summary: dict[str, object]) -> str:
    """The command, the machine and the time."""
    machine = summary["machine"]
    assert isinstance(machine, dict)
    of = ", ".join(f"{key} {value}" for key, value in machine.items())
    seconds = float(str(summary["seconds_of_all_results"]))
    done = f"{summary['results']} results, {duration(seconds)} of computing"
    if summary["computed"] == summary["results"]:
        done += f", {duration(float(str(summary['seconds'])))} from start to end"
    return f"`{summary['command']}`: {done}. Machine: {of}."
