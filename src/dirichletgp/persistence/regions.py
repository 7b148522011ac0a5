"""A model of regions in a file: the tree, and what each region has, one after the other."""

from collections.abc import Sequence

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
    faded,
)
from .._gp.core.kernels import Kernel
from .._gp.core.regional import RegionalStatistics
from .._gp.core.regions import Regions
from .._gp.core.regressions import LabelTransform
from .._gp.core.statistics import ClassStatistics
from .._gp.training.fitted import Model, basis_again, packed_grams
from .._gp.training.regional import RegionalModel
from .statistics import statistics_restored
from .values import Arrays

# K cuts, R = K + 1 regions with C classes; S and T count the numbers of all regions.
_TREE = {
    "regions/directions": Numbers("K D", MODERATE),
    "regions/thresholds": Numbers("K", MODERATE),
    "regions/widths": Numbers("K", ABOVE_ZERO),
    "regions/children": Numbers("K P", (-(2**31), 2**31), "int64"),
}
_SUMS = {
    "regions/n_points": Numbers("R", (0, 2**31), "int64"),
    "regions/counts": Numbers("R C", NOT_NEGATIVE),
    "regions/sums": Numbers("S", SUMS),
    "regions/grams": Numbers("T", SUMS),
    "counts": Numbers("C", NOT_NEGATIVE),
}
_PARTS = {
    "regions/jitters": Numbers("R", (1e-100, 1.0)),
    "regions/priors": Numbers("R C", (ABOVE_ZERO[0], 1.0)),
}


def regions_described(model: RegionalModel) -> Arrays:
    """The arrays of a model of regions, besides points and prior."""
    models = model.models
    own = {
        "regions/jitters": np.array([part.jitter for part in models]),
        "regions/priors": np.array([part.prior for part in models]),
    }
    return tree_described(model.regions) | own | sums_described(model.statistics)


def tree_described(regions: Regions) -> Arrays:
    """The arrays of a tree of cuts."""
    return {
        "regions/directions": regions.directions,
        "regions/thresholds": regions.thresholds,
        "regions/widths": regions.widths,
        "regions/children": regions.children.astype(np.int64),
    }


def sums_described(statistics: RegionalStatistics) -> Arrays:
    """The arrays of class statistics of regions."""
    parts = statistics.parts
    grams = [packed_grams(part.grams).ravel() for part in parts]
    return {
        "counts": statistics.counts,
        "regions/n_points": np.array([part.sums.shape[1] for part in parts], dtype=np.int64),
        "regions/counts": np.array([part.counts for part in parts]),
        "regions/sums": np.concatenate([part.sums.ravel() for part in parts]),
        "regions/grams": np.concatenate(grams),
    }


def regions_restored(
    arrays: Arrays,
    sizes: dict[str, int],
    kernel: Kernel,
    transform: LabelTransform,
    alpha_epsilon: float,
) -> RegionalModel:
    """The model of regions that was described; `ValueError` if there is none like that."""
    regions = tree_restored(arrays, sizes["D"])
    check_arrays(_PARTS, arrays, {"R": regions.number, "C": sizes["C"]})
    transforms = [transform, LabelTransform.dirichlet(alpha_epsilon)]
    statistics = sums_restored(arrays, regions.number, sizes["C"], transforms)
    m = arrays["regions/n_points"]
    expect(int(m.sum()) == sizes["M"], "points of regions")
    points = np.split(arrays["points"], np.cumsum(m)[:-1])

    def part(region: int) -> Model:
        prior = arrays["regions/priors"][region]
        expect(abs(float(prior.sum()) - 1.0) < 1e-6, "prior")
        jitter = float(arrays["regions/jitters"][region])
        return Model(
            basis=basis_again(kernel, np.ascontiguousarray(points[region]), jitter),
            jitter=jitter,
            statistics=statistics.parts[region],
            transform=transform,
            prior=prior,
            alpha_epsilon=alpha_epsilon,
        )

    models = tuple(part(region) for region in range(regions.number))
    return RegionalModel(regions, models, statistics.counts, arrays["prior"])


def tree_restored(arrays: Arrays, n_features: int) -> Regions:
    """The tree that was described; `ValueError` if there is none like that."""
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


def sums_restored(
    arrays: Arrays, n_regions: int, n_classes: int, transforms: Sequence[LabelTransform]
) -> RegionalStatistics:
    """The statistics that were described, with which all regressions can be solved."""
    check_arrays(_SUMS, arrays, {"R": n_regions, "C": n_classes})
    m = arrays["regions/n_points"]
    triangles = m * (m + 1) // 2
    expect(n_classes * int(m.sum()) == len(arrays["regions/sums"]), "sums of regions")
    expect(n_classes * int(triangles.sum()) == len(arrays["regions/grams"]), "sums of regions")
    sums = _split(arrays["regions/sums"], n_classes * m, n_classes)
    grams = _split(arrays["regions/grams"], n_classes * triangles, n_classes)

    def part(region: int) -> ClassStatistics:
        own = {
            "counts": faded(arrays["regions/counts"][region]),
            "sums": sums[region],
            "grams": grams[region],
        }
        given = {"C": n_classes, "M": int(m[region])}
        return statistics_restored(own, given, transforms)

    return RegionalStatistics(arrays["counts"], tuple(part(r) for r in range(n_regions)))


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
