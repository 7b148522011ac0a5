"""Work in parallel: threads with one BLAS thread each, and linear algebra that lets them run.

Work is split in a way that never depends on the number of threads, and results are taken in order,
so the same input gives the same sums whatever `n_jobs` is.

SciPy's Python wrappers of BLAS and LAPACK hold the interpreter lock, so two threads calling them
take turns. SciPy also publishes the same routines as C functions (``scipy.linalg.cython_blas``);
called through `ctypes` they run side by side. Only the handful of routines that the statistics, the
bound and the posterior need are here. All matrices are C-contiguous float64. A lower triangle in C
order is an upper triangle to Fortran, which is why every routine below passes ``"U"``.
"""

import ctypes
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from numbers import Integral
from threading import Event, Lock
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import threadpoolctl
from scipy.linalg import cython_blas, cython_lapack
from threadpoolctl import ThreadpoolController

from .arrays import AnyArray, Array, Booleans, Integers

Item = TypeVar("Item")
Result = TypeVar("Result")
Mapper = Callable[..., Any]

# A multiple of the heights of all common micro-kernels of BLAS (4, 6, 8, 12, 16, 24, 48 rows).
_BLAS_TILE = 96
_RELEASE = "clear_controlling_thread"

ROWS_OF_ONE_PIECE = 24
"""So few rows are one piece, a tile of its own: a single row costs no more than it must."""
# Rows of a prediction that a thread takes at once: so many numbers, so many pieces in all.
_NUMBERS_OF_A_PIECE, _PIECES_PER_THREAD = 2**21, 2
# Columns of a right side that stay in cache while rows pass by.
_COLUMNS_IN_CACHE = 256
# Rows of a matrix that a thread takes at once.
_SLICE = 128


@cache
def _controller() -> ThreadpoolController:
    """Finding the BLAS libraries of a process takes milliseconds, so it is done once."""
    return ThreadpoolController()


@contextmanager
def _in_control() -> Iterator[None]:
    """Lets this thread set the number of BLAS threads.

    Recent versions of `threadpoolctl` silently let only the first thread that ever did so do it.
    """
    release = getattr(getattr(threadpoolctl, "OpenBLASController", None), _RELEASE, None)
    if release is None:
        yield
        return
    release(force=True)
    try:
        yield
    finally:
        release(force=True)


