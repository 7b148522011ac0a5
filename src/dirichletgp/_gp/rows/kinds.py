"""Kinds of columns, and the numbers that stand for their values.

A number stands for itself, a category is its code, a date becomes several numbers, a text tells
which words are in it; NaN means that a value is missing. Each kind is a few plain values that a
model file can hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.arrays import Array
from .bands import BANDS, as_banded_number
from .frames import Days, Numbers, Values, Words, other_kind
from .texts import PLAIN, Texts, as_days, as_number
from .wordings import Wording

# Told of values that a model does not know: the column, a sentence, and the first such row.
Notify = Callable[[str, str, int | None], None]

_YEAR = 365.2425
PARTS: dict[str, Callable[[Array], Array]] = {
    "day": lambda days: days,
    "season": lambda days: np.cos(2 * np.pi * (days % _YEAR) / _YEAR),
    "season2": lambda days: np.sin(2 * np.pi * (days % _YEAR) / _YEAR),
    "weekday": lambda days: (np.floor(days) + 3) % 7,
    "hour": lambda days: 24 * (days % 1),
}
"""What a date, in days since 1970, is made of."""

# Truths are written in several ways: Python's comes first.
_OTHER_SPELLINGS = {"True": ("true", "TRUE"), "False": ("false", "FALSE")}


@dataclass(frozen=True)
class Number:
    """Numbers as they are, or as their texts are read.

    Attributes
    ----------
    name : str
    missing : bool
        Whether values were missing in the training rows.
    style : str
        How texts are read: one of `STYLES`, or `BANDS`.
    mistakes : list of str
        Texts of the training rows that are no numbers and count as missing.
    """

    name: str
    missing: bool = False
    style: str = PLAIN
    mistakes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the matrix columns."""
        return [self.name]

    @property
    def levels(self) -> list[int]:
        """A zero for each matrix column that holds numbers."""
        return [0]

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        banded = ", read from ranges" * (self.style == BANDS)
        return "number" + banded + _holes(self.missing) + _slips(self.mistakes)

    def matrix(self, values: Values, notify: Notify | None) -> Array:
        """Matrix columns (n, 1) of values."""
        if isinstance(values, Words):
            if self.style == BANDS:
                return self._from_bands(values.texts, notify)[:, None]
            read = _read(self.name, values.texts, self._as_number, "numbers", notify)
            return read[:, None]
        if isinstance(values, Numbers):
            return without_infinities(self.name, values.values)[:, None]
        raise other_kind(self.name, values, "numbers")

    def _as_number(self, text: str) -> float | None:
        return None if text in self.mistakes else as_number(text, self.style)

    def _from_bands(self, texts: Texts, notify: Notify | None) -> Array:
        """Bands as numbers; a word that is none is missing, as the one that is known."""

        def read(text: str) -> float | None:
            return None if text in self.mistakes else as_banded_number(text)

        return _read(self.name, texts, read, "ranges of numbers", notify or _be_quiet)


