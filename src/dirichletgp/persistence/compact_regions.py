"""A compact model of regions in a file: the tree, and the compact form of each region.

The arrays of a form are put together with those of other regions that have the same name and type
(`joined_arrays.py`). Regions that only count have their counts, and no form.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._gp.core.fields import ABOVE_ZERO, NOT_NEGATIVE, Numbers, check_arrays, expect, faded
from .._gp.core.kernels import Kernel
from .._gp.core.regressions import LabelTransform
from .._gp.core.statistics import ClassStatistics
from .._gp.training.compact import CompactModel
from .._gp.training.fitted import Model, basis_again
from .._gp.training.regional import RegionalModel
from .beliefs import beliefs_described, beliefs_restored
from .compact_form import compact_restored, form_described
from .joined_arrays import joined, separated
from .regions import tree_described, tree_restored
from .values import Arrays

COMPACT_REGIONS = "compact regions"
"""The name of the forms in the JSON object of a file."""

# R regions with C classes.
_PARTS = {
    "regions/n_points": Numbers("R", (0, 2**31), "int64"),
    "regions/jitters": Numbers("R", (1e-100, 1.0)),
    "regions/priors": Numbers("R C", (ABOVE_ZERO[0], 1.0)),
    "regions/counts": Numbers("R C", NOT_NEGATIVE),
    "counts": Numbers("C", NOT_NEGATIVE),
}


def compact_regions_described(model: RegionalModel) -> tuple[dict[str, Any], Arrays]:
    """A compact model of regions as JSON and arrays, besides points and prior."""
    models = model.models
    arrays = {
        "regions/n_points": np.array([len(part.points) for part in models], dtype=np.int64),
        "regions/jitters": np.array([part.jitter for part in models]),
        "regions/priors": np.array([part.prior for part in models]),
        "regions/counts": np.array([part.statistics.counts for part in models]),
        "counts": model.counts,
    }
    content: dict[str, Any] = {}
    forms: dict[int, Arrays] = {}
    for region, part in enumerate(models):
        if isinstance(part, CompactModel):
            form, form_arrays = form_described(part)
            beliefs, belief_arrays = beliefs_described(part)
            content[str(region)] = form | beliefs
            forms[region] = form_arrays | belief_arrays
    everything = tree_described(model.regions) | arrays | joined(forms)
    return {COMPACT_REGIONS: content}, everything


def compact_regions_restored(
    content: Mapping[str, Any],
    arrays: Arrays,
    sizes: dict[str, int],
    kernel: Kernel,
    transform: LabelTransform,
    alpha_epsilon: float,
) -> RegionalModel:
    """The model that was described; `ValueError` if there is none like that."""
    regions = tree_restored(arrays, sizes["D"])
    check_arrays(_PARTS, arrays, {"R": regions.number, "C": sizes["C"]})
    n_points = arrays["regions/n_points"]
    expect(int(n_points.sum()) == sizes["M"], "points of regions")
    points = np.split(arrays["points"], np.cumsum(n_points)[:-1])
    forms = separated(arrays, regions.number)

    def restored(region: int) -> Model:
        prior = arrays["regions/priors"][region]
        expect(abs(float(prior.sum()) - 1.0) < 1e-6, "prior")
        jitter = float(arrays["regions/jitters"][region])
        counts = faded(arrays["regions/counts"][region])
        parts: dict[str, Any] = {
            "basis": basis_again(kernel, np.ascontiguousarray(points[region]), jitter),
            "jitter": jitter,
            "prior": prior,
            "transform": transform,
            "alpha_epsilon": alpha_epsilon,
        }
        if len(points[region]) == 0:
            nothing = ClassStatistics.empty(sizes["C"], 0)
            return Model(**parts, statistics=replace(nothing, counts=counts))
        form = content[COMPACT_REGIONS][str(region)]
        own = {"counts": counts, **forms.get(region, {})}
        own_sizes = {"C": sizes["C"], "M": len(points[region])}
        parts["beliefs"] = beliefs_restored(form, own, own_sizes)
        return compact_restored(parts, form, own, own_sizes)

    models = tuple(restored(region) for region in range(regions.number))
    return RegionalModel(regions, models, arrays["counts"], arrays["prior"], learns=False)
