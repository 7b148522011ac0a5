"""The intensity of a Gaussian latent in a Gumbel race, tabulated.

Add standard Gumbel noise to every latent f_c ~ N(m_c, v_c) and let the largest win: given f, class
c wins with probability softmax(f)_c. All that the race needs from a class is the distribution
function of its noisy latent,

    phi(z, v) = E[exp(-exp(x - z))],   x ~ N(0, v),   z = level - m,

and the race is written in the intensity kappa = -log phi (`integral.py`). This module gives
log kappa. It is -z at v = 0 and tends to v/2 - z for large z, so what is tabulated is the *excess*
log kappa + z (`quadrature.py`): smooth, and constant on the right.

The levels of a race are equally spaced, hence so are the z of one class. The table's columns have
the same spacing, so the place between columns is one number per class, and interpolating is a
weighted sum of a few rows of the table.
"""

import threading
from functools import cache

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from ..arrays import Array
from .quadrature import excess_by_quadrature, laplace_excess, wide_excess

STEP = 0.4
"""Spacing of the table's columns: races use it, or a power of two times it."""

_OCTAVES = 4  # tables for standard deviations up to 2, 4, 8, 16; quadrature beyond
_DEGREE = 3  # total degree of the interpolating polynomial of a cell
_TAPS = 10  # columns that determine the polynomial of a cell
_TERMS = [(a, d - a) for d in range(_DEGREE + 1) for a in range(d + 1)]  # by total degree
_BUILDING = threading.Lock()


def log_intensity(
    first: Array, variance: Array, stride: int, count: int, degree: int = _DEGREE
) -> Array:
    """Logarithm of the intensity kappa(z, v) at `count` equally spaced z.

    Parameters
    ----------
    first : ndarray of shape (p,)
        The smallest z of each latent.
    variance : ndarray of shape (p,)
        The latent variance.
    stride : int
        Spacing of the z in units of `STEP`.
    count : int
        Number of z.
    degree : int, default=3
        Degree of the interpolation: 3 is right to about 3e-8, 2 to about 3e-6.

    Returns
    -------
    ndarray of shape (p, count)
    """
    sigma = np.sqrt(variance)
    offsets = (STEP * stride) * np.arange(count)
    octave = np.ceil(np.log2(np.maximum(0.5 * sigma, 1.0))).astype(np.intp)
    present = np.flatnonzero(np.bincount(octave))
    if len(present) == 1 and present[0] < _OCTAVES:
        out = _table(int(present[0])).excess(first, sigma, stride, count, degree)
    else:
        out = np.empty((len(first), count))
        for k in present:
            rows = np.flatnonzero(octave == k)
            if k < _OCTAVES:
                out[rows] = _table(int(k)).excess(first[rows], sigma[rows], stride, count, degree)
            else:
                out[rows] = wide_excess(first[rows, None] + offsets, variance[rows])
    out -= first[:, None]
    out -= offsets
    return out


@cache
def _built_table(octave: int) -> "_Table":
    return _Table(octave)


def _table(octave: int) -> "_Table":
    with _BUILDING:
        return _built_table(octave)


