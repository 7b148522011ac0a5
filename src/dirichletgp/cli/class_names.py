"""Labels in a table, and the classes of a model that they mean."""

from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray, Integers
from .._gp.rows.tables.errors import TableError
from .._gp.rows.texts import Texts, as_number
from .labelled_table import listed

_TRUTHS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def class_called(text: str, classes: AnyArray) -> int | None:
    """Where the class that a text means stands among the classes (C,); None if there is none.

    Models of tables have texts as classes. Those that were saved from Python may have numbers or
    truths. Numbers are written in several ways, as texts too: "0.0" means the class "0".

    Examples
    --------
    >>> class_called("1.0", np.array([0, 1])), class_called("TRUE", np.array([False, True]))
    (1, 1)
    >>> class_called("red", np.array(["blue", "red"])), class_called("2", np.array([0, 1]))
    (1, None)
    >>> class_called("1.0", np.array(["0", "1"])), class_called("1.00", np.array(["1", "1.0"]))
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
    else:
        return _same_number(text, names)
    return known.index(meant) if meant in known else None


def _same_number(text: str, names: list[str]) -> int | None:
    """Where the only name stands that is the same number as a text; None if there is none."""
    number = as_number(text)
    places = [place for place, name in enumerate(names) if as_number(name) == number]
    return places[0] if len(places) == 1 else None


def codes_of(labels: Texts, classes: AnyArray, where: str) -> Integers:
    """The classes (n,) of rows; `TableError` if a label is none of a model's classes (C,)."""
    places = [class_called(text, classes) for text in labels.distinct]
    used = labels.counts > 0
    for text, place, is_used in zip(labels.distinct, places, used.tolist(), strict=True):
        if place is None and is_used:
            names = [str(label) for label in classes.tolist()]
            raise TableError(
                f"{where} holds {text!r}, a class the model does not know; "
                f"its classes: {listed(names)}"
            )
    return np.array([-1 if place is None else place for place in places], np.intp)[labels.codes]


def as_classes(labels: Texts, classes: AnyArray, where: str) -> Texts:
    """Labels as the classes (C,), which are texts, are written; `TableError` as `codes_of`."""
    used, codes = np.unique(codes_of(labels, classes, where), return_inverse=True)
    return Texts([str(label) for label in classes[used].tolist()], codes)
