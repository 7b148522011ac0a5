"""Scaling of the features.

Kernels need inputs of comparable size, and streams need the scaling kept with the model.
"""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import AnyArray, Array, Integers
from ..core.operations import NUMPY, Operations
from ..core.parallel import (
    ROWS_OF_ONE_PIECE,
    Workers,
    effective_threads,
    one_blas_thread,
    padded_length,
    prediction_block_size,
    prediction_places,
    row_slices,
)
from .weights import sample_weights

SCALERS = ("quantile", "standard", "minmax")
_RANKED_ROWS = 100_000
_FARTHEST = 1e300  # widths beyond the training range: the score stays finite
_LARGEST = float(np.finfo(np.float64).max)
_LOWEST_RANK = 2.0**-53
# Columns whose values have class frequencies of their own: least rows and values, most classes.
_TIED_ROWS, _TIED_VALUES, _ROWS_PER_VALUE, _TIED_CLASSES = 1_000, 11, 20, 5


class NormalScores(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map every feature to normal scores by its ranks in the training rows.

    A value becomes the normal quantile of its mid-rank, tied values sharing one, so a 0/1 column
    stays moderate instead of going to the ends of the scale. Between training values the map is
    linear; beyond them it grows logarithmically, so a row far outside the training range is seen to
    be outside, but no outlier dominates a distance.

    Parameters
    ----------
    n_knots : int
        Largest number of knots per feature.

    Attributes
    ----------
    knots_ : list of ndarray
        Training values per feature, increasing.
    scores_ : list of ndarray
        Their normal scores.
    widths_ : ndarray of shape (D,)
        Half the width of the central 68 % of each feature; 0 for a constant feature.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [1000.0]])
    >>> NormalScores().fit_transform(X).round(2).ravel().tolist()
    [-0.97, 0.0, 0.97]
    """

    def __init__(self, n_knots: int = 1_000):
        self.n_knots = n_knots

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the ranks of the training values; `X` has shape (n, D), `sample_weight` (n,)."""
        rows: Array = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        weights = None
        if sample_weight is not None:
            weights = sample_weights(sample_weight, len(rows))
        if weights is None:
            weights = np.ones(len(rows))
        if not np.all(weights > 0):
            rows, weights = rows[weights > 0], weights[weights > 0]
        columns = [_knots_and_scores(column, weights, self.n_knots) for column in rows.T]
        self.knots_ = [knots for knots, _ in columns]
        self.scores_ = [scores for _, scores in columns]
        self.widths_ = np.array([_central_half_width(*column) for column in columns])
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Normal scores (n, D) of rows (n, D)."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        return self.scores(rows)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Feature values (n, D) with normal scores `X` (n, D), cut at the training range."""
        check_is_fitted(self)
        columns = zip(np.asarray(X, dtype=np.float64).T, self.scores_, self.knots_, strict=True)
        return np.column_stack(
            [np.interp(column, scores, knots) for column, scores, knots in columns]
        )

    def __sklearn_tags__(self) -> Any:
        """scikit-learn is told that values may be missing: they stay so."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def scores(self, X: Any, on: Operations = NUMPY) -> Any:
        """`transform` without checks, for blocks of rows that were checked as a whole."""
        width = np.where(self.widths_ > 0, self.widths_, np.inf)
        lowest = np.array([knots[0] for knots in self.knots_])
        highest = np.array([knots[-1] for knots in self.knots_])
        interpolate = _interpolated if on is NUMPY else on.interpolate
        scores = interpolate(X, self.knots_, self.scores_)
        with np.errstate(over="ignore"):
            above = on.minimum(on.maximum(X - on.array(highest), 0.0), _LARGEST)
            below = on.minimum(on.maximum(on.array(lowest) - X, 0.0), _LARGEST)
            scores += on.log1p(on.minimum(above / on.array(width), _FARTHEST))
            scores -= on.log1p(on.minimum(below / on.array(width), _FARTHEST))
        return scores


def _interpolated(X: Array, knots: list[Array], values: list[Array]) -> Array:
    """Piecewise linear functions of the columns of X (n, D), constant beyond their knots."""
    out = np.empty(X.shape)
    for j, column in enumerate(X.T):
        out[:, j] = np.interp(column, knots[j], values[j])
    return out


def _knots_and_scores(column: Array, weights: Array, n_knots: int) -> tuple[Array, Array]:
    """Distinct values of a column, thinned, and the normal scores of their weighted mid-ranks."""
    if np.isnan(column).any():
        there = ~np.isnan(column)
        column, weights = column[there], weights[there]
    if len(column) == 0:
        return np.zeros(1), np.zeros(1)
    values, inverse = np.unique(column, return_inverse=True)
    mass = np.bincount(inverse, weights)
    ranks = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    if len(values) > n_knots:
        keep = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], n_knots)))
        values, ranks = values[keep], ranks[keep]
    # A value of next to no weight at the end has a rank of 0 or 1 to rounding, and an infinite
    # score.
    return values, ndtri(np.clip(ranks, _LOWEST_RANK, 1.0 - _LOWEST_RANK))


def _central_half_width(knots: Array, scores: Array) -> float:
    """Half the distance between the values at scores -1 and 1; if zero, half the range."""
    low, high = np.interp([-1.0, 1.0], scores, knots)
    # Halves first: the distance between the largest numbers is none.
    return float(high / 2 - low / 2 if high > low else knots[-1] / 2 - knots[0] / 2)


def fit_scaler(
    scaler: Any, X: Array, y: Any, sample_weight: Array | None, rng: np.random.RandomState
) -> Any:
    """A fitted transformer for the `scaler` argument; built-in ones need little memory."""
    made = make_scaler(scaler)
    if isinstance(made, NormalScores):
        if len(X) > _RANKED_ROWS:
            positions = np.sort(rng.choice(len(X), _RANKED_ROWS, replace=False))
            X = X[positions]
            sample_weight = None if sample_weight is None else sample_weight[positions]
        return made.fit(X, sample_weight=sample_weight)
    if not isinstance(scaler, str):
        made.fit(X, y)
        if issparse(made.transform(X[:1])):
            raise ValueError(
                f"scaler={scaler!r} gives sparse rows; pass a transformer with dense output."
            )
        return made
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in row_slices(len(X), 10_000):
            if scaler == "standard" and sample_weight is not None:
                made.partial_fit(X[rows], sample_weight=sample_weight[rows])
            else:
                made.partial_fit(X[rows])
    _refuse_overflow(scaler, made, X)
    return made


def _refuse_overflow(scaler: str, fitted: Any, X: Array) -> None:
    """`ValueError` if numbers are so large that their variance or range is not finite."""
    spread = fitted.var_ if scaler == "standard" else fitted.data_range_
    wrong = np.flatnonzero(~np.isfinite(spread))
    if len(wrong):
        j = int(wrong[0])
        largest = float(np.nanmax(np.abs(X[:, j])))
        raise ValueError(
            f"X holds numbers as large as {largest:g} in column {j}, too large for "
            f"scaler={scaler!r}; pass scaler='quantile', or divide the column."
        )


def tied_columns(X: AnyArray, n_classes: int) -> Integers:
    """Columns of rows (n, D) with many values that many rows share, (E,).

    Of fewer rows, or of values with fewer rows each, class frequencies say little; with more
    classes they are too many.
    """
    chosen: list[int] = []
    if len(X) >= _TIED_ROWS and n_classes <= _TIED_CLASSES:
        for j, column in enumerate(X.T):
            # A look at some rows tells numbers that hardly ever repeat.
            if len(np.unique(column[:_TIED_ROWS])) > 0.8 * _TIED_ROWS:
                continue
            present = column[~np.isnan(column)]
            n_values = len(np.unique(present))
            if _TIED_VALUES <= n_values <= len(present) // _ROWS_PER_VALUE:
                chosen.append(j)
    return np.array(chosen, dtype=np.intp)


def scaling_function(fitted: Any, of_training_rows: bool = False) -> Callable[[Array], Array]:
    """The map from raw rows (n, D) to scaled rows, as float64 in C order."""
    if of_training_rows and hasattr(fitted, "transform_training"):
        return partial(_transformed_training, fitted)
    if isinstance(fitted, NormalScores):
        return fitted.scores
    return partial(_transformed, fitted)


def _transformed(fitted: Any, rows: Array) -> Array:
    return np.ascontiguousarray(fitted.transform(rows), dtype=np.float64)


def _transformed_training(fitted: Any, rows: Array) -> Array:
    return np.ascontiguousarray(fitted.transform_training(rows), dtype=np.float64)


def scaled_on(fitted: Any, rows: Any, on: Operations) -> Any:
    """Rows scaled by one of the library's own scalers in the words of `on`; None for others."""
    if hasattr(fitted, "transform_on"):
        return fitted.transform_on(rows, on)
    if isinstance(fitted, NormalScores):
        return fitted.scores(rows, on)
    if type(fitted) is StandardScaler:
        return (rows - on.array(fitted.mean_)) / on.array(fitted.scale_)
    if type(fitted) is MinMaxScaler:
        return rows * on.array(fitted.scale_) + on.array(fitted.min_)
    return rows if is_identity(fitted) else None


