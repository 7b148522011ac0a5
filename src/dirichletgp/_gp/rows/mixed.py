"""Scaling of columns of several kinds: numbers with holes, and categories.

A row comes as numbers: NaN where one is missing, and the code of each category. A kernel of tables
takes categories as codes and missing values as such. Other kernels take numbers alone: for them a
missing number becomes the median and is marked, and a category has a column of zeros and ones for
each of its values that is not rare. Two values have one column; anything else is halfway.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ..core.arrays import Array, Booleans, Integers
from ..core.kernels.product import MISSING
from ..core.operations import NUMPY, Operations
from .scaling import fit_scaler, scaled_on, scaling_function

# Categories that have a column of their own, in rows for kernels of numbers.
_MOST_CATEGORIES = 30


class MixedScaler(TransformerMixin, BaseEstimator):
    """Scale numbers, and leave categories as codes or spread them over columns.

    Parameters
    ----------
    scaler : {"quantile", "standard", "minmax"}, transformer or None
        How numbers are scaled.
    levels : ndarray of shape (D,)
        How many categories each column has; 0: numbers.
    as_codes : bool
        Whether categories stay codes and missing values are marked by a number of their own;
        otherwise all become numbers.

    Attributes
    ----------
    scaler_ : transformer
        Fitted to the numbers, or to all columns if there are only numbers in the end.
    holes_ : ndarray of shape (D,), bool
        Columns with missing values in training.
    medians_ : ndarray of shape (D,)
        What stands for missing numbers where they must be numbers.
    kept_ : list of ndarray
        Codes of the categories that have a column of their own; NaN is the missing one.
    width_ : int
        How many columns the inner scaler makes.
    """

    def __init__(self, scaler: Any, levels: Integers, as_codes: bool):
        self.scaler = scaler
        self.levels = levels
        self.as_codes = as_codes

    def fit(
        self, X: Array, y: Any, sample_weight: Array | None, rng: np.random.RandomState
    ) -> Self:
        """Learn from rows (n, D) of numbers, NaN and codes."""
        X = np.asarray(X, dtype=np.float64)
        self.holes_ = np.isnan(X).any(axis=0)
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        self.medians_ = _medians(X, self._numbers, weights)
        self.kept_ = [
            np.empty(0) if number else _frequent(column, weights)
            for column, number in zip(X.T, self._numbers, strict=True)
        ]
        numbers = X[:, self._numbers] if self.as_codes else self._spread(X, NUMPY)
        self.scaler_ = None
        if numbers.shape[1]:
            self.scaler_ = fit_scaler(self.scaler, numbers, y, sample_weight, rng)
        self.width_ = 0
        if self.scaler_ is not None:
            self.width_ = scaling_function(self.scaler_)(numbers[:1]).shape[1]
        return self

    @property
    def _numbers(self) -> Booleans:
        return np.asarray(self.levels == 0)

    @property
    def n_scaled(self) -> int:
        """How many columns the inner scaler has."""
        n_numbers = int(self._numbers.sum())
        if self.as_codes:
            return n_numbers
        n_marks = int(np.sum(self._numbers & self.holes_))
        return n_numbers + n_marks + sum(len(kept) for kept in self.kept_)

    @property
    def categories_(self) -> Integers | None:
        """How many categories each scaled column has, 0 for numbers; None: all are numbers."""
        if not self.as_codes or self._numbers.all():
            return None
        numbers = np.zeros(self.width_, dtype=np.intp)
        return np.concatenate([numbers, self.levels[~self._numbers]])

    def feature_names(self, names: list[str]) -> list[str]:
        """Names of the scaled columns, each that of the column (D,) it is or is a part of."""
        numbers = [name for name, number in zip(names, self._numbers, strict=True) if number]
        if self.as_codes:
            return numbers + [
                name for name, number in zip(names, self._numbers, strict=True) if not number
            ]
        marks = [
            name for name, hole in zip(names, self.holes_ & self._numbers, strict=True) if hole
        ]
        spread = [name for name, kept in zip(names, self.kept_, strict=True) for _ in kept]
        return numbers + marks + spread

    def transform(self, X: Array) -> Array:
        """Scaled rows."""
        X = np.asarray(X, dtype=np.float64)
        if not self.as_codes:
            assert self.scaler_ is not None
            return scaling_function(self.scaler_)(self._spread(X, NUMPY))
        codes = np.where(np.isnan(X), MISSING, X)[:, ~self._numbers]
        if self.scaler_ is None:
            return codes
        numbers = X[:, self._numbers]
        lacks = np.isnan(numbers)
        scaled = scaling_function(self.scaler_)(numbers)
        if lacks.any() and scaled.shape == lacks.shape:
            scaled[lacks] = MISSING
        return np.concatenate([scaled, codes], axis=1) if codes.shape[1] else scaled

    def transform_on(self, X: Any, on: Operations) -> Any:
        """`transform` in the words of `on`; None if the inner scaler cannot be said in them."""
        if not self.as_codes:
            return scaled_on(self.scaler_, self._spread(X, on), on)
        parts = []
        if self.scaler_ is not None:
            numbers = on.take(X, np.flatnonzero(self._numbers))
            scaled = scaled_on(self.scaler_, on.filled(numbers, 0.0), on)
            if scaled is None:
                return None
            parts.append(on.choose(on.is_nan(numbers), scaled * 0.0 + MISSING, scaled))
        if not self._numbers.all():
            parts.append(on.filled(on.take(X, np.flatnonzero(~self._numbers)), MISSING))
        return parts[0] if len(parts) == 1 else on.columns(tuple(parts))

    def _spread(self, X: Any, on: Operations) -> Any:
        """Numbers without holes, marks of the holes, zeros and ones for categories."""
        parts = []
        columns = [on.take(X, np.array([j])) for j in range(len(self.levels))]
        for j in np.flatnonzero(self._numbers):
            parts.append(on.filled(columns[j], float(self.medians_[j])))
        for j in np.flatnonzero(self._numbers & self.holes_):
            parts.append(_as_numbers(on.is_nan(columns[j]), columns[j], on))
        two_valued = (self.levels == 2) & ~self.holes_
        for column, kept, is_one_of_two in zip(columns, self.kept_, two_valued, strict=True):
            for code in kept:
                marks = _as_numbers(_equals(column, code, on), column, on)
                if is_one_of_two and len(kept) == 1:
                    # Neither of two values is halfway between them.
                    others = _as_numbers(_equals(column, 1.0 - code, on), column, on)
                    marks = marks + 0.5 * (1.0 - marks - others)
                parts.append(marks)
        return on.columns(tuple(parts))

    def inverse_transform(self, X: Array) -> Array:
        """Scaled rows as they were before; NaN where something is missing."""
        if not self.as_codes:
            return np.asarray(X, dtype=np.float64).copy()
        n_numbers = int(self._numbers.sum())
        if self.width_ != n_numbers:
            return np.asarray(X, dtype=np.float64).copy()
        lacks = X <= MISSING
        rows = np.empty((len(X), len(self.levels)))
        rows[:, ~self._numbers] = X[:, n_numbers:]
        inverse = getattr(self.scaler_, "inverse_transform", None)
        if n_numbers:
            numbers = np.where(lacks[:, :n_numbers], 0.0, X[:, :n_numbers])
            rows[:, self._numbers] = numbers if inverse is None else inverse(numbers)
        order = np.concatenate([np.flatnonzero(self._numbers), np.flatnonzero(~self._numbers)])
        rows[:, order] = np.where(lacks, np.nan, rows[:, order])
        return rows


def _equals(column: Any, code: float, on: Operations) -> Any:
    """Where a column (n, 1) holds a code; NaN is the missing one."""
    difference = on.filled(column, -1.0) - (-1.0 if np.isnan(code) else float(code))
    return difference * difference < 0.25


def _as_numbers(condition: Any, like: Any, on: Operations) -> Any:
    """Ones where a condition (n, 1) holds, otherwise zeros."""
    return on.where(condition, on.filled(like, 0.0) * 0.0 + 1.0, 0.0)


def _medians(X: Array, numbers: Booleans, weights: Array) -> Array:
    """Medians of the numbers that are there; 0 where there is none, and for categories."""
    medians = np.zeros(X.shape[1])
    for j in np.flatnonzero(numbers):
        there = ~np.isnan(X[:, j])
        if there.any():
            medians[j] = _median(X[there, j], weights[there])
    return medians


def _median(values: Array, weights: Array) -> float:
    """The middle of values (n,), of which each counts as often as its weight says."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    middle = 0.5 * reached[-1]
    sides = [np.searchsorted(reached, middle, side) for side in ("left", "right")]
    return float(np.mean(values[order[np.minimum(sides, len(values) - 1)]]))


def _frequent(codes: Array, weights: Array) -> Array:
    """The most frequent categories of a column, the missing one (NaN) among them."""
    distinct, place = np.unique(codes, return_inverse=True)
    kept = np.argsort(-np.bincount(place, weights), kind="stable")[:_MOST_CATEGORIES]
    if len(distinct) == 2:
        kept = kept[1:]  # one column tells two categories apart
    return np.sort(distinct[kept])
