"""Rows worth looking at, and where their uncertainty comes from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._gp.core.arrays import Array, Booleans, Integers
from .._gp.rows.texts import in_figures

_PER_LIST = 6
_MOST_COLUMNS = 6
_MOST_POINTS = 1_200
_SURE = 0.8


@dataclass(frozen=True)
class ExaminedRows:
    """Rows with what the model says about them.

    Attributes
    ----------
    numbers : ndarray of shape (n,)
        Which rows of the table they are.
    prob : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Columns of the true classes.
    lower, upper : ndarray of shape (n, C) or None
    uncertainty : ndarray of shape (3, n) or None
        Total, aleatoric, epistemic.
    """

    numbers: Integers
    prob: Array
    codes: Integers
    lower: Array | None
    upper: Array | None
    uncertainty: Array | None

    @property
    def correct(self) -> Booleans:
        """Whether the likeliest class is the true one, of shape (n,)."""
        return np.asarray(self.prob.argmax(axis=1) == self.codes)


def notable_rows(
    examined: ExaminedRows, shown: Any, labels: list[str], preferred: list[str]
) -> dict[str, Any]:
    """The least certain, the most certain, and the most certain wrong rows.

    Parameters
    ----------
    examined : ExaminedRows
    shown : DataFrame or array-like of shape (n, D), or None
        The rows as people know them; None: what is in them is not told.
    labels : list of str
    preferred : list of str
        Names of features, the most relevant first: columns that stand in them are shown first.
    """
    confidence = examined.prob.max(axis=1)
    order = np.argsort(confidence, kind="stable")
    wrong = order[~examined.correct[order]][::-1]
    names, places = _columns(shown, preferred)
    lists = {
        "least": order[:_PER_LIST],
        "most": order[::-1][:_PER_LIST],
        "wrong": wrong[:_PER_LIST],
    }
    entries = {
        kind: [_entry(examined, int(place), shown, places, labels) for place in chosen]
        for kind, chosen in lists.items()
    }
    return {"columns": names, "source": getattr(shown, "source", None), **entries}


def _columns(shown: Any, preferred: list[str]) -> tuple[list[str], list[int]]:
    """Names and places of the columns to show."""
    if shown is None:
        return [], []
    if hasattr(shown, "columns"):
        names = [str(name) for name in shown.columns]
    else:
        names = [f"x{j}" for j in range(np.shape(shown)[1])]
    places: list[int] = []
    for feature in preferred:
        # A prepared feature is named after its column, "sex_Male" after "sex".
        for j, name in enumerate(names):
            own = feature == name or feature.startswith(f"{name}_")
            if own and j not in places:
                places.append(j)
    places += [j for j in range(len(names)) if j not in places]
    places = places[:_MOST_COLUMNS]
    return [names[j] for j in places], places


def _entry(
    examined: ExaminedRows, place: int, shown: Any, places: list[int], labels: list[str]
) -> dict[str, Any]:
    best = int(examined.prob[place].argmax())
    number = int(examined.numbers[place])
    values = _values(shown, number) if places else []
    entry: dict[str, Any] = {
        "row": _number(shown, number),
        "true": labels[int(examined.codes[place])],
        "predicted": labels[best],
        "confidence": float(examined.prob[place, best]),
        "values": [_text(values[j]) for j in places],
    }
    if examined.lower is not None and examined.upper is not None:
        entry["lower"] = float(examined.lower[place, best])
        entry["upper"] = float(examined.upper[place, best])
    if examined.uncertainty is not None:
        entry["aleatoric"] = float(examined.uncertainty[1, place])
        entry["epistemic"] = float(examined.uncertainty[2, place])
    return entry


def _values(shown: Any, place: int) -> list[Any]:
    """The values of a row of a DataFrame (pandas' or polars') or of an array."""
    row = shown.iloc[place] if hasattr(shown, "iloc") else shown[place]
    if hasattr(row, "to_list"):
        return list(row.to_list())
    return list(row.row(0)) if hasattr(row, "row") else list(row)


def _number(shown: Any, place: int) -> int:
    """The number of a row where it comes from, if that is known; counted from one."""
    return int(shown.numbers[place]) if hasattr(shown, "numbers") else place + 1


def _text(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    if missing or str(value).strip() in ("", "NaT", "<NA>"):
        return "\u2013"
    if isinstance(value, float | np.floating):
        return in_figures(float(value))
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def uncertainty_sample(
    examined: ExaminedRows, shown: Any, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Some rows with both uncertainties, and shares of all.

    None if the model does not tell them apart.
    """
    if examined.uncertainty is None:
        return None
    _, aleatoric, epistemic = np.maximum(examined.uncertainty, 0.0)
    n = len(aleatoric)
    chosen = np.sort(rng.choice(n, min(n, _MOST_POINTS), replace=False))
    # The rows with the most to learn from are few; they are always shown.
    chosen = np.union1d(chosen, np.argsort(-epistemic, kind="stable")[:30])
    unsure = examined.prob.max(axis=1) < _SURE
    mainly_epistemic = unsure & (epistemic > aleatoric)
    points = [
        [
            float(aleatoric[i]),
            float(epistemic[i]),
            bool(examined.correct[i]),
            _number(shown, int(examined.numbers[i])),
        ]
        for i in chosen.tolist()
    ]
    return {
        "points": points,
        "examined": n,
        "unsure": float(unsure.mean()),
        "mainly_epistemic": float(mainly_epistemic.sum() / max(1, unsure.sum())),
        "aleatoric": float(aleatoric.mean()),
        "epistemic": float(epistemic.mean()),
    }
