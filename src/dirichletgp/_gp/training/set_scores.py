"""What a fit remembers of its rows for prediction sets: how likely their own labels were.

Every training row is predicted without itself, and the probability of its own label is its score.
A new row's set holds the classes whose probability is at least the score that few training rows
fall short of: a new label is as likely to fall short as theirs are. With n rows and coverage 1 - a
that is the floor(a (n + 1))-th smallest score; if there is none, the set holds all classes.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array, Integers

# Scores that are kept of all classes together, and of each class at least.
_KEPT_SCORES, _KEPT_OF_A_CLASS = 1_000, 100


@dataclass(frozen=True)
class SetScores:
    """Scores of training rows, a few hundred numbers: each stands for some rows of one class.

    Attributes
    ----------
    probability : ndarray of shape (K,)
        The smallest probability of the own label among the rows that it stands for.
    code : ndarray of shape (K,)
        Their class.
    mass : ndarray of shape (K,)
        Their weight.
    effective : ndarray of shape (C + 1,)
        How many rows of equal weight would say as much: of each class, and of all.
    holds : bool
        Whether the model still stands on the rows that the scores are of, and left them out
        honestly.
    """

    probability: Array
    code: Integers
    mass: Array
    effective: Array
    holds: bool = True

    def least_probability(self, coverage: float) -> float:
        """What a class must have to be in a set that holds the label with this probability."""
        return _least(self.probability, self.mass, self.effective[-1], coverage)

    def least_probability_by_class(self, coverage: float) -> Array:
        """The same for the labels of each class by themselves, (C,)."""
        least = np.empty(len(self.effective) - 1)
        for c in range(len(least)):
            own = self.code == c
            least[c] = _least(self.probability[own], self.mass[own], self.effective[c], coverage)
        return least

    def of_earlier_rows(self) -> "SetScores":
        """The same scores, of a model that has moved on to other rows."""
        return replace(self, holds=False)

    def recoded(self, places: Integers, n_classes: int) -> "SetScores":
        """With class k called places[k], among more."""
        effective = np.zeros(n_classes + 1)
        effective[places] = self.effective[:-1]
        effective[-1] = self.effective[-1]
        return replace(self, code=places[self.code], effective=effective)


def _least(probability: Array, mass: Array, effective: float, coverage: float) -> float:
    """The score of rank floor(a (n + 1)) from below, minus infinity if that is none."""
    share = (1.0 - coverage) * (effective + 1.0)
    # 0.1 * 10 must be a whole row, however 1 - 0.9 was rounded.
    rank = np.floor(share + 1e-9)
    if rank < 1 or len(mass) == 0:
        return -np.inf
    order = np.argsort(probability, kind="stable")
    reached = np.cumsum(mass[order])
    wanted = rank / effective * reached[-1]
    place = np.searchsorted(reached, wanted * (1.0 - 1e-9))
    return float(probability[order[min(place, len(order) - 1)]])


def set_scores(
    probability: Array, codes: Integers, weights: Array, n_classes: int, honest: bool = True
) -> SetScores:
    """The scores that prediction sets need, in short.

    Parameters
    ----------
    probability : ndarray of shape (n,)
        Of the own class of training rows, each predicted without itself.
    codes, weights : ndarray of shape (n,)
        Their classes, and how often each counts.
    n_classes : int
    honest : bool, default=True
        Whether nothing else that the rows have a say in flatters them.
    """
    most = max(_KEPT_OF_A_CLASS, _KEPT_SCORES // n_classes)
    kept, masses, sizes = [], [], []
    effective = np.zeros(n_classes + 1)
    for c in range(n_classes):
        members = np.flatnonzero(codes == c)
        members = members[np.argsort(probability[members], kind="stable")]
        # The smallest score of some neighbours stands for all of them: sets may only grow.
        size = min(len(members), most)
        first = np.arange(size) * len(members) // max(size, 1)
        own = weights[members]
        kept.append(probability[members[first]])
        masses.append(np.add.reduceat(own, first) if len(first) else own)
        sizes.append(len(first))
        effective[c] = _effective(own)
    effective[-1] = _effective(weights)
    code = np.repeat(np.arange(n_classes), sizes)
    return SetScores(np.concatenate(kept), code, np.concatenate(masses), effective, honest)


def _effective(weights: Array) -> float:
    """How many rows of equal weight say as much as rows with these weights (n,)."""
    squares = float(np.square(weights).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0
