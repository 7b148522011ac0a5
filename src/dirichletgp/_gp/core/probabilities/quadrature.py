"""The excess log kappa(z, v) + z of a Gaussian latent in a race, by three integrals.

With phi(z, v) = E[exp(-exp(x - z))], x ~ N(0, v), and kappa = -log phi (`table.py`): the
trapezoidal rule, right everywhere, for the table; Laplace's method far left of it; and a Gauss rule
for latents too wide to tabulate.
"""

from functools import cache

import numpy as np
from scipy.special import log_ndtr, wrightomega

from ..arrays import Array


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
    nodes, weights = _noise_rule()
    scale = log_ndtr(sign * near)
    total = np.zeros_like(near)
    for node, weight in zip(nodes, weights, strict=True):
        total += weight * np.exp(log_ndtr(sign * (near - node)) - scale)
    log_part = np.log(total) + scale
    tail = _from_log_tail(np.minimum(log_part, -1e-3), near)
    out = np.where(near < 0, np.log(np.maximum(-log_part, 1e-3)) + near, tail)
    # Far right it is the noise that exceeds z, out of the rule's reach. With a variance above 1e4
    # that has a logarithm below -1000: left as it is up to z = v, and as it is in the end beyond.
    out = np.where(z > v, 0.5 * v, out)
    for i in np.flatnonzero((z[:, -1] > 0.5 * variance) & (variance < 1e4)):
        far = z[i] > 0.5 * variance[i]
        out[i, far] = excess_by_quadrature(z[i, far], float(variance[i]))
    return out


@cache
def _noise_rule(n: int = 16) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss rule for standard Gumbel noise, by the Lanczos process."""
    noise = np.linspace(-5.0, 60.0, 4_001)
    density = np.exp(-noise - np.exp(-noise))
    basis = np.sqrt(density / density.sum())[None]
    jacobi = np.zeros((n + 1, n + 1))
    for k in range(n):
        image = noise * basis[k]
        jacobi[k, k] = image @ basis[k]
        for _ in range(2):  # orthogonal to working precision
            image = image - (basis @ image) @ basis
        jacobi[k, k + 1] = jacobi[k + 1, k] = np.linalg.norm(image)
        basis = np.vstack([basis, image / jacobi[k, k + 1]])
    nodes, vectors = np.linalg.eigh(jacobi[:n, :n])
    return nodes, vectors[0] ** 2
