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


class Descent(NamedTuple):
    """The outcome of a descent.

    Attributes
    ----------
    curvature : ndarray of shape (n, n)
        An approximation of the inverse Hessian.
    converged : bool
        Whether steps no longer gained anything, rather than there being too many of them.
    """

    curvature: Array
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
    n = len(start)
    shape = np.eye(n) if curvature is None else cholesky(curvature, lower=True)
    first = loss(start)
    slope = shape.T @ first[1]
    length = float(np.linalg.norm(slope))
    # The first step of L-BFGS has length one: along the slope, or as far as curvature says.
    scale = _FIRST_STEP if curvature is None else length
    shape = shape * (scale if scale > 0 else 1.0)

    def rounded(place: Array) -> tuple[float, Array]:
        if not place.any():
            return first[0], shape.T @ first[1]
        step = shape @ place
        inside = np.clip(step, -reach, reach)
        value, gradient = loss(start + inside)
        return value, shape.T @ np.where(inside == step, gradient, 0.0)

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
    inverse = shape @ found.hess_inv.todense() @ shape.T
    # 1 is max_iter; a line search that finds nothing better is an end.
    return Descent(inverse, found.status != 1)
