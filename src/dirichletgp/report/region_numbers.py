"""Regions in a report: how many, where they are, and how good each is on the rows at hand.

A row is counted in the region that holds most of it.
"""

from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from .._gp.core.regions import Places, Regions, without_holes
from ..plotting.kernels import of_columns
from ..plotting.pipelines import innermost_classifier, transformed_rows
from .directions import FEWEST_TO_NAME

# What the page shows: regions by how much they add to the loss, columns by their part in cuts.
_MOST_LISTED, _MOST_COLUMNS = 8, 6
# A column says where a region is if most of its rows are where few of all rows are.
_MOST_OF_THEM, _FEW_OF_ALL, _COLUMNS_OF_A_REGION = (0.1, 0.9), 0.5, 2
_COMPARED_ROWS = 20_000
_STEPS_SHOWN = 200
_LEAST_PROBABILITY = 1e-300


def region_numbers(model: Any, X: Any, prob: Array, codes: Integers) -> dict[str, Any] | None:
    """What there is to say about the regions of a model; None if it has only one.

    Parameters
    ----------
    model : fitted classifier, or a pipeline or search that ends in one
    X : array-like of shape (n, D)
    prob : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Columns of the true classes.

    Returns
    -------
    dict or None
        "summary" (`regions_`), "cuts" (columns and their shares), "steps" (regions from the best to
        the worst: share of the rows, MNLL), "listed" (those that add most to the loss) and "mnll".
    """
    classifier = innermost_classifier(model)
    if getattr(classifier, "regions_", None) is None:
        return None
    fitted, matrix, scaled = classifier.fitted_regions(transformed_rows(model, X))
    places = fitted.regions.places(scaled)
    home = _homes(places, len(codes))
    loss = -np.log(np.maximum(prob[np.arange(len(codes)), codes], _LEAST_PROBABILITY))
    right = prob.argmax(axis=1) == codes
    n_regions = fitted.regions.number
    tested = np.bincount(home, minlength=n_regions)
    with np.errstate(invalid="ignore"):
        mnll = np.bincount(home, loss, n_regions) / tested
        accuracy = np.bincount(home, right, n_regions) / tested
    columns = _Columns.of(classifier, matrix, home)
    worst = np.argsort(-np.nan_to_num(mnll * tested), kind="stable")[:_MOST_LISTED]
    return {
        "summary": classifier.regions_,
        "mnll": float(loss.mean()),
        "empty": int(np.sum(tested == 0)),
        "cuts": _columns_of_cuts(classifier, fitted.regions, scaled, places),
        "steps": _steps(mnll, tested),
        "listed": [
            {
                "number": int(region) + 1,
                "training_rows": float(fitted.models[region].statistics.counts.sum()),
                "one_class": len(fitted.models[region].points) == 0,
                "rows": int(tested[region]),
                "mnll": float(mnll[region]),
                "accuracy": float(accuracy[region]),
                "loss_share": float(mnll[region] * tested[region] / max(loss.sum(), 1e-300)),
                "where": columns.where(region),
            }
            for region in worst.tolist()
            if tested[region]
        ],
    }


def _homes(places: Places, n: int) -> Integers:
    """The region (n,) that holds most of each row."""
    order = np.lexsort([places.weights, places.rows])
    last = np.flatnonzero(np.diff(places.rows[order], append=n))
    return places.regions[order[last]]


def _steps(mnll: Array, tested: Integers) -> list[dict[str, float]]:
    """Regions from the best to the worst, neighbours put together until they are few."""
    order = np.argsort(np.where(tested > 0, mnll, np.inf), kind="stable")
    order = order[tested[order] > 0]
    share = np.cumsum(tested[order]) / tested.sum()
    group = np.minimum((share * _STEPS_SHOWN).astype(np.intp), _STEPS_SHOWN - 1)
    weight = np.bincount(group, tested[order])
    total = np.bincount(group, (mnll * tested)[order])
    return [
        {"share": float(w / tested.sum()), "mnll": float(t / w)}
        for w, t in zip(weight, total, strict=True)
        if w
    ]


def _columns_of_cuts(
    classifier: Any, regions: Regions, scaled: Array, places: Places
) -> list[dict[str, Any]]:
    """Columns by their part in the directions that rows are cut across.

    In a cut it is the part in the variance along its direction, were columns independent; a cut
    counts for as much as there are rows to be cut.
    """
    inside = np.bincount(places.regions, places.weights, regions.number)
    passing = np.zeros(len(regions.children))
    for node in range(len(passing) - 1, -1, -1):
        for child in regions.children[node].tolist():
            passing[node] += passing[child] if child >= 0 else inside[-1 - child]
    part = np.square(regions.directions * without_holes(scaled).std(axis=0))
    part /= np.maximum(part.sum(axis=1, keepdims=True), 1e-300)
    share = of_columns(classifier, passing @ part / max(passing.sum(), 1e-300))
    names = list(dict.fromkeys(classifier.fitted_names()))
    if len(names) != len(share):
        names = [f"feature {j + 1}" for j in range(len(share))]
    order = np.argsort(-share, kind="stable")[:_MOST_COLUMNS]
    return [{"name": names[j], "share": float(share[j])} for j in order if share[j] > 0.005]


class _Columns:
    """Columns of numbers, and which of them tell a region from all rows."""

    def __init__(self, names: list[str], values: AnyArray, home: Integers):
        self._names = names
        self._values = values
        self._home = home

    @classmethod
    def of(cls, classifier: Any, matrix: AnyArray, home: Integers) -> "_Columns":
        columns = classifier.fitted_columns()
        step = -(-len(matrix) // _COMPARED_ROWS)
        numbers = np.flatnonzero(np.asarray(columns.levels) == 0)
        names = columns.names or [f"x{j}" for j in range(matrix.shape[1])]
        some = matrix[::step][:, numbers]
        return cls([str(names[j]) for j in numbers], some, home[::step])

    def where(self, region: int) -> list[str]:
        """Between which values of which columns most rows of a region are, but few of all rows."""
        own = self._values[self._home == region]
        if len(own) < FEWEST_TO_NAME:
            return []  # so few rows would be given away
        known = np.flatnonzero(~np.isnan(own).all(axis=0)) if len(own) else np.empty(0, np.intp)
        if not len(known):
            return []
        low, high = np.nanquantile(own[:, known], _MOST_OF_THEM, axis=0)
        everywhere = self._values[:, known]
        share = np.mean((everywhere >= low) & (everywhere <= high), axis=0)
        order = np.argsort(share, kind="stable")[:_COLUMNS_OF_A_REGION]
        return [
            _said(self._names[known[j]], float(low[j]), float(high[j]))
            for j in order.tolist()
            if share[j] < _FEW_OF_ALL
        ]


def _said(name: str, low: float, high: float) -> str:
    return f"{name} {low:.4g}" if low == high else f"{name} {low:.4g} to {high:.4g}"
