"""Rows to train on and rows to test on, with labels that a classifier can learn."""

from typing import NamedTuple

import numpy as np

from .._gp.rows.tables.errors import TableError
from .._gp.rows.texts import as_number
from .labelled_table import LabelledTable, Target

_MOST_CLASSES = 1_000
_MOST_NUMBERS = 50
# Of so many values, more than this share of them different, none is a class to learn.
_FEWEST_DIFFERENT, _NEARLY_ALL = 20, 0.9
_MOST_TEST_ROWS = 50_000


class SplitTable(NamedTuple):
    """Rows to train and to test on."""

    train: LabelledTable
    test: LabelledTable


def check_classes(rows: LabelledTable, target: Target, name: str) -> None:
    """`TableError` if labels are not classes that can be learned."""
    if rows.votes is not None:
        nobody = np.flatnonzero(rows.votes.sum(axis=0) == 0)
        if len(nobody):
            column = rows.texts.distinct[nobody[0]]
            raise TableError(f"{name}: nobody votes for the target {column!r}; leave it out")
        return
    texts = rows.texts
    n_classes = len(texts.distinct)
    if n_classes < 2:
        raise TableError(f"{name}: the target {target!r} has one class only, {texts.distinct[0]!r}")
    n_rows = len(rows.numbers)
    unique = n_rows >= _FEWEST_DIFFERENT and n_classes > _NEARLY_ALL * n_rows
    why = f"; of {n_rows:,} values nearly all are different" if unique else ""
    found = f"{name}: the target {target!r} has {n_classes:,} different"
    if not any(np.isnan(as_number(text)) for text in texts.distinct):
        if unique or n_classes > _MOST_NUMBERS:
            raise TableError(f"{found} numbers; a number is estimated by regression{why}")
    elif unique or n_classes > _MOST_CLASSES:
        raise TableError(f"{found} texts; that is no class{why}")


def hold_out(rows: LabelledTable, share: float, seed: int) -> SplitTable:
    """Hold rows out, in proportion from every class, of which at least one row is kept."""
    rng = np.random.default_rng(seed)
    labels = rows.labels
    share = min(share, _MOST_TEST_ROWS / len(labels))
    held_per_class = []
    for label in np.unique(labels):
        own = rng.permutation(np.flatnonzero(labels == label))
        n_held = min(len(own) - 1, round(share * len(own)))
        held_per_class.append(own[:n_held])
    held = np.sort(np.concatenate(held_per_class))
    if len(held) == 0:
        raise TableError(
            "no class has rows enough to hold some out; pass another --target, more rows, or --test"
        )
    kept = np.setdiff1d(np.arange(len(labels)), held)
    return SplitTable(rows.part(kept), rows.part(held))
