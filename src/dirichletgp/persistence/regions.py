"""A model of regions in a file: the tree, and what each region has, one after the other.

A region that learns has sums and Grams. Of a compact one the arrays of its form are put together
with those of the others that have the same name and type (`joined_arrays.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray
from .._gp.core.fields import (
    ABOVE_ZERO,
    MODERATE,
    NOT_NEGATIVE,
    SUMS,
    Numbers,
    check_arrays,
    expect,
)
from .._gp.core.kernels import Kernel
from .._gp.core.regions import Regions
from .._gp.core.regressions import LabelTransform
from .._gp.core.statistics import ClassStatistics
from .._gp.training.compact import CompactModel
from .._gp.training.fitted import Model, basis_again, packed_grams
from .._gp.training.regional import RegionalModel
from .beliefs import beliefs_described, beliefs_restored
from .compact_form import compact_restored, form_described
from .joined_arrays import joined, separated
from .statistics import statistics_restored
from .values import Arrays

# K cuts, R = K + 1 regions with C classes; S and T count the numbers of all regions.
_TREE = {
    "regions/directions": Numbers("K D", MODERATE),
    "regions/thresholds": Numbers("K", MODERATE),
    "regions/widths": Numbers("K", ABOVE_ZERO),
    "regions/children": Numbers("K P", (-(2**31), 2**31), "int64"),
}
_PARTS = {
    "regions/n_points": Numbers("R", (0, 2**31), "int64"),
    "regions/jitters": Numbers("R", (1e-100, 1.0)),
    "regions/priors": Numbers("R C", (ABOVE_ZERO[0], 1.0)),
    "regions/counts": Numbers("R C", NOT_NEGATIVE),
    "counts": Numbers("C", NOT_NEGATIVE),
}
_SUMS = {"regions/sums": Numbers("S", SUMS), "regions/grams": Numbers("T", SUMS)}
_COMPACT = "compact regions"


def regions_described(model: RegionalModel) -> tuple[dict[str, Any], Arrays]:
    """A model of regions as JSON and arrays, besides points and prior."""
    models = model.models
    arrays = {
        "counts": model.counts,
        "regions/directions": model.regions.directions,
        "regions/thresholds": model.regions.thresholds,
        "regions/widths": model.regions.widths,
        "regions/children": model.regions.children.astype(np.int64),
        "regions/n_points": np.array([len(part.points) for part in models], dtype=np.int64),
        "regions/jitters": np.array([part.jitter for part in models]),
        "regions/priors": np.array([part.prior for part in models]),
        "regions/counts": np.array([part.statistics.counts for part in models]),
    }
    if not model.learns:
        content, forms = _forms_described(models)
        return {_COMPACT: content}, arrays | forms
    sums = [part.statistics.sums.ravel() for part in models]
    grams = [packed_grams(part.statistics.grams).ravel() for part in models]
    return {}, arrays | {
        "regions/sums": np.concatenate(sums),
        "regions/grams": np.concatenate(grams),
    }


def _forms_described(models: Sequence[Model]) -> tuple[dict[str, Any], Arrays]:
    """The compact forms of regions as JSON, by the number of the region, and arrays."""
    content: dict[str, Any] = {}
    forms: dict[int, Arrays] = {}
    for region, part in enumerate(models):
        if isinstance(part, CompactModel):
            content[str(region)], forms[region] = form_described(part)
            beliefs, belief_arrays = beliefs_described(part)
            content[str(region)] |= beliefs
            forms[region] |= belief_arrays
    return content, joined(forms)


def regions_restored(
    content: Mapping[str, Any],
    arrays: Arrays,
    sizes: dict[str, int],
    kernel: Kernel,
    transform: LabelTransform,
    alpha_epsilon: float,
) -> RegionalModel:
    """The model of regions that was described; `ValueError` if there is none like that."""
    regions = _tree_restored(arrays, sizes["D"])
    n_classes = sizes["C"]
    check_arrays(_PARTS, arrays, {"R": regions.number, "C": n_classes})
    m = arrays["regions/n_points"]
    expect(int(m.sum()) == sizes["M"], "points of regions")
    points = np.split(arrays["points"], np.cumsum(m)[:-1])
    shared = {"transform": transform, "alpha_epsilon": alpha_epsilon}

    def parts(region: int) -> dict[str, Any]:
        """What all models have."""
        prior = arrays["regions/priors"][region]
        expect(abs(float(prior.sum()) - 1.0) < 1e-6, "prior")
        jitter = float(arrays["regions/jitters"][region])
        basis = basis_again(kernel, np.ascontiguousarray(points[region]), jitter)
        return {"basis": basis, "jitter": jitter, "prior": prior, **shared}

    if _COMPACT in content:
        models = _compact_models(content[_COMPACT], arrays, n_classes, parts)
    else:
        models = _learning_models(arrays, n_classes, parts)
    learns = _COMPACT not in content
    return RegionalModel(regions, models, arrays["counts"], arrays["prior"], learns)


def _tree_restored(arrays: Arrays, n_features: int) -> Regions:
    tree = check_arrays(_TREE, arrays, {"D": n_features, "P": 2})
    expect(tree["K"] > 0, "regions")
    children = arrays["regions/children"].astype(np.intp)
    _check_tree(children)
    return Regions(
        arrays["regions/directions"],
        arrays["regions/thresholds"],
        arrays["regions/widths"],
        children,
    )


Parts = Callable[[int], dict[str, Any]]


def _learning_models(arrays: Arrays, n_classes: int, parts: Parts) -> tuple[Model, ...]:
    """Models with class statistics."""
    check_arrays(_SUMS, arrays)
    m = arrays["regions/n_points"]
    triangles = m * (m + 1) // 2
    expect(n_classes * int(m.sum()) == len(arrays["regions/sums"]), "sums of regions")
    expect(n_classes * int(triangles.sum()) == len(arrays["regions/grams"]), "sums of regions")
    sums = _split(arrays["regions/sums"], n_classes * m, n_classes)
    grams = _split(arrays["regions/grams"], n_classes * triangles, n_classes)

    def restored(region: int) -> Model:
        own = {
            "counts": arrays["regions/counts"][region],
            "sums": sums[region],
            "grams": grams[region],
        }
        given = {"C": n_classes, "M": int(m[region])}
        of_all = parts(region)
        transforms = [of_all["transform"], LabelTransform.dirichlet(of_all["alpha_epsilon"])]
        return Model(**of_all, statistics=statistics_restored(own, given, transforms))

    return tuple(restored(region) for region in range(len(m)))


def _compact_models(
    content: Mapping[str, Any], arrays: Arrays, n_classes: int, parts: Parts
) -> tuple[Model, ...]:
    """Compact models, and regions that only count."""
    n_points = arrays["regions/n_points"].tolist()
    forms = separated(arrays, len(n_points))

    def restored(region: int) -> Model:
        own = {"counts": arrays["regions/counts"][region], **forms.get(region, {})}
        sizes = {"C": n_classes, "M": n_points[region]}
        if n_points[region] == 0:
            empty = ClassStatistics.empty(n_classes, 0)
            return Model(**parts(region), statistics=replace(empty, counts=own["counts"]))
        of_region = content[str(region)]
        beliefs = beliefs_restored(of_region, own)
        return compact_restored({**parts(region), "beliefs": beliefs}, of_region, own, sizes)

    return tuple(restored(region) for region in range(len(n_points)))


def _split(values: AnyArray, lengths: AnyArray, n_classes: int) -> Sequence[AnyArray]:
    """Numbers one after the other as an array (C, n) for each region."""
    parts = np.split(values, np.cumsum(lengths)[:-1])
    return [part.reshape(n_classes, len(part) // n_classes) for part in parts]


def _check_tree(children: AnyArray) -> None:
    """`ValueError` unless every cut but the first, and every region, has its place once."""
    n_cuts = len(children)
    expected = np.concatenate([np.arange(-n_cuts - 1, 0), np.arange(1, n_cuts)])
    expect(np.array_equal(np.sort(children, axis=None), expected), "tree of regions")
    # A cut comes before those below it: there is no way round in circles.
    above = np.arange(n_cuts)[:, None]
    expect(bool(np.all((children < 0) | (children > above))), "tree of regions")
