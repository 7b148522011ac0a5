"""Learning what the columns of training rows are: one learner for frames, arrays and files.

The type of a column decides where it says enough. Texts are read where they are numbers, bands of
numbers, or dates.
Columns that carry nothing, such as ids, are left out, and `Columns.described` says why.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Array, Booleans
from .bands import band_reading
from .columns import MixedColumns, cleaned
from .frames import Days, Frame, Numbers, Strange, Values, Words
from .kinds import Category, Date, Kind, Number, Unused, without_infinities
from .texts import (
    COMMA,
    DATE_PATTERNS,
    PLAIN,
    POINT,
    Texts,
    as_days,
    as_number,
    date_reading,
    in_figures,
    number_reading,
    whole_numbers,
)
from .wordings import Wording, telling_words

LEARNED_FROM = 200_000
"""So many rows are enough to learn from, where not all are in memory."""

# With more categories than this, those seen once are too rare to be known.
_MANY_CATEGORIES = 100
_MOST_CATEGORIES = 5_000
# Fewer values than this may all be different by chance.
_FEWEST_IDS = 20
# Texts of which more than this share is distinct are names or sentences, not categories.
_LIKE_NAMES = 0.95
# Whole numbers that are all different are ids if so many would have repeated one had they been
# measured: so many expected repetitions are none by chance once in a thousand cases.
_REPETITIONS = 7.0
_ID_NAME = re.compile(
    r"(?:^|[_ .-])(?:id|ID|Id|uuid|UUID|guid|index)$|[a-z](?:Id|ID)$|^Unnamed: \d+$"
)


@dataclass(frozen=True)
class Wishes:
    """What is known of columns beforehand.

    Attributes
    ----------
    categories : ndarray of shape (n_in,) of bool, or None
        Which columns are categories, and no others; None: as their types say.
    named_categories : frozenset of str
        Columns that are categories whatever their types say.
    numbers : frozenset of str
        Columns of texts that are numbers.
    dates : mapping from str to str
        Patterns of columns of dates.
    patterns : tuple of str
        Patterns of dates, to be tried first.
    decimal : {".", ","} or None
        The mark before fractions in texts; None: as they need it.
    unused : frozenset of str
        Columns to leave out.
    blanks : tuple of str
        Texts that stand for nothing.
    typed : bool
        Whether the columns have types. Where all are texts, whole numbers are numbers; otherwise
        somebody made texts of them.
    drops : bool
        Whether columns that carry nothing are left out.
    """

    categories: Booleans | None = None
    named_categories: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    dates: Mapping[str, str] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()
    decimal: str | None = None
    unused: frozenset[str] = frozenset()
    blanks: tuple[str, ...] = ("",)
    typed: bool = True
    drops: bool = True


def learned_columns(frame: Frame, wishes: Wishes, labels: AnyArray | None = None) -> MixedColumns:
    """What the columns of training rows are; `ValueError` if none of them can be used.

    Labels (n,) choose the words of texts that are nearly all different; without labels such texts
    are left out.
    """
    names = frame.names or [f"x{j}" for j in range(frame.shape[1])]
    kinds = tuple(
        _Learner(name, j, wishes, labels).kind(cleaned(frame.values(j), wishes.blanks))
        for j, name in enumerate(names)
    )
    columns = MixedColumns(frame.shape[1], frame.names, kinds, wishes.blanks)
    if not len(columns.levels):
        reasons = "; ".join(f"{kind.name}: {kind.treatment}" for kind in kinds[:3])
        raise ValueError(f"no column of X can be used: {reasons}.")
    return columns


def labels_of(parts: Sequence[Any], n_rows: int) -> AnyArray | None:
    """Labels (n,) of parts of rows, as texts; None if they are not one for every row."""
    labels = [np.asarray(part) for part in parts]
    if any(part.ndim != 1 for part in labels) or sum(map(len, labels)) != n_rows:
        return None
    return np.concatenate([part.astype(str) for part in labels])


def are_ids(values: Array, name: str = "") -> bool:
    """Whether whole numbers only tell rows apart: all different, though they would repeat."""
    present = values[~np.isnan(values)]
    n = len(present)
    if n < _FEWEST_IDS or np.any(present != np.floor(present)):
        return False
    values_there = float(np.ptp(present)) + 1.0
    dense = n * (n - 1) / 2 > _REPETITIONS * values_there
    if not dense and not _ID_NAME.search(name):
        return False
    return len(np.unique(present)) == n


@dataclass(frozen=True)
class _Learner:
    """Decides the kind of one column."""

    name: str
    place: int
    wishes: Wishes
    labels: AnyArray | None

    @property
    def _is_category(self) -> bool | None:
        """Whether the column is a category; None: as its type says."""
        if self.name in self.wishes.named_categories:
            return True
        chosen = self.wishes.categories
        return None if chosen is None else bool(chosen[self.place])

    def kind(self, values: Values) -> Kind:
        wishes = self.wishes
        if self.name in wishes.unused:
            return Unused(self.name, "as asked")
        if isinstance(values, Strange):
            return self._strange(values)
        if self._is_category and not isinstance(values, Days):
            return self._category(_texts_of(values), asked=True)
        if isinstance(values, Words):
            return self._words(values)
        if isinstance(values, Days):
            return self._date("iso", values.values, [])
        return self._number(values.values, values.whole)

    def _strange(self, values: Strange) -> Kind:
        if not self.wishes.drops:
            raise TypeError(
                f"X holds a {values.what} in column {self.name!r}; "
                "the argument must be a string or a real number there."
            )
        return Unused(self.name, f"values of type {values.what}")

    def _words(self, values: Words) -> Kind:
        texts = values.texts
        if self.name in self.wishes.dates:
            return self._date_of(texts)
        if self.name in self.wishes.numbers:
            return self._number_of(texts)
        if values.declared and self._is_category is None:
            return self._category(texts)
        number = number_reading(texts, self.wishes.decimal) if texts.distinct else None
        if number is not None and (self._is_category is False or self._means_numbers(texts)):
            read = Number(self.name, False, *number).matrix(Words(texts), None)[:, 0]
            return self._number(read, bool(whole_numbers(texts)), *number)
        patterns = (*self.wishes.patterns, *DATE_PATTERNS)
        date = date_reading(texts, patterns) if texts.distinct else None
        if date is not None:
            days = Date(self.name, date.how, ["day"], False, date.mistakes)
            return self._date(date.how, days.matrix(Words(texts), None)[:, 0], date.mistakes)
        bands = band_reading(texts)
        if bands is not None:
            read = Number(self.name, False, *bands).matrix(Words(texts), None)[:, 0]
            return self._number(read, False, *bands)
        if self._is_category is False and texts.distinct:
            raise ValueError(
                f"X holds texts in column {self.name!r}, such as {texts.distinct[0]!r}, which "
                "categorical_features does not name; name it there, or pass 'from_dtype'."
            )
        return self._category(texts)

    def _means_numbers(self, texts: Texts) -> bool:
        return not self.wishes.typed or not whole_numbers(texts)

    def _number_of(self, texts: Texts) -> Kind:
        """Numbers because somebody says so: all that cannot be read is missing."""
        style = COMMA if self.wishes.decimal == "," else POINT
        mistakes = [text for text in texts.distinct if np.isnan(as_number(text, style))]
        self._check_some_right(texts, mistakes, "number")
        values = Number(self.name, False, style, mistakes).matrix(Words(texts), None)[:, 0]
        return self._number(values, False, style, mistakes)

    def _date_of(self, texts: Texts) -> Kind:
        """Dates because somebody says so: all that cannot be read is missing."""
        pattern = self.wishes.dates[self.name]
        mistakes = [text for text in texts.distinct if np.isnan(as_days(text, pattern))]
        self._check_some_right(texts, mistakes, f"date like {pattern}")
        days = texts.mapped(lambda text: as_days(text, pattern))
        return self._date(pattern, days, mistakes)

    def _check_some_right(self, texts: Texts, mistakes: list[str], what: str) -> None:
        if texts.distinct and len(mistakes) == len(texts.distinct):
            raise ValueError(
                f"column {self.name!r} holds no {what}, but texts such as {mistakes[0]!r}"
            )

    def _number(
        self, values: Array, whole: bool, style: str = PLAIN, mistakes: list[str] | None = None
    ) -> Kind:
        without_infinities(self.name, values)
        present = values[~np.isnan(values)]
        missing = len(present) < len(values)
        if self.wishes.drops:
            if len(present) == 0:
                return Unused(self.name, "empty")
            if not missing and present.min() == present.max():
                return Unused(self.name, f"always {in_figures(present[0])}")
            if whole and are_ids(values, self.name):
                return Unused(self.name, "an id, different in every row")
        return Number(self.name, missing, style, mistakes or [])

    def _date(self, pattern: str, days: Array, mistakes: list[str]) -> Kind:
        present = days[~np.isnan(days)]
        if len(present) == 0:
            return Unused(self.name, "empty")
        if present.min() == present.max() and len(present) == len(days):
            return Unused(self.name, "always the same date")
        parts = ["day"]
        if np.ptp(present) > 60:
            parts += ["season", "season2"]
        if np.ptp(present) > 7:
            parts.append("weekday")
        if np.ptp(present % 1) > 0:
            parts.append("hour")
        return Date(self.name, pattern, parts, len(present) < len(days), mistakes)

    def _category(self, texts: Texts, asked: bool = False) -> Kind:
        counts = texts.counts
        n_rows = int(counts.sum())
        missing = n_rows < len(texts.codes)
        if n_rows == 0:
            return Unused(self.name, "empty")
        if len(counts) == 1 and not missing and self.wishes.drops:
            return Unused(self.name, f"always {texts.distinct[0]!r}")
        if not asked and n_rows >= _FEWEST_IDS and len(counts) > _LIKE_NAMES * n_rows:
            return self._wording(texts)
        order = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
        often = order[counts[order] > 1]
        known = often if len(counts) > _MANY_CATEGORIES and len(often) else order
        categories = sorted(texts.distinct[code] for code in known)
        return Category(self.name, categories, missing, len(known) < len(counts))

    def _wording(self, texts: Texts) -> Kind:
        """Texts that are nearly all different: their words, if these tell anything."""
        words = [] if self.labels is None else telling_words(texts, self.labels)
        if words:
            return Wording(self.name, words)
        n, example = len(texts.distinct), texts.distinct[0]
        return Unused(self.name, f"{n:,} different texts, nearly one per row, such as {example!r}")


def _texts_of(values: Numbers | Words) -> Texts:
    return values.texts if isinstance(values, Words) else values.as_texts()
