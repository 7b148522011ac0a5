"""Effects of columns under a model of regions.

Which regions a row is in follows from all its columns, so means over the background are taken line
by line: the background has B lines, whose columns were drawn each by itself. With b the lines, and
b(v) those with the value v in the columns in question, the effect is

    g(v) = 1/B sum_b f(b(v)) - 1/B sum_b f(b)        f(x) = sum_r weight_r(x) f_r(x)

so it is that of the model as it predicts, borders and all. The latent functions of the regions know
nothing of each other, and g is a sum of linear functionals g_r of them, one for each region: rows
x_i with coefficients a_i, which are weights over B, positive at b(v) and negative at b. Under the
posterior g is Gaussian, and means and variances of the g_r add up. With a mean vector
u = sum_i a_i u_i,

    mean g_r = u' beta_c + mu_c sum_i a_i        var g_r = a' K a - u'u + u' B_c^-1 u

where K has the kernel between the rows x_i. It is a product over columns: between two lines that of
the columns in question times that of the others, and b(v) and b'(v) differ in the others alone. A
region that only counts has one latent for all rows.
"""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, Booleans, Integers
from ..core.kernels import Kernel
from ..core.parallel import Workers
from ..core.regional import apart
from ..core.regions import Places
from ..training.fitted import Model
from ..training.regional import RegionalModel


def regional_effect(
    model: RegionalModel, lines: Array, own: Booleans, scaled: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """Mean and variance (n, C) of an effect on the latents, at the values in scaled rows (n, D).

    Parameters
    ----------
    model : RegionalModel
    lines : ndarray of shape (B, D)
        The background.
    own : ndarray of shape (D,), bool
        The scaled columns whose effect it is.
    scaled : ndarray of shape (n, D)
        Of which only these columns matter.
    n_jobs : int or None
    """
    values, place = np.unique(scaled[:, own], axis=0, return_inverse=True)
    background = _Lines.of(lines, own, model.kernel)
    to_lines = background.to_values(values)
    nothing = np.empty(0, dtype=np.intp), np.empty(0)
    with Workers(n_jobs) as workers:
        before = _held(model.regions.places(lines))
        after = [_held(model.regions.places(background.with_value(value))) for value in values]

        def of_region(region: int) -> tuple[Array, Array]:
            held = [lines.get(region, nothing) for lines in (before, *after)]
            part = model.models[region]
            return _functionals(part, background, values, to_lines, held[0], held[1:])

        touched = sorted(set().union(before, *after))
        mean, variance = np.zeros((2, len(values), len(model.prior)))
        for more_mean, more_variance in workers.map(of_region, touched):
            mean += more_mean
            variance += more_variance
    place = place.reshape(-1)
    return mean[place], variance[place]


# Which lines a region holds, and their weights.
_Held = tuple[Integers, Array]


def _held(places: Places) -> dict[int, _Held]:
    """The lines that every region holds."""
    return {region: (rows, weights) for region, rows, weights in places.by_region()}


@dataclass(frozen=True)
class _Lines:
    """The background, and the kernel between its lines.

    Attributes
    ----------
    lines : ndarray of shape (B, D)
    own : ndarray of shape (D,), bool
    kernel : Kernel
    among_own, among_others : ndarray of shape (B, B)
        The factors of the kernel of the own columns, and of the others with the variance.
    """

    lines: Array
    own: Booleans
    kernel: Kernel
    among_own: Array
    among_others: Array

    @classmethod
    def of(cls, lines: Array, own: Booleans, kernel: Kernel) -> "_Lines":
        at_lines = kernel.of_points(lines).at(lines)
        parts = []
        for line in lines:
            factors = at_lines.factors(line[None])[0]
            parts.append((factors[own].prod(axis=0), factors[~own].prod(axis=0)))
        among_own, among_others = (np.array(part) for part in zip(*parts, strict=True))
        return cls(lines, own, kernel, among_own, kernel.variance * among_others)

    def with_value(self, value: Array) -> Array:
        """B(v): all lines with one value in the own columns."""
        changed = self.lines.copy()
        changed[:, self.own] = value
        return changed

    def to_values(self, values: Array) -> Array:
        """The factors (n, B) of the own columns between values (n, E) and all lines."""
        at_lines = self.kernel.at(self.lines)
        row = self.lines[:1].copy()
        found = []
        for value in values:
            row[:, self.own] = value
            found.append(at_lines.factors(row)[0, self.own].prod(axis=0))
        return np.array(found)


def _functionals(
    model: Model,
    background: _Lines,
    values: Array,
    to_lines: Array,
    before: _Held,
    after: list[_Held],
) -> tuple[Array, Array]:
    """Mean and variance (n, C) of g_r at values (n, E), for the lines that region r holds.

    `to_lines` (n, B) has the factors of the kernel between values and lines. The region holds the
    lines `before` as they are, and those in `after` with each of the values.
    """
    size = len(background.lines)
    posterior = model.posterior
    lines, minus = before[0], before[1] / size
    totals = np.array([plus.sum() / size for _, plus in after]) - minus.sum()
    if len(model.points) == 0:
        mean, variance = posterior.latent(np.empty((1, 0)))
        return totals[:, None] * mean, totals[:, None] ** 2 * variance
    basis = apart(model.basis)
    lines_vector = minus @ basis.vectors(background.lines[lines])
    of_own, of_others = background.among_own, background.among_others
    among_lines = (of_own * of_others)[np.ix_(lines, lines)]
    prior = np.full(len(values), minus @ among_lines @ minus)
    vectors = np.repeat(-lines_vector[None], len(values), axis=0)
    for i, (rows, weights) in enumerate(after):
        if len(rows) == 0:
            continue
        plus = weights / size
        vectors[i] += plus @ basis.vectors(background.with_value(values[i])[rows])
        across = of_others[np.ix_(rows, lines)] * to_lines[i, lines]
        prior[i] += plus @ of_others[np.ix_(rows, rows)] @ plus - 2.0 * (plus @ across @ minus)
    unexplained = np.maximum(prior - np.einsum("nm,nm->n", vectors, vectors), 0.0)
    mean = vectors @ posterior.coefficients.T + totals[:, None] * posterior.offsets
    return mean, unexplained[:, None] + posterior.explained(vectors)
