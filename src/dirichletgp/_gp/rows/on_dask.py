"""Rows on a Dask cluster: chunks are summed up where they lie, results are added in a tree.

What travels is a sample of the rows once, the model's basis to the workers, and class statistics
between them; with a kernel learned from all rows, also derivatives and gradients. Chunks are
independent: a worker that is lost costs its chunks, which Dask computes again elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.kernels import Kernel, KernelGradient
from ..core.parallel import Workers
from ..core.regressions import Basis
from ..core.statistics import (
    BoundStatistics,
    ClassStatistics,
    RowDerivatives,
    pull_back,
    sum_of_gradients,
)
from .arrays import refuse_missing_labels
from .categorical import asks_for_categories, categorical_columns
from .chunks import put_together, summary_of
from .columns import Columns
from .door import is_frame, missing_in
from .frames import Frame, has_numbers_only, stacked
from .in_memory import Chunk, Encoder, InMemoryRows, Summary
from .learning import LEARNED_FROM, Wishes, learned_columns
from .weights import sample_weights

if TYPE_CHECKING:
    from ..core.regional import RegionalBasis
    from .door import Given, PassObserver, SampleSize
    from .regions_on_dask import Solve, Solved

_BRANCHES = 4  # how many results are added at once


class DaskRows:
    """Rows of a Dask array or dataframe, one delayed chunk per partition.

    Attributes
    ----------
    columns : Columns
    chunks : list of delayed Chunk
    """

    def __init__(self, given: "Given"):
        X, y, sample_weight = given.X, given.y, given.sample_weight
        if given.in_pieces:
            raise ValueError(
                "checkpoint is for rows read here; on a cluster Dask repeats what was lost. "
                "Leave it out."
            )
        if type(y).__module__.partition(".")[0] not in ("dask", "dask_expr") or not (
            sample_weight is None or hasattr(sample_weight, "dask")
        ):
            raise TypeError(
                "with X on Dask, y and sample_weight must be Dask collections too, "
                "with the same chunks."
            )
        columns = [_parts(X, "X"), _parts(y, "y")]
        if sample_weight is not None:
            columns.append(_parts(sample_weight, "sample_weight"))
        if len({len(column) for column in columns}) > 1:
            raise ValueError(
                f"X has {len(columns[0])} chunks, but y (or sample_weight) has "
                f"{[len(c) for c in columns[1:]]}; rechunk or repartition them alike."
            )
        from dask import delayed

        self.columns = _columns_of(X, columns[0], given.categorical)
        # A node of its own: sent to each worker once.
        sent = delayed(self.columns, traverse=False)
        # pure: the same chunk has the same name, so what a worker has read is not read again.
        chunk = delayed(_chunk, pure=True)
        self.chunks = [chunk(sent, *parts) for parts in zip(*columns, strict=True)]

    def summary(self, size: "SampleSize", seed: int) -> Summary:
        """Classes, and a sample of the rows: the only rows that leave the workers."""
        from dask import delayed

        n_rows = size.rows_to_fetch(len(self.columns.levels))
        of_chunk = delayed(_summary_of_chunk, pure=True)
        parts = [of_chunk(chunk, n_rows, (seed, i)) for i, chunk in enumerate(self.chunks)]
        join = delayed(_summaries_together, pure=True)
        found: Summary | None = _tree(parts, join, n_rows).compute()
        return summary_of([], 0, seed) if found is None else found

    def labelled(
        self, encoder: Encoder, summary: Summary, sample: InMemoryRows
    ) -> "LabelledDaskRows":
        """All rows, where they are."""
        factors = 1.0 if encoder.class_factors is None else encoder.class_factors
        n_sampled = len(sample)
        rest = summary.n_rows - n_sampled
        return LabelledDaskRows(
            self.chunks, encoder, summary.class_totals * factors, n_sampled if rest > 0 else None
        )


@dataclass(frozen=True)
class LabelledDaskRows:
    """All rows of a collection, coded and scaled by the workers.

    Attributes
    ----------
    chunks : list of delayed Chunk
    encoder : Encoder
    class_weights : ndarray of shape (C,)
    n_sampled : int or None
        How many rows are in the sample, if they are not all.
    """

    chunks: list[Any]
    encoder: Encoder
    class_weights: Array
    n_sampled: int | None

    def class_statistics(
        self, basis: Basis, workers: Workers, observer: "PassObserver", pooled: bool = False
    ) -> ClassStatistics:
        """The class statistics of all rows."""
        total: ClassStatistics = self._summed(_sums_of_chunk, _sum, basis, pooled)
        return total

    def solved_regions(self, basis: "RegionalBasis", solve: "Solve") -> "Solved":
        """Sums of each region, and what `solve` makes of its basis, jitter and sums."""
        from .regions_on_dask import solved_regions

        found: Solved = solved_regions(self.chunks, self.encoder, basis, solve)
        return found

    def bound_rows(self, sample: InMemoryRows, wanted: int) -> "InMemoryRows | LabelledDaskRows":
        """The sample; all rows, where they are, if more than were sampled are wanted."""
        return self if self.n_sampled is not None and wanted > self.n_sampled else sample

    def bound_statistics(
        self, kernel: Kernel, points: Array, workers: Workers, pooled: bool = False
    ) -> BoundStatistics:
        """The first pass: every class has a Gram, since rows do not travel."""
        values = partial(_kernel_values, kernel, points)
        n_points = len(points)
        total = self._summed(_statistics_of_chunk, _sum, values, n_points, pooled)
        if pooled:
            return BoundStatistics.pooled_from(total)
        grams = dict(enumerate(total.grams))
        nothing = np.zeros((n_points, n_points))
        return BoundStatistics(total.counts, total.sums, grams, {}, nothing)

    def pull_back(
        self, by_row: RowDerivatives, kernel: Kernel, points: Array, workers: Workers
    ) -> KernelGradient:
        """The second pass."""
        found: KernelGradient = self._summed(
            _gradient_of_chunk, sum_of_gradients, by_row, kernel, points
        )
        return found

    def _summed(self, function: Callable[..., Any], join: Callable[..., Any], *task: Any) -> Any:
        """A function of encoder, task and a chunk, summed over all chunks."""
        from dask import delayed

        # A node of its own: sent to each worker once.
        sent = delayed((self.encoder, *task), traverse=False)
        of_chunk = delayed(function)
        return _tree([of_chunk(sent, chunk) for chunk in self.chunks], delayed(join)).compute()


def _parts(collection: Any, name: str) -> list[Any]:
    """Delayed chunks of rows."""
    if hasattr(collection, "partitions") and not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    if name == "X" and collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    return list(collection.to_delayed().ravel())


def _columns_of(X: Any, parts: list[Any], categorical: Any) -> Columns:
    """What the columns are: known from their types, or learned from rows of all partitions."""
    meta = getattr(X, "_meta", None)
    names = list(getattr(X, "columns", []))
    texts = all(isinstance(name, str) for name in names)
    names_in = names if names and texts else None
    of_kinds = is_frame(meta) and not has_numbers_only(meta)
    if not of_kinds and not asks_for_categories(categorical):
        return Columns(int(X.shape[1]), names_in)
    from dask import compute, delayed

    some = delayed(_some_rows, pure=True)
    n_each = -(-LEARNED_FROM // len(parts))
    frame = Frame(stacked(compute(*[some(part, n_each) for part in parts])))
    chosen = categorical_columns(categorical, names_in, frame.shape[1])
    # Partitions whose categories differ are put together as objects, which are categories still.
    declared = [] if meta is None else meta.select_dtypes("category").columns
    known = frozenset(declared) if chosen is None else frozenset()
    wishes = Wishes(categories=chosen, named_categories=known, drops=names_in is not None)
    return learned_columns(frame, wishes)


def _some_rows(part: Any, size: int) -> Any:
    """Rows of a partition, spread over it."""
    if len(part) <= size:
        return part
    places = np.linspace(0, len(part) - 1, size).astype(np.intp)
    return part.iloc[places] if hasattr(part, "iloc") else part[places]


def _chunk(columns: Columns, X: Any, y: Any, sample_weight: Any = None) -> Chunk:
    """A partition as checked rows of positive weight."""
    rows = np.asarray(X) if columns.is_plain else columns.matrix(X)
    rows = rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)
    refuse_missing_labels(y)
    labels = np.asarray(y).reshape(-1)
    if len(labels) != len(rows):
        raise ValueError(
            f"a chunk of X has {len(rows)} rows, but its chunk of y has {len(labels)}; "
            "chunk them alike."
        )
    weights = None
    if sample_weight is not None:
        weights = sample_weights(np.asarray(sample_weight), len(rows), part=True)
    chunk = Chunk(rows, labels, weights).of_positive_weight()
    missing_in(chunk.X, columns.names_in if columns.is_plain else columns.names)
    return chunk


def _summary_of_chunk(chunk: Chunk, size: int, seed: tuple[int, int]) -> Summary | None:
    return summary_of([chunk], size, seed) if len(chunk.labels) else None


def _summaries_together(parts: list[Summary | None], size: int) -> Summary | None:
    summaries = [part for part in parts if part is not None]
    return put_together(summaries, size) if summaries else None


def _sums_of_chunk(task: tuple[Encoder, Basis, bool], chunk: Chunk) -> ClassStatistics:
    """The class statistics of a chunk in a basis."""
    encoder, basis, pooled = task
    total = basis.no_statistics(len(encoder.classes), pooled)
    if len(chunk.labels):
        # Dask runs as many tasks as a worker has cores: one thread each.
        with Workers(1) as workers:
            basis.add_rows(total, encoder.rows(chunk), workers)
    return total


def _statistics_of_chunk(
    task: tuple[Encoder, Callable[[Array], Array], int, bool], chunk: Chunk
) -> ClassStatistics:
    encoder, features, n_points, pooled = task
    empty = ClassStatistics.empty(len(encoder.classes), n_points, 1 if pooled else None)
    # Dask runs as many tasks as a worker has cores: one thread each.
    with Workers(1) as workers:
        return empty.add_rows(encoder.rows(chunk), features, workers)


def _kernel_values(kernel: Kernel, points: Array, rows: Array) -> Array:
    values: Array = kernel.values(rows, points)
    return values


def _gradient_of_chunk(
    task: tuple[Encoder, RowDerivatives, Kernel, Array], chunk: Chunk
) -> KernelGradient:
    encoder, by_row, kernel, points = task
    if not len(chunk.labels):
        nothing = np.zeros(kernel.parameters.shape)
        return KernelGradient(nothing, 0.0, np.zeros(points.shape))
    with Workers(1) as workers:
        return pull_back(encoder.rows(chunk), by_row, kernel, points, workers)


def _sum(parts: list[ClassStatistics]) -> ClassStatistics:
    total, *others = parts
    for other in others:
        total = total + other
    return total


def _tree(parts: list[Any], join: Callable[..., Any], *arguments: Any) -> Any:
    """Join delayed results a few at a time, always in the same order."""
    while len(parts) > 1:
        groups = [parts[i : i + _BRANCHES] for i in range(0, len(parts), _BRANCHES)]
        parts = [join(group, *arguments) for group in groups]
    return parts[0]


def lazily(
    predict: Callable[[Any], AnyArray], X: Any, shape: tuple[int, ...], dtype: Any = np.float64
) -> Any:
    """A Dask array of predictions for the rows of X, computed chunk by chunk when it is asked for.

    `predict` maps rows (m, D) to an array (m, *shape).
    """
    import dask.array as da
    from dask import delayed

    of_chunk = delayed(predict)
    # The number of rows in a partition of a dataframe is not known before it is read.
    sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * X.npartitions
    parts = zip(_parts(X, "X"), sizes, strict=True)
    return da.concatenate(
        [da.from_delayed(of_chunk(part), (n, *shape), dtype=dtype) for part, n in parts]
    )
