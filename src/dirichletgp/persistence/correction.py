"""What the likelihood of labels adds to the means, in a file."""

from collections.abc import Mapping
from typing import Any

from .._gp.core.correction import Correction
from .._gp.core.fields import POSITIVE, Numbers, check_arrays, real_number
from .._gp.rows.in_memory import FOLDS
from .values import Arrays

_SHIFT, _OF_FOLDS, _WEIGHT = "correction/shift", "correction/of_folds", "correction_weight"
_FIELDS = {_SHIFT: Numbers("C M"), _OF_FOLDS: Numbers("F C M")}


def correction_described(model: Any) -> tuple[dict[str, Any], Arrays]:
    """The correction of a model as JSON and arrays; nothing where coefficients hold it, or none."""
    correction = getattr(model, "correction", None)
    if correction is None:
        return {}, {}
    arrays = {_SHIFT: correction.shift, _OF_FOLDS: correction.of_folds}
    return {_WEIGHT: correction.weight}, arrays


def correction_restored(
    content: Mapping[str, Any], arrays: Arrays, sizes: Mapping[str, int]
) -> Correction | None:
    """The correction that was described; `ValueError` if it cannot be any."""
    if _SHIFT not in arrays:
        return None
    check_arrays(_FIELDS, arrays, {"C": sizes["C"], "M": sizes["M"], "F": FOLDS})
    weight = real_number(content[_WEIGHT], "weight of the correction", POSITIVE)
    return Correction(arrays[_SHIFT], arrays[_OF_FOLDS], weight)
