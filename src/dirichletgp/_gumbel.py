"""The intensity of a Gaussian latent in a Gumbel race, tabulated.

Add standard Gumbel noise to every latent f_c ~ N(m_c, v_c) and let the largest win: given f, class
c wins with probability softmax(f)_c. All that the race needs from a class is the distribution
function of its noisy latent,

    phi(z, v) = E[exp(-exp(x - z))],   x ~ N(0, v),   z = level - m,

and the race is written in the intensity kappa = -log phi (`_probabilities.py`). This module gives
log kappa. It is -z at v = 0 and tends to v/2 - z for large z, so what is tabulated is the *excess*
log kappa + z: smooth, and constant on the right.

The levels of a race are equally spaced, hence so are the z of one class. The table's columns have
the same spacing, so the place between columns is one number per class, and interpolating is a
weighted sum of a few rows of the table.
"""

import threading
from functools import cache

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray
from scipy.special import log_ndtr, wrightomega

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

STEP = 0.4
"""Spacing of the table's columns: races use it, or a power of two times it."""

_OCTAVES = 5  # tables for standard deviations up to 1, 2, 4, 8, 16; quadrature beyond
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
    octave = np.ceil(np.log2(np.maximum(sigma, 1.0))).astype(np.intp)
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
                for i in rows:
                    out[i] = excess_by_quadrature(first[i] + offsets, float(variance[i]))
    out -= first[:, None]
    out -= offsets
    return out


