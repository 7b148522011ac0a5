"""Columns and how each becomes features; a recipe is a list of them, learned from a table and kept as JSON."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import TableError
from .values import (
    Texts,
    as_days,
    as_number,
    date_pattern,
    days_of,
    kind_of,
    numbers_of,
    texts_of,
    unread,
)

Array = NDArray[np.float64]
# Told of values that cannot be used as they are: column, and a sentence.
Complain = Callable[[str, str], None]

MOST_CATEGORIES = 30
_FEWEST_PER_CATEGORY = 5
_MOST_LIKE_NAMES = (
    0.5  # texts of which more than this share is distinct are names or sentences, not categories
)
_PARTS: dict[str, Callable[[Array], Array]] = {
    "day": lambda days: days,
    "season": lambda days: np.cos(2 * np.pi * (days % 365.2425) / 365.2425),
    "season2": lambda days: np.sin(2 * np.pi * (days % 365.2425) / 365.2425),
    "weekday": lambda days: (np.floor(days) + 3) % 7,
    "hour": lambda days: 24 * (days % 1),
}


@dataclass(frozen=True)
class Number:
    """Numbers as they are; a missing one becomes the median and is marked."""

    name: str
    median: float
    missing: bool

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.name] + [f"{self.name}_missing"] * self.missing

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        return "number" + (
            f", missing becomes {self.median:.4g} and is marked" if self.missing else ""
        )

    def values(self, array: Any, complain: Complain) -> Array:
        """Features (n, k) of a column."""
        _complain_of("numbers", self.name, unread(array, "number", as_number), complain)
        return _filled(numbers_of(array), self.median, self.missing)


@dataclass(frozen=True)
class Category:
    """One feature per category, or a single one for two; rare and missing ones are categories of their own."""

    name: str
    categories: list[str]
    other: bool
    missing: bool

    @property
    def levels(self) -> list[str]:
        """All categories, with those for rare and missing values."""
        return self.categories + ["other"] * self.other + ["missing"] * self.missing

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        levels = self.levels
        return [f"{self.name}_{level}" for level in (levels[1:] if len(levels) == 2 else levels)]

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        parts = [f"{len(self.categories)} categories"]
        return ", ".join(
            parts + ["rare ones together"] * self.other + ["missing is one more"] * self.missing
        )

    def values(self, array: Any, complain: Complain) -> Array:
        """Features (n, k) of a column."""
        texts = texts_of(array)
        place = {level: column for column, level in enumerate(self.categories)}
        elsewhere = len(self.categories) if self.other else -1
        columns = [place.get(text, elsewhere) for text in texts.distinct]
        unknown = [text for text, column in zip(texts.distinct, columns, strict=True) if column < 0]
        if unknown:
            complain(
                self.name,
                f"column {self.name!r} holds categories the model has not seen: {_some(unknown)}",
            )
        columns.append(len(self.levels) - 1 if self.missing else -1)
        chosen = np.array(columns)[texts.codes]
        out = np.zeros((len(chosen), len(self.levels)))
        known = chosen >= 0
        out[np.flatnonzero(known), chosen[known]] = 1.0
        return out[:, 1:] if len(self.levels) == 2 else out


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
        return [f"{self.name}_{part}" for part in self.parts] + [
            f"{self.name}_missing"
        ] * self.missing

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        how = "" if self.pattern == "iso" else f", read as {self.pattern}"
        return f"date{how}: {', '.join(part for part in self.parts if part != 'season2')}"

    def values(self, array: Any, complain: Complain) -> Array:
        """Features (n, k) of a column."""
        strange = unread(array, "date", lambda text: as_days(text, self.pattern))
        _complain_of("dates like those the model knows", self.name, strange, complain)
        both = _filled(days_of(array, self.pattern), self.median, self.missing)
        return np.column_stack([*(_PARTS[part](both[:, 0]) for part in self.parts), both[:, 1:]])


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

    def values(self, array: Any, complain: Complain) -> Array:
        """No features."""
        return np.empty((len(array), 0))


Column = Number | Category | Date | Unused
_KINDS: dict[str, Any] = {"number": Number, "category": Category, "date": Date, "unused": Unused}


def _complain_of(what: str, name: str, strange: list[str], complain: Complain) -> None:
    if strange:
        complain(name, f"column {name!r} holds texts that are not {what}: {_some(strange)}")


def _some(texts: list[str]) -> str:
    return ", ".join(repr(text) for text in texts[:3]) + (", ..." if len(texts) > 3 else "")


def _filled(values: Array, median: float, missing: bool) -> Array:
    absent = np.isnan(values)
    filled = np.where(absent, median, values)
    return np.column_stack([filled, absent]) if missing else filled[:, None]


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

    def rows(self, table: Any, complain: Complain) -> Array:
        """Features (n, D) of a table or batch."""
        parts = [
            column.values(table.column(column.name), complain)
            for column in self.columns
            if column.features
        ]
        return np.concatenate(parts, axis=1)

    def labels(self, table: Any, name: str) -> NDArray[Any]:
        """Labels (n,) of a table, as texts."""
        if self.target not in table.column_names:
            raise TableError(
                f"{name} has no column {self.target!r}, the target; its columns: {_listed(table.column_names)}"
            )
        texts = texts_of(table.column(self.target))
        if np.any(texts.codes < 0):
            row = int(np.flatnonzero(texts.codes < 0)[0]) + 1
            raise TableError(
                f"{name}: the target {self.target!r} is missing in {np.sum(texts.codes < 0):,} rows, first {row}"
            )
        return np.array(texts.distinct)[texts.codes]

    def as_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        kinds = {cls: kind for kind, cls in _KINDS.items()}
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
            columns.append(_KINDS[described["kind"]](**fields))
        return cls(str(content["target"]), columns)


def learn_recipe(table: Any, target: str, unused: tuple[str, ...] = ()) -> Recipe:
    """The recipe of a table of training rows; `unused` columns are left out."""
    for name in unused:
        if name not in table.column_names:
            raise TableError(
                f"there is no column {name!r} to leave out; columns: {_listed(table.column_names)}"
            )
    columns: list[Column] = []
    for name in table.column_names:
        if name != target:
            columns.append(
                Unused(name, "as asked") if name in unused else _learned(name, table.column(name))
            )
    recipe = Recipe(target, columns)
    if not recipe.features:
        raise TableError(
            "no column can be used: " + "; ".join(f"{c.name}: {c.treatment}" for c in columns[:3])
        )
    return recipe


def _learned(name: str, array: Any) -> Column:
    kind = kind_of(array)
    if kind == "unknown":
        return Unused(name, f"values of type {array.type}")
    if kind == "number":
        return _learned_number(name, numbers_of(array))
    if kind == "date":
        return _learned_date(name, "iso", days_of(array, "iso"))
    texts = texts_of(array)
    if not texts.distinct:
        return Unused(name, "empty")
    if not any(np.isnan(as_number(text)) for text in texts.distinct):
        return _learned_number(name, texts.mapped(as_number))
    pattern = date_pattern(texts.distinct)
    if pattern is not None:
        return _learned_date(name, pattern, days_of(array, pattern))
    return _learned_category(name, texts)


def _learned_number(name: str, values: Array) -> Column:
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return Unused(name, "empty")
    if len(present) == len(values) and _numbers_rows(values):
        return Unused(name, "it numbers the rows")
    if present.min() == present.max() and len(present) == len(values):
        return Unused(name, f"always {present[0]:.4g}")
    return Number(name, float(np.median(present)), len(present) < len(values))


def _numbers_rows(values: Array) -> bool:
    """Whether values count the rows, of which some may have been held out."""
    whole = len(values) >= 20 and bool(np.all(values == np.floor(values)))
    return whole and bool(np.all(np.diff(values) > 0)) and values[-1] - values[0] < 2 * len(values)


def _learned_date(name: str, pattern: str, days: Array) -> Column:
    present = days[~np.isnan(days)]
    if len(present) == 0:
        return Unused(name, "empty")
    if present.min() == present.max():
        return Unused(name, "always the same date")
    parts = ["day"]
    if np.ptp(present) > 60:
        parts += ["season", "season2"]
    if np.ptp(present) > 7:
        parts.append("weekday")
    if np.ptp(present % 1) > 0:
        parts.append("hour")
    return Date(name, pattern, parts, float(np.median(present)), len(present) < len(days))


def _learned_category(name: str, texts: Texts) -> Column:
    counts, missing = texts.counts, bool(np.any(texts.codes < 0))
    if len(counts) == 1 and not missing:
        return Unused(name, f"always {texts.distinct[0]!r}")
    if len(counts) > max(MOST_CATEGORIES, _MOST_LIKE_NAMES * counts.sum()):
        plain = "".join(mark for mark in texts.distinct[0] if mark not in "$€£¥%, '")
        hint = "; as plain numbers they could be used" if not np.isnan(as_number(plain)) else ""
        return Unused(
            name,
            f"{len(counts):,} different texts, nearly one per row, such as {texts.distinct[0]!r}{hint}",
        )
    order = np.argsort(-counts, kind="stable")
    kept = order[:MOST_CATEGORIES]
    # A category seen a few times cannot be learned on its own; put together the rare ones stand for
    # all that is rare.
    often = kept[counts[kept] >= min(_FEWEST_PER_CATEGORY, counts.max())]
    kept = often if len(often) < len(counts) - 1 else order[:MOST_CATEGORIES]
    return Category(
        name, sorted(texts.distinct[code] for code in kept), len(kept) < len(counts), missing
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
