"""The intensity of a Gaussian latent in a Gumbel race, tabulated.

Add standard Gumbel noise to every latent f_c ~ N(m_c, v_c) and let the largest win: given f, class
c wins with probability softmax(f)_c. All that the race needs from a class is the distribution
function of its noisy latent,

    phi(z, v) = E[exp(-exp(x - z))],   x ~ N(0, v),   z = level - m,

and the race is written in the intensity kappa = -log phi (`softmax.py`). This module gives
log kappa. It is -z at v = 0 and tends to v/2 - z for large z, so what is tabulated is the *excess*
log kappa + z: smooth, and constant on the right.

The levels of a race are equally spaced, hence so are the z of one class. The table's columns have
the same spacing, so the place between columns is one number per class, and interpolating is a
weighted sum of a few rows of the table.

The excess itself is one of three integrals: the trapezoidal rule, right everywhere, from which
tables are built; Laplace's method far left of them; and a Gauss rule for latents too wide to
tabulate.
"""

import threading
from functools import cache

import numpy as np
from numpy.polynomial.chebyshev import Chebyshev, chebvander
from scipy.special import gamma, log_ndtr, ndtr, wrightomega

from ..arrays import Array
from ..parallel import one_blas_thread

STEP = 0.4
"""Spacing of the table's columns: races use it, or a power of two times it."""

_OCTAVES = 4  # tables for standard deviations up to 2, 4, 8, 16; quadrature beyond
_DEGREE = 3  # total degree of the interpolating polynomial of a cell
_TAPS = 10  # columns that determine the polynomial of a cell
_TERMS = [(a, d - a) for d in range(_DEGREE + 1) for a in range(d + 1)]  # by total degree
_LARGEST_SADDLE = 1.6
_DEEP = -25.0  # standard deviations: far below, a distribution function is too small to add up
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
    # By whoever asks first, for all: with one BLAS thread its bits do not depend on who that is.
    with one_blas_thread:
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


def wide_excess(z: Array, variance: Array) -> Array:
    """The excess of latents so wide that a Gauss rule for the noise is exact: z of shape (p, k).

    phi is the mean over the noise of the Gaussian distribution function at z - noise, 1 - phi that
    of its complement: the smaller is computed.
    """
    v = variance[:, None]
    near = np.minimum(z, v)
    sign = np.where(near < 0, 1.0, -1.0) / np.sqrt(v)
    total = np.zeros_like(near)
    for node, weight in zip(*_noise_rule(), strict=True):
        total += weight * ndtr(sign * (near - node))
    log_part = np.log(np.maximum(total, 1e-300))
    deep = sign * near < _DEEP
    log_part[deep] = _log_part(near[deep], sign[deep])
    tail = _from_log_tail(np.minimum(log_part, -1e-3), near)
    out = np.where(near < 0, np.log(np.maximum(-log_part, 1e-3)) + near, tail)
    # Far right it is the noise that exceeds z, out of the rule's reach.
    far = z > 0.5 * v
    out[far] = far_excess(z[far], np.broadcast_to(v, z.shape)[far])
    return out


def _log_part(z: Array, sign: Array) -> Array:
    """Logarithm of the mean over the noise, where it is too small for anything else, (k,)."""
    scale = log_ndtr(sign * z)
    total = np.zeros_like(z)
    for node, weight in zip(*_noise_rule(), strict=True):
        total += weight * np.exp(log_ndtr(sign * (z - node)) - scale)
    return np.asarray(np.log(total) + scale)


def far_excess(z: Array, variance: Array) -> Array:
    """The excess of wide latents for z > v/2, all of shape (k,).

    1 - exp(-X) is the integral of -Gamma(s) X^-s over a line with real part -t, 0 < t < 1, divided
    by 2 pi i, and the mean of X^-s with X = e^(x - z) is exp(s z + s^2 v / 2). The poles at 0 and
    -1 give normal distribution functions; what is left of -Gamma is smooth, and its integral over
    the line through the saddle at t = z / v a Gaussian one of width 1 / sqrt(v):

        1 - phi = N(-z / sigma) + exp(v/2 - z) N((z - v) / sigma)
                  + exp(-z^2 / 2v) (h(t) - h''(t) / 2v + h''''(t) / 8v^2) / sqrt(2 pi v)
    """
    sigma = np.sqrt(variance)
    saddle = z / variance
    poles = np.logaddexp(
        log_ndtr(-z / sigma), 0.5 * variance - z + log_ndtr((z - variance) / sigma)
    )
    rest = _smooth_part()
    t = np.minimum(saddle, _LARGEST_SADDLE)
    height = rest(t) - rest.deriv(2)(t) / (2.0 * variance) + rest.deriv(4)(t) / (8.0 * variance**2)
    log_width = -0.5 * saddle * z - 0.5 * np.log(2.0 * np.pi * variance)
    # Beyond the largest saddle only the second pole counts.
    share = np.where(saddle < _LARGEST_SADDLE, height * np.exp(log_width - poles), 0.0)
    return _from_log_tail(poles + np.log1p(share), z)


@cache
def _smooth_part() -> Chebyshev:
    """h(t) = -Gamma(-t) - 1/t - 1/(1 - t) for 0.4 <= t <= 1.6."""

    def smooth(t: Array) -> Array:
        return np.asarray(-gamma(-t) - 1.0 / t - 1.0 / (1.0 - t))

    # An even number of nodes has none at t = 1, where the poles cancel.
    return Chebyshev.interpolate(smooth, 23, domain=[0.4, _LARGEST_SADDLE])


@cache
def _noise_rule(n: int = 16) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss rule for standard Gumbel noise, by the Lanczos process."""
    noise = np.linspace(-5.0, 60.0, 4_001)
    density = np.exp(-noise - np.exp(-noise))
    basis = np.sqrt(density / density.sum())[None]
    jacobi = np.zeros((n + 1, n + 1))
    with one_blas_thread:  # as for tables
        for k in range(n):
            image = noise * basis[k]
            jacobi[k, k] = image @ basis[k]
            for _ in range(2):  # orthogonal to working precision
                image = image - (basis @ image) @ basis
            jacobi[k, k + 1] = jacobi[k + 1, k] = np.linalg.norm(image)
            basis = np.vstack([basis, image / jacobi[k, k + 1]])
        nodes, vectors = np.linalg.eigh(jacobi[:n, :n])
    return nodes, vectors[0] ** 2