def is_identity(fitted: Any) -> bool:
    """Whether a scaler leaves rows as they are."""
    return type(fitted) is FunctionTransformer and fitted.func is None


def of_scaled_blocks(
    function: Callable[[Array, slice], Array],
    rows: AnyArray,
    fitted: Any,
    n_points: int,
    n_jobs: int | None,
    of_training_rows: bool = False,
) -> Array:
    """A function of scaled rows, block by block in threads; results are stacked.

    The function gets blocks of one size, of which the last may be padded, and the slice of rows
    they begin with.
    """
    scale = scaling_function(fitted, of_training_rows)
    size = prediction_block_size(n_points)

    def of_block(place: slice) -> Array:
        block = scale(np.asarray(rows[place], dtype=np.float64))
        padding = np.zeros((size - len(block), block.shape[1]))
        return function(np.concatenate([block, padding]), place)

    with Workers(n_jobs) as workers:
        return np.concatenate(list(workers.map(of_block, row_slices(len(rows), size))))


def of_pieces(
    function: Callable[[Array], Array],
    rows: AnyArray,
    fitted: Any,
    n_points: int,
    n_jobs: int | None,
) -> Array:
    """A function of scaled rows, in large pieces and in threads; results are stacked.

    The function gets pieces that are filled up with rows of zeros. One piece needs no threads.
    """
    scale = scaling_function(fitted)
    n_threads = 1 if len(rows) <= ROWS_OF_ONE_PIECE else effective_threads(n_jobs)
    places = prediction_places(len(rows), n_points, n_threads)

    def of_piece(place: slice) -> Array:
        given = rows[place]
        piece = scale(np.asarray(given, dtype=np.float64))
        padding = padded_length(len(piece)) - len(piece)
        if padding:
            piece = np.concatenate([piece, np.zeros((padding, piece.shape[1]))])
        return function(piece)[: len(given)]

    if len(places) == 1:
        with one_blas_thread:
            return of_piece(places[0])
    with Workers(n_jobs) as workers:
        return np.concatenate(list(workers.map(of_piece, places)))


