"""Compact models in a file: triangles without their zeros, class corrections as whole numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray
from .._gp.core.low_rank import Rounded
from .._gp.training.compact import CompactModel, ManyClassForm, TwoClassForm
from .values import Arrays, expect, floats

_PREFIX = "compact/"


def form_described(model: CompactModel) -> tuple[dict[str, Any], Arrays]:
    """The form of a compact model as JSON and arrays."""
    form = model.form
    content: dict[str, Any] = {"bound": model.known_bound}
    arrays: Arrays = {f"{_PREFIX}coefficients": form.coefficients}
    if isinstance(form, TwoClassForm):
        content["offset"] = form.offset
        arrays[f"{_PREFIX}triangle"] = _packed(form.triangle)
        return content, arrays
    corrections = form.corrections
    arrays[f"{_PREFIX}triangle"] = _packed(form.shared)
    ranks = [(len(own.eigenvalues), len(own.scales)) for own in corrections]
    arrays[f"{_PREFIX}ranks"] = np.array(ranks, np.int64)
    arrays[f"{_PREFIX}rests"] = np.array([own.rest for own in corrections])
    for name in ("integers", "scales", "eigenvalues"):
        parts = [getattr(own, name) for own in corrections]
        arrays[_PREFIX + name] = np.concatenate(parts)
    return content, arrays


def form_restored(
    content: Mapping[str, Any], arrays: Arrays, n_classes: int, n_points: int
) -> TwoClassForm | ManyClassForm:
    """The form that `form_described` was given."""
    coefficients = floats(arrays, f"{_PREFIX}coefficients")
    triangle = _unpacked(arrays[f"{_PREFIX}triangle"], n_points)
    if n_classes == 2:
        expect(coefficients.shape == (n_points,), "coefficients")
        return TwoClassForm(coefficients, float(content["offset"]), triangle)
    expect(coefficients.shape == (n_classes, n_points), "coefficients")
    ranks, rests = arrays[f"{_PREFIX}ranks"], floats(arrays, f"{_PREFIX}rests")
    expect(ranks.dtype == np.int64 and ranks.shape == (n_classes, 2), "ranks")
    expect(rests.shape == (n_classes,) and bool(np.all(rests >= 0)), "rests")
    columns, rows = ranks.T
    valid = (columns >= 0) & (columns <= n_points) & (columns <= rows) & (rows <= 2 * columns)
    expect(bool(np.all(valid)), "ranks")
    integers = arrays[f"{_PREFIX}integers"]
    scales, eigenvalues = (floats(arrays, _PREFIX + name) for name in ("scales", "eigenvalues"))
    expect(integers.dtype == np.int8 and integers.shape == (rows.sum(), n_points), "corrections")
    expect(scales.shape == (rows.sum(),), "corrections")
    expect(eigenvalues.shape == (columns.sum(),) and bool(np.all(eigenvalues > 0)), "corrections")
    places, of_rows = np.cumsum(columns)[:-1], np.cumsum(rows)[:-1]
    parts = zip(
        np.split(integers, of_rows),
        np.split(scales, of_rows),
        np.split(eigenvalues, places),
        rests.tolist(),
        strict=True,
    )
    corrections = [Rounded(*part) for part in parts]
    return ManyClassForm(coefficients, triangle, corrections)


def _packed(triangle: AnyArray) -> AnyArray:
    """A lower triangle (M, M) row after row, without the zeros."""
    return np.concatenate([row[: i + 1] for i, row in enumerate(triangle)])


def _unpacked(packed: AnyArray, n_points: int) -> AnyArray:
    valid = packed.dtype in (np.float32, np.float64) and bool(np.all(np.isfinite(packed)))
    expect(valid and packed.shape == (n_points * (n_points + 1) // 2,), "triangle")
    triangle = np.zeros((n_points, n_points), packed.dtype)
    start = 0
    for i in range(n_points):
        triangle[i, : i + 1] = packed[start : start + i + 1]
        start += i + 1
    return triangle
