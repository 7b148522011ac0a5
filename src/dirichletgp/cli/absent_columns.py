"""Columns that a model needs and a table has not, or calls otherwise."""

from collections.abc import Iterable

from .._gp.rows.tables.errors import TableError
from .labelled_table import did_you_mean
from .new_values import NewValues


def available_columns(
    needed: list[str],
    columns: list[str],
    name: str,
    new_values: NewValues,
    known: Iterable[str] = (),
    all_of_them: bool = False,
) -> list[str]:
    """The needed columns among those of a table; an error or a warning if some are absent.

    A column that is there under a name that differs in case, spaces or punctuation only is an
    error in any case: it is not missing.

    Parameters
    ----------
    needed : list of str
        Columns that the model uses.
    columns : list of str
        Those of the table.
    name : str
        What the table is called in errors.
    new_values : NewValues
        Says whether columns may be absent.
    known : iterable of str
        Further columns that are what they are called, such as the target.
    all_of_them : bool, default=False
        Whether none may be absent.
    """
    absent = [column for column in needed if column not in columns]
    if not absent:
        return needed
    taken = {*needed, *known}
    free = [column for column in columns if column not in taken]
    for column in absent:
        other = _same_name(column, free)
        if other is not None:
            reason = _reason(name, column, len(absent) - 1)
            raise TableError(f"{reason}; did you mean {other!r}? Rename that column")
    reason = _reason(name, absent[0], len(absent) - 1)
    hint = did_you_mean(absent[0], free)
    if all_of_them or len(absent) == len(needed):
        raise TableError(f"{reason}{hint}")
    new_values.absent(absent, reason, hint)
    return [column for column in needed if column in columns]


def _reason(name: str, column: str, n_others: int) -> str:
    more = f" and {n_others} more" if n_others else ""
    return f"{name} has no column {column!r}{more}, which the model needs"


def _same_name(wanted: str, names: list[str]) -> str | None:
    """The first name with the same letters and digits, in whatever case; None if there is none."""
    letters = _letters(wanted)
    return next((name for name in names if letters and _letters(name) == letters), None)


def _letters(name: str) -> str:
    """What is left of a name without case, spaces and punctuation.

    Examples
    --------
    >>> _letters(" Body-Mass (g)"), _letters("body_mass_g")
    ('bodymassg', 'bodymassg')
    """
    return "".join(mark for mark in name.casefold() if mark.isalnum())
