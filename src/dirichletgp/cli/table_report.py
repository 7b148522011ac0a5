"""The HTML report of a model on labelled rows of a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._gp.core.arrays import AnyArray, Array
from .labelled_table import LabelledTable, Target
from .table_model import TableModel

_MOST_NAMED = 10
_NOT_USED = "not used: "


class ShownRows:
    """The columns of a table as people know them, for the rows of a report.

    Parameters
    ----------
    rows : LabelledTable
    target : str or tuple of str
        The columns that are left out.
    source : str
        Where the table comes from.
    tell : bool
        Whether what is in the rows may be told; else they have numbers only.
    """

    def __init__(self, rows: LabelledTable, target: Target, source: str, tell: bool):
        self.source = source
        self.numbers = rows.numbers
        targets = {target} if isinstance(target, str) else {*target}
        names = rows.table.column_names if tell else []
        self.columns = [name for name in names if name not in targets]
        self._table = rows.table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, number: int) -> list[Any]:
        return [self._table.column(name)[number].as_py() for name in self.columns]


def check_possible() -> None:
    """`ImportError` before the work if a report cannot be made here."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError("a report needs jinja2; install it with: pip install jinja2") from error


def write_table_report(
    path: Path,
    model: TableModel,
    X: Array,
    y: AnyArray,
    shown: ShownRows,
    cautions: Sequence[str],
) -> None:
    """Write the report of a model on labelled rows of a table."""
    from ..report import write_report

    write_report(
        path,
        model.classifier,
        X,
        y,
        title=f"How well is {model.target_in_words} predicted?",
        feature_names=None if model.recipe is None else model.recipe.features,
        shown=shown,
        made=_how_it_was_made(model),
        cautions=cautions,
        overwrite=True,  # destinations were checked before
    )


def _how_it_was_made(model: TableModel) -> dict[str, str]:
    described = model.described()
    unused = [(name, words) for name, words in described if words.startswith(_NOT_USED)]
    used = len(described) - len(unused)
    made = {
        "Source": f"{model.facts.get('source', 'unknown')}, target {model.target_in_words}",
        "Columns": f"{used} of {len(described)} used",
    }
    if unused:
        reasons = [f"{name} ({_without_contents(words)})" for name, words in unused]
        more = " ..." if len(reasons) > _MOST_NAMED else ""
        made["Columns left out"] = ", ".join(reasons[:_MOST_NAMED]) + more
    return made


def _without_contents(words: str) -> str:
    """Why a column is not used, without an example of what it holds."""
    reason = words.removeprefix(_NOT_USED).partition(", such as ")[0]
    return "always the same" if reason.startswith("always ") else reason
