"""The scalers as operators: affine maps, and normal scores by a binary search among the knots."""

from typing import Any

import numpy as np

from .._gp.rows.scaling import _FARTHEST, NormalScores


def add_scaling(graph: Any, rows: str, classifier: Any) -> str:
    """Scaled rows (n, D)."""
    kind, fitted = classifier.scaler, classifier.scaler_
    if isinstance(fitted, NormalScores):
        return _add_normal_scores(graph, rows, fitted)
    if kind == "standard":
        return str(graph.add("Div", graph.add("Sub", rows, fitted.mean_), fitted.scale_))
    if kind == "minmax":
        return str(graph.add("Add", graph.add("Mul", rows, fitted.scale_), fitted.min_))
    if kind is None:
        return rows
    raise TypeError(
        f"scaler={kind!r} cannot be exported; use 'quantile', 'standard', 'minmax' or None"
    )


def _add_normal_scores(graph: Any, rows: str, fitted: NormalScores) -> str:
    lengths = np.array([len(knots) for knots in fitted.knots_])
    size = 1 << int(np.ceil(np.log2(lengths.max() + 1)))
    knots = np.full((len(lengths), size), np.inf)
    scores = np.zeros((len(lengths), size))
    for j, (own_knots, own_scores) in enumerate(zip(fitted.knots_, fitted.scores_, strict=True)):
        knots[j, : len(own_knots)], scores[j, : len(own_scores)] = own_knots, own_scores
    all_knots, all_scores = graph.constant(knots.ravel()), graph.constant(scores.ravel())
    first = graph.constant(np.arange(len(lengths)) * size, np.int64)
    last = graph.constant(np.arange(len(lengths)) * size + lengths - 1, np.int64)

    # The last knot not above the value, or the first knot: the bits of its place, from the highest
    # down.
    low = graph.add("Expand", first, graph.add("Shape", rows))
    step = size // 2
    while step:
        tried = graph.add("Add", low, graph.constant(step, np.int64))
        reached = graph.add("GreaterOrEqual", rows, graph.add("Gather", all_knots, tried))
        low = graph.add("Where", reached, tried, low)
        step //= 2
    high = graph.add("Min", graph.add("Add", low, graph.constant(1, np.int64)), last)
    low_knot, high_knot = graph.add("Gather", all_knots, low), graph.add("Gather", all_knots, high)
    low_score, high_score = (
        graph.add("Gather", all_scores, low),
        graph.add("Gather", all_scores, high),
    )
    gap = graph.add("Sub", high_knot, low_knot)
    open_gap = graph.add("Greater", gap, 0.0)
    share = graph.add(
        "Div", graph.add("Sub", rows, low_knot), graph.add("Where", open_gap, gap, 1.0)
    )
    share = graph.add("Where", open_gap, graph.add("Clip", share, 0.0, 1.0), 0.0)
    inside = graph.add(
        "Add", low_score, graph.add("Mul", share, graph.add("Sub", high_score, low_score))
    )
    return _add_tails(graph, rows, inside, fitted)


def _add_tails(graph: Any, rows: str, inside: str, fitted: NormalScores) -> str:
    """Beyond the training values the score grows by log(1 + distance in widths)."""
    wide = fitted.widths_ > 0
    factor = np.where(wide, 1.0 / np.where(wide, fitted.widths_, 1.0), 0.0)
    above = graph.add("Sub", rows, np.array([knots[-1] for knots in fitted.knots_]))
    below = graph.add("Sub", np.array([knots[0] for knots in fitted.knots_]), rows)
    for operator, beyond in (("Add", above), ("Sub", below)):
        widths = graph.add("Clip", graph.add("Mul", beyond, factor), 0.0, _FARTHEST)
        inside = graph.add(operator, inside, graph.add("Log", graph.add("Add", widths, 1.0)))
    return inside
