"""Plain models, which every model has to beat: the class frequencies, and a linear one.

The linear one has a kernel so long that its functions are all but linear over the rows, and a label
transform that is given. Nothing of it is learned, so leaving its rows out is honest.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Array, Integers
from ..core.kernels import Kernel
from ..core.parallel import Workers
from ..core.probabilities.softmax import log_probability_of
from ..core.regressions import LabelTransform, Posterior
from ..rows.in_memory import InMemoryRows
from .inducing_points import choose_points
from .kernel_search import State, basis_of
from .settings import warn_caller

# Lengthscale of an all but linear model, in typical ones.
_FAR = 10.0
# A label transform with which an all but linear model is as good as logistic regression (known
# problems of 50 to 1,000 rows, classes of a size): with fifty rows, none can be learned as good.
_SEPARATION, _NOISE_IN, _NOISE_OUT = 3.4, 1.2, 2.1
FREQUENCIES = "the class frequencies"
# Rows and points that a linear model needs to be judged.
_ROWS, _POINTS = 3_000, 128


def linear_kernel(typical: Kernel) -> Kernel:
    """A kernel so long that its functions are linear over rows that a kernel is typical for."""
    return typical.stretched(_FAR, _FAR**2 * typical.variance)


def given_labels(repetition: float = 1.0) -> LabelTransform:
    """Labels as plain as the linear kernel; rows that are there several times count once."""
    return LabelTransform.from_constants(
        _SEPARATION, repetition * _NOISE_IN, repetition * _NOISE_OUT
    )


class Loss(NamedTuple):
    """A mean negative log-likelihood of left-out rows, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, log_p: Array, weights: Array | None) -> "Loss":
        """From the log probabilities (n,) of the rows' own classes."""
        mean = float(np.average(-log_p, weights=weights))
        spread = float(np.average(np.square(log_p + mean), weights=weights))
        return cls(mean, float(np.sqrt(spread / len(log_p))))

    def is_worse_than(self, other: "Loss") -> bool:
        """Whether it is larger by more than two standard errors."""
        return self.mean - other.mean > 2.0 * float(np.hypot(self.error, other.error))


def plain_losses(
    pool: InMemoryRows, typical: Kernel, prior: Array, workers: Workers
) -> dict[str, Loss]:
    """What rows cost that plain models of some rows of a pool have not seen."""
    chosen = pool.stratified_sample(_ROWS, np.random.RandomState(0))
    rows = pool.take(chosen).each_once()
    distinct = np.unique(rows.X, axis=0)
    kernel = linear_kernel(typical)
    even, rng = np.ones(len(distinct)), np.random.RandomState(0)
    points = choose_points("kmeans", distinct, even, _POINTS, kernel, rng)
    basis, _ = basis_of(State(kernel, points))
    statistics = rows.class_statistics(basis, workers)
    posterior = Posterior.from_statistics(
        statistics, kernel.variance, given_labels(), prior, workers
    )
    latents = posterior.latent_without_votes(basis.vectors(rows.X), rows.votes())
    log_p = log_probability_of(rows.codes, *latents, coarse=True)
    return {
        "a linear model": Loss.of(log_p, rows.weights),
        FREQUENCIES: _of_frequencies(rows.codes, rows.weights, len(prior)),
    }


def _of_frequencies(codes: Integers, weights: Array | None, n_classes: int) -> Loss:
    totals = np.bincount(codes, weights, n_classes)
    log_frequency = np.log(np.maximum(totals, np.finfo(float).tiny) / totals.sum())
    return Loss.of(log_frequency[codes], weights)


def warn_of_plain_model(loss: float, name: str, of_plain: float) -> None:
    """Say that a plain model predicts better than the one that was learned."""
    warn_caller(
        f"Rows left out of training are predicted worse (MNLL {loss:.4f}) than by {name} "
        f"({of_plain:.4f}), from other starting values too. Try another kernel or scaler, more "
        "rows (n_subsample), or take the plain model.",
        RuntimeWarning,
    )
