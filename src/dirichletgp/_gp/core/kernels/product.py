"""The kernel for tables: a product over features, each with a share of its own.

    k(x, z) = s2 prod_j [1 - w_j + w_j kappa_j(x_j, z_j)]        0 < w_j < 1

Two rows that differ in one column stay alike in what the others say, unlike with a kernel of
distances. Multiplied out it is a sum over all sets of features: main effects, pairs, and so on.
With l_j the lengthscale of a number, kappa_j is

    exp(-(x - z)^2 / 2 l_j^2)            of two numbers
    1 if x = z, otherwise 0              of two categories, a missing one being a category too
    1                                    of two missing numbers
    r_j E exp(-(x - t)^2 / 2 l_j^2)      of a missing number and x, with t ~ N(0, 1)

The last line makes a missing number the average of all, as far as r_j (its likeness, from 0 to 1)
says, and a value of its own for the rest: so written the kernel is positive definite.

Numbers take few values, their levels: the nearest one stands for a number. For given points a table
then holds log(1 - w_j + w_j kappa_j) for every level and point (`product_tables.py`), and the log
kernel of a row is the sum of D of its rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, logit, ndtr

from ..arrays import AnyArray, Array, Integers
from ..fields import (
    POSITIVE,
    VARIANCE,
    Numbers,
    check_arrays,
    expect,
    increasing,
    real_number,
    truth,
)
from ..operations import NUMPY, Operations
from .kernel import Kernel, KernelBelief, KernelGradient, register
from .product_tables import ProductAt, borders, likeness_of_numbers

MISSING = -(2.0**500)
"""What stands for a missing number: no scaled one is as small, and its square is finite."""

# Levels of a number in a search, and in a finished model; fewer in wide tables.
_LEVELS, _FINE_LEVELS, _ALL_LEVELS, _FEWEST_LEVELS = 128, 640, 16_384, 12
# Where levels lie beyond the training values, so that a row far outside is seen to be outside.
_BEYOND = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
_CLIPPED = 9.0  # no share or likeness comes closer to 0 or 1 than this, as a logit
# A pair of random rows differs by about so much in all shares together.
_SHARES = 2.4
_LARGEST_FIRST_SHARE = 0.6
# What is believed of logarithms and logits before rows are seen, as standard deviations: about
# their mean, and of that mean about the typical one.
_APART, _AWAY, _STRETCH = 0.6, 2.0, 3.0
_SHARES_APART = 1.0
# What a file must hold of it; far more levels than `_LEVELS` are none that this module makes.
_MOST_LEVELS = 1_024
_FIELDS = {
    "lengthscale": Numbers("D", POSITIVE),
    "shares": Numbers("D", (1e-300, 1.0 - 2.0**-53)),
    "likeness": Numbers("D", (0.0, 1.0)),
    "holes": Numbers("D", (0.0, 1.0)),
    "level_counts": Numbers("D", (0.0, _MOST_LEVELS)),
    "levels": Numbers("L"),
}


def levels_of(column: Array, most: int) -> Array:
    """The levels of scaled numbers (n,): all distinct ones if they are few, some beyond the ends.

    Otherwise at equal steps of the normal score. Two values are as good as a category: nothing is
    beyond them, and several such columns take no more room than one.
    """
    values = np.unique(column[column > MISSING])
    if len(values) == 0:
        return np.zeros(1)
    if len(values) <= 2:
        return values
    low, high = values[0], values[-1]
    if len(values) > most:
        scores = np.linspace(-3.5, 3.5, most)
        column = np.sort(column[column > MISSING])
        ranks = (np.arange(len(column)) + 0.5) / len(column)
        inner = np.interp(ndtr(scores), ranks, column)
        outer = values[(values < inner[0]) | (values > inner[-1])]  # one row in 2,000
        values = np.unique(np.concatenate([outer, inner]))
    return np.concatenate([low - _BEYOND[::-1], values, high + _BEYOND])


def _levels_of_rows(rows: Array, numbers: AnyArray, most: int) -> tuple[Array, ...]:
    """The levels of the columns of rows (n, D) that are numbers, none of others."""
    most = int(np.clip(_ALL_LEVELS // rows.shape[1], _FEWEST_LEVELS, most))
    columns = zip(rows.T, numbers, strict=True)
    return tuple(levels_of(column, most) if number else np.empty(0) for column, number in columns)


@register
@dataclass(frozen=True)
class Product(Kernel):
    """The product kernel with its parameters.

    Attributes
    ----------
    levels : tuple of ndarray
        Of every column: increasing values of a number, or none for a category.
    shares : ndarray of shape (D,)
        w, how much of the kernel each feature can take away.
    lengthscale : ndarray of shape (D,)
        Of numbers; not used for categories.
    likeness : ndarray of shape (D,)
        r, how much a missing number is like an average one; not used without missing ones.
    variance : float
    ard : bool
        Whether features differ; otherwise shares and lengthscales are one number each, repeated.
    holes : ndarray of shape (D,), bool
        Which numbers were missing in some training row.
    """

    levels: tuple[Array, ...]
    shares: Array
    lengthscale: Array
    likeness: Array
    variance: float
    ard: bool
    holes: AnyArray
    _last: dict[str, ProductAt] = field(default_factory=dict, init=False, repr=False, compare=False)

    name = "product"
    title = "product over features"
    takes_categories = True
    is_product = True

    @classmethod
    def starting(
        cls,
        rows: Array,
        lengthscale: float | Array | None,
        variance: float,
        ard: bool,
        categories: Integers | None = None,
    ) -> Self:
        """All features alike; the columns of rows (n, D) say which levels there are."""
        n_features = rows.shape[1]
        numbers = np.ones(n_features, dtype=bool) if categories is None else categories == 0
        levels = _levels_of_rows(rows, numbers, _LEVELS)
        share = min(_LARGEST_FIRST_SHARE, _SHARES / n_features)
        return cls(
            levels=levels,
            shares=np.full(n_features, share),
            lengthscale=np.full(n_features, 1.0 if lengthscale is None else lengthscale),
            likeness=np.full(n_features, 0.5),
            variance=variance,
            ard=ard,
            holes=numbers & np.any(rows <= MISSING, axis=0),
        )

    @classmethod
    def continuing(cls, earlier: Kernel, ard: bool) -> Self | None:
        """Another product kernel as it is, levels and all."""
        if not isinstance(earlier, cls):
            return None
        return replace(earlier if ard else earlier.pulled_together(), ard=ard)

    def beginning_at(self, start: Kernel) -> Kernel:
        """The parameters of the start, with the levels and holes of the rows at hand."""
        if not isinstance(start, Product) or not np.array_equal(self._numbers, start._numbers):
            return self
        return replace(
            self,
            shares=start.shares,
            lengthscale=start.lengthscale,
            likeness=start.likeness,
            variance=start.variance,
        )

    def refined(self, rows: Array) -> Self:
        """With more levels, for rows (n, D): rounding lost 1 % of the MNLL where labels are clean.

        A search makes its tables anew at every step, a finished model once.
        """
        return replace(self, levels=_levels_of_rows(rows, self._numbers, _FINE_LEVELS))

    @property
    def _numbers(self) -> AnyArray:
        return np.array([len(levels) > 0 for levels in self.levels])

    def at(self, points: Array) -> ProductAt:
        """The kernel with its tables, those of the last points being kept."""
        made = self._last.get("at")
        if made is None or made.points is not points:
            made = self._last["at"] = ProductAt(self, points, MISSING)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": {}}

    def snapped(self, points: Array) -> Array:
        """Points at the nearest levels: tables of few levels are small."""
        nearest = points.copy()
        for j, levels in enumerate(self.levels):
            if len(levels):
                there = points[:, j] > MISSING
                nearest[there, j] = levels[np.searchsorted(borders(levels), points[there, j])]
        return np.unique(nearest, axis=0)

    def of_points(self, points: Array) -> Self:
        """The same kernel for points as rows: each of their values is a level."""
        if all(map(_are_among, points.T, self.levels)):
            return self
        columns = zip(points.T, self.levels, strict=True)
        return replace(
            self,
            levels=tuple(
                np.unique(np.append(column[column > MISSING], 0.0)) if len(levels) else levels
                for column, levels in columns
            ),
        )

    def values(self, rows: Any, points: Any, on: Operations = NUMPY) -> Any:
        """Kernel matrix of shape (n, M)."""
        if on is NUMPY:
            return self.at(points).values(rows)
        product: Any = self.variance
        for factor in self._factors(rows, points, on):
            product = product * factor
        return product

    def _factors(self, rows: Any, points: Any, on: Operations) -> Any:
        """The factor (n, M) of each feature, in the words of `on`."""
        nearest = on.nearest(rows, list(self.levels), MISSING)
        for j, number in enumerate(self._numbers):
            x = on.take(nearest, np.array([j]))
            z = on.row(points, j)
            kappa = self._kappa(j, x, z, on) if number else _same(x, z, on)
            yield 1.0 - self.shares[j] + self.shares[j] * kappa

    def _kappa(self, j: int, x: Any, z: Any, on: Operations) -> Any:
        """Likeness (n, M) of numbers x (n, 1) and z (1, M), either of which may be missing."""
        length = float(self.lengthscale[j])
        difference = (x - z) / length
        kappa = on.exp(-0.5 * difference * difference)
        r = float(self.likeness[j])
        flat = kappa * 0.0
        x_lacks, z_lacks = x + flat < 0.5 * MISSING, z + flat < 0.5 * MISSING
        of_x = r * likeness_of_numbers(x, length, on.exp) + flat
        of_z = r * likeness_of_numbers(z, length, on.exp) + flat
        of_present = on.choose(z_lacks, of_x, kappa)
        of_missing = on.choose(z_lacks, flat + 1.0, of_z)
        return on.choose(x_lacks, of_missing, of_present)

    def pull_back(
        self, rows: Any, points: Any, values: Any, derivative: Any, on: Operations = NUMPY
    ) -> KernelGradient:
        """Derivatives by shares, lengthscales, likenesses, variance and points."""
        at = self.at(on.host(points))
        total = at.no_derivatives()
        at.add_derivatives(on.host(rows), on.host(values), on.host(derivative), total)
        return at.gradient(total)

    @property
    def parameters(self) -> Array:
        """Logits of shares, logarithms of lengthscales, logits of likenesses: of those in use."""
        shares, lengths, likeness = self.in_use
        return np.concatenate(
            [
                logit(self.shares[shares]),
                np.log(self.lengthscale[lengths]),
                logit(self.likeness[likeness]),
            ]
        )

    @property
    def in_use(self) -> tuple[Integers, Integers, Integers]:
        """Which features have a share, a lengthscale and a likeness of their own."""
        everything = np.arange(len(self.levels))
        numbers = np.flatnonzero(self._numbers)
        if not self.ard:
            everything, numbers = everything[:1], numbers[:1]
        return everything, numbers, np.flatnonzero(self.holes)

    def with_parameters(self, parameters: Array, variance: float) -> Self:
        """The same kernel with other parameters."""
        shares, lengths, likeness = self.in_use
        ends = np.cumsum([len(shares), len(lengths)])
        of_shares, of_lengths, of_likeness = np.split(parameters, ends)
        new_shares = expit(np.clip(of_shares, -_CLIPPED, _CLIPPED))
        new_lengths = np.exp(of_lengths)
        all_likeness = self.likeness.copy()
        all_likeness[likeness] = expit(np.clip(of_likeness, -_CLIPPED, _CLIPPED))
        all_lengths = self.lengthscale.copy()
        if self.ard:
            all_lengths[lengths] = new_lengths
        elif len(lengths):
            all_lengths[:] = new_lengths
        return replace(
            self,
            shares=np.broadcast_to(new_shares, self.shares.shape).copy(),
            lengthscale=all_lengths,
            likeness=all_likeness,
            variance=variance,
        )

    def belief(self, typical: "Product") -> KernelBelief:
        """Features matter about equally: shares and lengthscales are spread about their means."""
        shares, lengths, _ = self.in_use
        logs = self.parameters
        middle = typical.parameters
        first, second = len(shares), len(shares) + len(lengths)
        value, by_parameters = 0.0, np.zeros(len(logs))
        for part, apart in ((slice(0, first), _SHARES_APART), (slice(first, second), _APART)):
            if part.start == part.stop:
                continue
            more, gradient = _spread(logs[part], float(middle[part].mean()), apart)
            value += more
            by_parameters[part] = gradient
        # A likeness of missing numbers is anywhere between 0 and 1.
        value += float(np.square(logs[second:] / 2.0).sum())
        by_parameters[second:] = logs[second:] / 4.0
        stretch = np.log(self.variance / typical.variance) / _STRETCH
        return KernelBelief(-0.5 * (value + stretch**2), -by_parameters, -float(stretch / _STRETCH))

    def pulled_together(self) -> Self:
        """The same kernel with the mean logit of the shares, and the mean log lengthscale."""
        share = expit(logit(self.shares).mean())
        numbers = self._numbers
        length = np.exp(np.log(self.lengthscale[numbers]).mean()) if numbers.any() else 1.0
        shape = self.shares.shape
        return replace(self, shares=np.full(shape, share), lengthscale=np.full(shape, length))

    def stretched(self, factor: float, variance: float) -> Self:
        """Longer lengthscales of numbers, smaller shares of categories."""
        stretched = np.minimum(self.shares / factor**2, expit(_CLIPPED))
        shares = np.where(self._numbers, self.shares, stretched)
        return replace(
            self, lengthscale=factor * self.lengthscale, shares=shares, variance=variance
        )

    @property
    def shown_lengthscale(self) -> float | Array:
        """One per feature, NaN for categories; a number if it is one for all."""
        if not self.ard:
            return float(self.lengthscale[0])
        return np.where(self._numbers, self.lengthscale, np.nan)

    def parameter_names(self, features: Sequence[str]) -> list[str]:
        """Shares, then lengthscales of numbers, then likenesses of missing values."""
        shares, lengths, likeness = self.in_use
        if not self.ard:
            named = ["share"] + ["lengthscale"] * len(lengths)
        else:
            named = [f"share of {features[j]}" for j in shares]
            named += [f"lengthscale of {features[j]}" for j in lengths]
        return named + [f"likeness of a missing {features[j]}" for j in likeness]

    def feature_weights(self) -> Array:
        """One over the lengthscales of numbers, weighed by shares."""
        return np.where(self._numbers, np.sqrt(self.shares) / self.lengthscale, 0.0)

    def to_metric(self, rows: Array) -> Array:
        """Numbers in units of their lengthscales, categories as corners, weighed by shares."""
        weight = np.sqrt(self.shares)
        parts = []
        for j, number in enumerate(self._numbers):
            column = rows[:, j]
            if number:
                lacks = column <= MISSING
                parts.append(
                    weight[j] * np.where(lacks, 0.0, column)[:, None] / self.lengthscale[j]
                )
                if self.holes[j]:
                    parts.append(weight[j] * lacks[:, None])
            else:
                parts.append(weight[j] * _corners(column))
        return np.concatenate(parts, axis=1)

    def from_metric(self, rows: Array) -> Array:
        """The inverse of `to_metric`, where all columns are numbers and none is missing."""
        return rows * (self.lengthscale / np.sqrt(self.shares))

    @property
    def has_inverse_metric(self) -> bool:
        """Whether points between rows are rows: not where there are categories or holes."""
        return bool(self._numbers.all() and not self.holes.any())

    def relevance(self, points: Array) -> Array:
        """One minus the mean factor of points that differ in one feature alone, (D,)."""
        kernel = self.of_points(points)
        return np.array([1.0 - factor for factor in kernel.at(points).mean_factors()])

    def fits(self, n_features: int, categories: Integers | None = None) -> bool:
        """Whether there is a share for each of so many features, and levels for each number."""
        numbers = np.ones(n_features, dtype=bool) if categories is None else categories == 0
        return len(self.shares) == n_features and np.array_equal(self._numbers, numbers)

    def described(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Variance as JSON, parameters and levels as arrays."""
        content = {"family": self.name, "variance": self.variance, "ard": self.ard}
        return content, {
            "lengthscale": self.lengthscale,
            "shares": self.shares,
            "likeness": self.likeness,
            "holes": self.holes.astype(np.float64),
            "levels": np.concatenate(self.levels),
            "level_counts": np.array([len(levels) for levels in self.levels], dtype=np.float64),
        }

    @classmethod
    def restored(
        cls, content: Mapping[str, Any], arrays: Mapping[str, AnyArray], ard: bool
    ) -> Self:
        """The kernel of a file."""
        sizes = check_arrays(_FIELDS, arrays)
        levels, counts = arrays["levels"], arrays["level_counts"].astype(np.intp)
        expect(bool(np.all(counts == arrays["level_counts"])), "levels")
        expect(int(counts.sum()) == sizes["L"], "levels")
        increasing(levels, np.cumsum(counts), "levels")
        return cls(
            levels=tuple(np.split(levels, np.cumsum(counts)[:-1])),
            shares=arrays["shares"],
            lengthscale=arrays["lengthscale"],
            likeness=arrays["likeness"],
            variance=real_number(content["variance"], "variance of the kernel", VARIANCE),
            ard=truth(content["ard"], "parameters of the kernel"),
            holes=arrays["holes"] > 0,
        )


