"""Rows of tables whose columns are not all numbers, read a batch at a time.

What the columns are is learned from the first rows; of CSV, from texts. Later rows may hold
categories that are not known by then, and texts among numbers, which count as missing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import AnyArray, Array
from ...core.warning import warn_caller
from ..categorical import categorical_columns
from ..chunks import ChunkedSource
from ..columns import Columns
from ..frames import Frame
from ..in_memory import Chunk, Encoder, InMemoryRows, Summary
from ..kinds import Kind, Number
from ..learning import LEARNED_FROM, Wishes, labels_of, learned_columns
from ..texts import BLANKS, PLAIN
from .errors import NotNumbersError
from .table import Table, TableReader

if TYPE_CHECKING:
    from ..chunks import ChunkedRows
    from ..door import SampleSize


def mixed_table_rows(reader: TableReader, categorical: Any, watched: bool = False) -> "TableSource":
    """Rows of a table with columns of any kind; of CSV also if they seem to be numbers."""
    source = TableSource(reader, categorical, watched)
    seems_plain = reader.are_numbers and not np.size(categorical_of(reader, categorical))
    return source if seems_plain else source.with_kinds()


def categorical_of(reader: TableReader, categorical: Any) -> Any:
    """Positions of the columns that are asked to be categories."""
    chosen = categorical_columns(categorical, reader.names, len(reader.names))
    return [] if chosen is None else np.flatnonzero(chosen)


class MixedReader:
    """Rows of a table, turned into a matrix as they are read.

    Attributes
    ----------
    columns : Columns
    notes : dict
        By column, a sentence on what could not be read.
    """

    def __init__(self, reader: TableReader, categorical: Any):
        self._reader = reader
        self._texts = reader.table.as_texts(reader.names, frozenset())
        self.notes: dict[str, str] = {}
        wishes = Wishes(
            categories=categorical_columns(categorical, reader.names, len(reader.names)),
            blanks=BLANKS,
            typed=not reader.table.is_csv,
        )
        first = self._first_rows()
        features = Frame(first.select(reader.names))
        self.columns: Columns = learned_columns(features, wishes, self._labels(first))
        # Numbers are parsed much faster by the reader of the file.
        plain = frozenset(kind.name for kind in self.columns.kinds if _is_plain(kind))
        self._table: Table = reader.table.as_texts(reader.names, plain)

    def _first_rows(self) -> Any:
        import pyarrow as pa

        batches, n = [], 0
        for batch in self._texts.batches([*self._reader.names, *self._reader.labels]):
            batches.append(batch)
            n += batch.num_rows
            if n >= LEARNED_FROM:
                break
        if not batches:
            raise ValueError("X has no rows; pass at least one row of each of two classes.")
        return pa.Table.from_batches(batches)

    def _labels(self, rows: Any) -> AnyArray | None:
        """The labels of rows as texts; None if they have votes."""
        if len(self._reader.labels) > 1:
            return None
        labels = np.array(rows.column(self._reader.labels[0]).to_pylist(), dtype=object)
        return labels_of([labels], rows.num_rows)

    def read_as_texts(self) -> None:
        """From now on read numbers as texts, of which some cannot be read."""
        self._table = self._texts

    def blocks(self) -> Iterator[Chunk]:
        """All rows from the first on, a batch at a time."""
        return self._reader.chunks_of(self._table, self._matrix)

    def _matrix(self, batch: Any) -> Array:
        return self.columns.matrix(batch, self._note)

    def _note(self, column: str, sentence: str, _row: int | None) -> None:
        if "categories" not in sentence:
            self.notes.setdefault(column, sentence)


def _is_plain(kind: Kind) -> bool:
    return isinstance(kind, Number) and kind.style == PLAIN and not kind.mistakes


class TableSource:
    """Rows of a table, as training asks for them.

    Attributes
    ----------
    reader : TableReader or MixedReader
        The latter as soon as there is more than numbers.
    watched : bool
        Whether the summary has a fingerprint of all rows.
    """

    def __init__(self, reader: TableReader, categorical: Any, watched: bool = False):
        self.reader: TableReader | MixedReader = reader
        self.watched = watched
        self._plain = reader
        self._categorical = categorical

    def with_kinds(self) -> "TableSource":
        """The same rows with columns of any kind."""
        self.reader = MixedReader(self._plain, self._categorical)
        return self

    @property
    def columns(self) -> Columns:
        """What the columns are."""
        return self.reader.columns

    def summary(self, size: "SampleSize", seed: int) -> Summary:
        """One pass over the rows; another one if what began as numbers goes on as texts."""
        try:
            found = ChunkedSource(self.reader, self.watched).summary(size, seed)
        except NotNumbersError:
            reader = MixedReader(self._plain, self._categorical)
            reader.read_as_texts()
            self.reader = reader
            found = ChunkedSource(reader, self.watched).summary(size, seed)
        for sentence in getattr(self.reader, "notes", {}).values():
            warn_caller(f"X: {sentence}; they count as missing.", UserWarning)
        return found

    def labelled(self, encoder: Encoder, summary: Summary, sample: InMemoryRows) -> "ChunkedRows":
        """All rows, read again when their statistics are asked for."""
        return ChunkedSource(self.reader).labelled(encoder, summary, sample)
