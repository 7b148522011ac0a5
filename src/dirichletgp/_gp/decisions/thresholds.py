"""Thresholds on a probability that reach a wanted precision or recall, with their uncertainty.

Rows are predicted without themselves, so what they reach is what new rows will, up to chance. Of k
rows above a threshold, r are right: precision is r / k, and what is known of it the Beta
distribution of Jeffreys, Beta(r + 1/2, k - r + 1/2). The same holds for recall.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from ..core.arrays import Array, Booleans

PRECISION, RECALL = "precision", "recall"


class Threshold(NamedTuple):
    """A threshold on the probability of a label, and what it reaches.

    Attributes
    ----------
    value : float
        Take a row for the label if its probability is at least this; infinite if the target is out
        of reach.
    precision, recall : float
        Of left-out rows at the threshold.
    precision_interval, recall_interval : tuple of float
        What is known of them.
    value_interval : tuple of float
        Where the threshold may lie: what left-out rows reach there is not told apart from the
        target.

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
    >>> found = classifier.threshold(X, y, recall=0.9)
    >>> bool(found.recall >= 0.9), bool(0 < found.value < 1)
    (True, True)
    """

    value: float
    precision: float
    recall: float
    precision_interval: tuple[float, float]
    recall_interval: tuple[float, float]
    value_interval: tuple[float, float]


class Reached(NamedTuple):
    """Thresholds (K,), falling, and what left-out rows reach at each.

    Attributes
    ----------
    value : ndarray of shape (K,)
    right, taken : ndarray of shape (K,)
        Weight of rows at or above the threshold: of the label, and of any.
    n_right : float
        Weight of all rows of the label.
    """

    value: Array
    right: Array
    taken: Array
    n_right: float

    @classmethod
    def of(cls, probability: Array, event: Booleans, weights: Array | None) -> "Reached":
        """For probabilities (n,) of a label that rows have or not (n,)."""
        own = np.ones(len(event)) if weights is None else weights
        order = np.argsort(-probability, kind="stable")
        last = np.flatnonzero(np.append(np.diff(probability[order]) < 0, True))
        right = np.cumsum(np.where(event, own, 0.0)[order])[last]
        taken = np.cumsum(own[order])[last]
        return cls(probability[order[last]], right, taken, float(right[-1]))

    def share(self, target: str) -> Array:
        """Precision or recall at each threshold, (K,)."""
        return self.right / (self.taken if target == PRECISION else max(self.n_right, 1e-300))

    def interval(self, target: str, level: float) -> tuple[Array, Array]:
        """What is known of precision or recall at each threshold, each (K,)."""
        whole = self.taken if target == PRECISION else np.full(len(self.value), self.n_right)
        tail = 0.5 * (1.0 - level)
        hits, misses = self.right + 0.5, np.maximum(whole - self.right, 0.0) + 0.5
        return betaincinv(hits, misses, tail), betaincinv(hits, misses, 1.0 - tail)


def threshold_for(reached: Reached, target: str, wanted: float, level: float) -> Threshold:
    """The threshold that takes the most rows and has the precision, or the fewest with the recall.

    Parameters
    ----------
    reached : Reached
    target : {"precision", "recall"}
    wanted : float
    level : float
        Of the intervals.
    """
    low, high = reached.interval(target, level)
    place = _first_or_last(reached.share(target) >= wanted, target)
    ends = [_first_or_last(bound >= wanted, target) for bound in (low, high)]
    # Where no threshold is sure to do, precision asks for more than any, recall for less.
    beyond = np.inf if target == PRECISION else 0.0
    values = sorted(beyond if end is None else float(reached.value[end]) for end in ends)
    value_interval = (values[0], values[1])
    if place is None:
        return Threshold(np.inf, 0.0, 0.0, (0.0, 1.0), (0.0, 1.0), value_interval)
    bounds = {
        name: tuple(float(edge[place]) for edge in reached.interval(name, level))
        for name in (PRECISION, RECALL)
    }
    return Threshold(
        value=float(reached.value[place]),
        precision=float(reached.share(PRECISION)[place]),
        recall=float(reached.share(RECALL)[place]),
        precision_interval=(bounds[PRECISION][0], bounds[PRECISION][1]),
        recall_interval=(bounds[RECALL][0], bounds[RECALL][1]),
        value_interval=value_interval,
    )


def _first_or_last(enough: Booleans, target: str) -> int | None:
    """Thresholds fall: precision holds to the last that has it, recall from the first."""
    places = np.flatnonzero(enough)
    if len(places) == 0:
        return None
    return int(places[-1] if target == PRECISION else places[0])
