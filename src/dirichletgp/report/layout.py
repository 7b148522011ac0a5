"""Which card of the page stands where: two columns of about the same height, then the wide ones."""

from typing import NamedTuple

from .directions import MOST_FEATURES
from .numbers import ReportNumbers

# About how high cards are, in pixels, in a column of a desktop window.
_HEIGHTS = {
    "reliability": 790,
    "rejection": 700,
    "classwise": 860,
    "outcomes": 1080,
    "costs": 660,
    "uncertainty": 690,
    "history": 610,
}
_MANY_CLASSES = 10


class Layout(NamedTuple):
    """Names of cards: those in two columns, and below them those of the whole width."""

    columns: tuple[list[str], list[str]]
    wide: list[str]


def layout_of(numbers: ReportNumbers) -> Layout:
    """Where the cards of a report stand; tables of many classes take the whole width."""
    n_classes = len(numbers.classes)
    # On paper a long table fills what the columns left of a page; a matrix cannot be cut.
    tables = {"thresholds": n_classes > 2, "confusion": n_classes > _MANY_CLASSES}
    is_there = {
        "uncertainty": numbers.uncertainty is not None,
        "history": any(stage["bound_per_row"] for stage in numbers.history),
    }
    others = ["outcomes", "costs"]
    others += [card for card, is_wide in tables.items() if not is_wide]
    others += [card for card, there in is_there.items() if there]
    # The highest first: the small ones then level the columns.
    others.sort(key=lambda card: -_height(card, numbers))
    # Next to what everybody looks at first; on paper a list goes on where a chart does not fit.
    first = ["reliability", *(["relevance"] if numbers.relevance else [])]
    columns: tuple[list[str], list[str]] = (first, [])
    heights = [sum(_height(card, numbers) for card in first), 0.0]
    for card in ["rejection", "classwise", *others]:
        shorter = int(heights[1] < heights[0])
        columns[shorter].append(card)
        heights[shorter] += _height(card, numbers)
    wide = [card for card, is_wide in tables.items() if is_wide]
    wide += ["regions"] if numbers.regions else []
    return Layout(columns, [*wide, "checks", "rows", "made"])


def _height(card: str, numbers: ReportNumbers) -> float:
    if card == "confusion":
        return 220.0 + 45.0 * len(numbers.classes)
    if card == "thresholds":
        return 190.0 + 57.0 * len(numbers.thresholds)
    if card == "relevance":
        return 150.0 + 48.0 * min(MOST_FEATURES, len(numbers.relevance))
    return float(_HEIGHTS[card])
