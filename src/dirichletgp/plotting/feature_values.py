"""Values of a feature to draw, as the model reads them: numbers, days, categories or words."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from .._gp.rows.columns import Columns, Matrix, cleaned
from .._gp.rows.frames import Frame
from .._gp.rows.kinds import Category, Date
from .._gp.rows.wordings import Wording

_MOST_CATEGORIES = 15
_NO_WORD = "none of them"


@dataclass(frozen=True)
class FeatureValues:
    """Some values of a feature, in order.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n,)
        Numbers (float), times (datetime64), or texts: categories, or words that a text may hold.
    parts : ndarray of shape (k,)
        The matrix columns that stand for the feature.
    matrix : ndarray of shape (n, k)
        What these hold for each value.
    """

    name: str
    values: AnyArray
    parts: Integers
    matrix: Array

    def in_rows(self, row: Array) -> Array:
        """Copies (n, D) of a matrix row (D,), each with one of the values."""
        rows = np.tile(row, (len(self.matrix), 1))
        rows[:, self.parts] = self.matrix
        return rows


def feature_values(classifier: Any, X: Any, place: int, most: int) -> FeatureValues:
    """At most so many values of a column of X, spread as the rows of X are.

    Parameters
    ----------
    classifier : fitted DirichletGPClassifier
    X : array-like of shape (n, n_features)
    place : int
        Which column.
    most : int
        Of numbers and times; of categories and words the 15 most frequent are taken.
    """
    columns: Columns = classifier.fitted_columns()
    matrix = matrix_of(classifier, X)
    parts = np.flatnonzero(columns.origin == place)
    name = (columns.names_in or [f"x{j}" for j in range(columns.n_in)])[place]
    kind = None if columns.is_plain else columns.kinds[place]  # type: ignore[attr-defined]
    own = matrix[:, parts]
    if isinstance(kind, Wording):
        return _of_words(name, kind, parts, own)
    if isinstance(kind, Category):
        values, chosen = _of_categories(kind.categories, own[:, 0])
    elif isinstance(kind, Date):
        values, chosen = _some(_days(kind, columns, X, place, own), most)
        values = (values * 86_400).round().astype("datetime64[s]")
    elif len(parts) == 0:  # a column that is not used
        values, chosen = np.zeros(1), np.zeros(1, dtype=np.intp)
    else:
        values, chosen = _some(own[:, 0], most)
    return FeatureValues(name, values, parts, own[chosen])


def matrix_of(classifier: Any, X: Any) -> Array:
    """The matrix (n, D) of rows."""
    if isinstance(X, Matrix):
        return np.asarray(X)
    matrix: Array = np.asarray(classifier.fitted_columns().matrix(X), dtype=np.float64)
    return matrix


def _days(kind: Date, columns: Any, X: Any, place: int, own: Array) -> Array:
    """Days since 1970 (n,) of a column of dates."""
    if "day" in kind.parts:
        return np.asarray(own[:, kind.parts.index("day")])
    frame = Frame(X)
    at = place if frame.names is None else frame.names.index(kind.name)
    read = cleaned(frame.values(at), columns.blanks)
    return replace(kind, parts=["day"]).matrix(read, None)[:, 0]


def _of_words(name: str, kind: Wording, parts: Integers, own: Array) -> FeatureValues:
    """Texts of one word each, and one without any: the most frequent words of the rows."""
    counts = np.nansum(own, axis=0)
    kept = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
    matrix = np.zeros((len(kept) + 1, len(parts)))
    matrix[np.arange(len(kept)), kept] = 1.0
    words = [*(kind.words[j] for j in kept.tolist()), _NO_WORD]
    return FeatureValues(name, np.array(words), parts, matrix)


def _of_categories(categories: list[str], codes: Array) -> tuple[AnyArray, Integers]:
    """The most frequent categories, and rows that have them."""
    names = np.array([*categories, "other", "missing"])
    places = np.where(np.isnan(codes), len(names) - 1, codes).astype(np.intp)
    distinct, first, counts = np.unique(places, return_index=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
    return names[distinct[kept]], first[kept]


def _some(values: Array, most: int) -> tuple[Array, Integers]:
    """Some numbers in order, spread as the rows are, and rows that have them."""
    distinct, first = np.unique(values, return_index=True)
    known = ~np.isnan(distinct)
    distinct, first = distinct[known], first[known]
    if len(distinct) > most:
        wanted = np.quantile(values[~np.isnan(values)], np.linspace(0, 1, most))
        kept = np.unique(np.searchsorted(distinct, wanted).clip(0, len(distinct) - 1))
        distinct, first = distinct[kept], first[kept]
    return distinct, first
