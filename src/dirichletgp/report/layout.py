"""Which card of the page stands where: two columns of about the same height, then the wide ones."""

from itertools import compress, product
from operator import not_
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
    # On paper a long table fills what columns left of a page; a matrix is cut only if it must be.
    tables = {"thresholds": n_classes > 2, "confusion": n_classes > _MANY_CLASSES}
    is_there = {
        "uncertainty": numbers.uncertainty is not None,
        "history": any(stage["bound_per_row"] for stage in numbers.history),
    }
    others = ["outcomes", "costs"]
    others += [card for card, is_wide in tables.items() if not is_wide]
    others += [card for card, there in is_there.items() if there]
    # Next to what everybody looks at first; on paper a list goes on where a chart does not fit.
    left = ["reliability", *(["relevance"] if numbers.relevance else [])]
    heights = {card: _height(card, numbers) for card in [*left, "rejection", "classwise", *others]}
    columns = _level((left, ["rejection"]), ["classwise", *others], heights)
    wide = [card for card, is_wide in tables.items() if is_wide]
    wide += ["regions"] if numbers.regions else []
    return Layout(columns, [*wide, "checks", "rows", "made"])


def _level(
    tops: tuple[list[str], list[str]], cards: list[str], heights: dict[str, float]
) -> tuple[list[str], list[str]]:
    """Columns with these tops and with all cards, of the most equal heights there are."""

    def apart(columns: tuple[list[str], list[str]]) -> float:
        left, right = (sum(heights[card] for card in column) for column in columns)
        return abs(left - right)

    ways = product((True, False), repeat=len(cards))
    return min(
        (
            (
                tops[0] + list(compress(cards, is_left)),
                tops[1] + list(compress(cards, map(not_, is_left))),
            )
            for is_left in ways
        ),
        key=apart,
    )


def _height(card: str, numbers: ReportNumbers) -> float:
    if card == "confusion":
        return 220.0 + 45.0 * len(numbers.classes)
    if card == "thresholds":
        return 190.0 + 57.0 * len(numbers.thresholds)
    if card == "relevance":
        return 150.0 + 48.0 * min(MOST_FEATURES, len(numbers.relevance))
    return float(_HEIGHTS[card])
