"""What to say of rows that are not all numbers: in which column, and which way there is."""

from typing import Any

import numpy as np

from ..core.arrays import AnyArray
from .frames import Frame, Words
from .texts import as_number

_MOST_NAMED = 3
AS_CATEGORIES = (
    "Pass a DataFrame, whose columns of texts are categories, dates or numbers as they look, "
    "or name the column in categorical_features."
)


def numbers_only(estimator: str) -> str:
    """What to do with texts and missing values that an estimator does not take."""
    return (
        f"{estimator} takes finite numbers only; DirichletGPClassifier takes texts, categories and "
        "missing values as they are. Otherwise make numbers of them first."
    )


def about_texts(error: ValueError, X: Any, way: str) -> ValueError:
    """An error about texts that names their column; any other error stays as it is.

    Parameters
    ----------
    error : ValueError
        What scikit-learn said when it was to make numbers of X.
    X : frame or array-like of shape (n, D)
    way : str
        What to do about it.
    """
    if "could not convert" not in str(error):
        return error
    frame = Frame(X)
    for place in range(frame.shape[1]):
        values = frame.values(place)
        texts = values.texts.distinct if isinstance(values, Words) else []
        wrong = [text for text in texts if np.isnan(as_number(text))]
        if wrong:
            column = _called(frame.names, place)
            found = f"X holds texts in column {column}, such as {wrong[0]!r}"
            return ValueError(f"{found}: could not convert them to numbers. {way}")
    return error


def refuse_unless_finite(X: AnyArray, names: list[str] | None, way: str) -> None:
    """`ValueError` that names the columns of X (n, D) with values that are no finite numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return
    for what, test in (("infinity", np.isinf), ("NaN (a missing value)", np.isnan)):
        wrong = test(X)
        places = np.flatnonzero(wrong.any(axis=0)).tolist()
        if places:
            first = int(np.flatnonzero(wrong[:, places[0]])[0])
            columns = ", ".join(_called(names, place) for place in places[:_MOST_NAMED])
            more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
            which = "column" if len(places) == 1 else "columns"
            raise ValueError(
                f"X holds {what} in {which} {columns}{more}, first in row {first}. {way}"
            )


def _called(names: list[str] | None, place: int) -> str:
    return repr(names[place]) if names else str(place)
