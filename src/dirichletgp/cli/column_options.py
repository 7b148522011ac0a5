"""What the command line is told of columns, where the guess would be wrong."""

from collections.abc import Iterable

from .._gp.rows.learning import Wishes
from .._gp.rows.tables.errors import TableError
from .._gp.rows.texts import BLANKS
from .labelled_table import did_you_mean, listed

_DECIMALS = (".", ",")


def wishes_of(
    columns: list[str],
    *,
    typed: bool,
    drop: Iterable[str] = (),
    numbers: Iterable[str] = (),
    categories: Iterable[str] = (),
    date_formats: Iterable[str] = (),
    decimal: str | None = None,
) -> Wishes:
    """What the learner of columns is to know.

    Parameters
    ----------
    columns : list of str
        Those of the table.
    typed : bool
        Whether its columns have types; those of CSV are texts.
    drop, numbers, categories : iterable of str
        Columns to leave out, and what others hold.
    date_formats : iterable of str
        COLUMN=FORMAT, or a format for all columns that follow it.
    decimal : {".", ","}, default=None
        The mark before fractions.
    """
    if decimal is not None and decimal not in _DECIMALS:
        raise TableError(f"--decimal {decimal!r} is not known; pass '.' or ','")
    dates, patterns = _formats(date_formats, columns)
    asked = {"--drop": drop, "--number": numbers, "--category": categories, "--date-format": dates}
    chosen: dict[str, str] = {}
    for option, names in asked.items():
        for name in names:
            if name not in columns:
                there = listed(columns)
                raise TableError(
                    f"{option} {name}: there is no such column; columns: {there}"
                    f"{did_you_mean(name, columns)}"
                )
            if chosen.setdefault(name, option) != option:
                raise TableError(f"column {name!r} is given to both {chosen[name]} and {option}")
    return Wishes(
        named_categories=frozenset(categories),
        numbers=frozenset(numbers),
        dates=dates,
        patterns=tuple(patterns),
        decimal=decimal,
        unused=frozenset(drop),
        blanks=BLANKS,
        typed=typed,
    )


def _formats(given: Iterable[str], columns: list[str]) -> tuple[dict[str, str], list[str]]:
    """Formats by column, and formats for all columns."""
    dates: dict[str, str] = {}
    patterns: list[str] = []
    for text in given:
        name, mark, pattern = text.partition("=")
        if mark:
            dates[name] = pattern
        else:
            patterns.append(text)
        if "%" not in (pattern or text):
            raise TableError(
                f"--date-format {text!r} is no format of dates; "
                "pass one such as %d.%m.%Y, or COLUMN=%d.%m.%Y"
            )
    return dates, patterns
