"""Learning a recipe: what each column of a table holds, decided from all of its values."""

from typing import Any

import numpy as np

from ...core.arrays import Array
from ..texts import DATE_PATTERNS, Texts, as_days, as_number
from .columns import Category, Column, Date, Number, Unused
from .errors import TableError
from .recipe import Recipe, listed
from .values import days_of, kind_of, numbers_of, texts_of

MOST_CATEGORIES = 30
_FEWEST_PER_CATEGORY = 5
# Texts of which more than this share is distinct are names or sentences, not categories.
_MOST_LIKE_NAMES = 0.5
_FEWEST_TO_NUMBER = 20


def learn_recipe(table: Any, target: str, unused: tuple[str, ...] = ()) -> Recipe:
    """The recipe of a table of training rows; `unused` columns are left out."""
    for name in unused:
        if name not in table.column_names:
            columns_there = listed(table.column_names)
            raise TableError(f"there is no column {name!r} to leave out; columns: {columns_there}")
    columns: list[Column] = []
    for name in table.column_names:
        if name == target:
            continue
        asked = Unused(name, "as asked")
        columns.append(asked if name in unused else _learned(name, table.column(name)))
    recipe = Recipe(target, columns)
    if not recipe.features:
        reasons = "; ".join(f"{column.name}: {column.treatment}" for column in columns[:3])
        raise TableError(f"no column can be used: {reasons}")
    return recipe


def _learned(name: str, array: Any) -> Column:
    kind = kind_of(array)
    if kind == "unknown":
        return Unused(name, f"values of type {array.type}")
    if kind == "number":
        return _learned_number(name, numbers_of(array))
    if kind == "date":
        return _learned_date(name, "iso", days_of(array, "iso"))
    texts = texts_of(array)
    if not texts.distinct:
        return Unused(name, "empty")
    if not any(np.isnan(as_number(text)) for text in texts.distinct):
        return _learned_number(name, texts.mapped(as_number))
    pattern = _date_pattern(texts.distinct)
    if pattern is not None:
        return _learned_date(name, pattern, days_of(array, pattern))
    return _learned_category(name, texts)


def _learned_number(name: str, values: Array) -> Column:
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return Unused(name, "empty")
    if len(present) == len(values) and _numbers_rows(values):
        return Unused(name, "it numbers the rows")
    if present.min() == present.max() and len(present) == len(values):
        return Unused(name, f"always {present[0]:.4g}")
    return Number(name, float(np.median(present)), len(present) < len(values))


def _numbers_rows(values: Array) -> bool:
    """Whether values count the rows, of which some may have been held out."""
    if len(values) < _FEWEST_TO_NUMBER or np.any(values != np.floor(values)):
        return False
    rising = bool(np.all(np.diff(values) > 0))
    return rising and bool(values[-1] - values[0] < 2 * len(values))


def _learned_date(name: str, pattern: str, days: Array) -> Column:
    present = days[~np.isnan(days)]
    if len(present) == 0:
        return Unused(name, "empty")
    if present.min() == present.max():
        return Unused(name, "always the same date")
    parts = ["day"]
    if np.ptp(present) > 60:
        parts += ["season", "season2"]
    if np.ptp(present) > 7:
        parts.append("weekday")
    if np.ptp(present % 1) > 0:
        parts.append("hour")
    return Date(name, pattern, parts, float(np.median(present)), len(present) < len(days))


def _learned_category(name: str, texts: Texts) -> Column:
    counts = texts.counts
    missing = bool(np.any(texts.codes < 0))
    if len(counts) == 1 and not missing:
        return Unused(name, f"always {texts.distinct[0]!r}")
    if len(counts) > max(MOST_CATEGORIES, _MOST_LIKE_NAMES * counts.sum()):
        return Unused(name, _why_no_categories(texts.distinct))
    order = np.argsort(-counts, kind="stable")
    kept = order[:MOST_CATEGORIES]
    # A category seen a few times cannot be learned on its own; put together the rare ones stand for
    # all that is rare.
    often = kept[counts[kept] >= min(_FEWEST_PER_CATEGORY, counts.max())]
    if len(often) < len(counts) - 1:
        kept = often
    categories = sorted(texts.distinct[code] for code in kept)
    return Category(name, categories, len(kept) < len(counts), missing)


def _why_no_categories(distinct: list[str]) -> str:
    example = distinct[0]
    plain = "".join(mark for mark in example if mark not in "$€£¥%, '")
    reason = f"{len(distinct):,} different texts, nearly one per row, such as {example!r}"
    if np.isnan(as_number(plain)):
        return reason
    return f"{reason}; as plain numbers they could be used"


def _date_pattern(texts: list[str]) -> str | None:
    """The first pattern that all texts follow, or None."""
    for pattern in DATE_PATTERNS:
        if not any(np.isnan(as_days(text, pattern)) for text in texts):
            return pattern
    return None
