"""The values of an Arrow column, whatever type they come in: numbers, days, or texts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..frames import Days, Numbers, Strange, Values, Words
from ..texts import MISSING, Texts, as_days, as_number

_DAY = 86_400.0


def values_of(array: Any) -> Values:
    """What an Arrow column holds."""
    import pyarrow as pa

    declared = pa.types.is_dictionary(array.type)
    if declared:
        array = array.cast(array.type.value_type)
    if pa.types.is_boolean(array.type):
        return Numbers(_floats(array.cast(pa.uint8())), truths=True)
    kind = kind_of(array)
    if kind == "unknown":
        return Strange(str(array.type), len(array))
    if kind == "date":
        return Days(days_of(array, "iso"))
    if kind == "number" and not declared:
        return Numbers(_floats(array), bool(pa.types.is_integer(array.type)))
    return Words(_coded(array), declared)


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
        or str(t) == "string_view"
        or pa.types.is_boolean(t)
        or pa.types.is_null(t)
    )
    return "text" if known else "unknown"


def texts_of(array: Any) -> Texts:
    """The texts of a column that stand for something; of numbers, as they would be written."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    return _coded(array).without(MISSING)


def _coded(array: Any) -> Texts:
    """The texts of a column, as they are."""
    import pyarrow as pa

    if kind_of(array) == "number":
        return _from_list([None if v is None or v != v else _plain(v) for v in array.to_pylist()])
    if pa.types.is_null(array.type):
        return Texts([], np.full(len(array), -1))
    encoded = array.cast(pa.string()).dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Texts(encoded.dictionary.to_pylist(), np.asarray(codes, dtype=np.intp))


def _from_list(values: list[str | None]) -> Texts:
    distinct = sorted({value for value in values if value is not None})
    place = {value: code for code, value in enumerate(distinct)}
    return Texts(distinct, np.array([-1 if v is None else place[v] for v in values], dtype=np.intp))


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
