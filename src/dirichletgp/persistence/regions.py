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
)
from .._gp.core.kernels import Kernel
from .._gp.core.regions import Regions
from .._gp.core.regressions import LabelTransform
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
_PARTS = {
    "regions/n_points": Numbers("R", (0, 2**31), "int64"),
    "regions/jitters": Numbers("R", (1e-100, 1.0)),
    "regions/priors": Numbers("R C", (ABOVE_ZERO[0], 1.0)),
    "regions/counts": Numbers("R C", NOT_NEGATIVE),
    "regions/sums": Numbers("S", SUMS),
    "regions/grams": Numbers("T", SUMS),
    "counts": Numbers("C", NOT_NEGATIVE),
}


def regions_described(model: RegionalModel) -> Arrays:
    """The arrays of a model of regions, besides points and prior."""
    models = model.models
    sums = [part.statistics.sums.ravel() for part in models]
    grams = [packed_grams(part.statistics.grams).ravel() for part in models]
    return {
        "counts": model.counts,
        "regions/directions": model.regions.directions,
        "regions/thresholds": model.regions.thresholds,
        "regions/widths": model.regions.widths,
        "regions/children": model.regions.children.astype(np.int64),
        "regions/n_points": np.array([len(part.points) for part in models], dtype=np.int64),
        "regions/jitters": np.array([part.jitter for part in models]),
        "regions/priors": np.array([part.prior for part in models]),
        "regions/counts": np.array([part.statistics.counts for part in models]),
        "regions/sums": np.concatenate(sums),
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
    tree = check_arrays(_TREE, arrays, {"D": sizes["D"], "P": 2})
    expect(tree["K"] > 0, "regions")
    children = arrays["regions/children"].astype(np.intp)
    _check_tree(children)
    regions = Regions(
        arrays["regions/directions"],
        arrays["regions/thresholds"],
        arrays["regions/widths"],
        children,
    )
    n_classes = sizes["C"]
    check_arrays(_PARTS, arrays, {"R": regions.number, "C": n_classes})
    m = arrays["regions/n_points"]
    triangles = m * (m + 1) // 2
    expect(int(m.sum()) == sizes["M"], "points of regions")
    expect(n_classes * int(m.sum()) == len(arrays["regions/sums"]), "sums of regions")
    expect(n_classes * int(triangles.sum()) == len(arrays["regions/grams"]), "sums of regions")
    points = np.split(arrays["points"], np.cumsum(m)[:-1])
    sums = _split(arrays["regions/sums"], n_classes * m, n_classes)
    grams = _split(arrays["regions/grams"], n_classes * triangles, n_classes)
    transforms = [transform, LabelTransform.dirichlet(alpha_epsilon)]

    def part(region: int) -> Model:
        own = {
            "counts": arrays["regions/counts"][region],
            "sums": sums[region],
            "grams": grams[region],
        }
        given = {"C": n_classes, "M": int(m[region])}
        prior = arrays["regions/priors"][region]
        expect(abs(float(prior.sum()) - 1.0) < 1e-6, "prior")
        jitter = float(arrays["regions/jitters"][region])
        return Model(
            basis=basis_again(kernel, np.ascontiguousarray(points[region]), jitter),
            jitter=jitter,
            statistics=statistics_restored(own, given, transforms),
            transform=transform,
            prior=prior,
            alpha_epsilon=alpha_epsilon,
        )

    models = tuple(part(region) for region in range(regions.number))
    return RegionalModel(regions, models, arrays["counts"], arrays["prior"])


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
