"""Kinds of columns, and how each becomes features."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..texts import as_days, as_number
from .values import days_of, numbers_of, texts_of, unread

# Told of values that cannot be used as they are: the column, and a sentence.
Notify = Callable[[str, str], None]

_YEAR = 365.2425
_PARTS: dict[str, Callable[[Array], Array]] = {
    "day": lambda days: days,
    "season": lambda days: np.cos(2 * np.pi * (days % _YEAR) / _YEAR),
    "season2": lambda days: np.sin(2 * np.pi * (days % _YEAR) / _YEAR),
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
        marks = [f"{self.name}_missing"] * self.missing
        return [self.name, *marks]

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        if not self.missing:
            return "number"
        return f"number, missing becomes {self.median:.4g} and is marked"

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
            notify(self.name, f"column {self.name!r} {seen}: {_some(unknown)}")
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
        parts = [_PARTS[part](days) for part in self.parts]
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
KINDS: dict[str, Any] = {"number": Number, "category": Category, "date": Date, "unused": Unused}


def _tell_of(what: str, name: str, strange: list[str], notify: Notify) -> None:
    if strange:
        notify(name, f"column {name!r} holds texts that are not {what}: {_some(strange)}")


def _some(texts: list[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:3])
    return f"{shown}, ..." if len(texts) > 3 else shown


def _filled(values: Array, median: float, missing: bool) -> Array:
    absent = np.isnan(values)
    filled = np.where(absent, median, values)
    return np.column_stack([filled, absent]) if missing else filled[:, None]
