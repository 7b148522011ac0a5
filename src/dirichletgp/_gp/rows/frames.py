"""Frames of any library, seen alike: columns of numbers, of days, or of texts.

No library is imported here: a frame is recognised by the module of its type, and what it holds by
its own methods.
"""

import sys
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..core.arrays import AnyArray, Array
from .door import is_frame, library_of
from .texts import Texts

_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Numbers:
    """Numbers (n,), NaN where missing.

    Attributes
    ----------
    values : ndarray of shape (n,)
    whole : bool
        Whether their type is that of integers.
    truths : bool
        Whether they stand for False and True.
    """

    values: Array
    whole: bool = False
    truths: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def as_texts(self) -> Texts:
        """The numbers as people write them: 1.0 is "1"."""
        present = ~np.isnan(self.values)
        distinct, codes = np.unique(self.values[present], return_inverse=True)
        everywhere = np.full(len(self.values), -1, dtype=np.intp)
        everywhere[present] = codes
        return Texts([self._written(value) for value in distinct.tolist()], everywhere)

    def _written(self, value: float) -> str:
        if self.truths:
            return str(bool(value))
        return str(int(value)) if value.is_integer() else str(value)


@dataclass(frozen=True)
class Days:
    """Days since 1970 (n,), NaN where missing."""

    values: Array

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Words:
    """Texts; `declared` if their type says that they are categories."""

    texts: Texts
    declared: bool = False

    def __len__(self) -> int:
        return len(self.texts.codes)


@dataclass(frozen=True)
class Strange:
    """Values that are none of the above, and what they are."""

    what: str
    n: int

    def __len__(self) -> int:
        return self.n


Values = Numbers | Days | Words | Strange


def other_kind(name: str, values: Values, expected: str) -> ValueError:
    """An error: a column holds other values than those that are expected."""
    kinds = {Numbers: "numbers", Days: "dates", Words: "texts"}
    found = kinds.get(type(values)) or f"values of type {getattr(values, 'what', 'unknown')}"
    return ValueError(
        f"X: column {name!r} holds {found}, but {expected} in the rows that the model was fitted "
        f"to; convert it to {expected}."
    )


class Frame:
    """Columns of rows, each looked at when it is asked for.

    Attributes
    ----------
    X : frame or array of shape (n, D)
    names : list of str or None
        Names of the columns, if they have some that are all texts.
    shape : tuple of int
    """

    def __init__(self, X: Any):
        self._library = library_of(X) if is_frame(X) else ""
        self.X = X if self._library else check_array(X, dtype=None, ensure_all_finite=False)
        self.shape = (int(self.X.shape[0]), int(self.X.shape[1]))
        self.names = names_of(X)

    def values(self, place: int) -> Values:
        """The values of a column."""
        if self._library == "pandas":
            return _of_pandas(self.X.iloc[:, place])
        if self._library == "polars":
            return _of_polars(self.X.to_series(place))
        if self._library == "pyarrow":
            from .tables.values import values_of

            return values_of(self.X.column(place))
        return of_array(self.X[:, place])


def stacked(parts: list[Any]) -> Any:
    """Frames or arrays with the same columns, one below the other."""
    library = library_of(parts[0]) if is_frame(parts[0]) else "numpy"
    if library == "numpy":
        return np.concatenate([np.asarray(part) for part in parts])
    concat = sys.modules[library].concat
    return concat(parts, ignore_index=True) if library == "pandas" else concat(parts)


def names_of(X: Any) -> list[str] | None:
    """Names of the columns of X, if it has some that are all texts."""
    if not is_frame(X):
        return None
    names = X.schema.names if library_of(X) == "pyarrow" else list(X.columns)
    return list(names) if names and all(isinstance(name, str) for name in names) else None


def has_numbers_only(X: Any) -> bool:
    """Whether the types of all columns of a frame of pandas or polars are those of numbers."""
    if library_of(X) == "pandas":
        return all(getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes)
    return all(kind.is_numeric() or str(kind) == "Boolean" for kind in X.dtypes)


