"""Rows to train on and rows to test on, with labels that a classifier can learn."""

from typing import Any, NamedTuple

import numpy as np

from .._gp.core.arrays import AnyArray, Integers
from .._gp.rows.tables.errors import TableError
from .._gp.rows.tables.recipe import target_texts
from .._gp.rows.texts import as_number

_MOST_CLASSES = 1_000
_MOST_NUMBERS = 50
_MOST_TEST_ROWS = 50_000


class SplitTable(NamedTuple):
    """Tables to train and to test on.

    Attributes
    ----------
    train, test : pyarrow.Table
    labels : ndarray
        Of the rows to train on.
    test_numbers : ndarray or None
        Which rows of the file were held out, counted from one; None if the test has its own file.
    """

    train: Any
    labels: AnyArray
    test: Any
    test_numbers: Integers | None = None


def class_labels(table: Any, target: str, name: str) -> AnyArray:
    """Labels (n,) as texts; `TableError` if they are not classes that can be learned."""
    texts = target_texts(table, target, name)
    n_classes = len(texts.distinct)
    if n_classes < 2:
        raise TableError(f"{name}: the target {target!r} has one class only, {texts.distinct[0]!r}")
    found = f"{name}: the target {target!r} has {n_classes:,} different"
    if not any(np.isnan(as_number(text)) for text in texts.distinct):
        if n_classes > _MOST_NUMBERS:
            raise TableError(f"{found} numbers; a number is estimated by regression")
    elif n_classes > _MOST_CLASSES:
        raise TableError(f"{found} texts; that is no class")
    return texts.per_row()


def hold_out(table: Any, labels: AnyArray, share: float, seed: int) -> SplitTable:
    """Hold rows out, in proportion from every class, of which at least one row is kept."""
    rng = np.random.default_rng(seed)
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
    return SplitTable(table.take(kept), labels[kept], table.take(held), held + 1)
