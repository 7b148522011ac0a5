"""The values of a column, whatever type they come in: numbers, days, or texts."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import AnyArray, Array, Integers

MISSING = frozenset(
    {"", "?", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "#N/A"}
)
DATE_PATTERNS = (
    "iso",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%d/%m/%Y %H:%M",
)
_DAY = 86_400.0


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


def kind_of(array: Any) -> str:
    """What an Arrow column holds by its type: "number", "date", "text" or "unknown"."""
    import pyarrow as pa

    t = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t):
        return "number"
    if pa.types.is_timestamp(t) or pa.types.is_date(t):
        return "date"
    known = (
        pa.types.is_string(t)
        or pa.types.is_large_string(t)
        or pa.types.is_boolean(t)
        or pa.types.is_null(t)
    )
    return "text" if known else "unknown"


def texts_of(array: Any) -> Texts:
    """The texts of a column; of numbers, as they would be written."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if kind_of(array) == "number":
        return _from_list([None if v is None or v != v else _plain(v) for v in array.to_pylist()])
    if pa.types.is_null(array.type):
        return Texts([], np.full(len(array), -1))
    encoded = array.cast(pa.string()).dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _without_missing([text.strip() for text in encoded.dictionary.to_pylist()], codes)


def _from_list(values: list[str | None]) -> Texts:
    distinct = sorted({value for value in values if value is not None})
    place = {value: code for code, value in enumerate(distinct)}
    return Texts(distinct, np.array([-1 if v is None else place[v] for v in values], dtype=np.intp))


def _without_missing(words: list[str], codes: AnyArray) -> Texts:
    """Distinct texts in order, without those that stand for nothing."""
    distinct = sorted(set(words) - MISSING)
    place = {word: code for code, word in enumerate(distinct)}
    recode = np.array([place.get(word, -1) for word in words] + [-1], dtype=np.intp)
    return Texts(distinct, recode[codes])


def _plain(value: Any) -> str:
    """A number as a person writes it: 1.0 is "1"."""
    return str(int(value)) if float(value).is_integer() else str(value)


def numbers_of(array: Any) -> Array:
    """The numbers of a column, NaN where there is none."""
    import pyarrow as pa

    if kind_of(array) == "number":
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        values = _floats(array)
        values[~np.isfinite(values)] = np.nan
        return values
    return texts_of(array).mapped(as_number)


def unread(array: Any, kind: str, read: Callable[[str], float]) -> list[str]:
    """The distinct texts that stand for something and cannot be read; none if of that kind."""
    if kind_of(array) == kind:
        return []
    return [text for text in texts_of(array).distinct if np.isnan(read(text))]


def as_number(text: str) -> float:
    """A text as a number, NaN if it is not one."""
    try:
        value = float(text)
    except ValueError:
        return np.nan
    # float() also takes "1_000" and "infinity", which nobody means in a table.
    return value if np.isfinite(value) and "_" not in text else np.nan


def days_of(array: Any, pattern: str) -> Array:
    """Days since 1970 of a column of dates or of texts that follow a pattern, else NaN."""
    import pyarrow as pa

    if kind_of(array) != "date":
        return texts_of(array).mapped(lambda text: as_days(text, pattern))
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    zone = getattr(array.type, "tz", None)
    micros = array.cast(pa.timestamp("us", tz=zone), safe=False).cast(pa.int64())
    return _floats(micros) / 1e6 / _DAY


def _floats(array: Any) -> Array:
    """A column of numbers as floats, NaN where there is none."""
    import pyarrow as pa

    values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.array(values, dtype=np.float64)


def as_days(text: str, pattern: str) -> float:
    """A text as days since 1970, NaN if it does not follow the pattern."""
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


def date_pattern(texts: list[str]) -> str | None:
    """The first pattern that all texts follow, or None."""
    # "2024" and "20240101" are ISO dates to Python; to people they are numbers, which are tried
    # first.
    for pattern in DATE_PATTERNS:
        if not any(np.isnan(as_days(text, pattern)) for text in texts):
            return pattern
    return None
