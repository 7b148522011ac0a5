"""Rows on a Dask cluster: every chunk is surveyed and summed up where it lies, results are added in a tree.

What travels is a sample of the rows once, the model's basis to the workers, and class statistics
between them; with a kernel learned from all rows, also derivatives and gradients. Chunks are
independent: a worker that is lost costs its chunks, which Dask computes again elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import sample_weights
from ..core.bound import BoundDerivatives
from ..core.kernels import Kernel, KernelGradient
from ..core.posterior import Basis
from ..core.statistics import ClassStatistics, RowStatistics
from ..core.threads import Workers
from ..training.objective import DirichletObjective, gradient_of_rows
from .chunks import Chunk, checked_finite
from .full_pass import Labelling
from .sampling import Survey

Array = NDArray[np.float64]

_BRANCHES = 4  # how many results are added at once


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or dataframe."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


class DaskRows:
    """Labelled rows of a Dask array or dataframe, one delayed chunk per partition.

    Parameters
    ----------
    X : dask array (n, D) or dataframe
    y : dask array or series (n,)
    sample_weight : dask array or series (n,), or None
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any):
        if not is_dask(y) or not (sample_weight is None or is_dask(sample_weight)):
            raise TypeError(
                "with X on Dask, y and sample_weight must be Dask collections too, with the same chunks."
            )
        names = list(getattr(X, "columns", []))
        self.feature_names = (
            names if names and all(isinstance(name, str) for name in names) else None
        )
        self.n_features = int(X.shape[1])
        columns = [_parts(X, "X"), _parts(y, "y")]
        if sample_weight is not None:
            columns.append(_parts(sample_weight, "sample_weight"))
        if len({len(column) for column in columns}) > 1:
            raise ValueError(
                f"X has {len(columns[0])} chunks, but y (or sample_weight) has {[len(c) for c in columns[1:]]}; "
                "rechunk or repartition them alike."
            )
        from dask import delayed

        # pure: the same chunk has the same name, so what a worker has already read is not read
        # again.
        chunk = delayed(_chunk, pure=True)
        self.chunks = [chunk(self.feature_names, *parts) for parts in zip(*columns, strict=True)]

    def survey(self, size: int, seed: int) -> Survey:
        """Classes, and a sample of the rows: the only rows that leave the workers."""
        from dask import delayed

        of_chunk = delayed(_survey_of_chunk, pure=True)
        parts = [of_chunk(chunk, size, (seed, i)) for i, chunk in enumerate(self.chunks)]
        found: Survey | None = _tree(parts, delayed(_joined_surveys, pure=True), size).compute()
        if found is None:
            raise ValueError(
                "X has no rows with a positive weight; pass rows of at least two classes."
            )
        return found

    def statistics(self, basis: Basis, labelling: Labelling) -> ClassStatistics:
        """The class statistics of all rows."""
        total: ClassStatistics = self.summed(
            _statistics_of_chunk, _sum, labelling, basis.vectors, len(basis.points)
        )
        return total

    def summed(self, function: Callable[..., Any], join: Callable[..., Any], *task: Any) -> Any:
        """A function of the task and a chunk, summed over all chunks."""
        from dask import delayed

        sent = delayed(task, traverse=False)  # a node of its own: sent to each worker once
        of_chunk = delayed(function)
        return _tree([of_chunk(sent, chunk) for chunk in self.chunks], delayed(join)).compute()


class AllRows(NamedTuple):
    """What the search for the kernel asks of rows that stay on the cluster: their weights (C,)."""

    class_weights: Array


@dataclass(frozen=True)
class DaskObjective(DirichletObjective):
    """The collapsed bound of all rows of a collection, both passes over them on the cluster."""

    collection: DaskRows
    labelling: Labelling

    def statistics(self, kernel: Kernel, points: Array) -> RowStatistics:
        """The first pass: every class has a Gram, since rows do not travel."""
        values = partial(_kernel_values, kernel, points)
        total = self.collection.summed(
            _statistics_of_chunk, _sum, self.labelling, values, len(points)
        )
        grams = dict(enumerate(total.grams))
        return RowStatistics(
            total.counts, total.sums, grams, {}, np.zeros((len(points), len(points)))
        )

    def gradient(self, bound: BoundDerivatives, kernel: Kernel, points: Array) -> KernelGradient:
        """The second pass."""
        found: KernelGradient = self.collection.summed(
            _gradient_of_chunk, _sum_of_gradients, self.labelling, bound, kernel, points
        )
        return found


def _parts(collection: Any, name: str) -> list[Any]:
    """Delayed chunks of rows."""
    if hasattr(collection, "partitions") and not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    if name == "X" and collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    return list(collection.to_delayed().ravel())


def _chunk(names: list[str] | None, X: Any, y: Any, sample_weight: Any = None) -> Chunk:
    """A partition as checked rows of positive weight."""
    rows = np.asarray(X)
    rows = rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)
    labels = np.asarray(y).reshape(-1)
    if len(labels) != len(rows):
        raise ValueError(
            f"a chunk of X has {len(rows)} rows, but its chunk of y has {len(labels)}; chunk them alike."
        )
    weights = (
        None
        if sample_weight is None
        else sample_weights(np.asarray(sample_weight), len(rows), part=True)
    )
    if weights is not None and not np.all(weights > 0):
        kept = weights > 0
        rows, labels, weights = rows[kept], labels[kept], weights[kept]
    return Chunk(checked_finite(rows, names), labels, weights)


def _survey_of_chunk(chunk: Chunk, size: int, seed: tuple[int, int]) -> Survey | None:
    return Survey.of([chunk], size, seed) if len(chunk.labels) else None


def _joined_surveys(parts: list[Survey | None], size: int) -> Survey | None:
    surveys = [part for part in parts if part is not None]
    return Survey.joined(surveys, size) if surveys else None


def _statistics_of_chunk(
    task: tuple[Labelling, Callable[[Array], Array], int], chunk: Chunk
) -> ClassStatistics:
    labelling, features, n_points = task
    # Dask runs as many tasks as a worker has cores: one thread each.
    with Workers(1) as workers:
        return ClassStatistics.accumulate(labelling.rows(chunk), features, n_points, workers)


def _kernel_values(kernel: Kernel, points: Array, rows: Array) -> Array:
    return kernel.values(rows, points)


def _gradient_of_chunk(
    task: tuple[Labelling, BoundDerivatives, Kernel, Array], chunk: Chunk
) -> KernelGradient:
    labelling, bound, kernel, points = task
    with Workers(1) as workers:
        return gradient_of_rows(bound, labelling.rows(chunk), kernel, points, workers)


def _sum_of_gradients(parts: list[KernelGradient]) -> KernelGradient:
    total, *others = parts
    for other in others:
        total = total.plus(other)
    return total


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
    predict: Callable[[Any], NDArray[Any]], X: Any, shape: tuple[int, ...], dtype: Any = np.float64
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
