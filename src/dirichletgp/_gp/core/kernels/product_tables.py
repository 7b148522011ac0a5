"""Tables of the product kernel for given points, and what is done with them.

A column has rows of a table for its levels, `log(1 - w + w kappa(level, point))`. Columns with few
levels are bundled, because tables add: five columns of two values, which may be missing, are one of
243 rows. The log kernel vector of a row is the sum of one table row per bundle, a product of a
sparse matrix of ones with the table. The pull-back is the transposed product; the chain rule is
applied to its sum alone, at a cost that does not depend on the rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from ..arrays import Array, Integers
from .kernel import KernelAt, KernelGradient

if TYPE_CHECKING:
    from .product import Product

# Rows that a bundle of columns has at most.
_BUNDLE = 256


def borders(levels: Array) -> Array:
    """Where the nearest of increasing levels (B,) changes, (B - 1,).

    A hair above the middles: a number in the middle, as halves between whole numbers are, belongs
    to the lower level however it was rounded.
    """
    return np.asarray(levels[:-1] + (0.5 + 2.0**-20) * np.diff(levels))


def likeness_of_numbers(x: Any, length: float, exp: Callable[[Any], Any]) -> Any:
    """E exp(-(x - t)^2 / 2 l^2) with t ~ N(0, 1): how alike x is to an average number."""
    spread = 1.0 + length**2
    return length / np.sqrt(spread) * exp(x * x * (-0.5 / spread))


@dataclass(frozen=True)
class Likeness:
    """kappa of the levels of a number and the points (B, M), and its derivatives.

    Attributes
    ----------
    kappa : ndarray of shape (B, M)
    by_log_length : ndarray of shape (B, M)
    by_point : ndarray of shape (B, M)
    by_logit_likeness : ndarray of shape (B, M)
    """

    kappa: Array
    by_log_length: Array
    by_point: Array
    by_logit_likeness: Array


class NumberColumn:
    """A column of numbers: its levels, and one more for a missing number, the last."""

    def __init__(self, levels: Array, points: Array, missing: float):
        self._levels = levels
        self._points = points
        self._missing = missing
        self._borders = borders(levels)
        self._lacks = points <= missing
        self.size = len(levels) + 1

    def codes(self, column: Array) -> Integers:
        """The nearest level of each number (n,)."""
        codes = np.searchsorted(self._borders, column)
        codes[column <= self._missing] = self.size - 1
        return codes

    def kappa(self, length: float, likeness: float) -> Array:
        """How alike levels and points are, of shape (B, M)."""
        kappa = np.empty((self.size, len(self._points)))
        difference = np.subtract.outer(self._levels / length, self._points / length)
        difference *= difference
        difference *= -0.5
        np.exp(difference, out=kappa[:-1])
        if self._lacks.any():
            of_levels = likeness * likeness_of_numbers(self._levels, length, np.exp)
            kappa[:-1, self._lacks] = of_levels[:, None]
        present = np.where(self._lacks, 0.0, self._points)
        kappa[-1] = likeness * likeness_of_numbers(present, length, np.exp)
        kappa[-1, self._lacks] = 1.0
        return kappa

    def derivatives(self, length: float, likeness: float) -> Likeness:
        """`kappa` with its derivatives."""
        kappa = self.kappa(length, likeness)
        x = np.append(self._levels, 0.0)[:, None]
        z = np.where(self._lacks, 0.0, self._points)
        difference = (x - z) / length
        by_length = kappa * difference**2
        by_point = kappa * difference / length
        by_likeness = np.zeros_like(kappa)
        # A missing number and one that is there: log kappa depends on that one and the length.
        spread = 1.0 + length**2
        for rows, columns, present in (
            (slice(0, -1), self._lacks, x[:-1]),
            (slice(-1, None), ~self._lacks, z[~self._lacks][None]),
        ):
            part = kappa[rows, columns]
            slope = 1.0 - length**2 / spread + present**2 * length**2 / spread**2
            by_length[rows, columns] = part * slope
            by_likeness[rows, columns] = part * (1.0 - likeness)
        by_point[:, self._lacks] = 0.0
        by_point[-1] = np.where(self._lacks, 0.0, -kappa[-1] * z / spread)
        by_length[-1, self._lacks] = 0.0
        return Likeness(kappa, by_length, by_point, by_likeness)


class CategoryColumn:
    """A column of categories: those that points have, and one row for all others."""

    def __init__(self, points: Array):
        self._there, self._places = np.unique(points, return_inverse=True)
        self.size = len(self._there) + 1

    def codes(self, column: Array) -> Integers:
        """The place of each category (n,) among those of the points."""
        places = np.minimum(np.searchsorted(self._there, column), self.size - 2)
        return np.where(self._there[places] == column, places, self.size - 1)

    def kappa(self) -> Array:
        """1 for a category and the points that have it, (B, M)."""
        return np.eye(self.size)[:, self._places]


def bundles_of(sizes: list[int]) -> list[list[int]]:
    """Columns that share a bundle: few levels first, while their product stays small."""
    bundles: list[list[int]] = []
    rows = 0
    for column in np.argsort(sizes, kind="stable").tolist():
        rows *= sizes[column]
        if not bundles or rows > _BUNDLE:
            bundles.append([])
            rows = sizes[column]
        bundles[-1].append(column)
    return bundles


class ProductAt(KernelAt):
    """A product kernel at given points.

    Parameters
    ----------
    kernel : Product
    points : ndarray of shape (M, D)
    missing : float
        What stands for a missing number.
    bundled : bool, default=True
        Whether columns with few levels share rows of the table.
    """

    rows_at_once = 1_024

    def __init__(self, kernel: "Product", points: Array, missing: float, bundled: bool = True):
        self.kernel = kernel
        self.points = points
        self.columns: list[NumberColumn | CategoryColumn] = [
            NumberColumn(levels, column, missing) if len(levels) else CategoryColumn(column)
            for levels, column in zip(kernel.levels, points.T, strict=True)
        ]
        self._sizes = [column.size for column in self.columns]
        everything = range(len(self._sizes))
        self._bundles = bundles_of(self._sizes) if bundled else [[j] for j in everything]
        rows = [int(np.prod([self._sizes[j] for j in bundle])) for bundle in self._bundles]
        self._starts = np.cumsum([0, *rows])

    @cached_property
    def _table(self) -> Array:
        """Logarithms of the factors of all bundles, of shape (R, M)."""
        n_points = len(self.points)
        table = np.empty((self._starts[-1], n_points))
        logs = [np.log1p(w * (kappa - 1.0)) for w, kappa in self._factors()]
        for start, bundle in zip(self._starts, self._bundles, strict=False):
            total = logs[bundle[0]]
            for j in bundle[1:]:
                total = (total[:, None] + logs[j]).reshape(-1, n_points)
            table[start : start + len(total)] = total
        return table

    def _factors(self) -> Iterator[tuple[float, Array]]:
        """Share and kappa (B, M) of every column."""
        kernel = self.kernel
        for j, column in enumerate(self.columns):
            if isinstance(column, NumberColumn):
                yield (
                    float(kernel.shares[j]),
                    column.kappa(float(kernel.lengthscale[j]), float(kernel.likeness[j])),
                )
            else:
                yield float(kernel.shares[j]), column.kappa()

    @cached_property
    def _factor_tables(self) -> list[Array]:
        """1 - w + w kappa of the levels of every column, (B, M)."""
        return [1.0 + w * (kappa - 1.0) for w, kappa in self._factors()]

    def factors(self, rows: Array) -> Array:
        """1 - w + w kappa of each column, (n, D, M)."""
        factors = np.empty((len(rows), len(self.columns), len(self.points)))
        for j, (column, table) in enumerate(zip(self.columns, self._factor_tables, strict=True)):
            factors[:, j] = table[column.codes(rows[:, j])]
        return factors

    def mean_factors(self) -> Iterator[float]:
        """The mean factor of each column among the points, which are all levels."""
        for column, values, (w, kappa) in zip(
            self.columns, self.points.T, self._factors(), strict=True
        ):
            yield 1.0 + w * (float(kappa[column.codes(values)].mean()) - 1.0)

    def _places(self, rows: Array) -> Integers:
        """Which row of the table stands for each row (n, D) in each bundle, (n, G)."""
        places: Integers = np.empty((len(rows), len(self._bundles)), dtype=np.int32)
        for g, bundle in enumerate(self._bundles):
            code = self.columns[bundle[0]].codes(rows[:, bundle[0]])
            for j in bundle[1:]:
                code = code * self._sizes[j] + self.columns[j].codes(rows[:, j])
            places[:, g] = code + self._starts[g]
        return places

    def _ones(self, rows: Array) -> tuple[Array, Integers, Integers]:
        """Data, indices and pointers of the sparse matrix with a one at every place."""
        places = self._places(rows).ravel()
        pointers: Integers = np.arange(0, len(places) + 1, len(self._bundles), dtype=np.int32)
        return np.ones(len(places)), places, pointers

    def values(self, rows: Array) -> Array:
        """Kernel matrix k(rows, points), of shape (n, M)."""
        shape = (len(rows), int(self._starts[-1]))
        logs: Array = csr_matrix(self._ones(rows), shape=shape) @ self._table
        logs += np.log(self.kernel.variance)
        return np.exp(logs, out=logs)

    def no_derivatives(self) -> Array:
        """The sum of derivatives of no rows, by the table, of shape (R, M)."""
        return np.zeros((int(self._starts[-1]), len(self.points)))

    def add_derivatives(self, rows: Array, values: Array, derivative: Array, total: Array) -> None:
        """Add what rows contribute; `derivative` is overwritten."""
        derivative *= values
        shape = (int(self._starts[-1]), len(rows))
        total += csc_matrix(self._ones(rows), shape=shape) @ derivative

    def gradient(self, total: Array) -> KernelGradient:
        """From derivatives by the table to derivatives by parameters: the chain rule."""
        kernel = self.kernel
        n_features = len(self.columns)
        by_share = np.zeros(n_features)
        by_length = np.zeros(n_features)
        by_likeness = np.zeros(n_features)
        by_point = np.zeros(self.points.shape)
        for j, by_log in self._by_column(total):
            column, w = self.columns[j], float(kernel.shares[j])
            if not isinstance(column, NumberColumn):
                kappa = column.kappa()
                by_factor = by_log / (1.0 + w * (kappa - 1.0))
            else:
                length, likeness = float(kernel.lengthscale[j]), float(kernel.likeness[j])
                found = column.derivatives(length, likeness)
                kappa = found.kappa
                by_factor = by_log / (1.0 + w * (kappa - 1.0))
                by_length[j] = w * np.vdot(by_factor, found.by_log_length)
                by_likeness[j] = w * np.vdot(by_factor, found.by_logit_likeness)
                by_point[:, j] = w * np.einsum("bm,bm->m", by_factor, found.by_point)
            by_share[j] = w * (1.0 - w) * (np.vdot(by_factor, kappa) - by_factor.sum())
        shares, lengths, likenesses = kernel.in_use
        if not kernel.ard:
            by_share = by_share.sum(keepdims=True)
            by_length = np.full(n_features, by_length.sum())
        parameters = [by_share[shares], by_length[lengths], by_likeness[likenesses]]
        log_variance = float(total[: self._starts[1]].sum())
        return KernelGradient(np.concatenate(parameters), log_variance, by_point)

    def _by_column(self, total: Array) -> Iterator[tuple[int, Array]]:
        """Derivatives (B, M) by the logarithms of each column's factors."""
        n_points = len(self.points)
        for g, bundle in enumerate(self._bundles):
            shape = [self._sizes[j] for j in bundle]
            whole = total[self._starts[g] : self._starts[g + 1]].reshape(*shape, n_points)
            for axis, j in enumerate(bundle):
                others = tuple(a for a in range(len(bundle)) if a != axis)
                yield j, whole.sum(axis=others) if others else whole
