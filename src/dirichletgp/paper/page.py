"""One page with everything inside: tables, figures as SVG, and what the run was."""

import base64
from html import escape
from pathlib import Path
from typing import Any

from .section import Figure, Section, Table
from .task import duration

_STYLE = """ :root { color-scheme: light dark; --ink: #1d1d1f; --paper: #fff; --line: #d8d8dc;
--quiet: #666; --stripe: #f5f5f7; } @media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ea; --paper: #16161a; --line: #3a3a40; --quiet: #a0a0a8; --stripe: #1f1f25; }
}
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { margin-top: 3rem; font-size: 1.25rem; } nav a {
margin-right: 1rem; display: inline-block; } a { color: inherit; } .quiet, figcaption, caption {
color: var(--quiet); font-size: 0.9rem; } figure { margin: 1.5rem 0; } figure img { max-width: 100%;
height: auto; background: #fff; border-radius: 6px;
  border: 1px solid var(--line); box-sizing: border-box; padding: 6px; }
.wide { overflow-x: auto; margin: 1.5rem 0; } table { border-collapse: collapse; font-size: 0.86rem;
font-variant-numeric: tabular-nums; } caption { text-align: left; padding-bottom: 0.4rem; } th, td {
padding: 0.25rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; white-space:
nowrap; } .words { text-align: left; } tbody tr:nth-child(even) { background: var(--stripe); } code
{ font-size: 0.9em; overflow-wrap: anywhere; }
"""


def page(sections: list[Section], summary: dict[str, Any], out: Path) -> str:
    """The page as HTML; nothing is loaded from elsewhere."""
    links = "".join(
        f'<a href="#{section.name}">{escape(section.title)}</a> ' for section in sections
    )
    machine = ", ".join(f"{key} {value}" for key, value in summary["machine"].items())
    left_out = "".join(
        f"<li>{escape(message)}</li>" for message in summary["left_out"] + summary["failed"]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Dirichlet-based Gaussian processes: the paper, reproduced</title><style>{_STYLE}</style></head><body>"
        "<h1>Dirichlet-based Gaussian processes for large-scale calibrated classification: the paper, reproduced</h1>"
        f'<p class="quiet">Command: <code>{escape(summary["command"] or "run_paper")}</code><br>'
        f"{summary['results']} results that took {duration(summary['seconds_of_all_results'])} to compute; "
        f"this run computed {summary['computed']} of them in {duration(summary['seconds'])}.<br>{escape(machine)}</p>"
        + (f'<p class="quiet">Left out:</p><ul class="quiet">{left_out}</ul>' if left_out else "")
        + f"<nav>{links}</nav>"
        + "".join(_section(section, out) for section in sections)
        + "</body></html>\n"
    )


def _section(section: Section, out: Path) -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in section.text)
    figures = "".join(_figure(figure, out) for figure in section.figures)
    tables = "".join(_table(table) for table in section.tables)
    return f'<section id="{section.name}"><h2>{escape(section.title)}</h2>{text}{figures}{tables}</section>\n'


def _figure(figure: Figure, out: Path) -> str:
    content = base64.b64encode((out / "figures" / f"{figure.name}.svg").read_bytes()).decode()
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