class _Table:
    """The excess for standard deviations of one octave: [0, 2], [2, 4], [4, 8], ...

    A cell of the (z, sigma) plane, `_z_step` by `_sigma_step`, holds the Chebyshev coefficients of
    the excess to total degree 3. Cells that are STEP apart in z are neighbours in memory.
    """

    def __init__(self, octave: int) -> None:
        self._lowest = 0.0 if octave == 0 else 2.0**octave
        highest = 2.0 ** (octave + 1)
        n_cells = 64 if octave == 0 else int(32 * 2 ** (octave / 2))
        self._sigma_step = (highest - self._lowest) / n_cells
        self._phases = (4, 4, 2, 1)[octave]  # wider latents change more slowly in z
        self._z_step = STEP / self._phases
        left, right = _relevant_range(highest**2)
        self._n_columns = int(np.ceil((right - left) / STEP))
        self._left = left
        self._n_cells = n_cells
        coefficients = self._coefficients(highest)
        self._terms = np.ascontiguousarray(coefficients.reshape(len(_TERMS), -1))

    def _coefficients(self, highest: float) -> Array:
        """Chebyshev coefficients of all cells, of shape (terms, sigma cells, phases, columns)."""
        n = self._n_columns * self._phases
        z: Array = self._left + self._z_step * np.arange(-_TAPS // 2, n + _TAPS // 2, dtype=float)
        # In sigma one polynomial through all nodes, in z one through the nearest _TAPS values:
        # both re-expanded in the cell. Far left the excess bends sharply near sigma = 0, hence the
        # power that crowds the first table's nodes there.
        n_sigma, power = (64, 2) if self._lowest == 0 else (16 + 2 * int(highest), 1)
        nodes = _chebyshev_nodes(n_sigma)
        span = highest - self._lowest
        sigma = self._lowest + span * (0.5 + 0.5 * nodes) ** power
        values = np.stack([excess_by_quadrature(z, float(s * s)) for s in sigma])
        local = (
            np.arange(self._n_cells)[:, None] + 0.5 + 0.5 * _chebyshev_nodes(6)
        ) / self._n_cells
        by_sigma = np.stack([_expansion(nodes, 2 * x ** (1 / power) - 1) for x in local])
        taps = np.arange(-_TAPS // 2, _TAPS // 2) / (_TAPS // 2)
        by_z = _expansion(taps, _chebyshev_nodes(6) / _TAPS)
        along_sigma = np.einsum("cbs,sz->bcz", by_sigma, values)
        windows = np.lib.stride_tricks.sliding_window_view(along_sigma, _TAPS, axis=2)[:, :, :n]
        terms = np.stack([windows[b] @ by_z[a] for a, b in _TERMS])
        terms = terms.reshape(len(_TERMS), self._n_cells, self._n_columns, self._phases)
        return terms.swapaxes(2, 3)

    def excess(self, first: Array, sigma: Array, stride: int, count: int, degree: int) -> Array:
        """The excess at first, first + stride STEP, ..., of shape (p, count)."""
        place = (first - self._left) / self._z_step
        nearest = np.rint(place)
        column, phase = np.divmod(nearest.astype(np.intp), self._phases)
        depth = (sigma - self._lowest) / self._sigma_step
        cell = np.minimum(depth.astype(np.intp), self._n_cells - 1)
        a_values = chebvander(2 * (place - nearest), _DEGREE)
        b_values = chebvander(2 * (depth - cell) - 1, _DEGREE)

        row = (cell * self._phases + phase) * self._n_columns
        columns = column[:, None] + stride * np.arange(count)
        index = row[:, None] + np.clip(columns, 0, self._n_columns - 1)
        out = self._terms[0].take(index)
        term = np.empty_like(out)
        for k, (a, b) in enumerate(_TERMS[1:], start=1):
            if a + b > degree:
                break
            self._terms[k].take(index, out=term, mode="clip")  # other modes make a copy
            term *= (a_values[:, a] * b_values[:, b])[:, None]
            out += term
        if column.min() < 0:
            i, j = np.nonzero(columns < 0)
            z = first[i] + STEP * stride * j
            out[i, j] = laplace_excess(z, np.maximum(sigma[i] ** 2, 1e-300))
        return out


def _relevant_range(variance: float) -> tuple[float, float]:
    """The z that a table must cover.

    Left of it exp(-kappa) is negligible even against exp(-z); right of it kappa is exp(v/2 - z).
    """
    u = (variance - 1 + np.sqrt((variance - 1) ** 2 + 80 * variance)) / variance
    return -(np.log(u) + variance * u), 1.5 * variance + 27.0


def _chebyshev_nodes(n: int) -> Array:
    return np.cos(np.pi * (np.arange(n) + 0.5) / n)


def _expansion(nodes: Array, local: Array) -> Array:
    """Matrix from values at nodes to Chebyshev coefficients, to degree 3, on a cell.

    The polynomial through the nodes, in [-1, 1], is evaluated at the cell's own Chebyshev points
    and expanded there.
    """
    n, m = len(nodes), len(local)
    values = np.linalg.solve(chebvander(nodes, n - 1).T, chebvander(local, n - 1).T).T
    coefficients = (2 / m) * chebvander(_chebyshev_nodes(m), _DEGREE).T @ values
    coefficients[0] /= 2
    return coefficients
