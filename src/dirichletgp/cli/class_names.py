"""Labels in a table, and the classes of a model that they mean."""

from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray, Integers
from .._gp.rows.tables.errors import TableError
from .._gp.rows.texts import Texts, as_number

_TRUTHS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def class_called(text: str, classes: AnyArray) -> int | None:
    """Where the class that a text means stands among the classes (C,); None if there is none.

    Models of tables have texts as classes. Those that were saved from Python may have numbers or
    truths, which are written in several ways.

    Examples
    --------
    >>> class_called("1.0", np.array([0, 1])), class_called("TRUE", np.array([False, True]))
    (1, 1)
    >>> class_called("red", np.array(["blue", "red"])), class_called("2", np.array([0, 1]))
    (1, None)
    """
    known: list[Any] = classes.tolist()
    names = [str(label) for label in known]
    if text in names:
        return names.index(text)
    meant: Any = None
    if classes.dtype.kind == "b":
        meant = _TRUTHS.get(text.strip().lower())
    elif classes.dtype.kind in "iuf":
        meant = as_number(text)
    return known.index(meant) if meant in known else None


def codes_of(labels: Texts, classes: AnyArray, where: str) -> Integers:
    """The classes (n,) of rows; `TableError` if a label is none of a model's classes (C,)."""
    places = [class_called(text, classes) for text in labels.distinct]
    used = labels.counts > 0
    for text, place, is_used in zip(labels.distinct, places, used.tolist(), strict=True):
        if place is None and is_used:
            raise TableError(f"{where} holds {text!r}, a class the model does not know")
    return np.array([-1 if place is None else place for place in places], np.intp)[labels.codes]
