"""A recipe says how a table becomes features; it is kept as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...core.arrays import AnyArray, Array
from ..texts import Texts
from .columns import KINDS, Column, Notify
from .errors import TableError
from .values import texts_of


@dataclass(frozen=True)
class Recipe:
    """How a table becomes features.

    Attributes
    ----------
    target : str
        The column that is predicted.
    columns : list of Column
    """

    target: str
    columns: list[Column]

    @property
    def features(self) -> list[str]:
        """Names of all features."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def needed(self) -> list[str]:
        """Columns that a table must have."""
        return [column.name for column in self.columns if column.features]

    def check(self, columns: list[str], name: str) -> None:
        """`TableError` if a table with these columns cannot be used."""
        absent = [column for column in self.needed if column not in columns]
        if absent:
            more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
            raise TableError(f"{name} has no column {absent[0]!r}{more}, which the model needs")

    def rows(self, table: Any, notify: Notify) -> Array:
        """Features (n, D) of a table or batch."""
        parts = [
            column.values(table.column(column.name), notify)
            for column in self.columns
            if column.features
        ]
        return np.concatenate(parts, axis=1)

    def labels(self, table: Any, name: str) -> AnyArray:
        """Labels (n,) of a table, as texts."""
        return target_texts(table, self.target, name).per_row()

    def as_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        kinds = {cls: kind for kind, cls in KINDS.items()}
        return {
            "target": self.target,
            "columns": [{"kind": kinds[type(c)], **asdict(c)} for c in self.columns],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Recipe":
        """The recipe that `as_json` described."""
        columns = []
        for described in content["columns"]:
            fields = {name: value for name, value in described.items() if name != "kind"}
            columns.append(KINDS[described["kind"]](**fields))
        return cls(str(content["target"]), columns)


def target_texts(table: Any, target: str, name: str) -> Texts:
    """The labels of a table; `TableError` if the column is not there or has gaps.

    Parameters
    ----------
    table : pyarrow.Table
    target : str
        The column of labels.
    name : str
        What the table is called in errors.
    """
    if target not in table.column_names:
        columns = listed(table.column_names)
        raise TableError(f"{name} has no column {target!r}, the target; its columns: {columns}")
    texts = texts_of(table.column(target))
    missing = np.flatnonzero(texts.codes < 0)
    if len(missing):
        raise TableError(
            f"{name}: the target {target!r} is missing in {len(missing):,} rows, "
            f"the first is row {missing[0] + 1}"
        )
    return texts


def listed(names: list[str]) -> str:
    """The first names, for a message."""
    shown = ", ".join(names[:8])
    return f"{shown}, ..." if len(names) > 8 else shown
