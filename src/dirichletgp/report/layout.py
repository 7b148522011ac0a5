"""Which card of the page stands where: two columns of about the same height, then the wide ones."""

from typing import NamedTuple

from .numbers import ReportNumbers

# About how high cards are, in pixels, in a column of a desktop window.
_HEIGHTS = {
    "reliability": 760,
    "rejection": 640,
    "classwise": 760,
    "outcomes": 900,
    "costs": 640,
    "uncertainty": 690,
    "history": 530,
}
MANY_CLASSES = 10
"""With more classes, tables of all of them take the whole width."""
_MOST_BARS = 14


class Layout(NamedTuple):
    """Names of cards: those in two columns, and below them those of the whole width."""

    columns: tuple[list[str], list[str]]
    wide: list[str]


def layout_of(numbers: ReportNumbers) -> Layout:
    """Where the cards of a report stand."""
    n_classes = len(numbers.classes)
    tables = [
        ("confusion", n_classes > MANY_CLASSES),
        ("thresholds", n_classes > 2),
    ]
    is_there = {
        "uncertainty": numbers.uncertainty is not None,
        "relevance": bool(numbers.relevance),
        "history": any(stage["bound_per_row"] for stage in numbers.history),
    }
    narrow = ["reliability", "rejection", "classwise", "outcomes", "costs"]
    narrow += [card for card, is_wide in tables if not is_wide]
    narrow += [card for card, there in is_there.items() if there]
    wide = [card for card, is_wide in tables if is_wide] + ["checks", "rows", "made"]
    columns: tuple[list[str], list[str]]
    wide: list[str]


def layout_of(numbers: ReportNumbers) -> Layout:
    """Where the cards of a report stand."""
    many = len(numbers.classes) > MANY_CLASSES
    narrow = ["reliability", "rejection", "classwise"]
    wide = ["checks", "rows", "made"]
    (wide if many else narrow).insert(*((0 if many else 3), "confusion"))
    narrow += ["outcomes", "costs"]
    (wide if len(numbers.classes) > 2 else narrow).insert(1 if many else len(narrow), "thresholds")
    if numbers.uncertainty is not None:
        narrow.append("uncertainty")
    if numbers.relevance:
        narrow.append("relevance")
    if any(stage["bound_per_row"] for stage in numbers.history):
        narrow.append("history")
    columns: tuple[list[str], list[str]] = ([], [])
    heights = [0.0, 0.0]
    for card in narrow:
        shorter = int(heights[1] < heights[0])
        columns[shorter].append(card)
        heights[shorter] += _height(card, numbers)
    return Layout(columns, wide)


def _height(card: str, numbers: ReportNumbers) -> float:
    if card == "confusion":
        return 240.0 + 40.0 * len(numbers.classes)
    if card == "thresholds":
        return 180.0 + 53.0 * len(numbers.thresholds)
    if card == "relevance":
        return 130.0 + 46.0 * min(_MOST_BARS, len(numbers.relevance))
    return float(_HEIGHTS[card])