def _are_among(column: Array, levels: Array) -> bool:
    """Whether all numbers (n,) that are there are levels; categories have none."""
    if not len(levels):
        return True
    place = np.minimum(np.searchsorted(levels, column), len(levels) - 1)
    return bool(np.all((levels[place] == column) | (column <= MISSING)))


def _same(x: Any, z: Any, on: Operations) -> Any:
    """1 where codes (n, 1) and (1, M) are the same, otherwise 0."""
    difference = x - z
    return on.where(difference * difference < 0.25, difference * 0.0 + 1.0, 0.0)


def _spread(logs: Array, typical: float, apart: float) -> tuple[float, Array]:
    """Squares of what parameters are apart and away, and half their derivatives."""
    scattered = (logs - logs.mean()) / apart
    away = (logs.mean() - typical) / _AWAY
    value = float(scattered @ scattered) + away**2
    return value, scattered / apart + away / (_AWAY * len(logs))


def _corners(codes: Array, most: int = 16) -> Array:
    """Categories (n,) as points at distance 1 from each other; of many, nearly so."""
    distinct, place = np.unique(codes, return_inverse=True)
    if len(distinct) <= most:
        corners = np.eye(len(distinct))
    else:
        corners = np.random.RandomState(0).normal(size=(len(distinct), most)) / np.sqrt(most)
    corners = corners / np.sqrt(2.0)
    return np.asarray(corners[place.ravel()])
