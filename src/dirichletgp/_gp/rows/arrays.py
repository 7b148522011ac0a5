"""Rows in memory as users give them: arrays as scikit-learn checks them, and frames."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import column_or_1d, validate_data

from ..core.arrays import AnyArray, Array, Integers
from .categorical import FROM_DTYPE, asks_for_categories, categorical_columns
from .columns import Columns
from .door import FLOATS, is_frame, missing_in, refuse_repeated_names
from .frames import Frame, has_numbers_only, is_missing
from .in_memory import Chunk, Encoder, InMemoryRows, Summary
from .learning import Wishes, are_ids, learned_columns
from .refusals import AS_CATEGORIES, about_texts, numbers_only, refuse_unless_finite
from .weights import sample_weights

if TYPE_CHECKING:
    from .door import Given, SampleSize


def are_votes(y: Any) -> bool:
    """Whether y has a number for every class (n, C) in the place of a label."""
    shape: Any = np.shape(y) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    return len(shape) == 2 and bool(shape[1] > 1)


class ArrayRows:
    """Rows in memory, of which the columns are known.

    Attributes
    ----------
    chunk : Chunk
        The rows of positive weight.
    columns : Columns
    """

    def __init__(self, chunk: Chunk, columns: Columns):
        self.chunk = chunk
        self.columns = columns

    @classmethod
    def of(cls, given: "Given") -> "ArrayRows":
        """The rows that `fit` was given."""
        if are_votes(given.y):
            return cls._of_votes(given)
        X, labels, columns = checked_rows(given)
        weights = None
        if given.sample_weight is not None:
            weights = sample_weights(given.sample_weight, len(X))
        return cls(Chunk(X, labels, weights).of_positive_weight(), columns)

    @classmethod
    def _of_votes(cls, given: "Given") -> "ArrayRows":
        """Rows with votes for classes in the place of labels."""
        from .soft_labels import voted_rows, votes_of

        votes = votes_of(given.y)
        likeliest = np.argmax(votes.votes, axis=1)
        X, _, columns = checked_rows(given._replace(y=likeliest))
        weights = sample_weights(given.sample_weight, len(X))
        return cls(voted_rows(X, votes, weights).of_positive_weight(), columns)

    def summary(self, size: "SampleSize", seed: int) -> Summary:
        """All rows are the sample."""
        labels, codes = np.unique(self.chunk.labels, return_inverse=True)
        weights = np.bincount(codes, self.chunk.weights).astype(np.float64)
        return Summary(len(codes), labels, weights, self.chunk, np.zeros(0))

    def labelled(self, encoder: Encoder, summary: Summary, sample: InMemoryRows) -> InMemoryRows:
        """The sample, which is all rows."""
        return sample


def checked_rows(given: "Given") -> tuple[AnyArray, AnyArray, Columns]:
    """The matrix (n, D) of the rows that `fit` was given, labels (n,), and what the columns are."""
    noted = _noted(given.estimator)
    refuse_repeated_names(given.X)
    refuse_missing_labels(given.y)
    if _has_kinds(given):
        validate_data(noted, given.X, given.y, skip_check_array=True)
        return _learned_rows(given)
    rows, labels = _as_numbers(noted, given.X, given.y, AS_CATEGORIES)
    names = getattr(noted, "feature_names_in_", None)
    columns = Columns(rows.shape[1], None if names is None else names.tolist())
    missing = missing_in(rows, columns.names_in)
    if names is not None and (missing is not None or _has_ids(given.X, rows, columns.names_in)):
        return _learned_rows(given)
    return rows, labels, columns if missing is None else columns.with_missing(missing)


def checked_numbers(X: Any, y: Any, estimator: str) -> tuple[AnyArray, AnyArray, list[str] | None]:
    """Rows of finite numbers (n, D), labels (n,) and names of features, if they have some.

    scikit-learn notes what it finds on an estimator. That is one made for the purpose, of the same
    name, so that a fit which fails leaves the real one as it was.
    """
    noted = _noted(estimator)
    refuse_repeated_names(X)
    refuse_missing_labels(y)
    way = numbers_only(estimator)
    rows, labels = _as_numbers(noted, X, y, way)
    found = getattr(noted, "feature_names_in_", None)
    names = None if found is None else found.tolist()
    refuse_unless_finite(rows, names, way)
    return rows, labels, names


def new_numbers(estimator: Any, X: Any) -> AnyArray:
    """Rows of finite numbers (n, D) for a fitted estimator, which has features like them."""
    refuse_repeated_names(X)
    way = numbers_only(type(estimator).__name__)
    try:
        rows: AnyArray = validate_data(
            estimator, X, reset=False, dtype=FLOATS, ensure_all_finite=False
        )
    except ValueError as error:
        raise about_texts(error, X, way) from None
    names = getattr(estimator, "feature_names_in_", None)
    refuse_unless_finite(rows, None if names is None else names.tolist(), way)
    return rows


def _as_numbers(noted: Any, X: Any, y: Any, way: str) -> tuple[AnyArray, AnyArray]:
    """Rows (n, D), in which NaN and infinities may be, and labels (n,)."""
    try:
        rows, labels = validate_data(noted, X, y, dtype=FLOATS, ensure_all_finite=False)
    except ValueError as error:
        raise about_texts(error, X, way) from None
    return rows, labels


def checked_labels(y: Any, X: Any) -> AnyArray:
    """Labels (n,), one for each row of X."""
    refuse_missing_labels(y)
    labels: AnyArray = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    return labels


def refuse_missing_labels(y: Any) -> None:
    """`ValueError` if rows have no label."""
    if y is None:
        return
    refuse_a_name(y)
    # Of a list with texts in it NumPy would make a text of NaN.
    kind = object if isinstance(y, list | tuple) else None
    labels = np.atleast_1d(np.asarray(y, dtype=kind))
    lacks = np.zeros(labels.shape, dtype=bool)
    if labels.dtype.kind == "f":
        lacks = np.isnan(labels)
    elif labels.dtype.kind == "O":
        lacks = np.reshape([is_missing(label) for label in labels.ravel().tolist()], labels.shape)
    n_missing = int(lacks.any(axis=tuple(range(1, lacks.ndim))).sum())
    if n_missing:
        raise ValueError(
            f"y has no label in {n_missing:,} of {len(labels):,} rows: Input y contains NaN or "
            "None. Drop those rows from X and y (and sample_weight); X[known] and y[known] with "
            "known = ~pandas.isna(y) are the others."
        )


def refuse_a_name(y: Any) -> None:
    """`ValueError` if y is the name of a column: of rows in memory the labels are wanted."""
    if isinstance(y, str):
        raise ValueError(
            f"y={y!r} is a name; pass the labels themselves, y=frame[{y!r}], and X without that "
            "column. Names are for files and Arrow tables."
        )


def _noted(estimator: str) -> Any:
    return type(estimator, (ClassifierMixin, BaseEstimator), {})()


def _has_kinds(given: "Given") -> bool:
    """Whether there is more than numbers by the types of the columns, or by what is asked for."""
    if is_frame(given.X) and not has_numbers_only(given.X):
        return True
    chosen = given.categorical
    if isinstance(chosen, str) and chosen == FROM_DTYPE:
        return False
    return asks_for_categories(chosen)


def _has_ids(X: Any, rows: AnyArray, names: list[str] | None) -> bool:
    """Whether a column of integers in a frame with names only tells rows apart."""
    whole = [str(kind).lower().startswith(("int", "uint")) for kind in X.dtypes]
    places = np.flatnonzero(whole).tolist()
    return any(are_ids(rows[:, j], names[j]) for j in places) if names else False


def _learned_rows(given: "Given") -> tuple[Array, AnyArray, Columns]:
    frame = Frame(given.X)
    if frame.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={frame.shape}); pass some rows.")
    labels = checked_labels(given.y, frame.X)
    chosen = categorical_columns(given.categorical, frame.names, frame.shape[1])
    wishes = Wishes(categories=chosen, drops=frame.names is not None)
    counts = _of_positive_weight(frame.shape[0], given.sample_weight)
    some = frame if counts is None else Frame(_safe_indexing(frame.X, counts))
    columns = learned_columns(some, wishes, labels if counts is None else labels[counts])
    return columns.matrix(frame.X), labels, columns


def _of_positive_weight(n_rows: int, sample_weight: Any) -> Integers | None:
    """Positions of the rows that count: others must not be learned from. None: all do."""
    weights = sample_weights(sample_weight, n_rows)
    return None if weights is None or np.all(weights > 0) else np.flatnonzero(weights)
