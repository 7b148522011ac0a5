"""One page with everything inside: tables, figures as SVG, and what the run was."""

import base64
from html import escape
from pathlib import Path
from typing import Any

from .page_section import Figure, Section, Table
from .task import duration

_STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1d1d1f; --paper: #fff; --line: #d8d8dc; --quiet: #666; --stripe: #f5f5f7;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ea; --paper: #16161a; --line: #3a3a40; --quiet: #a0a0a8; --stripe: #1f1f25; }
}
body {
  margin: 0 auto; max-width: 62rem; padding: 1rem;
  background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif;
}
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { margin-top: 3rem; font-size: 1.25rem; }
nav a { margin-right: 1rem; display: inline-block; }
a { color: inherit; }
.quiet, figcaption, caption { color: var(--quiet); font-size: 0.9rem; }
figure { margin: 1.5rem 0; }
figure img {
  max-width: 100%; height: auto; background: #fff; border-radius: 6px;
  border: 1px solid var(--line); box-sizing: border-box; padding: 6px;
}
.wide { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: 0.4rem; }
th, td {
  padding: 0.25rem 0.7rem; border-bottom: 1px solid var(--line);
  text-align: right; white-space: nowrap;
}
.words { text-align: left; }
tbody tr:nth-child(even) { background: var(--stripe); }
code { font-size: 0.9em; overflow-wrap: anywhere; }
"""

_METHOD = "Dirichlet-based Gaussian processes"
_HEADING = f"{_METHOD} for large-scale calibrated classification: the paper, reproduced"


def web_page(sections: list[Section], summary: dict[str, Any], out: Path) -> str:
    """The page as HTML; nothing is loaded from elsewhere."""
    links = "".join(
        f'<a href="#{section.name}">{escape(section.title)}</a> ' for section in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_METHOD}: the paper, reproduced</title><style>{_STYLE}</style></head><body>"
        f"<h1>{_HEADING}</h1>"
        + _about(summary)
        + _left_out(summary["left_out"] + summary["failed"])
        + f"<nav>{links}</nav>"
        + "".join(_section(section, out) for section in sections)
        + "</body></html>\n"
    )


def _about(summary: dict[str, Any]) -> str:
    """The command, how long it took, and the machine."""
    command = escape(summary["command"] or "run_paper")
    machine = ", ".join(f"{key} {value}" for key, value in summary["machine"].items())
    return (
        f'<p class="quiet">Command: <code>{command}</code><br>{summary["results"]} results that '
        f"took {duration(summary['seconds_of_all_results'])} to compute; this run computed "
        f"{summary['computed']} of them in {duration(summary['seconds'])}.<br>{escape(machine)}</p>"
    )


def _left_out(messages: list[str]) -> str:
    if not messages:
        return ""
    items = "".join(f"<li>{escape(message)}</li>" for message in messages)
    return f'<p class="quiet">Left out:</p><ul class="quiet">{items}</ul>'


def _section(section: Section, out: Path) -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in section.text)
    figures = "".join(_figure(figure, out) for figure in section.figures)
    tables = "".join(_table(table) for table in section.tables)
    heading = f"<h2>{escape(section.title)}</h2>"
    return f'<section id="{section.name}">{heading}{text}{figures}{tables}</section>\n'


def _figure(figure: Figure, out: Path) -> str:
    drawn = (out / "figures" / f"{figure.name}.svg").read_bytes()
    content = base64.b64encode(drawn).decode()
    caption = escape(figure.caption)
    image = f'<img alt="{caption}" src="data:image/svg+xml;base64,{content}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> str:
    def row(cells: list[str], tag: str) -> str:
        aligned = zip(cells, table.numeric, strict=True)
        inside = (
            f"<{tag}{'' if right else ' class=words'}>{escape(cell)}</{tag}>"
            for cell, right in aligned
        )
        return "<tr>" + "".join(inside) + "</tr>"

    body = "".join(row(cells, "td") for cells in table.rows)
    head = f"<caption>{escape(table.caption)}</caption><thead>{row(table.columns, 'th')}</thead>"
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'
