"""The parameter `categorical_features`: which columns hold categories."""

from typing import Any

import numpy as np

from ..core.arrays import Booleans

FROM_DTYPE = "from_dtype"


def asks_for_categories(categorical: Any) -> bool:
    """Whether the argument names any columns; it may be wrong still."""
    if isinstance(categorical, str):
        return categorical != FROM_DTYPE
    return categorical is not None and np.size(categorical) > 0


def refuse_categories(categorical: Any, what: str) -> None:
    """`ValueError` if categories are asked for among rows that are numbers all of them."""
    if asks_for_categories(categorical):
        raise ValueError(
            f"categorical_features={categorical!r}: {what} are taken as numbers; "
            "pass an array in memory or a frame."
        )


def categorical_columns(categorical: Any, names: list[str] | None, n_in: int) -> Booleans | None:
    """Which columns (n_in,) the argument `categorical_features` means; None: as types say."""
    if isinstance(categorical, str):
        if categorical == FROM_DTYPE:
            return None
        raise _not_valid(categorical)
    chosen = np.zeros(n_in, dtype=bool)
    if categorical is None:
        return chosen
    given = np.asarray(categorical)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "biuOUT"):
        raise _not_valid(categorical)
    if given.dtype.kind == "b":
        if len(given) != n_in:
            raise ValueError(
                f"categorical_features is a mask of {len(given)} columns, but X has {n_in}."
            )
        return given
    for item in given.tolist():
        chosen[_place(item, names, n_in)] = True
    return chosen


def _place(item: Any, names: list[str] | None, n_in: int) -> int:
    """The position of a column that is named or numbered."""
    if isinstance(item, str):
        if names is None:
            raise ValueError(
                f"categorical_features names {item!r}, but X has no names of columns; "
                "pass positions, or a frame."
            )
        if item not in names:
            raise ValueError(
                f"categorical_features names {item!r}, which is no column of X; "
                f"its columns are {names[:20]}."
            )
        return names.index(item)
    if not isinstance(item, int) or isinstance(item, bool):
        raise _not_valid(item)
    if not 0 <= item < n_in:
        raise ValueError(
            f"categorical_features holds position {item}, but X has {n_in} columns, from 0 on."
        )
    return item


def _not_valid(value: Any) -> ValueError:
    return ValueError(
        f"categorical_features={value!r} is not valid; pass 'from_dtype', None, or names, "
        "positions or a mask of columns."
    )
