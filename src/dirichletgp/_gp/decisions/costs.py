"""Decisions: what is cheapest to say, given probabilities and what mistakes cost."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import AnyArray, Array, Booleans


class Decision(NamedTuple):
    """What `decide` says of rows.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The label with the least expected cost, also where it is better to decline.
    cost : ndarray of shape (n,)
        The expected cost of the decision: that of the label, or of declining.
    declined : ndarray of shape (n,), bool
        Where declining is cheaper than any label.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : A threshold by cross validation.
    sklearn.model_selection.FixedThresholdClassifier : Applies a threshold in `predict`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> decision = classifier.decide(X, costs=[[0, 1], [5, 0]], decline=0.3)
    >>> bool(decision.cost.max() <= 0.3)  # a dearer decision is declined
    True
    """

    labels: AnyArray
    cost: Array
    declined: Booleans


def cheapest(
    probabilities: Array, classes: AnyArray, costs: ArrayLike, decline: float | None
) -> Decision:
    """The decisions with the least expected costs, for class probabilities (n, C)."""
    table = checked_costs(costs, len(classes))
    expected = probabilities @ table
    best = expected.argmin(axis=1)
    cost = expected[np.arange(len(best)), best]
    declined = np.zeros(len(best), dtype=bool)
    if decline is not None:
        price = checked_decline(decline)
        declined = cost > price
        cost = np.where(declined, price, cost)
    return Decision(np.asarray(classes[best]), cost, declined)


def checked_costs(costs: Any, n_classes: int) -> Array:
    """Costs (C, C) of deciding for the class of a column where that of a row is right."""
    try:
        table = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.shape != (n_classes, n_classes) or not np.all(np.isfinite(table)):
        raise ValueError(
            f"costs has shape {np.shape(costs)}; pass finite numbers of shape ({n_classes}, "
            f"{n_classes}): costs[i][j] is what it costs to decide for classes_[j] where "
            "classes_[i] is right."
        )
    return table


def checked_decline(decline: Any, name: str = "decline") -> float:
    """What it costs to decline; `ValueError` with the name of the argument if it is no cost."""
    number = isinstance(decline, Real) and not isinstance(decline, bool)
    if not number or not np.isfinite(float(decline)):
        raise ValueError(
            f"{name}={decline!r} is not valid; pass what it costs to decline, or None."
        )
    if decline < 0:
        raise ValueError(
            f"{name}={decline!r} is not valid: to decline cannot cost less than nothing; "
            "pass 0 or more."
        )
    return float(decline)
