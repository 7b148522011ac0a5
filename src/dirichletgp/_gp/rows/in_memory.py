"""Where rows come from: runs of rows of one class, scaled and ready for the kernel.

The class statistics are kept per class, so a run holds rows of a single class and costs one
symmetric product.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

# Runs are the unit of work of a thread. Their size depends on the data alone, never on the number
# of threads.
_SMALLEST_RUN, _LARGEST_RUN, _RUNS = 1_024, 16_384, 32
# A multiple of the heights of all common micro-kernels (4, 6, 8, 12, 16, 24, 48 rows).
_BLAS_TILE = 96
_COMPARED_ROWS = 100_000


class Run(NamedTuple):
    """Rows of one class: its code, the rows' positions in the source, their place within the class."""

    code: int
    positions: Integers
    start: int


def block_size(n_points: int) -> int:
    """Rows per block such that the kernel values of a block stay in cache (about 1 MB)."""
    return int(np.clip(2**17 // max(n_points, 1), 128, 1_024))


def prediction_block_size(n_points: int) -> int:
    """Rows per block in predictions: always the same for a model, and a multiple of the tiles BLAS works in.

    With blocks of one size, the last one padded, the bits of a row's prediction do not depend on
    the rows around it.
    """
    return max(1, block_size(n_points) // _BLAS_TILE) * _BLAS_TILE


class ArrayRows:
    """Labelled rows in memory, scaled as they are read.

    Parameters
    ----------
    X : ndarray of shape (n, D)
    codes : ndarray of shape (n,)
        Class codes 0 to n_classes - 1.
    weights : ndarray of shape (n,) or None
        None means that every row counts once.
    n_classes : int
    scale : callable or None
        Maps raw rows (m, D) to scaled rows; None when X is scaled already.
    """

    def __init__(
        self,
        X: Array,
        codes: Integers,
        weights: Array | None,
        n_classes: int,
        scale: Callable[[Array], Array] | None = None,
    ):
        self.X, self.codes, self.weights = X, codes, weights
        self.n_classes, self.scale = n_classes, scale
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=n_classes))
        self._of_class = np.split(order, ends[:-1])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def class_sizes(self) -> Integers:
        """Number of rows of each class, whatever their weights, of shape (C,)."""
        return np.array([len(positions) for positions in self._of_class], dtype=np.intp)

    @property
    def class_weights(self) -> Array:
        """Sum of the weights of each class, of shape (C,)."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def runs(self) -> Iterator[Run]:
        """All rows, class after class, in runs of bounded size."""
        size = int(np.clip(len(self) // _RUNS, _SMALLEST_RUN, _LARGEST_RUN))
        for code, positions in enumerate(self._of_class):
            for start in range(0, len(positions), size):
                yield Run(code, positions[start : start + size], start)

    def blocks(self, run: Run, size: int) -> Iterator[tuple[slice, Array, Array | None]]:
        """Cache-sized pieces of a run: their place within the run, scaled rows (m, D) and weights (m,)."""
        n = len(run.positions)
        step = -(-n // -(-n // size))  # pieces of equal size, none larger than asked for
        for start in range(0, n, step):
            place = slice(start, min(start + step, n))
            positions = run.positions[place]
            rows = self._scaled(positions)
            weights = None if self.weights is None else self.weights[positions]
            yield place, rows, weights

    def chunks(self, size: int) -> Iterator[tuple[Array, Integers, Array | None]]:
        """All rows in their own order, whatever their class: scaled rows (m, D), codes (m,) and weights (m,)."""
        for start in range(0, len(self), size):
            place = np.arange(start, min(start + size, len(self)))
            yield (
                self._scaled(place),
                self.codes[place],
                None if self.weights is None else self.weights[place],
            )

    def _scaled(self, positions: Integers) -> Array:
        rows = np.asarray(self.X[positions], dtype=np.float64)
        return rows if self.scale is None else self.scale(rows)

    def part(self, positions: Integers) -> "ArrayRows":
        """The rows at some positions, not scaled yet."""
        weights = None if self.weights is None else self.weights[positions]
        return ArrayRows(
            self.X[positions], self.codes[positions], weights, self.n_classes, self.scale
        )

    def take(self, positions: Integers) -> "ArrayRows":
        """The rows at some positions, scaled now and kept in memory."""
        weights = None if self.weights is None else self.weights[positions]
        return ArrayRows(self._scaled(positions), self.codes[positions], weights, self.n_classes)

    def merged(self) -> "ArrayRows":
        """Identical rows of the same class as one row with their total weight, in a canonical order.

        The likelihood is the same either way; leaving one out is not. A copy of a row left in would
        give its label away, and a weight must mean the same as a repetition.
        """
        keys = np.column_stack([self.codes, self.X])
        distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
        weights = np.bincount(inverse.ravel(), self.weights).astype(np.float64)
        codes = distinct[:, 0].astype(np.intp)
        own = None if np.all(weights == 1.0) else weights
        return ArrayRows(np.ascontiguousarray(distinct[:, 1:]), codes, own, self.n_classes)

    def identities(self) -> Integers:
        """A number for each row, the same for identical rows of a class, in the order of `merged`.

        With very many rows every row has its own: comparing them would take memory that grows with
        the rows.
        """
        if len(self) > _COMPARED_ROWS:
            return np.arange(len(self))
        _, inverse = np.unique(np.column_stack([self.codes, self.X]), axis=0, return_inverse=True)
        return np.asarray(inverse.ravel(), dtype=np.intp)

    def stratified_sample(self, size: int, rng: np.random.RandomState) -> Integers:
        """Sorted positions of a random sample with the class proportions of all rows and at least one row of each."""
        if size >= len(self):
            return np.arange(len(self))
        chosen = []
        for positions in self._of_class:
            wanted = min(len(positions), max(1, round(len(positions) * size / len(self))))
            chosen.append(rng.choice(positions, wanted, replace=False))
        return np.sort(np.concatenate(chosen))
