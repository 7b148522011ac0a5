"""Rows that need not fit into memory: read a chunk at a time, any number of times.

Rows are regrouped into chunks whose size depends on the number of features alone, so that sums do
not depend on how a file happens to be cut. A chunk is read while the one before it is computed.
Every row of the first pass gets a random number; the sample is the rows with the smallest ones, and
of each class a few more, so that no class is missing from it. Parts can be summed up apart and put
together.
"""

import hashlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ..core.arrays import AnyArray, Array, Booleans, Integers
from ..core.parallel import Workers
from ..core.regressions import Basis
from ..core.statistics import ClassStatistics
from .door import missing_in
from .in_memory import Chunk, Encoder, InMemoryRows, Summary

if TYPE_CHECKING:
    from .columns import Columns
    from .door import PassObserver, SampleSize

Item = TypeVar("Item")

_CHUNK_BYTES = 2**24
_FEWEST_ROWS, _MOST_ROWS = 1_024, 65_536
_ROWS_OF_EACH_CLASS = 20
_WAIT = 0.1  # seconds after which a reader looks whether it is still wanted


def joined(chunks: list[Chunk]) -> Chunk:
    """Chunks one after the other."""
    if len(chunks) == 1:
        return chunks[0]
    weights = None
    if any(chunk.weights is not None for chunk in chunks):
        ones = (np.ones(len(chunk.labels)) for chunk in chunks)
        given = zip(chunks, ones, strict=True)
        weights = np.concatenate([one if c.weights is None else c.weights for c, one in given])
    X = np.concatenate([chunk.X for chunk in chunks])
    return Chunk(X, np.concatenate([chunk.labels for chunk in chunks]), weights)


class Reader(Protocol):
    """Rows that can be read again and again, always in the same order."""

    @property
    def columns(self) -> "Columns":
        """What the columns are."""

    def blocks(self) -> Iterator[Chunk]:
        """All rows from the first on, in pieces of any size, checked."""


def summary_of(chunks: Iterable[Chunk], size: int, seed: Any) -> Summary:
    """Read all chunks, keeping a sample of `size` rows."""
    rng = np.random.default_rng(seed)
    parts: list[Summary] = []
    n_kept, limit = 0, 1.0
    for chunk in chunks:
        parts.append(_summary_of_chunk(chunk, rng.random(len(chunk.labels)), limit))
        n_kept += len(parts[-1].priorities)
        if n_kept > size:
            parts = [put_together(parts, size)]
            n_kept = 0
            if len(parts[0].priorities) >= size:
                limit = float(np.sort(parts[0].priorities)[size - 1])
    if not parts:
        raise ValueError(
            "X has no rows with a positive weight; pass at least one row of each of two classes."
        )
    return put_together(parts, size)


def _summary_of_chunk(chunk: Chunk, priorities: Array, limit: float) -> Summary:
    """The summary of one chunk, with only rows that may still be in the sample."""
    labels, codes = np.unique(chunk.labels, return_inverse=True)
    weights = np.bincount(codes, chunk.weights).astype(np.float64)
    chosen = _few_of_each(codes, priorities) | (priorities <= limit)
    missing = missing_in(chunk.X, None)
    return Summary(len(codes), labels, weights, chunk.part(chosen), priorities[chosen], missing)


def put_together(parts: list[Summary], size: int) -> Summary:
    """The summary of parts that follow each other."""
    all_labels = np.concatenate([part.labels for part in parts])
    all_weights = np.concatenate([part.class_totals for part in parts])
    labels, place = np.unique(all_labels, return_inverse=True)
    weights = np.bincount(place, all_weights).astype(np.float64)
    sample = joined([part.sample for part in parts])
    priorities = np.concatenate([part.priorities for part in parts])
    chosen = _chosen(sample.labels, priorities, size)
    n_rows = sum(part.n_rows for part in parts)
    found = [part.missing for part in parts if part.missing is not None]
    missing = np.any(found, axis=0) if found else None
    return Summary(n_rows, labels, weights, sample.part(chosen), priorities[chosen], missing)


def _chosen(labels: AnyArray, priorities: Array, size: int) -> Booleans:
    """Which rows are in the sample: the smallest numbers, and the smallest few of each class."""
    if len(labels) <= size:
        return np.ones(len(labels), dtype=bool)
    codes = np.unique(labels, return_inverse=True)[1]
    limit = np.partition(priorities, size - 1)[size - 1]
    return _few_of_each(codes, priorities) | (priorities <= limit)


def _few_of_each(codes: Integers, priorities: Array) -> Booleans:
    order = np.lexsort([priorities, codes])
    starts = np.searchsorted(codes[order], codes[order], side="left")
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[order[np.arange(len(codes)) - starts < _ROWS_OF_EACH_CLASS]] = True
    return chosen


