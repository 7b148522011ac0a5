"""The rows of a table that have votes for classes, a column for each."""

from typing import Any

import numpy as np

from .._gp.core.arrays import Array
from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.values import numbers_of
from .._gp.rows.texts import Texts
from .console import say
from .labelled_table import LabelledTable, Target, check_column, labelled, rows_in_words


class VotesByClass:
    """Votes (n, C) as methods of a classifier take them: numbers in columns that have names."""

    def __init__(self, columns: list[str], votes: Array):
        self.columns = columns
        self.shape = votes.shape
        self._votes = votes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self._votes, dtype=dtype)


def one_or_several(targets: list[str]) -> Target:
    """What `--target` was given, once or repeatedly."""
    if len(targets) == 1:
        return targets[0]
    if len(set(targets)) < len(targets):
        raise TableError("--target is given the same column twice")
    return tuple(targets)


def labelled_or_voted(
    table: Any, target: Target, name: str, drop_unlabelled: bool, seed: int = 0
) -> LabelledTable:
    """The rows of a table that have a label, or votes if there are several target columns.

    Rows with votes are labelled with one of them, drawn in proportion: what they are tested with.

    Parameters
    ----------
    table : pyarrow.Table
    target : str or tuple of str
        The column of labels, or those of votes for the classes they are called after.
    name : str
        What the table is called in errors.
    drop_unlabelled : bool
        Whether rows without a label, or without votes, are left out.
    seed : int, default=0
        Decides which votes are drawn.
    """
    if isinstance(target, str):
        return labelled(table, target, name, drop_unlabelled)
    classes = sorted(target)
    votes = np.column_stack([_votes(table, column, name) for column in classes])
    totals = votes.sum(axis=1)
    kept = np.flatnonzero(totals > 0)
    n_missing = table.num_rows - len(kept)
    have = "has" if n_missing == 1 else "have"
    if n_missing and not (drop_unlabelled and len(kept)):
        first = int(np.flatnonzero(totals == 0)[0]) + 1
        raise TableError(
            f"{name}: {rows_in_words(n_missing)} {have} no votes, the first is row {first}",
            "--drop-unlabelled to leave them out" if len(kept) else None,
        )
    if n_missing:
        say(f"note: {rows_in_words(n_missing)} of {name} {have} no votes, left out")
    votes = votes[kept]
    codes = _drawn(votes, np.random.default_rng(seed))
    return LabelledTable(table.take(kept), Texts(classes, codes), kept + 1, votes)


def _votes(table: Any, column: str, name: str) -> Array:
    """The numbers (n,) of a column of votes."""
    check_column(table, column, name)
    votes = numbers_of(table.column(column))
    wrong = np.flatnonzero(~(votes >= 0))
    if len(wrong):
        row = int(wrong[0])
        found = table.column(column)[row].as_py()
        raise TableError(
            f"{name}: the target {column!r} holds {found!r} in row {row + 1}; "
            "of several targets each is a column of votes or probabilities, numbers of at least 0"
        )
    return votes


def _drawn(votes: Array, rng: np.random.Generator) -> Any:
    """One class (n,) for each row of votes (n, C), as likely as it has votes."""
    reached = np.cumsum(votes, axis=1)
    height = rng.random(len(votes)) * reached[:, -1]
    return np.sum(reached <= height[:, None], axis=1)
