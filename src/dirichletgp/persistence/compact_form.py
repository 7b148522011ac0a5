"""Compact models in a file: triangles without their zeros, class corrections as whole numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray
from .._gp.core.fields import (
    ABOVE_ZERO,
    COUNTS,
    MODERATE,
    NOT_NEGATIVE,
    SUMS,
    Numbers,
    Sizes,
    check_arrays,
    expect,
    real_number,
)
from .._gp.core.low_rank import Rounded
from .._gp.training.compact import CompactModel, ManyClassForm, TwoClassForm, counts_only
from .values import Arrays

_PREFIX = "compact/"
# R rows of whole numbers in all, E eigenvalues; a row of two ranks for each class.
_MANY = {
    f"{_PREFIX}coefficients": Numbers("C M"),
    f"{_PREFIX}ranks": Numbers("C 2", COUNTS, "int64"),
    f"{_PREFIX}rests": Numbers("C", (0.0, 1.0)),
    f"{_PREFIX}integers": Numbers("R M", (-127, 127), "int8"),
    f"{_PREFIX}scales": Numbers("R", NOT_NEGATIVE),
    f"{_PREFIX}eigenvalues": Numbers("E", (ABOVE_ZERO[0], MODERATE[1])),
}
_HANDICAPS = f"{_PREFIX}handicaps"
_TWO = {f"{_PREFIX}coefficients": Numbers("M")}
_COUNTS = {"counts": Numbers("C", (0.0, SUMS[1]))}


def form_described(model: CompactModel) -> tuple[dict[str, Any], Arrays]:
    """The form of a compact model as JSON and arrays."""
    form = model.form
    content: dict[str, Any] = {"bound": model.known_bound}
    arrays: Arrays = {
        f"{_PREFIX}coefficients": form.coefficients,
        f"{_PREFIX}shared": _packed(form.shared),
    }
    if isinstance(form, TwoClassForm):
        content["offset"] = form.offset
        arrays[f"{_PREFIX}triangle"] = _packed(form.triangle)
        return content, arrays
    corrections = form.corrections
    ranks = [(len(own.eigenvalues), len(own.scales)) for own in corrections]
    arrays[f"{_PREFIX}ranks"] = np.array(ranks, np.int64)
    arrays[f"{_PREFIX}rests"] = np.array([own.rest for own in corrections])
    for name in ("integers", "scales", "eigenvalues"):
        parts = [getattr(own, name) for own in corrections]
        arrays[_PREFIX + name] = np.concatenate(parts)
    if form.handicaps is not None:
        arrays[_HANDICAPS] = form.handicaps
    return content, arrays


def compact_restored(
    parts: Mapping[str, Any], content: Mapping[str, Any], arrays: Arrays, sizes: Sizes
) -> CompactModel:
    """The model that `form_described` was given; `parts` are those that all models have."""
    check_arrays(_COUNTS, arrays, dict(sizes))
    shared = _unpacked(f"{_PREFIX}shared", arrays, sizes["M"])
    expect(bool(np.all(np.diagonal(shared) > 0)), "diagonal of compact/shared")
    if sizes["C"] == 2:
        form: TwoClassForm | ManyClassForm = _two_classes(content, arrays, shared, sizes)
    else:
        form = _many_classes(arrays, shared, sizes)
    bound = real_number(content["bound"], "bound")
    statistics = counts_only(arrays["counts"])
    return CompactModel(**parts, statistics=statistics, form=form, known_bound=bound)


def _two_classes(
    content: Mapping[str, Any], arrays: Arrays, shared: AnyArray, sizes: Sizes
) -> TwoClassForm:
    check_arrays(_TWO, arrays, {"M": sizes["M"]})
    triangle = _unpacked(f"{_PREFIX}triangle", arrays, sizes["M"])
    offset = real_number(content["offset"], "offset")
    return TwoClassForm(arrays[f"{_PREFIX}coefficients"], offset, triangle, shared)


def _many_classes(arrays: Arrays, shared: AnyArray, sizes: Sizes) -> ManyClassForm:
    found = check_arrays(_MANY, arrays, {"C": sizes["C"], "M": sizes["M"]})
    coefficients, ranks, rests, *rest = (arrays[name] for name in _MANY)
    integers, scales, eigenvalues = rest
    columns, rows = ranks.T
    valid = (columns <= sizes["M"]) & (columns <= rows) & (rows <= 2 * columns)
    whole = columns.sum() == found["E"] and rows.sum() == found["R"]
    expect(bool(np.all(valid)) and bool(whole), "compact/ranks")
    of_rows = np.cumsum(rows)[:-1]
    parts = zip(
        np.split(integers, of_rows),
        np.split(scales, of_rows),
        np.split(eigenvalues, np.cumsum(columns)[:-1]),
        rests.tolist(),
        strict=True,
    )
    handicaps = None
    if _HANDICAPS in arrays:
        check_arrays({_HANDICAPS: Numbers("C")}, arrays, {"C": sizes["C"]})
        handicaps = arrays[_HANDICAPS]
    return ManyClassForm(coefficients, shared, [Rounded(*part) for part in parts], handicaps)


def _packed(triangle: AnyArray) -> AnyArray:
    """A lower triangle (M, M) row after row, without the zeros."""
    return np.concatenate([row[: i + 1] for i, row in enumerate(triangle)])


def _unpacked(name: str, arrays: Arrays, n_points: int) -> AnyArray:
    """The triangle (M, M) of a file, in the precision that it has there."""
    expect(name in arrays, f"absence of {name}")
    packed = arrays[name]
    kind = "float32" if packed.dtype == np.float32 else "float64"
    wanted = {"T": n_points * (n_points + 1) // 2}
    Numbers("T", (-1e30, 1e30), kind).check(name, packed, wanted)
    triangle = np.zeros((n_points, n_points), packed.dtype)
    start = 0
    for i in range(n_points):
        triangle[i, : i + 1] = packed[start : start + i + 1]
        start += i + 1
    return triangle
