"""Threads over blocks and classes, one BLAS thread each.

Work is split in a way that never depends on the number of threads, and results are taken in order,
so the same input gives the same sums whatever `n_jobs` is.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from numbers import Integral
from threading import Event, Lock
from types import TracebackType
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from .arrays import Integers

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    """Finding the BLAS libraries of a process takes milliseconds, so it is done once."""
    return ThreadpoolController()


class _OneBlasThread:
    """Holds BLAS to one thread while any pool is open.

    The limit belongs to the process: the first pool to open sets it, the last one to close takes it
    back.
    """

    def __init__(self) -> None:
        self._lock, self._open = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self._limit.restore_original_limits()


_one_blas_thread = _OneBlasThread()


def effective_threads(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` asks for.

    None means as many as BLAS would use by itself, which honours ``OMP_NUM_THREADS``,
    `threadpoolctl` and the limits that joblib sets inside its worker processes; -1 means all cores.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        libraries = _controller().select(user_api="blas").info()
        return min(cores, max((library["num_threads"] for library in libraries), default=cores))
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} is not valid; pass None, a number of threads, or -1 for all cores."
        )
    if n_jobs < 0:
        return max(1, cores + 1 + int(n_jobs))
    return int(n_jobs)


class Workers:
    """A pool of threads with BLAS held to one thread while the pool is open.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     list(workers.map(abs, [-1, -2, 3]))
    [1, 2, 3]
    """

    def __init__(self, n_jobs: int | None = None):
        self.n_threads = effective_threads(n_jobs)
        self._pool: ThreadPoolExecutor | None = None
        self._stopped = Event()

    def __enter__(self) -> "Workers":
        _one_blas_thread.__enter__()
        self._stopped.clear()
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="dirichletgp")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        _one_blas_thread.__exit__()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of `items`, so few under way that waiting ones cost no memory."""
        if self._pool is None:
            yield from map(function, items)
            return
        under_way: deque[Future[Result]] = deque()
        try:
            for item in items:
                under_way.append(self._pool.submit(function, item))
                if len(under_way) > 2 * self.n_threads:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()

    def go_on(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, until the pool is closed: then a thread that nobody waits for ends."""
        for item in items:
            if self._stopped.is_set():
                return
            yield item


# A multiple of the heights of all common micro-kernels of BLAS (4, 6, 8, 12, 16, 24, 48 rows).
_BLAS_TILE = 96


def row_slices(n: int, size: int) -> list[slice]:
    """Cut n rows into slices of at most `size` rows."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def block_size(n_points: int) -> int:
    """Rows per block such that the kernel values of a block stay in cache (about 1 MB)."""
    return int(np.clip(2**17 // max(n_points, 1), 128, 1_024))


def prediction_block_size(n_points: int) -> int:
    """Rows per block in predictions: always the same for a model, and a multiple of BLAS's tiles.

    With blocks of one size, the last one padded, the bits of a row's prediction do not depend on
    the rows around it.
    """
    return max(1, block_size(n_points) // _BLAS_TILE) * _BLAS_TILE


def grouped(key: Integers, width: Integers, most: int) -> Iterator[Integers]:
    """Rows with equal keys together, in blocks of about `most` numbers, `width` of them per row."""
    order = np.argsort(key, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        if len(group):
            step = max(1, most // int(width[group[0]]))
            yield from (group[i : i + step] for i in range(0, len(group), step))