def _of_pandas(series: Any) -> Values:
    kind = getattr(series.dtype, "kind", "O")
    if type(series.dtype).__name__ == "CategoricalDtype":
        codes = series.cat.codes.to_numpy().astype(np.intp)
        return Words(Texts([written(v) for v in series.cat.categories], codes), declared=True)
    if kind in "biuf":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return Numbers(values, kind in "iu", kind == "b")
    if kind == "M":
        return Days(_in_days(series.to_numpy(dtype="datetime64[us]")))
    if kind == "m":
        return Numbers(_in_days(series.to_numpy(dtype="timedelta64[us]")))
    if type(series.dtype).__name__ == "PeriodDtype":
        return _of_pandas(series.dt.start_time)
    return _of_objects(series.to_numpy(dtype=object))


def _of_polars(series: Any) -> Values:
    kind = series.dtype
    name = str(kind).partition("(")[0]
    if kind.is_numeric() or name == "Boolean":
        values = np.array(series.cast(float).to_numpy(), dtype=np.float64)
        return Numbers(values, bool(kind.is_integer()), name == "Boolean")
    if name in ("Date", "Datetime"):
        return Days(_in_days(series.to_numpy()))
    if name == "Duration":
        return Numbers(_in_days(series.to_numpy()))
    if name in ("Categorical", "Enum"):
        return Words(_coded(series.cast(str).to_list()), declared=True)
    if name in ("String", "Object", "Null"):
        return _of_objects(np.array(series.to_list() + [None], dtype=object)[:-1])
    return Strange(str(kind), len(series))


def of_array(values: AnyArray) -> Values:
    """What a column (n,) of an array holds."""
    kind = values.dtype.kind
    if kind in "biuf":
        return Numbers(values.astype(np.float64), kind in "iu", kind == "b")
    if kind == "M":
        return Days(_in_days(values))
    if kind == "m":
        return Numbers(_in_days(values))
    return _of_objects(values.astype(object)) if kind in "OUT" else Strange(str(values.dtype), 0)


def _of_objects(values: AnyArray) -> Values:
    """What a column of Python objects holds: what all of them are that are not missing."""
    items = values.tolist()
    present = [item for item in items if not is_missing(item)]
    kinds = {type(item) for item in present}
    if all(issubclass(kind, str) for kind in kinds):
        return Words(_coded(items))
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return Numbers(_as_floats(items), truths=True)
    if all(issubclass(kind, Real | Decimal) for kind in kinds):
        whole = all(issubclass(kind, int | np.integer) for kind in kinds)
        return Numbers(_as_floats(items), whole)
    if all(issubclass(kind, datetime | date | np.datetime64) for kind in kinds):
        moments = [np.datetime64("NaT", "us") if is_missing(v) else _moment(v) for v in items]
        return Days(_in_days(np.array(moments, dtype="datetime64[us]")))
    if all(issubclass(kind, str | Real | Decimal) for kind in kinds):
        return Words(_coded([None if is_missing(v) else written(v) for v in items]))
    strange = next(k for k in kinds if not issubclass(k, str | Real | Decimal))
    return Strange(strange.__name__, len(items))


def is_missing(item: Any) -> bool:
    """Whether an object stands for nothing: None, NaN, NaT and NA of any library."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(item, float | np.floating | Decimal):
        return bool(item != item)
    return isinstance(item, np.datetime64 | np.timedelta64) and bool(np.isnat(item))


def written(value: Any) -> str:
    """A category as a text: numbers as people write them, 1.0 is "1"."""
    number = isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_)
    if number and float(value).is_integer():
        return str(int(value))
    return str(value)


def _as_floats(items: list[Any]) -> Array:
    return np.array([np.nan if is_missing(item) else float(item) for item in items])


def _moment(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return np.datetime64(int(value.timestamp() * 1e6), "us")
    return np.datetime64(value, "us")


def _in_days(values: AnyArray) -> Array:
    """Dates or durations as days, NaN where there is none."""
    kind = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
    fine = values.astype(kind)
    since = fine - np.datetime64(0, "us") if values.dtype.kind == "M" else fine
    return np.asarray(since / _DAY, dtype=np.float64)


def _coded(items: list[Any]) -> Texts:
    """Texts with a code for each distinct one; what is not a text is missing."""
    place: dict[str, int] = {}
    codes = [place.setdefault(v, len(place)) if isinstance(v, str) else -1 for v in items]
    return Texts(list(place), np.array(codes, dtype=np.intp))
