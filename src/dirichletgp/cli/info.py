"""`dirichletgp info`: what a model file holds."""

from pathlib import Path
from typing import Any

from ..report.numbers import metric_text
from ..report.provenance import how_it_was_made
from .console import in_markup, print_json, with_one_line_errors
from .labelled_table import Target
from .options import Json, ModelPath
from .printed_columns import print_columns
from .table_model import TableModel

_NAMES = {
    "ece": "calibration error",
    "mnll": "log loss",
    "brier": "Brier score",
    "auc": "AUC",
    "f1": "F1",
}
_ABLE = {True: "predicts, and can learn more rows", False: "compact: predicts, learns no more"}
_MOST_CLASSES = 12


@with_one_line_errors
def info(model: ModelPath, as_json: Json = False) -> None:
    """Say what a model predicts, which columns it needs, how it was made, and how it did."""
    content = _content(model)
    if as_json:
        print_json(content)
    else:
        _print(content)


def _content(path: str) -> dict[str, Any]:
    fitted = TableModel.load(path)
    content = {
        "model": path,
        "bytes": Path(path).stat().st_size,
        "target": fitted.known_target,
        "learns": fitted.classifier._fitted.model.learns,
        "remembered_rows": fitted.classifier.n_remembered_rows_,
        "classes": [str(label) for label in fitted.classifier.classes_.tolist()],
        "columns": [{"name": name, "treatment": words} for name, words in fitted.described()],
        "made": dict(how_it_was_made(fitted.classifier, None)),
    }
    return content | fitted.facts


def _print(content: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, text in _lines(content):
        table.add_row(name, in_markup(text))
    Console().print(table)
    if content["columns"]:
        print()
        print_columns([(c["name"], c["treatment"]) for c in content["columns"]], "Columns")


def _predicted(target: Target | None) -> str:
    if target is None:
        return "labels"
    return target if isinstance(target, str) else "votes for"


def _lines(content: dict[str, Any]) -> list[tuple[str, str]]:
    """Pairs of a heading and a text."""
    classes = content["classes"]
    named = ", ".join(classes[:_MOST_CLASSES])
    if len(classes) > _MOST_CLASSES:
        named += f", ... ({len(classes)} in all)"
    lines = [
        ("Predicts", f"{_predicted(content['target'])}: {named}"),
        ("File", f"{content['bytes'] / 1e6:.1f} MB, {_ABLE[content['learns']]}"),
        *content["made"].items(),
    ]
    if content["remembered_rows"]:
        rows = f"{content['remembered_rows']:,}"
        lines.append(("Holds", f"the labels of {rows} training rows, which vote for their copies"))
    if "test" in content:
        test = content["test"]
        lines.append(("Test", f"{test['rows']:,} rows {content['tested_on']}"))
        lines += [("", _measured(key, found)) for key, found in test["metrics"].items()]
        lines.append(("Verdict", test["verdict"]["headline"]))
    if content.get("refitted"):
        rows = f"{content['training_rows']:,}"
        lines.append(("", f"measured before it was fitted again, to all {rows} rows"))
    lines += [("Warning", caution) for caution in content.get("warnings", [])]
    return lines


def _measured(key: str, found: dict[str, Any]) -> str:
    """A metric with what guessing reaches, where that means something."""
    guessing = found.get("baseline")
    beside = "" if guessing is None else f" (guessing: {metric_text(key, guessing)})"
    return f"{_NAMES.get(key, key)} {metric_text(key, found['value'])}{beside}"
