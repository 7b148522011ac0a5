"""What the likelihood of labels adds to the means, in a file."""

from collections.abc import Mapping
from typing import Any

from .._gp.core.correction import Correction
from .._gp.core.fields import Numbers, check_arrays
from .._gp.rows.in_memory import FOLDS
from .values import Arrays

_SHIFT, _OF_FOLDS = "correction/shift", "correction/of_folds"
_FIELDS = {_SHIFT: Numbers("C M"), _OF_FOLDS: Numbers("F C M")}


def correction_described(model: Any) -> Arrays:
    """The correction of a model as arrays; none if it has none, or has it in its coefficients."""
    correction = getattr(model, "correction", None)
    if correction is None:
        return {}
    return {_SHIFT: correction.shift, _OF_FOLDS: correction.of_folds}


def correction_restored(arrays: Arrays, sizes: Mapping[str, int]) -> Correction | None:
    """The correction that was described; `ValueError` if it cannot be any."""
    if _SHIFT not in arrays:
        return None
    check_arrays(_FIELDS, arrays, {"C": sizes["C"], "M": sizes["M"], "F": FOLDS})
    return Correction(arrays[_SHIFT], arrays[_OF_FOLDS])
