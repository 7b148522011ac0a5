"""`dirichletgp info`: what a model file holds."""

from pathlib import Path
from typing import Any

from ..report.provenance import how_it_was_made
from .options import Json, ModelPath
from .speaking import plainly, put_json
from .tabular_model import TabularModel

_NAMES = {"ece": "calibration error", "mnll": "log loss", "brier": "Brier score"}


@plainly
def info(model: ModelPath, as_json: Json = False) -> None:
    """Say what a model predicts, which columns it needs, how it was made, and how it did on the rows held out."""
    fitted = TabularModel.load(model)
    made = how_it_was_made(fitted.classifier, None)
    classes = [str(label) for label in fitted.classifier.classes_.tolist()]
    recipe = fitted.recipe
    columns = (
        []
        if recipe is None
        else [{"name": c.name, "treatment": c.treatment} for c in recipe.columns]
    )
    content: dict[str, Any] = {
        "model": model,
        "bytes": Path(model).stat().st_size,
        "target": None if recipe is None else recipe.target,
        "classes": classes,
        "columns": columns,
        "made": dict(made),
    } | fitted.facts
    if as_json:
        put_json(content)
        return
    _print(content)


def _print(content: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    classes = content["classes"]
    named = ", ".join(classes[:12]) + (
        f", ... ({len(classes)} in all)" if len(classes) > 12 else ""
    )
    rows = [
        ("Predicts", f"{content['target'] or 'labels'}: {named}"),
        ("File", f"{content['bytes'] / 1e6:.1f} MB"),
    ]
    rows += list(content["made"].items())
    if "test" in content:
        metrics = ", ".join(
            f"{_NAMES.get(key, key)} {value['value']:.3f}"
            for key, value in content["test"]["metrics"].items()
        )
        rows.append(("Test", f"{content['test']['rows']:,} rows {content['tested_on']}: {metrics}"))
        rows.append(("Verdict", content["test"]["verdict"]["headline"]))
    for name, text in rows:
        table.add_row(name, escape(text))
    for place, column in enumerate(content["columns"][:60]):
        table.add_row(
            "Columns" if place == 0 else "", escape(f"{column['name']}: {column['treatment']}")
        )
    Console().print(table)
