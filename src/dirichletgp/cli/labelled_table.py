"""The rows of a table that have a label, and their labels as texts."""

from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from .._gp.core.arrays import AnyArray, Array, Integers
from .._gp.rows.in_memory import Chunk
from .._gp.rows.soft_labels import Votes, voted_rows
from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.values import texts_of
from .._gp.rows.texts import Texts, as_number
from .console import say

Target = str | tuple[str, ...]
"""The column of labels, or the columns of votes, each called after its class."""


class LabelledTable(NamedTuple):
    """Rows with labels.

    Attributes
    ----------
    table : pyarrow.Table
    texts : Texts
        The labels.
    numbers : ndarray of shape (n,)
        Which rows of the file they are, counted from one.
    votes : ndarray of shape (n, C) or None
        Votes for the different labels, of which the label is one; None: there are labels only.
    """

    table: Any
    texts: Texts
    numbers: Integers
    votes: Array | None = None

    @property
    def labels(self) -> AnyArray:
        """The label of every row, as a text."""
        return self.texts.per_row()

    def training_rows(self, X: AnyArray) -> Chunk:
        """The rows with the matrix X (n, D), and with their labels or all of their votes."""
        if self.votes is None:
            return Chunk(X, self.labels, None)
        return voted_rows(X, Votes(np.array(self.texts.distinct), self.votes), None)

    def part(self, positions: Integers) -> "LabelledTable":
        """Some of the rows."""
        texts = Texts(self.texts.distinct, self.texts.codes[positions])
        votes = None if self.votes is None else self.votes[positions]
        return LabelledTable(self.table.take(positions), texts, self.numbers[positions], votes)


def labelled(table: Any, target: str, name: str, drop_unlabelled: bool) -> LabelledTable:
    """The rows of a table that have a label; `TableError` if others may not be left out.

    Parameters
    ----------
    table : pyarrow.Table
    target : str
        The column of labels.
    name : str
        What the table is called in errors.
    drop_unlabelled : bool
        Whether rows without a label are left out.
    """
    check_column(table, target, name)
    texts = texts_of(table.column(target))
    kept = np.flatnonzero(texts.codes >= 0)
    n_missing = table.num_rows - len(kept)
    if not n_missing:
        return LabelledTable(table, texts, kept + 1)
    if not drop_unlabelled or not len(kept):
        first = int(np.flatnonzero(texts.codes < 0)[0]) + 1
        raise TableError(
            f"{name}: the target {target!r} is missing in {rows_in_words(n_missing)}, "
            f"the first is row {first}",
            "--drop-unlabelled to leave them out" if len(kept) else None,
        )
    left_out = "has no label and is" if n_missing == 1 else "have no label and are"
    say(f"note: {rows_in_words(n_missing)} of {name} {left_out} left out")
    return LabelledTable(table.take(kept), Texts(texts.distinct, texts.codes[kept]), kept + 1)


def rows_in_words(n: int) -> str:
    """So many rows."""
    return "1 row" if n == 1 else f"{n:,} rows"


def check_column(table: Any, target: str, name: str) -> None:
    """`TableError` if a table has no such column."""
    if target not in table.column_names:
        columns = listed(table.column_names)
        hint = ""
        if any(not np.isnan(as_number(column)) for column in table.column_names):
            hint = "; if these are values, the file has no line of names: put one before the first"
        raise TableError(
            f"{name} has no column {target!r}, the target; its columns: {columns}"
            f"{did_you_mean(target, table.column_names)}{hint}"
        )


def did_you_mean(wrong: str, names: list[str]) -> str:
    """The name that is most like a wrong one, for the end of a message; empty if none is like it.

    Examples
    --------
    >>> did_you_mean("survived", ["Name", "Survived"]), did_you_mean("age", ["Name", "Fare"])
    ("; did you mean 'Survived'?", '')
    """
    plain = {name.strip().casefold(): name for name in reversed(names)}
    close = get_close_matches(wrong.strip().casefold(), list(plain), n=1, cutoff=0.75)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def listed(names: list[str]) -> str:
    """The first names, for a message."""
    shown = ", ".join(names[:8])
    return f"{shown}, ..." if len(names) > 8 else shown
