"""A first pass over a source: which classes there are, how heavy they are, and a random sample of the rows.

Every row gets a random number; the sample is the rows with the smallest ones, and of each class a
few more, so that no class is missing from it. Parts of a source can be surveyed apart and put
together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from .chunks import Chunk

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

_SAMPLE_ROWS, _SAMPLE_BYTES = 100_000, 2e8
_ROWS_OF_EACH_CLASS = 20


def sample_rows(n_features: int, at_least: int) -> int:
    """How many rows a sample has: as many as training can use, fewer if they are very wide."""
    return max(at_least, int(min(_SAMPLE_ROWS, _SAMPLE_BYTES / (16 * n_features))))


@dataclass(frozen=True)
class Survey:
    """What is known of a source after reading it once.

    Attributes
    ----------
    n_rows : int
    totals : dict from label to float
        Weight of the rows of each label.
    sample : Chunk
        Rows in the order of the source, all of them if there are few.
    priorities : ndarray of shape (n,)
        The random numbers of the sampled rows.
    """

    n_rows: int
    totals: dict[Any, float]
    sample: Chunk
    priorities: Array

    @classmethod
    def of(cls, chunks: Iterable[Chunk], size: int, seed: Any) -> "Survey":
        """Read all chunks, keeping a sample of `size` rows."""
        rng, kept, waiting = np.random.default_rng(seed), None, []
        n_waiting, limit = 0, 1.0
        for chunk in chunks:
            part = _survey_of(chunk, rng.random(len(chunk.labels)), limit)
            waiting.append(part)
            n_waiting += len(part.priorities)
            if n_waiting > size:
                kept = cls.joined([*([kept] if kept else []), *waiting], size)
                waiting, n_waiting = [], 0
                if len(kept.priorities) >= size:
                    limit = float(np.sort(kept.priorities)[size - 1])
        parts = [*([kept] if kept else []), *waiting]
        if not parts:
            raise ValueError(
                "X has no rows with a positive weight; pass at least one row of each of two classes."
            )
        return cls.joined(parts, size)

    @classmethod
    def joined(cls, parts: list["Survey"], size: int) -> "Survey":
        """The survey of parts that follow each other."""
        totals: dict[Any, float] = {}
        for part in parts:
            for label, weight in part.totals.items():
                totals[label] = totals.get(label, 0.0) + weight
        samples = [part.sample for part in parts]
        weights = None
        if any(sample.weights is not None for sample in samples):
            weights = np.concatenate(
                [np.ones(len(s.labels)) if s.weights is None else s.weights for s in samples]
            )
        labels = np.concatenate([sample.labels for sample in samples])
        priorities = np.concatenate([part.priorities for part in parts])
        chosen = _chosen(labels, priorities, size)
        X = np.concatenate([sample.X for sample in samples])[chosen]
        sample = Chunk(X, labels[chosen], None if weights is None else weights[chosen])
        return cls(sum(part.n_rows for part in parts), totals, sample, priorities[chosen])

    @cached_property
    def classes(self) -> NDArray[Any]:
        """All labels in order, at least two."""
        classes = np.unique(np.array(list(self.totals)))
        check_classification_targets(classes)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only ({classes.tolist()[0]!r}); pass rows of at least two classes."
            )
        return classes

    @property
    def class_totals(self) -> Array:
        """Weight of the rows of each class, of shape (C,)."""
        return np.array([self.totals[label] for label in self.classes.tolist()])


def _survey_of(chunk: Chunk, priorities: Array, limit: float) -> Survey:
    """The survey of one chunk, with only rows that may still be in the sample."""
    labels, codes = np.unique(chunk.labels, return_inverse=True)
    totals = dict(zip(labels.tolist(), np.bincount(codes, chunk.weights).tolist(), strict=True))
    chosen = _few_of_each(codes, priorities) | (priorities <= limit)
    weights = None if chunk.weights is None else chunk.weights[chosen]
    return Survey(
        len(codes),
        totals,
        Chunk(chunk.X[chosen], chunk.labels[chosen], weights),
        priorities[chosen],
    )


def _chosen(labels: NDArray[Any], priorities: Array, size: int) -> NDArray[np.bool_]:
    """Which rows are in the sample: those with the smallest numbers, and the smallest few of each class."""
    if len(labels) <= size:
        return np.ones(len(labels), dtype=bool)
    codes = np.unique(labels, return_inverse=True)[1]
    return _few_of_each(codes, priorities) | (
        priorities <= np.partition(priorities, size - 1)[size - 1]
    )


def _few_of_each(codes: Integers, priorities: Array) -> NDArray[np.bool_]:
    order = np.lexsort([priorities, codes])
    starts = np.searchsorted(codes[order], codes[order], side="left")
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[order[np.arange(len(codes)) - starts < _ROWS_OF_EACH_CLASS]] = True
    return chosen
