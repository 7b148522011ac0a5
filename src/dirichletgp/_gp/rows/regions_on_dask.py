"""Regions on a Dask cluster: rows travel to their regions, whose sums stay where they are.

Regions are put into groups, the units of work. A chunk is scaled and taken apart once: every group
is sent the rows that its regions hold. A group adds the rows of a few chunks at a time to its sums,
which are much larger than the rows and so stay with one worker, and at the end solves its regions
there. What reaches the client is the solved model.

A worker that is lost costs the sums of its groups: Dask reads the chunks again for these alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array, Integers
from ..core.kernels import Kernel
from ..core.parallel import Workers
from ..core.regional import RegionalBasis, add_rows_of_region
from ..core.regions import Regions
from ..core.regressions import Basis, make_basis
from ..core.statistics import ClassStatistics
from .in_memory import Chunk, Encoder

# The sums of a group take about so many bytes, and there are so many groups at least.
_BYTES_OF_A_GROUP, _FEWEST_GROUPS = 2**24, 8
# Chunks whose rows are added at once: sums are copied that much less often.
_CHUNKS_AT_ONCE = 4

Solve = Callable[[Basis, float, ClassStatistics], Any]
Solved = list[tuple[ClassStatistics, Any]]


class Group(NamedTuple):
    """Regions that follow each other; their bases are made where they are needed.

    Attributes
    ----------
    first : int
        Number of the first region.
    kernel : Kernel
    points : list of ndarray of shape (M, D)
    jitters : tuple of float
    """

    first: int
    kernel: Kernel
    points: list[Array]
    jitters: tuple[float, ...]

    def bases(self) -> list[Basis]:
        """The bases of the regions; to be called with one BLAS thread."""
        pairs = zip(self.points, self.jitters, strict=True)
        return [make_basis(self.kernel, points, jitter) for points, jitter in pairs]


class Piece(NamedTuple):
    """Rows of a chunk that a group holds.

    Attributes
    ----------
    X : ndarray of shape (n, D)
        Scaled rows.
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
    members : list of (int, ndarray)
        Regions with the positions of their rows.
    """

    X: Array
    codes: Integers
    weights: Array | None
    members: list[tuple[int, Integers]]


def solved_regions(chunks: list[Any], encoder: Encoder, basis: RegionalBasis, solve: Solve) -> Any:
    """Sums of each region, and what `solve` makes of basis, jitter and sums, in their order.

    Parameters
    ----------
    chunks : list of delayed Chunk
    encoder : Encoder
    basis : RegionalBasis
    solve : callable
    """
    from dask import compute, delayed

    groups = _groups(basis, len(encoder.classes))
    # Nodes of their own: sent to each worker once.
    sent = [delayed(group, traverse=False) for group in groups]
    first = [group.first for group in groups]
    route = delayed((encoder, basis.regions, first), traverse=False)
    routed = [delayed(_routed)(route, chunk) for chunk in chunks]
    found = []
    for g, group in enumerate(sent):
        total = delayed(_no_sums)(group, len(encoder.classes))
        for start in range(0, len(routed), _CHUNKS_AT_ONCE):
            pieces = [pieces[g] for pieces in routed[start : start + _CHUNKS_AT_ONCE]]
            total = delayed(_sums_with_pieces)(group, total, pieces)
        found.append(delayed(_solved)(group, total, solve))
    return [region for solved in compute(*found) for region in solved]


def _groups(basis: RegionalBasis, n_classes: int) -> list[Group]:
    """Regions in groups whose sums take about as much memory each."""
    points = [each.points for each in basis.bases]
    sizes = np.array([8.0 * n_classes * (1 + len(z)) ** 2 for z in points])
    wanted = max(_FEWEST_GROUPS, int(sizes.sum() / _BYTES_OF_A_GROUP))
    before = np.cumsum(sizes) - sizes
    number = np.minimum(wanted * before / sizes.sum(), wanted - 1).astype(np.intp)
    starts = np.flatnonzero(np.diff(number, prepend=-1)).tolist()
    ends = [*starts[1:], len(points)]
    return [
        Group(i, basis.kernel, points[i:j], basis.jitters[i:j])
        for i, j in zip(starts, ends, strict=True)
    ]


def _routed(task: tuple[Encoder, Regions, list[int]], chunk: Chunk) -> list[Piece]:
    """The rows of a chunk for each group of regions."""
    encoder, regions, first = task
    if not len(chunk.labels):
        return [Piece(np.empty((0, 0)), np.empty(0, dtype=np.intp), None, []) for _ in first]
    rows = encoder.rows(chunk)
    X, codes, weights = rows.scaled(0, len(rows))
    places = regions.places(X)
    edges = np.searchsorted(places.regions, [*first, regions.number])

    def piece(start: int, stop: int) -> Piece:
        kept, position = np.unique(places.rows[start:stop], return_inverse=True)
        number, begin = np.unique(places.regions[start:stop], return_index=True)
        members = np.split(position, begin[1:])
        own = None if weights is None else weights[kept]
        pairs = list(zip(number.tolist(), members, strict=False))
        return Piece(X[kept], codes[kept], own, pairs)

    return [piece(i, j) for i, j in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]


def _no_sums(group: Group, n_classes: int) -> list[ClassStatistics]:
    return [ClassStatistics.empty(n_classes, len(points)) for points in group.points]


def _sums_with_pieces(
    group: Group, total: list[ClassStatistics], pieces: list[Piece]
) -> list[ClassStatistics]:
    """New sums with more rows: Dask may need the old ones again."""
    total = [part.copy() for part in total]
    # Dask runs as many tasks as a worker has cores: one thread each.
    with Workers(1):
        bases = group.bases()
        for piece in pieces:
            for region, positions in piece.members:
                place = region - group.first
                add_rows_of_region(total[place], bases[place], *piece[:3], positions)
    return total


def _solved(group: Group, total: list[ClassStatistics], solve: Solve) -> Solved:
    with Workers(1):
        parts = zip(group.bases(), group.jitters, total, strict=True)
        return [(part, solve(basis, jitter, part)) for basis, jitter, part in parts]
