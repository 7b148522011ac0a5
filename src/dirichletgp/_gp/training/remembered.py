"""What a fit remembers of its rows: how likely their own labels were, and marks to know them by.

Scores, for prediction sets. Every training row is predicted without itself, and the probability of
its own label is its score. A new row's set holds the classes whose probability is at least the
score that few training rows fall short of: a new label is as likely to fall short as theirs are.
With n rows and coverage 1 - a that is the floor(a (n + 1))-th smallest score; if there is none, the
set holds all classes.

Marks, to tell whether rows were trained on. Rows (4,096 at most, spread over all) each mark one of
65,536 bits, chosen by a hash of the row and its class. A few rows that were never seen fall on a
mark too, up to 6 in 100; of many rows marks tell how many were seen.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Integers
from ..rows.in_memory import row_keys

# Scores that are kept of all classes together, and of each class at least.
_KEPT_SCORES, _KEPT_OF_A_CLASS = 1_000, 100
# Rows that leave a mark, and bits that they mark, eight to a byte; rows that are looked up.
_MOST_MARKED, _BITS, _MOST_LOOKED_UP = 4_096, 2**16, 20_000
BYTES_OF_MARKS = _BITS // 8
# Fewer copies than these are not told from chance, or not worth a word.
_DEVIATIONS, _FEWEST = 3.0, 0.02


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


class Strangers(NamedTuple):
    """Rows to be left out that were never trained on.

    Attributes
    ----------
    share : float
        Of all rows, about.
    said : str
        What to say of them.
    """

    share: float
    said: str


@dataclass(frozen=True)
class SeenRows:
    """Marks of the rows that a model was fitted to.

    Attributes
    ----------
    marks : ndarray of shape (8192,) of uint8
        Eight bits in a byte.
    share : float
        Share of the training rows that left a mark.
    doubles : float
        Share of these that equal another: so many are equal by chance.
    """

    marks: AnyArray
    share: float
    doubles: float

    @classmethod
    def of(cls, X: AnyArray, codes: Integers, share: float = 1.0) -> "SeenRows":
        """Remember rows (n, D) with their classes (n,), which are a share of all."""
        keys = _keys(X, codes, _MOST_MARKED)
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        bits = np.zeros(_BITS, dtype=bool)
        bits[keys % _BITS] = True
        marked = share * len(keys) / len(codes)
        return cls(np.packbits(bits), marked, float(np.mean(counts[inverse] > 1)))

    def about_copies(self, X: AnyArray, codes: Integers) -> str | None:
        """What to say of rows (n, D) to be tested on if many of them were trained on."""
        known, n, by_chance = self._known(X, codes)
        marked = known / max(1.0 - by_chance, 1e-9)
        doubt = _DEVIATIONS * np.sqrt(n * by_chance * (1.0 - by_chance))
        if known <= doubt or marked < n * max(_FEWEST * self.share, 2.0 * self.doubles):
            return None
        how_many = _how_many(marked / (n * self.share), len(codes))
        return (
            f"{how_many} rows seem to be rows that the model was fitted to; "
            "scores on them say nothing about new rows"
        )

    def strangers(self, X: AnyArray, codes: Integers) -> Strangers | None:
        """Rows among some (n, D) that were never trained on; None where there are none for sure.

        If all training rows left a mark, a row without one is none of them. If only some did, it
        takes many strangers to tell: at least half of the rows.
        """
        if len(codes) == 0:
            return None
        known, n, by_chance = self._known(X, codes)
        expected = n * (1.0 - by_chance) * self.share
        enough = 0.0
        if self.share < 1.0:
            hit = by_chance + (1.0 - by_chance) * self.share
            enough = 0.5 * expected + _DEVIATIONS * np.sqrt(n * hit * (1.0 - hit))
        missed = expected - known
        if missed <= max(enough, 1e-9 * n):
            return None
        share = float(missed / expected)
        said = (
            f"{_how_many(share, len(codes))} rows seem not to be rows that the model was fitted "
            "to, or have other labels now"
        )
        return Strangers(share, said)

    def _known(self, X: AnyArray, codes: Integers) -> tuple[float, int, float]:
        """Rows that fall on a mark beyond chance, of how many, and the share that would by chance.

        Of very many rows, some are looked up.
        """
        keys = _keys(X, codes, _MOST_LOOKED_UP)
        bits = np.unpackbits(self.marks)
        by_chance = float(bits.mean())
        hits = int(bits[keys % _BITS].sum())
        return hits - len(keys) * by_chance, len(keys), by_chance


def _how_many(share: float, n: int) -> str:
    found = max(1, round(share * n))
    return f"all {n:,}" if found >= n else f"about {found:,} of {n:,}"


def _keys(X: AnyArray, codes: Integers, most: int) -> AnyArray:
    """A number for each of some rows, the same if values differ by rounding only."""
    step = -(-len(codes) // most)
    return row_keys(np.column_stack([codes[::step], np.asarray(X)[::step]]))
