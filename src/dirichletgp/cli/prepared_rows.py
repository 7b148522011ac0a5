"""Rows of a table as training takes them: whatever can go wrong with them goes wrong here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._gp.core.arrays import AnyArray, Array
from .._gp.rows.arrays import ArrayRows
from .._gp.rows.columns import Columns, Matrix
from .._gp.rows.frames import Frame
from .._gp.rows.learning import Wishes, learned_columns
from ..report.cautions import few_rows_of_a_class
from .absent_columns import available_columns
from .cautions import copied_rows, telling_columns
from .labelled_table import LabelledTable
from .new_values import NewValues
from .table_model import used_columns
from .training_rows import SplitTable


class PreparedRows(NamedTuple):
    """Training rows as a matrix (n, D), their labels, and what the columns are."""

    X: Array
    rows: LabelledTable
    columns: Columns

    @property
    def labels(self) -> AnyArray:
        """The label of every row."""
        return self.rows.labels

    @classmethod
    def learned(cls, rows: LabelledTable, names: list[str], wishes: Wishes) -> "PreparedRows":
        """Learn from rows what these columns are."""
        features = rows.table.select(names)
        columns = learned_columns(Frame(features), wishes, rows.labels)
        return cls(columns.matrix(features, NewValues(accept=True)), rows, columns)

    def source(self) -> ArrayRows:
        """The rows as `fit` of a classifier takes them."""
        return ArrayRows(self.rows.training_rows(self.X), self.columns)


@dataclass(frozen=True)
class Experiment:
    """All that a fit and its test need, checked.

    Attributes
    ----------
    train : PreparedRows
    X_test : Matrix
    y_test : ndarray
    again : PreparedRows or None
        All rows, for the model that is kept; None: it is the one that was tested.
    cautions : list of str
        What to know before the scores are believed.
    """

    train: PreparedRows
    X_test: Matrix
    y_test: AnyArray
    again: PreparedRows | None
    cautions: list[str]

    @classmethod
    def prepared(
        cls,
        rows: LabelledTable,
        split: SplitTable,
        names: list[str],
        wishes: Wishes,
        test_name: str,
        refit: bool,
    ) -> "Experiment":
        """Learn what the columns are, and bring all rows into their form.

        Parameters
        ----------
        rows : LabelledTable
            All that may be learned from.
        split : SplitTable
        names : list of str
            Columns that may be used.
        wishes : Wishes
        test_name : str
            What the table of test rows is called in errors.
        refit : bool
            Whether a model of all rows is wanted too.
        """
        train = PreparedRows.learned(split.train, names, wishes)
        again = PreparedRows.learned(rows, names, wishes) if refit else None
        held_out = len(split.train.numbers) < len(rows.numbers)
        # What the rest of a table does not hold is nothing to note of rows that were held out.
        accept = NewValues(accept=True, quiet=held_out)
        needed, known = used_columns(train.columns), rows.table.column_names
        available_columns(needed, split.test.table.column_names, test_name, accept, known)
        X_test = Matrix.of(train.columns.matrix(split.test.table, accept, quiet=True))
        y_test = split.test.labels
        labels = split.train.texts.distinct
        cautions = [
            *few_rows_of_a_class(split.train.texts.codes, labels, "to learn from"),
            *few_rows_of_a_class(split.test.texts.codes, split.test.texts.distinct),
            *copied_rows((train.X, train.labels), (X_test, y_test), held_out),
            *_telling(train),
        ]
        return cls(train, X_test, y_test, again, cautions)


def _telling(rows: PreparedRows) -> list[str]:
    columns = rows.columns
    own: Sequence[str] = columns.names_in or []
    names = [own[j] for j in columns.origin.tolist()]
    _, codes = np.unique(rows.labels, return_inverse=True)
    return telling_columns(rows.X, codes, names, columns.levels > 0)
