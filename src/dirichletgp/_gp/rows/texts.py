"""Texts as people write them: missing, numbers, and dates.

How a column of texts is read is decided once, from all of its different texts: a *style* of numbers
or a *pattern* of dates. Both are words that a model file can hold.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Integers

MISSING = frozenset(
    {"", "?", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "#N/A"}
)
"""What stands for nothing among numbers and dates."""

BLANKS = tuple(sorted(MISSING - {"none"}))
"""What stands for nothing in a table of texts; among categories, "none" is one."""

_DAY = 86_400.0
_DATES = (
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%d %B %Y",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%m-%y",
    "%d-%b-%y",
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DATE_PATTERNS = ("iso", *(date + time for time in _TIMES for date in _DATES))
"""In the order in which they are tried: of two that fit, the day comes before the month."""

PLAIN, POINT, COMMA = "plain", "point", "comma"
STYLES = (PLAIN, POINT, COMMA)
"""Numbers as Python writes them, numbers such as $1,200.50, and numbers such as 1.200,50 €."""

_SPACES = " '\u00a0\u202f"
_BODIES = {
    POINT: rf"(?:\d{{1,3}}(?:[,{_SPACES}]\d{{3}})+|\d+)(?:\.\d*)?|\.\d+",
    COMMA: rf"(?:\d{{1,3}}(?:[.{_SPACES}]\d{{3}})+|\d+)(?:,\d+)?",
}
_SHAPES = {
    style: re.compile(rf"([+-]?)\s*[$€£¥₹]?\s*([+-]?)({body})\s*[$€£¥₹%]?")
    for style, body in _BODIES.items()
}
# A code such as a postal one is not a number, or its zeros would be lost.
_CODE = re.compile(r"0\d{3,}")
# So many of a column's different texts, and of its rows, may be mistakes.
_SHARE_OF_MISTAKES = 0.01
_FEWEST_RIGHT = 5
_LONGEST_PATTERN = 100


class Texts(NamedTuple):
    """Texts, each distinct one once: `distinct[codes[i]]` is that of row i, -1 means missing."""

    distinct: list[str]
    codes: Integers

    @property
    def counts(self) -> Integers:
        """How often each distinct text occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.distinct))

    def per_row(self) -> AnyArray:
        """The text of every row, of which none may be missing."""
        return np.array(self.distinct)[self.codes]

    def mapped(self, function: Callable[[str], float]) -> Array:
        """A number per row, NaN where missing."""
        values = np.array([function(text) for text in self.distinct] + [np.nan])
        return values[self.codes]

    def without(self, blanks: Iterable[str]) -> "Texts":
        """Stripped and in order, without those that occur nowhere or stand for nothing."""
        words = [text.strip() for text in self.distinct]
        used = self.counts > 0
        seen = {word for word, is_used in zip(words, used.tolist(), strict=True) if is_used}
        distinct = sorted(seen - set(blanks))
        place = {word: code for code, word in enumerate(distinct)}
        recode = np.array([place.get(word, -1) for word in words] + [-1], dtype=np.intp)
        return Texts(distinct, recode[self.codes])


class Reading(NamedTuple):
    """How texts are read, and the few that cannot be read so and count as missing."""

    how: str
    mistakes: list[str]


def as_number(text: str, style: str = PLAIN) -> float:
    """A text as a number, NaN if it is not one in this style.

    Examples
    --------
    >>> as_number("-1.5e3"), as_number("$1,200.50", "point"), as_number("1.234,5", "comma")
    (-1500.0, 1200.5, 1234.5)
    >>> as_number("45 %", "point"), as_number("soon", "point")
    (45.0, nan)
    """
    if style == PLAIN:
        try:
            value = float(text)
        except ValueError:
            return np.nan
        # float() also takes "1_000" and "infinity", which nobody means in a table.
        return value if np.isfinite(value) and "_" not in text else np.nan
    found = _SHAPES[style].fullmatch(text)
    if found is None:
        return as_number(text)
    sign, inner_sign, body = found.groups()
    mark = "," if style == COMMA else "."
    digits = "".join(c if c.isdigit() else "." for c in body if c.isdigit() or c == mark)
    return (-1.0 if "-" in (sign, inner_sign) else 1.0) * float(digits)


