"""Tables of the product kernel for given points, and what is done with them.

A column has rows of a table for its levels, `log(1 - w + w kappa(level, point))`. Columns with few
levels are bundled, because tables add: five columns of two values, which may be missing, are one of
243 rows. The log kernel vector of a row is the sum of one table row per bundle, a product of a
sparse matrix of ones with the table. The pull-back is the transposed product; the chain rule is
applied to its sum alone, at a cost that does not depend on the rows.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from ..arrays import Array, Integers
from ..parallel import Mapper
from .kernel import KernelAt, KernelGradient

if TYPE_CHECKING:
    from .product import Product

# Rows that a bundle of columns has at most.
_BUNDLE = 256
# Numbers of columns that are computed together: they should stay in cache.
_NUMBERS_IN_CACHE = 2**16


def borders(levels: Array) -> Array:
    """Where the nearest of increasing levels (B,) changes, (B - 1,).

    A hair above the middles: a number in the middle, as halves between whole numbers are, belongs
    to the lower level however it was rounded.
    """
    return np.asarray(levels[:-1] + (0.5 + 2.0**-20) * np.diff(levels))


def likeness_of_numbers(x: Any, length: Any, exp: Callable[[Any], Any]) -> Any:
    """E exp(-(x - t)^2 / 2 l^2) with t ~ N(0, 1): how alike x is to an average number."""
    spread = 1.0 + length**2
    return length / np.sqrt(spread) * exp(x * x * (-0.5 / spread))


class NumberColumn:
    """A column of numbers: its levels, and one more for a missing number, the last."""

    def __init__(self, levels: Array, missing: float):
        self._missing = missing
        self._borders = borders(levels)
        self.size = len(levels) + 1

    def codes(self, column: Array) -> Integers:
        """The nearest level of each number (n,)."""
        codes = np.searchsorted(self._borders, column)
        codes[column <= self._missing] = self.size - 1
        return codes


class LikenessGradient(NamedTuple):
    """Derivatives of a scalar by what kappa depends on.

    Attributes
    ----------
    by_log_length : ndarray of shape (g,)
    by_logit_likeness : ndarray of shape (g,)
    by_point : ndarray of shape (g, M)
    """

    by_log_length: Array
    by_logit_likeness: Array
    by_point: Array


class AlikeColumns:
    """Columns of numbers that have as many levels: what takes a call each takes one for all.

    Parameters
    ----------
    places : list of int
        Where they are among all columns.
    levels : ndarray of shape (g, B - 1)
    points : ndarray of shape (g, M)
        Their values at the points.
    missing : float
    """

    def __init__(self, places: list[int], levels: Array, points: Array, missing: float):
        self.places = places
        self._levels = levels
        self._lacks = points <= missing
        self._some_lack = bool(self._lacks.any())
        self._points = np.where(self._lacks, 0.0, points)

    def kappa(self, length: Array, likeness: Array) -> Array:
        """How alike levels and points are, (g, B, M), for parameters (g,) of the columns."""
        length, likeness = length[:, None], likeness[:, None]
        n_columns, n_levels = self._levels.shape
        kappa = np.empty((n_columns, n_levels + 1, self._points.shape[1]))
        difference = (self._levels / length)[:, :, None] - (self._points / length)[:, None, :]
        difference *= difference
        difference *= -0.5
        np.exp(difference, out=kappa[:, :-1])
        if self._some_lack:
            of_levels = likeness * likeness_of_numbers(self._levels, length, np.exp)
            np.copyto(kappa[:, :-1], of_levels[:, :, None], where=self._lacks[:, None, :])
        of_points = likeness * likeness_of_numbers(self._points, length, np.exp)
        kappa[:, -1] = np.where(self._lacks, 1.0, of_points)
        return kappa

    def pull_back(self, length: Array, likeness: Array, by_log: Array) -> LikenessGradient:
        """From derivatives by log kappa (g, B, M) to those by parameters and points.

        Of two numbers log kappa is -(x - z)^2 / 2 l^2. Sums of its derivatives over levels and
        points follow from sums of `by_log` and its products with x, z and z^2, without another
        array of its size; x and z are taken from the middle of the points.
        """
        length = length[:, None]
        spread = 1.0 + length**2
        middle = self._points.mean(axis=1, keepdims=True)
        x = self._levels - middle
        z = np.where(self._lacks, 0.0, self._points - middle)
        present = 1.0 - self._lacks
        of_numbers = by_log[:, :-1]
        sums, by_z, by_z2 = np.moveaxis(of_numbers @ np.stack([present, z, z * z], axis=-1), -1, 0)
        squares = (x * x * sums - 2.0 * x * by_z + by_z2).sum(axis=1)
        of_points, by_x = np.moveaxis(np.stack([np.ones_like(x), x], axis=1) @ of_numbers, 1, 0)
        by_length = squares / length[:, 0] ** 2
        by_point = (by_x - z * of_points) / length**2

        def slope(number: Array) -> Array:
            """By the log length, of a missing number and one that is there: log kappa."""
            return 1.0 - length**2 / spread + (length * number / spread) ** 2

        of_missing = by_log[:, -1] * present
        by_length += (of_missing * slope(self._points)).sum(axis=1)
        by_point -= of_missing * self._points / spread
        by_likeness = of_missing.sum(axis=1)
        if self._some_lack:
            lacking = (of_numbers @ self._lacks[:, :, None].astype(np.float64))[:, :, 0]
            by_length += (lacking * slope(self._levels)).sum(axis=1)
            by_likeness += lacking.sum(axis=1)
        return LikenessGradient(by_length, (1.0 - likeness) * by_likeness, by_point * present)


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


def alike_columns(
    levels: tuple[Array, ...], points: Array, missing: float
) -> Iterator[AlikeColumns]:
    """The columns of numbers, as many together as have as many levels and stay in cache."""
    sizes = np.array([len(of_column) for of_column in levels])
    for size in np.unique(sizes[sizes > 0]).tolist():
        places = np.flatnonzero(sizes == size).tolist()
        most = max(1, _NUMBERS_IN_CACHE // ((size + 1) * max(1, len(points))))
        for start in range(0, len(places), most):
            some = places[start : start + most]
            own = np.stack([levels[j] for j in some])
            yield AlikeColumns(some, own, np.ascontiguousarray(points.T[some]), missing)


def _log_factor(w: float, kappa: Array) -> Array:
    """log(1 - w + w kappa), in the place of kappa.

    The exponential of a sum of these is wanted, so that rounding to 1e-16 does no harm; log1p,
    which would round less, takes several times as long.
    """
    kappa *= w
    kappa += 1.0 - w
    return np.log(kappa, out=kappa)


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
            NumberColumn(levels, missing) if len(levels) else CategoryColumn(column)
            for levels, column in zip(kernel.levels, points.T, strict=True)
        ]
        self._numbers = list(alike_columns(kernel.levels, points, missing))
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
        logs = [_log_factor(w, kappa) for w, kappa in self._factors()]
        for start, bundle in zip(self._starts, self._bundles, strict=False):
            total = logs[bundle[0]]
            for j in bundle[1:]:
                total = (total[:, None] + logs[j]).reshape(-1, n_points)
            table[start : start + len(total)] = total
        return table

    def _factors(self) -> Iterator[tuple[float, Array]]:
        """Share and kappa (B, M) of every column."""
        kernel = self.kernel
        of_numbers: dict[int, Array] = {}
        for group in self._numbers:
            at = group.places
            kappa = group.kappa(kernel.lengthscale[at], kernel.likeness[at])
            of_numbers.update(zip(at, kappa, strict=True))
        for j, column in enumerate(self.columns):
            kappa = column.kappa() if isinstance(column, CategoryColumn) else of_numbers[j]
            yield float(kernel.shares[j]), kappa

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

    def values(self, rows: Array, out: Array | None = None) -> Array:
        """Kernel matrix k(rows, points), of shape (n, M)."""
        shape = (len(rows), int(self._starts[-1]))
        logs: Array = csr_matrix(self._ones(rows), shape=shape) @ self._table
        logs += np.log(self.kernel.variance)
        return np.exp(logs, out=logs if out is None else out)

    def no_derivatives(self) -> Array:
        """The sum of derivatives of no rows, by the table, of shape (R, M)."""
        return np.zeros((int(self._starts[-1]), len(self.points)))

    def add_derivatives(self, rows: Array, values: Array, derivative: Array, total: Array) -> None:
        """Add what rows contribute; `derivative` is overwritten."""
        derivative *= values
        shape = (int(self._starts[-1]), len(rows))
        total += csc_matrix(self._ones(rows), shape=shape) @ derivative

    def gradient(self, total: Array, mapper: Mapper = map) -> KernelGradient:
        """From derivatives by the table to derivatives by parameters: the chain rule."""
        kernel = self.kernel
        n_features = len(self.columns)
        by_share = np.zeros(n_features)
        by_length = np.zeros(n_features)
        by_likeness = np.zeros(n_features)
        by_point = np.zeros(self.points.shape)
        by_log = dict(self._by_column(total))
        for j, column in enumerate(self.columns):
            if isinstance(column, CategoryColumn):
                w, kappa = float(kernel.shares[j]), column.kappa()
                by_factor = by_log[j] / (1.0 + w * (kappa - 1.0))
                by_share[j] = w * (1.0 - w) * (np.vdot(by_factor, kappa) - by_factor.sum())

        def add_group(group: AlikeColumns) -> None:
            at = group.places
            share = kernel.shares[at][:, None, None]
            length, likeness = kernel.lengthscale[at], kernel.likeness[at]
            kappa = group.kappa(length, likeness)
            by_factor = np.stack([by_log[j] for j in at])
            by_factor /= 1.0 + share * (kappa - 1.0)
            by_factor *= share
            by_log_kappa = np.multiply(by_factor, kappa, out=kappa)
            of_factors = by_log_kappa.sum(axis=(1, 2)) - by_factor.sum(axis=(1, 2))
            by_share[at] = (1.0 - kernel.shares[at]) * of_factors
            found = group.pull_back(length, likeness, by_log_kappa)
            by_length[at] = found.by_log_length
            by_likeness[at] = found.by_logit_likeness
            by_point[:, at] = found.by_point.T

        for _ in mapper(add_group, self._numbers):
            pass
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
