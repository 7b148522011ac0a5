"""Class statistics: everything that training ever needs from the rows.

For each class k, over its rows with weights w_i and kernel vectors k_i = k(Z, x_i):

    n_k = sum w_i        S_k = sum w_i k_i        G_k = sum w_i k_i k_i'

They are additive, so rows can be added and taken away in any grouping. Once kernel and inducing
points are fixed, the vectors are whitened (k_i becomes L^-1 k_i with L L' = K_mm + jitter) before
they are summed: whitening a finished Gram loses positive definiteness once n / jitter nears 1 /
eps. During training the kernel changes with every evaluation, the row counts are moderate, and the
cheaper order is taken (`RowStatistics`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..rows.in_memory import ArrayRows, Run, block_size
from .linalg import add_gram, symmetrise
from .threads import Workers

Array = NDArray[np.float64]
Features = Callable[[Array], Array]

_POOLED = -1


@dataclass(frozen=True)
class ClassStatistics:
    """The sums n (C,), S (C, M) and G (C, M, M) of whitened kernel vectors; G may be pooled over classes."""

    counts: Array
    sums: Array
    grams: Array

    @classmethod
    def accumulate(
        cls,
        rows: ArrayRows,
        features: Features,
        n_points: int,
        workers: Workers,
        gram_of: Sequence[int] | None = None,
        total: "ClassStatistics | None" = None,
    ) -> "ClassStatistics":
        """One pass over the rows; `features` maps scaled rows (m, D) to their vectors (m, M).

        `gram_of` names the Gram that each class adds to; by default every class has its own. The
        rows are added to `total`, in place, if it is given.
        """
        gram_of = range(rows.n_classes) if gram_of is None else gram_of
        total = cls.empty(rows.n_classes, n_points, max(gram_of) + 1) if total is None else total
        size = block_size(n_points)

        def of_run(run: Run) -> tuple[int, float, Array, Array]:
            count, total, gram = 0.0, np.zeros(n_points), np.zeros((n_points, n_points))
            for _, block, weights in workers.go_on(rows.blocks(run, size)):
                vectors = features(block)
                count += add_block(vectors, weights, total, gram)
            return run.code, count, total, symmetrise(gram)

        for code, count, run_sum, gram in workers.map(of_run, rows.runs()):
            total.counts[code] += count
            total.sums[code] += run_sum
            total.grams[gram_of[code]] += gram
        return total

    @classmethod
    def empty(cls, n_classes: int, n_points: int, n_grams: int | None = None) -> "ClassStatistics":
        """The statistics of no rows."""
        n_grams = n_classes if n_grams is None else n_grams
        return cls(
            np.zeros(n_classes),
            np.zeros((n_classes, n_points)),
            np.zeros((n_grams, n_points, n_points)),
        )

    def __add__(self, other: "ClassStatistics") -> "ClassStatistics":
        return ClassStatistics(
            self.counts + other.counts, self.sums + other.sums, self.grams + other.grams
        )

    def __sub__(self, other: "ClassStatistics") -> "ClassStatistics":
        return ClassStatistics(
            self.counts - other.counts, self.sums - other.sums, self.grams - other.grams
        )

    def times(self, factor: float) -> "ClassStatistics":
        """The statistics with the weight of every row multiplied."""
        return ClassStatistics(factor * self.counts, factor * self.sums, factor * self.grams)

    def among(self, n_classes: int, places: Sequence[int]) -> "ClassStatistics":
        """The same classes at given places among more, the others without rows."""
        wider = self.empty(n_classes, self.sums.shape[1])
        for mine, all_classes in zip(vars(self).values(), vars(wider).values(), strict=True):
            all_classes[places] = mine
        return wider


def add_block(vectors: Array, weights: Array | None, total: Array, gram: Array) -> float:
    """Add a block of one class to its sum (M,) and to the lower triangle of its Gram; returns its weight.

    `vectors` is overwritten when there are weights.
    """
    if weights is None:
        total += vectors.sum(axis=0)
        add_gram(vectors, gram)
        return float(len(vectors))
    total += weights @ vectors
    vectors *= np.sqrt(weights)[:, None]
    add_gram(vectors, gram)
    return float(weights.sum())


@dataclass(frozen=True)
class RowStatistics:
    """Class statistics before whitening, with small classes kept as rows.

    A class with fewer rows than there are inducing points has a Gram of low rank; its rows are kept
    instead (never more than C M rows in all) and the Grams of all such classes are pooled into one.

    Attributes
    ----------
    counts : ndarray of shape (C,)
    sums : ndarray of shape (C, M)
    grams : dict from class code to ndarray of shape (M, M)
        Of the classes with many rows.
    rows : dict from class code to ndarray of shape (n_k, M)
        sqrt(w_i) k_i of the classes with few rows.
    pooled : ndarray of shape (M, M)
        Sum of the Grams of the classes kept as rows.
    """

    counts: Array
    sums: Array
    grams: dict[int, Array]
    rows: dict[int, Array]
    pooled: Array

    @classmethod
    def accumulate(
        cls, rows: ArrayRows, features: Features, n_points: int, workers: Workers
    ) -> "RowStatistics":
        """One pass over the rows; `features` maps scaled rows (m, D) to their kernel vectors (m, M)."""
        sizes = rows.class_sizes
        kept = {k: np.empty((size, n_points)) for k, size in enumerate(sizes) if size < n_points}
        counts, sums = np.zeros(len(sizes)), np.zeros((len(sizes), n_points))
        grams: dict[int, Array] = {}
        size = block_size(n_points)

        def of_group(group: list[Run]) -> tuple[list[tuple[int, float, Array]], int, Array]:
            parts, gram = [], np.zeros((n_points, n_points))
            for run in group:
                run_sum, count = np.zeros(n_points), 0.0
                for place, block, weights in rows.blocks(run, size):
                    vectors = features(block)
                    count += add_block(vectors, weights, run_sum, gram)
                    if run.code in kept:
                        kept[run.code][run.start + place.start : run.start + place.stop] = vectors
                parts.append((run.code, count, run_sum))
            return parts, group[0].code, symmetrise(gram)

        for parts, code, gram in workers.map(of_group, _groups(rows, kept)):
            for k, count, run_sum in parts:
                counts[k] += count
                sums[k] += run_sum
            key = _POOLED if code in kept else code
            if key in grams:
                grams[key] += gram
            else:
                grams[key] = gram
        pooled = grams.pop(_POOLED, np.zeros((n_points, n_points)))
        return cls(counts, sums, grams, kept, pooled)


def _groups(rows: ArrayRows, kept: dict[int, Array]) -> list[list[Run]]:
    """Units of work: a run of a large class, or several small classes that share the pooled Gram."""
    groups: list[list[Run]] = []
    pooled: list[Run] = []
    for run in rows.runs():
        if run.code not in kept:
            groups.append([run])
            continue
        pooled.append(run)
        if sum(len(r.positions) for r in pooled) >= 1_024:
            groups.append(pooled)
            pooled = []
    return [*groups, pooled] if pooled else groups
