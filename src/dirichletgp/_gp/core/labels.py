"""From class labels to regression targets: what a row says in each of the C regressions.

A row is "in" the class of one regression and "out" of all others, so a label transform is four
numbers: the target and the noise variance of either case. The Dirichlet transform of the paper
moves them along one curve with alpha_epsilon; the learned transform chooses them freely (only the
separation of the targets matters, since a common shift of all targets is undone by the centring).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelTransform:
    """Targets and noise variances of a row in, and out of, the class of a regression.

    Attributes
    ----------
    target_in, target_out : float
        y1 and y0 of the design: the latent value a row asks for.
    noise_in, noise_out : float
        s1 and s0: the variance of that request.

    Examples
    --------
    >>> from dirichletgp import LabelTransform
    >>> transform = LabelTransform.dirichlet(0.01)
    >>> round(transform.separation, 3), round(transform.noise_in, 3), round(transform.noise_out, 3)
    (6.579, 0.688, 4.615)
    """

    target_in: float
    target_out: float
    noise_in: float
    noise_out: float

    @classmethod
    def dirichlet(cls, alpha_epsilon: float) -> "LabelTransform":
        """The paper's transform: log-normals that match the moments of Gamma(1 + alpha) and Gamma(alpha)."""
        noise_in = np.log1p(1.0 / (1.0 + alpha_epsilon))
        noise_out = np.log1p(1.0 / alpha_epsilon)
        return cls(
            target_in=float(np.log1p(alpha_epsilon) - noise_in / 2),
            target_out=float(np.log(alpha_epsilon) - noise_out / 2),
            noise_in=float(noise_in),
            noise_out=float(noise_out),
        )

    @classmethod
    def from_constants(
        cls, separation: float, noise_in: float, noise_out: float
    ) -> "LabelTransform":
        """A free transform, with the targets placed symmetrically about zero."""
        return cls(separation / 2, -separation / 2, noise_in, noise_out)

    @property
    def separation(self) -> float:
        """Distance y1 - y0 between the two targets."""
        return self.target_in - self.target_out

    def offsets(self, prior: Array) -> Array:
        """Latent value mu_c far from all data: log prior, centred on the mean target.

        Parameters
        ----------
        prior : ndarray of shape (C,)
            Class probabilities, all positive.
        """
        log_prior = np.log(prior)
        n_classes = len(prior)
        level = (self.target_in + (n_classes - 1) * self.target_out) / n_classes
        return np.asarray(log_prior - log_prior.mean() + level)

    def residuals(self, prior: Array) -> tuple[Array, Array]:
        """Targets with the offsets taken off: r1 (C,) of rows in the class, r0 (C,) of rows out of it."""
        offsets = self.offsets(prior)
        return self.target_in - offsets, self.target_out - offsets
