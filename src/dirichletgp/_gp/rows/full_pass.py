"""One pass over all rows of a source: their class statistics, a chunk at a time."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...persistence.checkpoint import Checkpoint
from ..core.posterior import Basis
from ..core.statistics import ClassStatistics
from ..core.threads import Workers
from ..training.progress import Progress
from .chunks import Chunk, RowSource, chunks
from .in_memory import ArrayRows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Labelling:
    """How raw chunks become rows that the statistics can take.

    Attributes
    ----------
    classes : ndarray of shape (C,)
    factors : ndarray of shape (C,) or None
        Class weights.
    scale : callable
        From raw rows to scaled ones.
    """

    classes: NDArray[Any]
    factors: Array | None
    scale: Callable[[Array], Array]

    def rows(self, chunk: Chunk) -> ArrayRows:
        """A chunk as labelled rows, scaled as they are read."""
        codes = np.minimum(np.searchsorted(self.classes, chunk.labels), len(self.classes) - 1)
        if not np.array_equal(self.classes[codes], chunk.labels):
            raise ValueError(
                "X changed while it was read: there are labels that were not there at first."
            )
        weights = chunk.weights
        if self.factors is not None:
            weights = self.factors[codes] if weights is None else self.factors[codes] * weights
        return ArrayRows(chunk.X, codes, weights, len(self.classes), self.scale)


@dataclass(frozen=True)
class FullPass:
    """The statistics of all rows of a source, in the order of the rows, so that a pass can be taken up again."""

    source: RowSource
    labelling: Labelling
    n_rows: int
    progress: Progress
    checkpoint: Checkpoint | None = None

    def __call__(self, basis: Basis, workers: Workers) -> ClassStatistics:
        """Class statistics in the whitened basis."""
        n_points = len(basis.points)
        resumed = None if self.checkpoint is None else self.checkpoint.statistics()
        total, done = resumed or (ClassStatistics.empty(len(self.labelling.classes), n_points), 0)
        self.progress.begin_rows(done, self.n_rows)
        with closing(chunks(self.source, done)) as parts:
            for chunk in parts:
                ClassStatistics.accumulate(
                    self.labelling.rows(chunk), basis.vectors, n_points, workers, total=total
                )
                done += len(chunk.labels)
                self.progress.rows(done)
                if self.checkpoint is not None:
                    self.checkpoint.keep_statistics(total, done)
        if done != self.n_rows:
            raise ValueError(
                f"X changed while it was read: it had {self.n_rows} rows at first, then {done}."
            )
        return total