@dataclass(frozen=True)
class ChunkedSource:
    """Rows of a reader, as training asks for them.

    Attributes
    ----------
    reader : Reader
    watched : bool
        Whether the summary has a fingerprint of all rows: a fit that goes on must find the same.
    """

    reader: Reader
    watched: bool = False

    @property
    def columns(self) -> "Columns":
        """Those of the reader."""
        return self.reader.columns

    def summary(self, size: "SampleSize", seed: int) -> Summary:
        """One pass over the rows; a sample of them stays in memory."""
        digest = hashlib.sha256()
        with closing(chunks(self.reader)) as parts:
            first = next(parts, None)
            if first is None:
                return summary_of([], 0, seed)
            rows = _with_first(first, parts)
            if self.watched:
                rows = _fingerprinted(rows, digest)
            found = summary_of(rows, size.rows(first.X.shape[1]), seed)
        return replace(found, fingerprint=digest.digest()) if self.watched else found

    def labelled(self, encoder: Encoder, summary: Summary, sample: InMemoryRows) -> "ChunkedRows":
        """All rows, read again when their statistics are asked for."""
        return ChunkedRows(self.reader, encoder, summary.n_rows)


def _with_first(first: Item, rest: Iterable[Item]) -> Iterator[Item]:
    yield first
    yield from rest


def _fingerprinted(parts: Iterable[Chunk], digest: Any) -> Iterator[Chunk]:
    """The same chunks, of which each leaves its fingerprint in the digest."""
    for part in parts:
        digest.update(part.fingerprint())
        yield part


@dataclass(frozen=True)
class ChunkedRows:
    """All rows of a reader, coded and scaled as they are read."""

    reader: Reader
    encoder: Encoder
    n_rows: int

    def class_statistics(
        self, basis: Basis, workers: Workers, observer: "PassObserver", pooled: bool = False
    ) -> ClassStatistics:
        """One pass over the rows in their order, so that it can be taken up again."""
        empty = basis.no_statistics(len(self.encoder.classes), pooled)
        total, done = observer.resumed() or (empty, 0)
        observer.begin(done, self.n_rows)
        with closing(chunks(self.reader, done)) as parts:
            for chunk in parts:
                basis.add_rows(total, self.encoder.rows(chunk), workers)
                done += len(chunk.labels)
                observer.advance(total, done)
        if done != self.n_rows:
            raise ValueError(
                f"X changed while it was read: it had {self.n_rows} rows at first, then {done}."
            )
        return total

    def bound_rows(self, sample: InMemoryRows, wanted: int) -> InMemoryRows:
        """The sample: a pass over all rows per evaluation would take too long."""
        return sample


def chunks(reader: Reader, start: int = 0) -> Generator[Chunk, None, None]:
    """The rows from row `start` (at the edge of a chunk) on, in chunks of one size, read ahead."""
    blocks = regrouped(reader.blocks(), reader.columns)
    return read_ahead(_skipped(blocks, start))


def chunk_rows(n_features: int) -> int:
    """Rows per chunk."""
    return int(np.clip(_CHUNK_BYTES // (8 * n_features), _FEWEST_ROWS, _MOST_ROWS))


def regrouped(blocks: Iterable[Chunk], columns: "Columns | None" = None) -> Iterator[Chunk]:
    """The same rows in chunks of one size, finite, without those of weight zero."""
    kept: list[Chunk] = []
    n_kept, size, n_features = 0, 0, 0
    # Others were looked through when they became a matrix.
    plain = columns is None or columns.is_plain
    names = None if columns is None else columns.names_in
    for block in blocks:
        block = block.of_positive_weight()
        if plain:
            missing_in(block.X, names)
        if not size:
            n_features = block.X.shape[1]
            size = chunk_rows(n_features)
        if block.X.shape[1] != n_features:
            raise ValueError(
                f"a block has {block.X.shape[1]} columns, but the first one has {n_features}."
            )
        while n_kept + len(block.labels) >= size:
            missing = size - n_kept
            yield joined([*kept, block.part(slice(0, missing))])
            block = block.part(slice(missing, None))
            kept, n_kept = [], 0
        if len(block.labels):
            kept.append(block)
            n_kept += len(block.labels)
    if kept:
        yield joined(kept)


def _skipped(parts: Iterator[Chunk], start: int) -> Iterator[Chunk]:
    for part in parts:
        if start <= 0:
            yield part
        start -= len(part.labels)


def read_ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """The same items, each prepared by a thread of its own while the one before is used."""
    ready: Queue[tuple[bool, Any]] = Queue(maxsize=1)
    unwanted = Event()

    def offer(message: tuple[bool, Any]) -> bool:
        while not unwanted.is_set():
            try:
                ready.put(message, timeout=_WAIT)
                return True
            except Full:
                continue
        return False

    def read() -> None:
        try:
            for item in items:
                if not offer((True, item)):
                    return
            offer((False, None))
        except BaseException as error:
            offer((False, error))

    reader = Thread(target=read, name="dirichletgp-reader")
    reader.start()
    try:
        while True:
            try:
                more, item = ready.get(timeout=_WAIT)
            except Empty:
                continue
            if not more:
                if item is not None:
                    raise item
                return
            yield item
            del item
    finally:
        unwanted.set()
        reader.join()
