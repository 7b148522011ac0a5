"""Descent that begins where an earlier one ended: its curvature too.

The stages of a fit search for the same parameters on more and more rows and points. L-BFGS finds
out by itself how curved a function is, at the price of its first steps; what one stage has found
out is handed on to the next as coordinates in which the function is all but round.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky
from scipy.optimize import minimize

from ..core.arrays import Array

# Steps that the curvature is gathered from.
_MEMORY = 20
# Length of the first step where nothing is known.
_FIRST_STEP = 0.3
# Of more coordinates (points that move) the curvature would be too large a matrix to hand on.
_MOST_COORDINATES = 1_000


class Descent(NamedTuple):
    """The outcome of a descent.

    Attributes
    ----------
    curvature : ndarray of shape (n, n) or None
        An approximation of the inverse Hessian; None if there are very many coordinates.
    converged : bool
        Whether steps no longer gained anything, rather than there being too many of them.
    """

    curvature: Array | None
    converged: bool


def descend(
    loss: Callable[[Array], tuple[float, Array]],
    start: Array,
    reach: Array,
    curvature: Array | None,
    max_iter: int,
    tolerance: float,
) -> Descent:
    """Minimise a function by L-BFGS; the function itself has to remember its best argument.

    Parameters
    ----------
    loss : callable
        From an argument (n,) to the value and the gradient (n,).
    start : ndarray of shape (n,)
    reach : ndarray of shape (n,)
        How far from the start each coordinate may go.
    curvature : ndarray of shape (n, n) or None
        The inverse Hessian of a similar function.
    max_iter : int
    tolerance : float
        A step that gains less than this part of the value is the last.
    """
    root = None if curvature is None else _root(curvature)
    first = loss(start)
    slope = first[1] if root is None else root.T @ first[1]
    # The first step of L-BFGS has length one: along the slope, or as far as curvature says.
    scale = _FIRST_STEP if root is None else float(np.linalg.norm(slope))
    scale = scale or 1.0

    def step_of(place: Array) -> Array:
        return scale * (place if root is None else root @ place)

    def by_place(gradient: Array) -> Array:
        return scale * (gradient if root is None else root.T @ gradient)

    def rounded(place: Array) -> tuple[float, Array]:
        if not place.any():
            return first[0], by_place(first[1])
        step = step_of(place)
        inside = np.clip(step, -reach, reach)
        value, gradient = loss(start + inside)
        return value, by_place(np.where(inside == step, gradient, 0.0))

    n = len(start)
    found = minimize(
        rounded,
        np.zeros(n),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iter,
            "maxfun": 2 * max_iter + 5,
            "maxcor": _MEMORY,
            "ftol": tolerance,
            "gtol": 0.0,
        },
    )
    # 1 is max_iter; a line search that finds nothing better is an end.
    converged = found.status != 1
    if n > _MOST_COORDINATES:
        return Descent(None, converged)
    inverse = scale**2 * found.hess_inv.todense()
    if root is not None:
        inverse = root @ inverse @ root.T
    return Descent(inverse, converged)


def _root(curvature: Array) -> Array | None:
    """The lower Cholesky factor, or None if rounding has left no positive matrix."""
    try:
        factor: Array = cholesky(curvature, lower=True)
    except np.linalg.LinAlgError:
        return None
    return factor