class _OneBlasThread:
    """Holds BLAS to one thread while any pool is open.

    The limit belongs to the process: the first pool to open sets it, the last one to close takes it
    back.
    """

    def __init__(self) -> None:
        self._lock, self._open = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._open == 0:
                with _in_control():
                    self._limit = _controller().limit(limits=1, user_api="blas")
            self._open += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                with _in_control():
                    self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()


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
        one_blas_thread.__enter__()
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
        try:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool = None
        finally:  # whoever presses ctrl-c twice has BLAS back too
            one_blas_thread.__exit__()

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

    @contextmanager
    def meanwhile(self, function: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
        """Run a function beside what is done in the block; calling what is given waits for it."""
        if self._pool is None:
            yield function
            return
        future = self._pool.submit(function)
        try:
            yield future.result
        finally:
            future.cancel()

    def go_on(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, until the pool is closed: then a thread that nobody waits for ends."""
        for item in items:
            if self._stopped.is_set():
                return
            yield item


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


def prediction_places(n: int, n_points: int, n_threads: int) -> list[slice]:
    """Cut n rows for predictions: large pieces, a few for each thread, all but one full.

    The size of a piece, and of the padded last one, is a multiple of BLAS's tiles: then the bits
    of a row's prediction do not depend on the rows around it.
    """
    if n <= ROWS_OF_ONE_PIECE:
        return [slice(0, n)]
    most = max(1, _NUMBERS_OF_A_PIECE // (max(n_points, 1) * _BLAS_TILE))
    wanted = -(-n // (_PIECES_PER_THREAD * n_threads * _BLAS_TILE))
    return row_slices(n, _BLAS_TILE * min(most, wanted))


def padded_length(n: int) -> int:
    """Rows that a piece of n rows is filled up to."""
    tile = ROWS_OF_ONE_PIECE if n <= ROWS_OF_ONE_PIECE else _BLAS_TILE
    return -(-n // tile) * tile


def padded_rows(matrix: Array, rows: Integers) -> Array:
    """Some rows of a matrix, filled up with zeros to a multiple of BLAS's smaller tile."""
    out = np.zeros((-(-len(rows) // ROWS_OF_ONE_PIECE) * ROWS_OF_ONE_PIECE, matrix.shape[1]))
    np.take(matrix, rows, axis=0, out=out[: len(rows)])
    return out


def product_in_tiles(rows: Array, right: Array) -> Array:
    """``rows @ right``, a tile of rows at a time.

    BLAS has other routines for small matrices than for large ones, and rounds otherwise there: in
    products of one shape the bits of a row do not depend on how many others there are.
    """
    n, m = rows.shape
    n_tiles, rest = divmod(n, ROWS_OF_ONE_PIECE)
    found = np.empty((n, right.shape[1]))
    tiles = rows[: n - rest].reshape(n_tiles, ROWS_OF_ONE_PIECE, m)
    of_tiles = found[: n - rest].reshape(n_tiles, ROWS_OF_ONE_PIECE, right.shape[1])
    for columns in row_slices(right.shape[1], _COLUMNS_IN_CACHE):
        np.matmul(tiles, right[:, columns], out=of_tiles[:, :, columns])
    if rest:
        last = padded_rows(rows, np.arange(n - rest, n))
        for columns in row_slices(right.shape[1], _COLUMNS_IN_CACHE):
            found[n - rest :, columns] = (last @ right[:, columns])[:rest]
    return found


def grouped(key: Integers, width: Integers, most: int) -> Iterator[Integers]:
    """Rows with equal keys together, in blocks of about `most` numbers, `width` of them per row."""
    order = np.argsort(key, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        if len(group):
            step = max(1, most // int(width[group[0]]))
            yield from (group[i : i + step] for i in range(0, len(group), step))


_Byte = ctypes.c_char
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = (
    ctypes.c_void_p,
    [ctypes.py_object, ctypes.c_char_p],
)


def _routine(module: Any, name: str) -> tuple[Callable[..., None], type]:
    """A routine of SciPy's C interface, and the integer type it was built with."""
    capsule = module.__pyx_capi__[name]
    signature = _capsule_name(capsule)
    integer = ctypes.c_int if b" int *" in signature else ctypes.c_int64
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (signature.count(b",") + 1))
    return prototype(_capsule_pointer(capsule, signature)), integer


def _call(
    routine: tuple[Callable[..., None], type], *arguments: str | int | float | AnyArray
) -> int:
    """Call a Fortran routine, all by reference; returns what its last integer was left with.

    That is the only number that a routine may change. One of single precision is an array without
    axes.
    """
    function, integer = routine
    last = integer(arguments[-1])
    kept = [
        (argument, _address(argument))
        if isinstance(argument, np.ndarray)
        else _constant(argument, integer)
        for argument in arguments[:-1]
    ]
    function(*[address for _, address in kept], ctypes.addressof(last))
    return int(last.value)


def _address(array: AnyArray) -> int:
    """Where the numbers of a writeable array are: `array.ctypes.data`, in a third of the time."""
    if array.size == 0:
        return int(array.ctypes.data)
    return ctypes.addressof(_Byte.from_buffer(array))  # type: ignore[arg-type]  # arrays are buffers


@lru_cache(maxsize=1_024, typed=True)
def _constant(value: str | int | float, integer: type) -> tuple[Any, int]:
    """A number or letter as Fortran reads it, and its address; to make it costs more than to call.

    It must be kept as long as the address is in use.
    """
    made: Any
    if isinstance(value, str):
        made = ctypes.c_char(value.encode())
    else:
        made = integer(value) if isinstance(value, int) else ctypes.c_double(value)
    return made, ctypes.addressof(made)


_dsyrk = _routine(cython_blas, "dsyrk")
_dtrmm = _routine(cython_blas, "dtrmm")
_dtrsm = _routine(cython_blas, "dtrsm")
_dpotrf = _routine(cython_lapack, "dpotrf")
_dpotri = _routine(cython_lapack, "dpotri")
_dtrtri = _routine(cython_lapack, "dtrtri")
_dlauum = _routine(cython_lapack, "dlauum")
_ssyrk = _routine(cython_blas, "ssyrk")
_strmm = _routine(cython_blas, "strmm")
_ONE = np.ones((), dtype=np.float32)


def _check(*matrices: AnyArray, dtype: type = np.float64) -> None:
    """Refuse what Fortran would misread: these routines see an address, not an array."""
    for matrix in matrices:
        if not (matrix.flags.c_contiguous and matrix.flags.writeable and matrix.dtype == dtype):
            raise ValueError(f"expected a writeable C-contiguous {dtype.__name__} matrix")


def add_gram(rows: Array, gram: Array) -> None:
    """Add ``rows.T @ rows`` to the lower triangle of `gram`, in place; see `symmetrise`."""
    _check(rows, gram)
    n, m = rows.shape
    if n and m:
        _call(_dsyrk, "U", "N", m, n, 1.0, rows, m, 1.0, gram, m)


def add_outer_gram(rows: Array, gram: Array, times: float = 1.0) -> None:
    """Add a multiple of ``rows @ rows.T`` to the lower triangle of `gram`, in place."""
    _check(rows, gram)
    n, m = rows.shape
    if n and m:
        _call(_dsyrk, "U", "T", n, m, times, rows, m, 1.0, gram, n)


def coarse_gram(rows: AnyArray) -> Array:
    """The lower triangle of ``rows.T @ rows`` for rows of single precision, in half the time.

    Right to about 1e-6 of the largest entry: where the matrix is part of a search, and what is
    added to it keeps it well-conditioned.
    """
    n, m = rows.shape
    gram = np.zeros((m, m), dtype=np.float32)
    _check(rows, gram, dtype=np.float32)
    if n and m:
        _call(_ssyrk, "U", "N", m, n, _ONE, rows, m, _ONE, gram, m)
    return gram.astype(np.float64)


def symmetrise(matrix: Array) -> Array:
    """Copy the lower triangle onto the upper one, in place."""
    m = len(matrix)
    for start in range(0, m, _SLICE):
        stop = min(start + _SLICE, m)
        matrix[:start, start:stop] = matrix[start:stop, :start].T
        corner = matrix[start:stop, start:stop]
        np.copyto(corner, corner.T, where=_strictly_upper(stop - start))
    return matrix


@cache
def _strictly_upper(m: int) -> Booleans:
    """Mask of the entries above the diagonal; m is at most _SLICE."""
    return np.triu(np.ones((m, m), dtype=bool), 1)


def _with_triangle(
    routine: tuple[Callable[..., None], type],
    lower: Array,
    matrix: Array,
    side: str,
    transposed: str,
) -> Array:
    """Multiply by a triangle or solve with it, in place; sides are as Fortran sees them."""
    _check(lower, matrix)
    n, m = matrix.shape
    if n and m:
        _call(routine, side, "U", transposed, "N", m, n, 1.0, lower, len(lower), matrix, m)
    return matrix


def solve_rows(lower: Array, rows: Array) -> Array:
    """``rows @ inv(lower).T``, in place: whitens rows when `lower` factors their covariance."""
    return _with_triangle(_dtrsm, lower, rows, "L", "T")


def multiply_rows(lower: Array, rows: Array) -> Array:
    """``rows @ lower.T``, in place, for a triangle: half the work of a full product."""
    return _with_triangle(_dtrmm, lower, rows, "L", "T")


def multiply_rows_transposed(lower: Array, rows: Array) -> Array:
    """``rows @ lower``, in place: the pull-back of `multiply_rows`."""
    return _with_triangle(_dtrmm, lower, rows, "L", "N")


def multiply_columns(lower: Array, columns: Array) -> Array:
    """``lower @ columns``, in place."""
    return _with_triangle(_dtrmm, lower, columns, "R", "N")


def multiply_columns_transposed(lower: Array, columns: Array) -> Array:
    """``lower.T @ columns``, in place."""
    return _with_triangle(_dtrmm, lower, columns, "R", "T")


def coarse_squares(inverse: AnyArray, rows: AnyArray) -> Array:
    """Squared lengths (n,) of ``rows @ inverse.T`` for a triangle, all of single precision.

    Right to about 1e-6 of the squared length of a row, times that of the triangle if it is longer
    than one; the rows are overwritten.
    """
    _check(inverse, rows, dtype=np.float32)
    n, m = rows.shape
    if n and m:
        _call(_strmm, "L", "U", "T", "N", m, n, _ONE, inverse, m, rows, m)
    return np.einsum("nm,nm->n", rows, rows).astype(np.float64)


def solve_rows_transposed(lower: Array, rows: Array) -> Array:
    """``rows @ inv(lower)``, in place: the pull-back of `solve_rows`."""
    return _with_triangle(_dtrsm, lower, rows, "L", "N")


def whitened(inverse: Array, gram: Array) -> Array:
    """``inverse @ gram @ inverse.T`` for a symmetric `gram`, as a new symmetric matrix.

    Rounding grows from row to row of the inverse of a nearly singular triangle. In this order it is
    small in the lower triangle, which is the one kept; with the other order the gradient of a bound
    with a nearly singular K_mm was seen off by 15 %.
    """
    return symmetrise(multiply_rows(inverse, multiply_columns(inverse, gram.copy())))


def pulled_back(inverse: Array, matrix: Array) -> Array:
    """``inverse.T @ matrix @ inverse`` for a symmetric `matrix`, which is overwritten."""
    half = multiply_rows_transposed(inverse, matrix)
    return symmetrise(multiply_columns_transposed(inverse, half))


def whitened_in_parallel(inverse: Array, gram: Array, mapper: Mapper) -> Array:
    """`whitened` of a symmetric `gram`, in slices that `mapper` runs in parallel."""
    return _both_sides(multiply_rows, inverse, gram, mapper)


def pulled_back_in_parallel(inverse: Array, matrix: Array, mapper: Mapper) -> Array:
    """`pulled_back` of a symmetric `matrix`, in slices that `mapper` runs in parallel."""
    return _both_sides(multiply_rows_transposed, inverse, matrix, mapper)


def _both_sides(
    multiply: Callable[[Array, Array], Array], inverse: Array, matrix: Array, mapper: Mapper
) -> Array:
    starts = range(0, len(matrix), _SLICE)
    half = matrix.copy()
    list(mapper(lambda i: multiply(inverse, half[i : i + _SLICE]), starts))
    half = np.ascontiguousarray(half.T)
    list(mapper(lambda i: multiply(inverse, half[i : i + _SLICE]), starts))
    return symmetrise(half)


def cholesky(matrix: Array, overwrite: bool = False) -> Array:
    """Lower Cholesky factor; `numpy.linalg.LinAlgError` if `matrix` is not positive definite."""
    factor = matrix if overwrite else matrix.copy()
    _check(factor)
    m = len(factor)
    info = _call(_dpotrf, "U", m, factor, m, 0) if m else 0
    if info != 0 or not np.isfinite(np.trace(factor)):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return _clear_upper(factor)


def inverse_triangle(lower: Array, overwrite: bool = False) -> Array:
    """The inverse of a triangle, as a new one unless it may be overwritten.

    A product with it takes half the time of a solution or less, and BLAS does many rows in the
    same way: worth it where there are as many rows as the triangle has, or nearly.
    """
    inverse = lower if overwrite else lower.copy()
    _check(inverse)
    m = len(inverse)
    info = _call(_dtrtri, "U", "N", m, inverse, m, 0) if m else 0
    if info != 0:
        raise np.linalg.LinAlgError("the triangle is singular")
    return inverse


def inverse_from_cholesky(lower: Array) -> Array:
    """``inv(lower @ lower.T)``, as a new symmetric matrix."""
    inverse = lower.copy()
    m = len(inverse)
    _call(_dpotri, "U", m, inverse, m, 0)
    return symmetrise(inverse)


def outer_product_of_root(root: Array) -> Array:
    """``root.T @ root`` for a lower triangle, as a new symmetric matrix."""
    outer = root.copy()
    _check(outer)
    m = len(outer)
    if m:
        _call(_dlauum, "U", m, outer, m, 0)
    return symmetrise(outer)


def product(left: Array, right: Array, mapper: Mapper = map) -> Array:
    """``left @ right``, in slices of rows that `mapper` may run in parallel."""
    out = np.empty((len(left), right.shape[1]))
    starts = range(0, len(left), _SLICE)
    list(mapper(lambda i: np.matmul(left[i : i + _SLICE], right, out=out[i : i + _SLICE]), starts))
    return out


def log_determinant(lower: Array) -> float:
    """Log-determinant of ``lower @ lower.T``."""
    return 2.0 * float(np.log(np.diagonal(lower)).sum())


def _clear_upper(matrix: Array) -> Array:
    m = len(matrix)
    for start in range(0, m, _SLICE):
        stop = min(start + _SLICE, m)
        matrix[start:stop, stop:] = 0.0
        np.copyto(matrix[start:stop, start:stop], 0.0, where=_strictly_upper(stop - start))
    return matrix
