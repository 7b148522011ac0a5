"""Bands: texts that say between which numbers a value is, such as "<1", "50-99", "65 and over".

Their order tells more than that they differ. A column of texts is one of bands if every text is a
number, a range or an open end, in one unit, and no two of them overlap. With a word ("unemployed")
it is not: the word may mean something, which texts that are met later must not inherit.
Telephone numbers, results of matches and other texts with two numbers do.
"""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .texts import MISSING, Reading, Texts

BANDS = "bands"
"""The style of numbers that are read so."""

_FEWEST = 3
_DAMAGED = "of a spreadsheet"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Spreadsheets make dates of 5-9 and 10-49: 9-May and Oct-49.
_DATE_OF_SPREADSHEET = re.compile(
    rf"(?P<month>{'|'.join(_MONTHS)})-(?P<number>\d+)|(?P<day>\d+)-(?P<name>{'|'.join(_MONTHS)})"
)
# A minus is a sign at the beginning, after a bracket or comparison, and after a word or mark that
# separates two numbers; between two numbers it separates them.
_NUMBER = re.compile(
    r"(?P<number>(?:(?:^|(?<=[\[(<>=≤≥,])|(?<=[<>=≤≥,-]\s)|(?<=\bto\s)|(?<=\band\s))-)?"
    r"(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|(?<![.\d])\.\d+))"
    r"(?:(?P<scale>k|m|bn)(?![^\W\d]))?"
)
_SCALES = {"k": 1e3, "m": 1e6, "bn": 1e9}
_BELOW = re.compile(
    r"<=?|≤|\b(?:under|below|up to|at most|(?:less|fewer|lower|younger) than)\b"
    r"|\b(?:or|and) (?:less|fewer|under|below|lower|younger)\b"
)
_ABOVE = re.compile(
    r">=?|≥|(?<=#)\s*\+|\b(?:over|above|at least|(?:more|greater|higher|older) than)\b"
    r"|\b(?:or|and) (?:more|over|above|higher|older|up)\b"
)
# What stands between the numbers of a range, in one unit or with the unit after both.
_BETWEEN = re.compile(
    r"#(?P<unit>[^#]*?)\s*(?:-|\u2013|\u2014|/|\.\.|,|\bto\b|\band\b)\s*[$€£¥₹]?\s*#"
)
_NO_UNIT = re.compile(r"\b(?:between|from)\b|[#\[\]()$€£¥₹]")


class Band(NamedTuple):
    """Between which numbers a value is, and their unit; both are the same for a single number."""

    low: float
    high: float
    unit: str

    @property
    def number(self) -> float:
        """What stands for it: the middle, or half as far again as its only end."""
        if np.isinf(self.low):
            return self.high - 0.5 * (abs(self.high) or 1.0)
        if np.isinf(self.high):
            return self.low + 0.5 * (abs(self.low) or 1.0)
        return 0.5 * (self.low + self.high)


def as_band(text: str) -> Band | None:
    """A text as a band; None if it is not one.

    Examples
    --------
    >>> as_band("50-99"), as_band("< 1 year")
    (Band(low=50.0, high=99.0, unit=''), Band(low=-inf, high=1.0, unit='year'))
    >>> as_band("$10k to $20k").number, as_band("[0.5, 1.5)").number, as_band("65 and over").number
    (15000.0, 1.0, 97.5)
    >>> as_band("Oct-49"), as_band("unknown")
    (Band(low=10.0, high=49.0, unit='of a spreadsheet'), None)
    """
    text = " ".join(text.casefold().split())
    damaged = _DATE_OF_SPREADSHEET.fullmatch(text)
    if damaged:
        month = 1.0 + _MONTHS.index(damaged["month"] or damaged["name"])
        number = float(damaged["number"] or damaged["day"])
        return Band(min(month, number), max(month, number), _DAMAGED)
    numbers = [_value(found) for found in _NUMBER.finditer(text)]
    shape = _NUMBER.sub("#", text)
    if len(numbers) == 2:
        between = _BETWEEN.search(shape)
        if between is None or numbers[0] > numbers[1]:
            return None
        low, high = numbers
        rest = shape[: between.start()] + " " + shape[between.end() :]
        unit, first = _unit(rest), _unit(between["unit"])
        return Band(low, high, unit) if first in ("", unit) else None
    if len(numbers) != 1:
        return None
    below, above = _BELOW.search(shape), _ABOVE.search(shape)
    if below and above:
        return None
    unit = _unit(_ABOVE.sub(" ", _BELOW.sub(" ", shape)))
    low = -np.inf if below else numbers[0]
    high = np.inf if above else numbers[0]
    return Band(low, high, unit)


def as_banded_number(text: str) -> float:
    """The number that stands for a band, NaN if a text is not one."""
    band = as_band(text)
    return np.nan if band is None else band.number


def band_reading(texts: Texts) -> Reading | None:
    """How texts are read as bands; None if they are not bands.

    Examples
    --------
    >>> band_reading(Texts(["18-25", "26-40", "over 40"], np.arange(3)))
    Reading(how='bands', mistakes=[])
    >>> band_reading(Texts(["18-25", "26-40", "over 40", "retired"], np.arange(4))) is None
    True
    >>> band_reading(Texts(["555-1234", "555-2345", "555-3456"], np.arange(3))) is None
    True
    """
    used = [text for text, n in zip(texts.distinct, texts.counts.tolist(), strict=True) if n]
    absent = [text for text in used if text in MISSING]
    bands = []
    for text in used:
        band = as_band(text)
        if band is not None:
            bands.append(band)
        elif text not in MISSING:
            return None
    sound = [band for band in bands if band.unit != _DAMAGED]
    # Where most are dates, they are meant.
    if len(sound) < max(_FEWEST, len(bands) // 2):
        return None
    some_are_wide = any(band.low < band.high for band in sound)
    one_unit = len({band.unit for band in sound} - {""}) <= 1
    if not (some_are_wide and one_unit and _are_apart(bands)):
        return None
    return Reading(BANDS, absent)


def _are_apart(bands: list[Band]) -> bool:
    """Whether no two bands have more in common than an end."""
    in_order = sorted(bands, key=lambda band: (band.low, band.high))
    return all(
        first.high <= second.low and first[:2] != second[:2] for first, second in pairwise(in_order)
    )


def _value(found: re.Match[str]) -> float:
    return float(found["number"].replace(",", "")) * _SCALES.get(found["scale"], 1.0)


def _unit(rest: str) -> str:
    """What is left of a text besides its numbers: different words in order, without a plural."""
    words = _NO_UNIT.sub(" ", rest).replace(".", " ").split()
    return " ".join(dict.fromkeys(word.rstrip("s") or word for word in words))