@dataclass(frozen=True)
class Category:
    """The code of a category; one past the last for a category that is not known.

    Attributes
    ----------
    name : str
    categories : list of str
    missing : bool
        Whether values were missing in the training rows.
    rare : bool
        Whether there were categories in the training rows that are not known: too rare to be.
    """

    name: str
    categories: list[str]
    missing: bool = False
    rare: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the matrix columns."""
        return [self.name]

    @property
    def levels(self) -> list[int]:
        """The number of known categories."""
        return [len(self.categories)]

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        n = len(self.categories)
        words = "1 category" if n == 1 else f"{n:,} categories"
        return words + ", rare ones together" * self.rare + _holes(self.missing)

    def matrix(self, values: Values, notify: Notify | None) -> Array:
        """Matrix columns (n, 1) of values."""
        if isinstance(values, Numbers):
            texts = values.as_texts()
        elif isinstance(values, Words):
            texts = values.texts
        else:
            raise other_kind(self.name, values, "categories")
        place = {text: code for code, text in enumerate(self.categories)}
        unknown = len(self.categories)
        codes = [self._code(text, place, unknown) for text in texts.distinct]
        new = [text for text, code in zip(texts.distinct, codes, strict=True) if code == unknown]
        if new and notify is not None and not self.rare:
            seen = f"column {self.name!r} holds categories the model has not seen"
            notify(self.name, f"{seen}: {_some(new)}", _first_row(texts, new))
        return np.array([*codes, np.nan])[texts.codes][:, None]

    def _code(self, text: str, place: dict[str, int], unknown: int) -> int:
        spellings = (text, *_OTHER_SPELLINGS.get(text, ()))
        return next((place[word] for word in spellings if word in place), unknown)


@dataclass(frozen=True)
class Date:
    """The day, and where they vary the season, the weekday and the hour.

    Attributes
    ----------
    name : str
    pattern : str
        How texts are read.
    parts : list of str
        Among `PARTS`.
    missing, mistakes
        As of numbers.
    """

    name: str
    pattern: str
    parts: list[str]
    missing: bool = False
    mistakes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the matrix columns."""
        return [f"{self.name}_{part}" for part in self.parts]

    @property
    def levels(self) -> list[int]:
        """A zero for each matrix column, which all hold numbers."""
        return [0] * len(self.parts)

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        how = "" if self.pattern == "iso" else f", read as {self.pattern}"
        named = ", ".join(part for part in self.parts if part != "season2")
        return f"date{how}: {named}" + _holes(self.missing) + _slips(self.mistakes)

    def matrix(self, values: Values, notify: Notify | None) -> Array:
        """Matrix columns (n, number of parts) of values."""
        if isinstance(values, Words):
            what = "dates like those the model knows"
            days = _read(self.name, values.texts, self._as_days, what, notify)
        elif isinstance(values, Days):
            days = values.values
        else:
            raise other_kind(self.name, values, "dates")
        return np.column_stack([PARTS[part](days) for part in self.parts])

    def _as_days(self, text: str) -> float | None:
        return None if text in self.mistakes else as_days(text, self.pattern)


@dataclass(frozen=True)
class Unused:
    """A column that is left out, and why."""

    name: str
    reason: str

    @property
    def names(self) -> list[str]:
        """None."""
        return []

    @property
    def levels(self) -> list[int]:
        """None."""
        return []

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        return f"not used: {self.reason}"

    def matrix(self, values: Values, notify: Notify | None) -> Array:
        """No columns."""
        return np.empty((len(values), 0))


Kind = Number | Category | Date | Wording | Unused
# What a model file calls them.
KINDS: dict[str, Any] = {
    "number": Number,
    "category": Category,
    "date": Date,
    "wording": Wording,
    "unused": Unused,
}


def _be_quiet(name: str, sentence: str, row: int | None) -> None:
    """Nothing to tell of."""


def without_infinities(name: str, values: Array) -> Array:
    """Numbers, if none of them is infinite."""
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(
            f"X holds infinity in column {name!r}, first in row {infinite[0]}; "
            "replace it by a number, or by NaN if it means that the value is missing."
        )
    return values


def _read(
    name: str,
    texts: Texts,
    read: Callable[[str], float | None],
    what: str,
    notify: Notify | None,
) -> Array:
    """Texts as numbers; those that cannot be read are refused, or missing if that is noted."""
    found = [read(text) for text in texts.distinct]
    pairs = list(zip(texts.distinct, found, strict=True))
    strange = [text for text, value in pairs if value is not None and np.isnan(value)]
    if strange:
        sentence = f"column {name!r} holds texts that are not {what}: {_some(strange)}"
        if notify is None:
            raise ValueError(f"X: {sentence}; correct them, or pass None where a value is missing.")
        notify(name, sentence, _first_row(texts, strange))
    values = [np.nan if value is None else value for value in found]
    return np.array([*values, np.nan])[texts.codes]


def _first_row(texts: Texts, some: list[str]) -> int:
    """The first row that holds one of some texts."""
    wanted = set(some)
    codes = [code for code, text in enumerate(texts.distinct) if text in wanted]
    return int(np.argmax(np.isin(texts.codes, codes)))


def _some(texts: list[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:3])
    return f"{shown}, ..." if len(texts) > 3 else shown


def _holes(missing: bool) -> str:
    return ", missing is a value of its own" * missing


def _slips(mistakes: list[str]) -> str:
    return f", {_some(mistakes)} taken as missing" if mistakes else ""
