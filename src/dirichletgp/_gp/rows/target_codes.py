"""What labels go with a value: class frequencies of values as numbers, for columns of many values.

A category with hundreds of values, or a number that is really a name (a tariff, an amount that
always means the same), would need an inducing point for every value. So such a column has numbers
beside it: the logarithms of the class frequencies among the rows that share the value, drawn
towards those of all rows as if 20 more had been seen.

A row must not meet its own label there. Rows are dealt into folds by what they hold, so a row finds
its fold again wherever it comes from, and a training row is told the frequencies of the other folds
only. New rows are told those of all.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ..core.arrays import Array, Integers
from ..core.operations import Operations
from ..core.parallel import row_slices
from .mixed import MixedScaler

FOLDS = 5
"""How many folds training rows are dealt into."""

_ROWS_BEFORE = 20.0  # as if so many rows with the frequencies of all had been seen of every value
# A number whose frequencies are less rough than this is left to the kernel.
_SMOOTH = 0.5
# Training rows that must be told something, or new rows would look like none of them.
_TOLD_ELSEWHERE = 0.9
# A value is the same if single precision could not tell.
_CLOSE = 1e-6
_SLICE = 65_536
_WHOLE_NUMBERS = 2.0**24  # as far as single precision has all of them
# What stands for a missing value, which is not among those of any column.
_NOWHERE = 1e300


class WeighedLabels(NamedTuple):
    """Classes (n,) and weights (n,) of rows, and how many classes there are."""

    codes: Integers
    weights: Array | None
    n_classes: int


@dataclass(frozen=True)
class TargetCodes:
    """The class frequencies of values of some columns.

    Attributes
    ----------
    columns : ndarray of shape (E,)
        Which columns of the rows (n, D) have them.
    values : tuple of ndarray
        Of each, the values known, increasing.
    sums : tuple of ndarray of shape (V, folds, C)
        Of each, the weight of the rows by value, fold and class.
    prior : ndarray of shape (C,)
        Class frequencies of all rows.
    """

    columns: Integers
    values: tuple[Array, ...]
    sums: tuple[Array, ...]
    prior: Array

    @classmethod
    def learned(
        cls, X: Array, columns: Integers, levels: Integers, labels: WeighedLabels
    ) -> "TargetCodes":
        """For some columns of rows (n, D), if they are worth it.

        A number whose frequencies change smoothly from value to value needs no help; `levels` (D,)
        tells numbers (0) from categories, which have no order.
        """
        codes, weights, n_classes = labels
        prior = np.bincount(codes, weights, n_classes) + 1.0
        fold = folds(X)
        kept, values, sums = [], [], []
        for j in columns.tolist():
            there = ~np.isnan(X[:, j])
            known, place = np.unique(X[there, j], return_inverse=True)
            cell = (place * FOLDS + fold[there]) * n_classes + codes[there]
            own = None if weights is None else weights[there]
            total = np.bincount(cell, own, len(known) * FOLDS * n_classes)
            by_fold = total.reshape(len(known), FOLDS, n_classes).astype(np.float64)
            is_smooth = levels[j] == 0 and _roughness(by_fold.sum(axis=1)) < _SMOOTH
            if is_smooth or _told_elsewhere(by_fold) < _TOLD_ELSEWHERE:
                continue
            kept.append(j)
            values.append(known)
            sums.append(by_fold)
        columns = np.array(kept, dtype=np.intp)
        return cls(columns, tuple(values), tuple(sums), prior / prior.sum())

    @property
    def origin(self) -> Integers:
        """The column that each number comes from."""
        return np.repeat(self.columns, self._width)

    @property
    def _width(self) -> int:
        """Numbers per column: of two classes one says it all."""
        return 1 if len(self.prior) == 2 else len(self.prior)

    def of_new_rows(self, X: Array) -> Array:
        """The numbers of rows (n, D) that are not among the training rows."""
        parts = [
            _looked_up(X[:, j], values, self._numbers(sums.sum(axis=1)), self._unknown)
            for j, values, sums in zip(self.columns, self.values, self.sums, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def of_training_rows(self, X: Array) -> Array:
        """The numbers of training rows (n, D), each without its own fold."""
        fold = folds(X)
        out = np.empty((len(X), len(self.origin)))
        for f in range(FOLDS):
            rows = np.flatnonzero(fold == f)
            parts = [
                _looked_up(X[rows, j], known, self._numbers(s.sum(axis=1) - s[:, f]), self._unknown)
                for j, known, s in zip(self.columns, self.values, self.sums, strict=True)
            ]
            out[rows] = np.concatenate(parts, axis=1)
        return out

    def on(self, X: Any, on: Operations) -> Any:
        """`of_new_rows` in the words of `on`."""
        parts = []
        for j, known, sums in zip(self.columns, self.values, self.sums, strict=True):
            column = on.filled(on.take(X, np.array([j])), _NOWHERE)
            difference = column - on.array(known[None])
            other = difference * difference > on.array(np.square(_tolerance(known))[None])
            same = on.where(other, difference * 0.0, 1.0)
            numbers = self._numbers(sums.sum(axis=1)) - self._unknown
            parts.append(same @ on.array(numbers) + on.array(self._unknown[None]))
        return on.columns(tuple(parts))

    def _numbers(self, sums: Array) -> Array:
        """Centred logarithms of class frequencies (V, width) from weights (V, C)."""
        drawn = sums + _ROWS_BEFORE * self.prior
        logs = np.log(drawn / drawn.sum(axis=1, keepdims=True))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))[:, : self._width]

    @property
    def _unknown(self) -> Array:
        """The numbers of a value that nobody has seen, (width,)."""
        return self._numbers(np.zeros((1, len(self.prior))))[0]


def folds(X: Array) -> Integers:
    """A fold for every row (n, D), by what it holds in single precision."""
    drawn: Integers = np.random.RandomState(0).randint(1, 2**31, size=(X.shape[1],))
    odd = 2 * drawn.astype(np.uint64) + np.uint64(1)
    out = np.empty(len(X), dtype=np.intp)
    with np.errstate(over="ignore"):
        for rows in row_slices(len(X), _SLICE):
            part = np.where(np.isnan(X[rows]), 0.0, X[rows] + 0.0).astype(np.float32)
            bits = np.ascontiguousarray(part).view(np.uint32).astype(np.uint64)
            mixed = ((bits ^ (bits >> np.uint64(13))) * odd).sum(axis=1)
            mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
            out[rows] = (mixed >> np.uint64(40)) % np.uint64(FOLDS)
    return out


def _tolerance(known: Array) -> Array:
    """How far from each known value (V,) a number may be and still be that value.

    As far as single precision may move it, but whole numbers that it holds are exact, and no number
    is two values.
    """
    gaps = np.diff(known, prepend=-np.inf, append=np.inf)
    nearest = np.minimum(gaps[:-1], gaps[1:])
    exact = (known == np.round(known)) & (np.abs(known) <= _WHOLE_NUMBERS)
    return np.where(exact, 0.0, np.minimum(_CLOSE * np.abs(known), 0.25 * nearest))


def _roughness(sums: Array) -> float:
    """How much the frequencies (V, C) of a value differ from those of the next: 1 if at random.

    Half the mean squared difference between neighbours, next to the variance.
    """
    weight = sums.sum(axis=1)
    share = (sums + 1.0) / (sums + 1.0).sum(axis=1, keepdims=True)
    mean = np.average(share, axis=0, weights=weight)
    variance = np.average(np.square(share - mean), axis=0, weights=weight).sum()
    steps = np.average(
        np.square(np.diff(share, axis=0)), axis=0, weights=np.sqrt(weight[1:] * weight[:-1])
    )
    return float(0.5 * steps.sum() / variance) if variance > 0 else 0.0


def _told_elsewhere(sums: Array) -> float:
    """The share of the rows whose value rows of other folds have too.

    It is small where a column by itself decides the fold: all rows of a value are in one.
    """
    weight = sums.sum(axis=2)
    several = (weight > 0).sum(axis=1) > 1
    return float(weight[several].sum() / weight.sum())


def _looked_up(column: Array, known: Array, numbers: Array, unknown: Array) -> Array:
    """The numbers (n, width) of values (n,), `unknown` where they are not known."""
    above = np.minimum(np.searchsorted(known, column), len(known) - 1)
    below = np.maximum(above - 1, 0)
    nearer_below = np.abs(column - known[below]) < np.abs(known[above] - column)
    place = np.where(nearer_below, below, above)
    same = np.abs(column - known[place]) <= _tolerance(known)[place]
    return np.where(same[:, None], numbers[place], unknown)


class ScalerWithTargetCodes(TransformerMixin, BaseEstimator):
    """A scaler of rows and of the class frequencies that go with their values.

    Parameters
    ----------
    codes : TargetCodes
    scaler : MixedScaler
        Of rows (n, D + E) with the numbers of `codes` behind them.
    """

    def __init__(self, codes: TargetCodes, scaler: MixedScaler):
        self.codes = codes
        self.scaler = scaler

    def transform(self, X: Array) -> Array:
        """Scaled rows of new rows (n, D)."""
        X = np.asarray(X, dtype=np.float64)
        return self.scaler.transform(np.column_stack([X, self.codes.of_new_rows(X)]))

    def transform_training(self, X: Array) -> Array:
        """Scaled rows of training rows (n, D), which are not told of their own labels."""
        X = np.asarray(X, dtype=np.float64)
        return self.scaler.transform(np.column_stack([X, self.codes.of_training_rows(X)]))

    def transform_on(self, X: Any, on: Operations) -> Any:
        """`transform` in the words of `on`; None if the scaler cannot be said in them."""
        return self.scaler.transform_on(on.columns((X, self.codes.on(X, on))), on)

    @property
    def categories_(self) -> Integers | None:
        """How many categories each scaled column has, 0 for numbers; None: all are numbers."""
        return self.scaler.categories_

    def feature_names(self, names: list[str]) -> list[str]:
        """Names of the scaled columns, each that of the column (D,) it comes from."""
        return self.scaler.feature_names(names + [names[j] for j in self.codes.origin])

    def inverse_transform(self, X: Array) -> Array:
        """Scaled rows as they were before, where the scaler can be inverted."""
        rows = self.scaler.inverse_transform(X)
        n_columns = len(self.scaler.levels) - len(self.codes.origin)
        return rows[:, :n_columns] if rows.shape[1] == len(self.scaler.levels) else rows