def as_days(text: str, pattern: str) -> float:
    """A text as days since 1970, NaN if it does not follow the pattern.

    Examples
    --------
    >>> as_days("1970-01-02", "iso"), as_days("12/31/69 12:00", "%m/%d/%y %H:%M")
    (1.0, -0.5)
    """
    try:
        if pattern == "iso":
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.strptime(text, pattern)
    except ValueError:
        return np.nan
    if not moment.tzinfo:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / _DAY


def is_date_pattern(pattern: str) -> bool:
    """Whether texts can be read by a pattern: it reads a date that it has written.

    Examples
    --------
    >>> is_date_pattern("%d.%m.%Y"), is_date_pattern("%Y %Y"), is_date_pattern("%")
    (True, False, False)
    """
    if pattern == "iso":
        return True
    if len(pattern) > _LONGEST_PATTERN:
        return False
    try:
        datetime.strptime(datetime(2001, 2, 3, 4, 5, tzinfo=UTC).strftime(pattern), pattern)
    except (ValueError, re.error):
        return False
    return True


def number_reading(texts: Texts, decimal: str | None = None) -> Reading | None:
    """How texts are read as numbers; None if they are not numbers.

    Parameters
    ----------
    texts : Texts
    decimal : {".", ","}, default=None
        The mark before fractions; None: as they need it.
    """
    if any(_CODE.fullmatch(text) for text in texts.distinct):
        return None
    styles = {None: STYLES, ".": (PLAIN, POINT), ",": (COMMA,)}[decimal]
    return _best_reading(texts, styles, as_number)


def date_reading(texts: Texts, patterns: Iterable[str] = DATE_PATTERNS) -> Reading | None:
    """How texts are read as dates; None if they are not dates."""
    # "2024" and "20240101" are ISO dates to Python; to people they are numbers, which are tried
    # first.
    return _best_reading(texts, patterns, as_days)


def whole_numbers(texts: Texts) -> bool:
    """Whether all texts are numbers without a fraction, written plainly."""
    return all(as_number(text).is_integer() for text in texts.distinct)


def _best_reading(
    texts: Texts, ways: Iterable[str], read: Callable[[str, str], float]
) -> Reading | None:
    """The way that reads all texts, or else all but the fewest, if these can be mistakes."""
    absent = [text for text in texts.distinct if text in MISSING]
    distinct = [text for text in texts.distinct if text not in MISSING]
    best: list[str] | None = None
    how = ""
    for way in ways if distinct else ():
        limit = _most_mistakes(len(distinct)) if best is None else len(best) - 1
        mistakes = _unread(distinct, way, read, limit)
        if len(mistakes) <= limit and _are_rare(mistakes, texts):
            best, how = mistakes, way
        if best == []:
            break
    return None if best is None else Reading(how, absent + best)


def _most_mistakes(n: int) -> int:
    return max(1, int(_SHARE_OF_MISTAKES * n)) if n > _FEWEST_RIGHT else 0


def _unread(
    distinct: list[str], way: str, read: Callable[[str, str], float], limit: int
) -> list[str]:
    """Texts that cannot be read; one more than the limit is enough to know."""
    found: list[str] = []
    for text in distinct:
        if np.isnan(read(text, way)):
            found.append(text)
            if len(found) > limit:
                break
    return found


def _are_rare(mistakes: list[str], texts: Texts) -> bool:
    if not mistakes:
        return True
    among = np.isin(texts.distinct, mistakes)
    rows = int(texts.counts[among].sum())
    return rows <= max(1, int(_SHARE_OF_MISTAKES * texts.counts.sum()))


def in_figures(number: float) -> str:
    """A number as people write it, with four digits or more.

    Examples
    --------
    >>> in_figures(96860.0), in_figures(1234.56789), in_figures(0.25), in_figures(3e-12)
    ('96,860', '1,234.6', '0.25', '3e-12')
    """
    if abs(number) >= 1e15:
        return f"{number:.4g}"
    if number == int(number):
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) >= 1_000 else f"{number:.4g}"
