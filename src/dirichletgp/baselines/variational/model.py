"""The fitted variational classifier: M-sized, no rows inside."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..._gp.core.arrays import Array
from ..._gp.core.kernels import Kernel
from ..._gp.core.regressions import Basis, make_basis
from .belief import Belief
from .likelihoods import Likelihood


@dataclass(frozen=True)
class VariationalModel:
    """Kernel, points and belief of a fitted classifier.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
    jitter : float
    likelihood : Likelihood
    belief : Belief
    """

    kernel: Kernel
    points: Array
    jitter: float
    likelihood: Likelihood
    belief: Belief

    @cached_property
    def basis(self) -> Basis:
        """The whitened kernel vectors."""
        return make_basis(self.kernel, self.points, self.jitter)

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Means and variances (n, L) of the latent functions at scaled rows."""
        return self.belief.marginals(self.basis.vectors(rows), self.kernel.variance)

    def __getstate__(self) -> dict[str, Any]:
        belief = Belief(self.belief.mean, self.belief.precision)
        return {name: value for name, value in vars(self).items() if name != "basis"} | {
            "belief": belief
        }
