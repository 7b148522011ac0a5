"""What a fit remembers of its rows, in files.

Scores of left-out rows, marks to know rows by, columns as they spread, and labels of rows that may
be met again. Files of earlier versions have none of them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._gp.core.arrays import Array
from .._gp.core.fields import (
    COUNTS,
    MODERATE,
    NOT_NEGATIVE,
    POSITIVE,
    Numbers,
    check_arrays,
    expect,
    real_number,
    truth,
)
from .._gp.core.kernels.product import MISSING
from .._gp.training.copies import Copies
from .._gp.training.fitted import Fitted
from .._gp.training.remembered import BYTES_OF_MARKS, SeenRows, SetScores
from .values import Arrays

_HOLD = "scores_hold"
_SCORES = ("probability", "code", "mass", "effective")
_BACKGROUND = "background"
_SEEN, _MARKS = "seen", "seen/marks"
_SCORE_FIELDS = {
    "scores/probability": Numbers("K", (0.0, 1.0)),
    "scores/code": Numbers("K", COUNTS, "int64"),
    "scores/mass": Numbers("K", NOT_NEGATIVE),
    "scores/effective": Numbers("E", NOT_NEGATIVE),
}
_SEEN_FIELDS = {_MARKS: Numbers("N", (0, 255), "uint8")}
_BACKGROUND_FIELDS = {_BACKGROUND: Numbers("B D", (MISSING, MODERATE[1]))}
_WORTH = "worth_of_model"
_COPY_FIELDS = {
    "copies/keys": Numbers("G", (0, 2**64 - 1), "uint64"),
    "copies/votes": Numbers("G C", NOT_NEGATIVE),
}


def remembered_described(fitted: Fitted) -> tuple[dict[str, Any], Arrays]:
    """As JSON and arrays."""
    content: dict[str, Any] = {}
    arrays: Arrays = {}
    scores = fitted.scores
    if scores is not None:
        content[_HOLD] = scores.holds
        arrays |= {f"scores/{name}": getattr(scores, name) for name in _SCORES}
    seen = fitted.seen
    if seen is not None:
        content[_SEEN] = {"share": seen.share, "doubles": seen.doubles}
        arrays[_MARKS] = seen.marks
    if fitted.background is not None:
        arrays[_BACKGROUND] = fitted.background
    if fitted.copies is not None:
        content[_WORTH] = fitted.copies.worth
        arrays |= {"copies/keys": fitted.copies.keys, "copies/votes": fitted.copies.votes}
    return content, arrays


def scores_restored(content: Mapping[str, Any], arrays: Arrays, n_classes: int) -> SetScores | None:
    """The scores of a file, if it has some."""
    if _HOLD not in content:
        return None
    holds = truth(content[_HOLD], "scores")
    check_arrays(_SCORE_FIELDS, arrays, {"E": n_classes + 1})
    probability, code, mass, effective = (arrays[name] for name in _SCORE_FIELDS)
    expect(bool(np.all(code < n_classes)), "scores")
    return SetScores(probability, code.astype(np.intp), mass, effective, holds)


def seen_restored(content: Mapping[str, Any], arrays: Arrays) -> SeenRows | None:
    """The marks of a file, if it has some."""
    if _SEEN not in content:
        return None
    check_arrays(_SEEN_FIELDS, arrays, {"N": BYTES_OF_MARKS})
    share, doubles = (
        real_number(content[_SEEN][name], "marks of rows", (0.0, 1.0))
        for name in ("share", "doubles")
    )
    expect(share > 0.0, "marks of rows")
    return SeenRows(arrays[_MARKS], share, doubles)


def background_restored(arrays: Arrays, n_scaled: int) -> Array | None:
    """The background (B, D) of a file, if it has one."""
    if _BACKGROUND not in arrays:
        return None
    sizes = check_arrays(_BACKGROUND_FIELDS, arrays, {"D": n_scaled})
    expect(sizes["B"] > 0, _BACKGROUND)
    return arrays[_BACKGROUND]


def copies_restored(content: Mapping[str, Any], arrays: Arrays, n_classes: int) -> Copies | None:
    """The labels of rows that may be met again of a file, if it has some."""
    if _WORTH not in content:
        return None
    check_arrays(_COPY_FIELDS, arrays, {"C": n_classes})
    keys, votes = arrays["copies/keys"], arrays["copies/votes"]
    expect(bool(np.all(keys[:-1] < keys[1:])), "order of copies/keys")
    return Copies(keys, votes, real_number(content[_WORTH], "worth of the model", POSITIVE))
