"""Recipes of model files that earlier versions of the command line wrote.

There a table became features before it came to the classifier: categories as indicators, missing
values as medians with a mark. Such files are read and used as they were meant; new ones keep
`Columns` instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.fields import FINITE, expect, real_number, text, texts, truth
from ..kinds import PARTS, Notify
from ..texts import as_days, as_number, in_figures, is_date_pattern
from .errors import TableError
from .values import days_of, numbers_of, texts_of, unread


@dataclass(frozen=True)
class Number:
    """Numbers as they are; a missing one becomes the median and is marked."""

    name: str
    median: float
    missing: bool

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        marks = [f"{self.name}_missing"] * self.missing
        return [self.name, *marks]

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        if not self.missing:
            return "number"
        return f"number, missing becomes {in_figures(self.median)} and is marked"

    def values(self, array: Any, notify: Notify) -> Array:
        """Features (n, k) of a column."""
        _tell_of("numbers", self.name, unread(array, "number", as_number), notify)
        return _filled(numbers_of(array), self.median, self.missing)


@dataclass(frozen=True)
class Category:
    """One feature per category, or a single one for two.

    Rare and missing ones are categories of their own.
    """

    name: str
    categories: list[str]
    other: bool
    missing: bool

    @property
    def levels(self) -> list[str]:
        """All categories, with those for rare and missing values."""
        added = ["other"] * self.other + ["missing"] * self.missing
        return self.categories + added

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        shown = self.levels[1:] if len(self.levels) == 2 else self.levels
        return [f"{self.name}_{level}" for level in shown]

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        words = [f"{len(self.categories)} categories"]
        if self.other:
            words.append("rare ones together")
        if self.missing:
            words.append("missing is one more")
        return ", ".join(words)

    def values(self, array: Any, notify: Notify) -> Array:
        """Features (n, k) of a column."""
        texts = texts_of(array)
        places = self._places(texts.distinct)
        unknown = [text for text, place in zip(texts.distinct, places, strict=True) if place < 0]
        if unknown:
            seen = "holds categories the model has not seen"
            notify(self.name, f"column {self.name!r} {seen}: {_some(unknown)}", None)
        places.append(len(self.levels) - 1 if self.missing else -1)
        chosen = np.array(places)[texts.codes]
        out = np.zeros((len(chosen), len(self.levels)))
        known = chosen >= 0
        out[np.flatnonzero(known), chosen[known]] = 1.0
        return out[:, 1:] if len(self.levels) == 2 else out

    def _places(self, texts: list[str]) -> list[int]:
        """Among the levels; -1 for a text that is none of them."""
        place = {level: number for number, level in enumerate(self.categories)}
        elsewhere = len(self.categories) if self.other else -1
        return [place.get(text, elsewhere) for text in texts]


@dataclass(frozen=True)
class Date:
    """The day, the season, and where they vary the weekday and the hour."""

    name: str
    pattern: str
    parts: list[str]
    median: float
    missing: bool

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        marks = ["missing"] * self.missing
        return [f"{self.name}_{part}" for part in [*self.parts, *marks]]

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        how = "" if self.pattern == "iso" else f", read as {self.pattern}"
        named = [part for part in self.parts if part != "season2"]
        return f"date{how}: {', '.join(named)}"

    def values(self, array: Any, notify: Notify) -> Array:
        """Features (n, k) of a column."""
        strange = unread(array, "date", lambda text: as_days(text, self.pattern))
        _tell_of("dates like those the model knows", self.name, strange, notify)
        filled = _filled(days_of(array, self.pattern), self.median, self.missing)
        days, marks = filled[:, 0], filled[:, 1:]
        parts = [PARTS[part](days) for part in self.parts]
        return np.column_stack([*parts, marks])


@dataclass(frozen=True)
class Unused:
    """A column that is left out, and why."""

    name: str
    reason: str
    features: list[str] = field(default_factory=list)

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        return f"not used: {self.reason}"

    def values(self, array: Any, notify: Notify) -> Array:
        """No features."""
        return np.empty((len(array), 0))


Column = Number | Category | Date | Unused
# What a recipe calls them in its JSON.
_KINDS: dict[str, Any] = {"number": Number, "category": Category, "date": Date, "unused": Unused}


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

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Recipe":
        """The recipe that a model file describes; `ValueError` if it cannot be one."""
        columns = []
        for described in content["columns"]:
            kind = _KINDS[described["kind"]]
            given = {name: value for name, value in described.items() if name != "kind"}
            columns.append(kind(**{name: _FIELDS[name](value) for name, value in given.items()}))
        return cls(text(content["target"], "target"), columns)


def _pattern(value: Any) -> str:
    expect(isinstance(value, str) and is_date_pattern(value), "pattern of dates")
    return str(value)


def _parts(value: Any) -> list[str]:
    parts = texts(value, "parts of a date")
    expect(set(parts) <= set(PARTS), "parts of a date")
    return parts


# What a recipe must say of a column.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "name": partial(text, what="name of a column"),
    "reason": partial(text, what="column"),
    "features": partial(texts, what="features of a column"),
    "median": partial(real_number, what="median of a column", within=FINITE),
    "missing": partial(truth, what="column"),
    "other": partial(truth, what="column"),
    "categories": partial(texts, what="categories"),
    "pattern": _pattern,
    "parts": _parts,
}


def _tell_of(what: str, name: str, strange: list[str], notify: Notify) -> None:
    if strange:
        notify(name, f"column {name!r} holds texts that are not {what}: {_some(strange)}", None)


def _some(texts: list[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:3])
    return f"{shown}, ..." if len(texts) > 3 else shown


def _filled(values: Array, median: float, missing: bool) -> Array:
    absent = np.isnan(values)
    filled = np.where(absent, median, values)
    return np.column_stack([filled, absent]) if missing else filled[:, None]
