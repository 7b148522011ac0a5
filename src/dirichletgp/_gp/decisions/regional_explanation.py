"""Contributions of columns to the predictions of a model of regions.

The latent mean of a row is that of its regions, averaged with weights that follow from the row:

    f(x) = sum_r weight_r(x) f_r(x)

What is taken apart is this average with the weights of the row held fixed, sum_r weight_r f_r. Each
f_r is a sum of products over columns, so its Shapley values have their closed form, and Shapley
values of a weighted sum are the weighted sums of Shapley values:

    phi_j = sum_r weight_r phi_j^r        base = sum_r weight_r base_r

With the base value those of a row sum to f(x). Weights change smoothly across borders, hence so do
contributions. A column that is not known is drawn from the inducing points of the region, which are
rows of it: elsewhere f_r is never asked. So the base value is what the regions of the row say of
rows of theirs, and contributions say what sets the row apart from these. A region that only counts
is the same for all its rows: it adds to the base value and to no contribution.
"""

import numpy as np

from ..core.arrays import Array, Integers
from ..core.parallel import Workers
from ..core.regional import apart
from ..core.shapley import Attribution
from ..training.fitted import Model
from ..training.regional import RegionalModel


def regional_contributions(
    model: RegionalModel, origin: Integers, scaled: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """Shapley values (n, G, C) of the latent means at scaled rows, and base values (n, C).

    The G columns are those that `origin` names, increasing.
    """
    n_columns, n_classes = len(np.unique(origin)), len(model.prior)
    values = np.zeros((len(scaled), n_columns, n_classes))
    base = np.zeros((len(scaled), n_classes))

    def of_part(part: tuple[int, Integers, Array]) -> tuple[Array, Array]:
        region, positions, _ = part
        return _of_region(model.models[region], origin, scaled[positions])

    parts = model.regions.places(scaled).by_region()
    with Workers(n_jobs) as workers:
        found = workers.map(of_part, parts)
        for (_, positions, share), (own, own_base) in zip(parts, found, strict=True):
            values[positions] += share[:, None, None] * own
            base[positions] += share[:, None] * own_base
    return values, base


def _of_region(model: Model, origin: Integers, rows: Array) -> tuple[Array, Array]:
    """Shapley values (n, G, C) under the model of one region, and its base value (C,)."""
    posterior = model.posterior
    if len(model.points) == 0:
        mean, _ = posterior.latent(np.empty((1, 0)))
        return np.zeros((1, 1, 1)), mean[0]
    attribution = Attribution.of(apart(model.basis), posterior, origin, model.points)
    return attribution.values(rows, Workers(1)), attribution.base