def make_scaler(scaler: Any) -> Any:
    """A fresh transformer for the `scaler` argument of an estimator."""
    if scaler is None:
        return FunctionTransformer()
    if isinstance(scaler, str):
        made = {
            "quantile": NormalScores(),
            "standard": StandardScaler(),
            "minmax": MinMaxScaler((-1, 1)),
        }
        if scaler in made:
            return made[scaler]
    elif hasattr(scaler, "fit") and hasattr(scaler, "transform"):
        return clone(scaler)
    raise ValueError(
        f"scaler={scaler!r} is not known; "
        f"pass one of {SCALERS}, None, or a scikit-learn transformer."
    )


def same_scaling(one: Any, other: Any) -> bool:
    """Whether two fitted scalers map rows alike, to the last bit."""
    if type(one) is not type(other):
        return False
    library = type(one).__module__.partition(".")[0]
    if library != __name__.partition(".")[0] and not isinstance(
        one, StandardScaler | MinMaxScaler | FunctionTransformer
    ):
        return pickle.dumps(one) == pickle.dumps(other)
    mine, theirs = vars(one), vars(other)
    return mine.keys() == theirs.keys() and all(_equal(mine[name], theirs[name]) for name in mine)


def _equal(one: Any, other: Any) -> bool:
    """Whether two attributes of scalers are the same, which may be scalers themselves."""
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if hasattr(one, "__dict__") and not isinstance(one, np.ndarray):
        return same_scaling(one, other)
    one, other = np.asarray(one), np.asarray(other)
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