def excess_by_quadrature(z: Array, variance: float) -> Array:
    """The excess log(kappa(z, v)) + z by the trapezoidal rule, for one variance.

    The integrand is centred first, so that every value is accurate however small phi or 1 - phi is.

    Parameters
    ----------
    z : ndarray of shape (k,)
    variance : float
        Positive.

    Returns
    -------
    ndarray of shape (k,)
    """
    if variance > 1e4:
        return _wide(z, variance)
    sigma = np.sqrt(variance)
    n_nodes = int(48 + 64 * sigma)  # the integrand changes on the scale 1 / sigma
    y = np.linspace(-9.0, 9.0, n_nodes)
    weight = (y[1] - y[0]) / np.sqrt(2 * np.pi)
    z = np.minimum(z, 1.5 * variance + 30.0)  # the excess is v/2 from here on
    out = np.empty(len(z))
    block = max(1, 2**18 // n_nodes)
    for start in range(0, len(z), block):
        part = z[start : start + block]
        result = out[start : start + block]
        left, right = part < 0, part > variance
        middle = ~(left | right)
        result[left] = _left(part[left], sigma, y, weight)
        result[middle] = _middle(part[middle], sigma, y, weight)
        result[right] = _right(part[right], sigma, y, weight)
    return out


def _wide(z: Array, variance: float) -> Array:
    # The noise, of variance pi^2/6, is lost in the latent: the sum is Gaussian but for a skewness
    # of 2.4 / v^1.5.
    x = (z - np.euler_gamma) / np.sqrt(variance + np.pi**2 / 6)
    return z + np.where(x > 6, log_ndtr(-x), np.log(-log_ndtr(np.minimum(x, 6))))


def _left(z: Array, sigma: float, y: Array, weight: float) -> Array:
    # phi is small. Laplace's method says where its mass is, x = -v u with u = exp(-v u - z); around
    # that point, exactly, kappa = u + v u^2/2 - log E[exp(-u (e^(sigma y) - 1 - sigma y))].
    u = np.exp(-z - wrightomega(2 * np.log(sigma) - z))
    bend = np.expm1(np.minimum(sigma * y, 600.0)) - sigma * y
    rest = np.exp(-0.5 * y * y - u[:, None] * bend).sum(axis=1)
    return np.log(u + 0.5 * sigma**2 * u * u - np.log(weight * rest)) + z


def _middle(z: Array, sigma: float, y: Array, weight: float) -> Array:
    # 1 - phi comes from latents near x = z. Centred there, 1 - exp(-e^(x - z)) is the same vector
    # for every z: exp(slope) times a bounded factor.
    slope = sigma * np.minimum(y, 0.0)
    above = -np.expm1(-np.exp(np.minimum(sigma * y, 40.0)))
    factor = np.where(y < 0, _capture(sigma * y), above)
    centre = z / sigma
    rest = (np.exp(slope - 0.5 * y * y - centre[:, None] * y) * factor).sum(axis=1)
    return _from_log_tail(np.log(weight * rest) - 0.5 * centre**2, z)


def _right(z: Array, sigma: float, y: Array, weight: float) -> Array:
    # Beyond z = v, 1 - phi is nearly the mean exp(v/2 - z) of X = e^(x - z): exactly, that times
    # E[(1 - exp(-X)) / X] under the latent tilted by X.
    x = sigma * y + (sigma**2 - z)[:, None]
    rest = (np.exp(-0.5 * y * y) * _capture(x)).sum(axis=1)
    return _from_log_tail(np.log(weight * rest) + 0.5 * sigma**2 - z, z)


def _capture(x: Array) -> Array:
    # (1 - exp(-X)) / X with X = e^x
    X = np.exp(np.clip(x, -36.0, 600.0))
    return -np.expm1(-X) / X


def _from_log_tail(log_tail: Array, z: Array) -> Array:
    # kappa = -log(1 - tail) = tail (1 + tail/2 + ...)
    tail = np.exp(log_tail)
    series = np.where(tail < 1e-17, 1.0, -np.log1p(-tail) / np.maximum(tail, 1e-300))
    return log_tail + np.log(series) + z


def laplace_excess(z: Array, variance: Array) -> Array:
    """The excess by Laplace's method, for z so far left that exp(-kappa) does not count."""
    w = wrightomega(np.log(variance) - z)
    return np.log((w + 0.5 * w * w) / variance + 0.5 * np.log1p(w)) + z


@cache
def _built_table(octave: int) -> "_Table":
    return _Table(octave)


def _table(octave: int) -> "_Table":
    with _BUILDING:
        return _built_table(octave)


class _Table:
    """The excess for standard deviations of one octave: [0, 1], [1, 2], [2, 4], ...

    A cell of the (z, sigma) plane, `_z_step` by `_sigma_step`, holds the Chebyshev coefficients of
    the excess to total degree 3. Cells that are STEP apart in z are neighbours in memory.
    """

    def __init__(self, octave: int) -> None:
        self._lowest = 0.0 if octave == 0 else 2.0 ** (octave - 1)
        highest = 2.0**octave
        n_cells = int(32 * 2 ** (max(octave - 1, 0) / 2))
        self._sigma_step = (highest - self._lowest) / n_cells
        self._phases = max(1, 2 ** min(2, 4 - octave))  # wider latents change more slowly in z
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
        z = self._left + self._z_step * np.arange(-_TAPS // 2, n + _TAPS // 2)
        n_sigma = 32 if self._lowest == 0 else 16 + 2 * int(highest)
        unit = np.cos(np.pi * (np.arange(n_sigma) + 0.5) / n_sigma)
        sigma = self._lowest + 0.5 * (highest - self._lowest) * (1 + unit)
        values = np.stack([excess_by_quadrature(z, s * s) for s in sigma])
        # In sigma one polynomial through all nodes, in z one through the nearest _TAPS values:
        # both re-expanded in the cell.
        centres = (2 * np.arange(self._n_cells) + 1) / self._n_cells - 1
        by_sigma = np.stack([_reexpand(unit, c, 1 / self._n_cells) for c in centres])
        by_z = _reexpand(np.arange(-_TAPS // 2, _TAPS // 2, dtype=np.float64), 0.0, 0.5)
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
        out = np.take(self._terms[0], index)
        term = np.empty_like(out)
        for k, (a, b) in enumerate(_TERMS[1:], start=1):
            if a + b > degree:
                break
            np.take(self._terms[k], index, out=term, mode="clip")
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


def _reexpand(nodes: Array, centre: float, radius: float) -> Array:
    """Matrix from values at nodes to Chebyshev coefficients on centre +- radius, to degree 3."""
    n = len(nodes)
    scale = np.abs(nodes).max()
    local = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    values = chebvander((centre + radius * local) / scale, n - 1) @ np.linalg.inv(
        chebvander(nodes / scale, n - 1)
    )
    coefficients = (2 / n) * chebvander(local, _DEGREE).T @ values
    coefficients[0] /= 2
    return coefficients
