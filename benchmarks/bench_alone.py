"""Rows that are alone in their class: which noise to assume where no row left out can say it.

    python benchmarks/bench_alone.py [--first 1000] [--draws 45]

Two hundred Gaussian clusters with one training row each, of three dimensions and many spreads. The
default was chosen on the draws from 1000 on and then confirmed on those from 2000 on
(`--first 2000 --draws 30`). The kernel is the one that such a fit takes.
"""

import argparse

import numpy as np

from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.probabilities.softmax import log_probability_of
from dirichletgp._gp.core.regressions import LabelTransform, Posterior, make_basis
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.rows.scaling import NormalScores

N_CLASSES, N_NEW = 200, 300
DIMENSIONS, SPREADS = (4, 16, 64), (0.3, 0.7, 1.2)
ALPHAS = (0.001, 0.003, 0.01, 0.03)


def problem(seed):
    """Scaled training rows, one of each class, and new rows with their classes."""
    rng = np.random.RandomState(seed)
    kind = seed % len(DIMENSIONS)
    spread = SPREADS[kind] * rng.uniform(0.1, 2.0)
    centres = rng.randn(N_CLASSES, DIMENSIONS[kind])
    X = centres + spread * rng.randn(*centres.shape)
    y_new = rng.randint(0, N_CLASSES, N_NEW)
    X_new = centres[y_new] + spread * rng.randn(N_NEW, DIMENSIONS[kind])
    scaler = NormalScores().fit(X)
    return scaler.transform(X), scaler.transform(X_new), y_new


def scores(X, X_new, y_new, alpha, workers):
    """Error and mean negative log-likelihood of new rows."""
    prior = np.full(N_CLASSES, 1.0 / N_CLASSES)
    transform = LabelTransform.even(alpha, prior)
    kernel = KERNELS["rbf"].starting(X, None, transform.target_variance(prior), False)
    basis = make_basis(kernel, X, 1e-6)
    rows = InMemoryRows(X, np.arange(N_CLASSES), None, N_CLASSES)
    statistics = rows.class_statistics(basis, workers, pooled=True)
    posterior = Posterior.from_statistics(statistics, kernel.variance, transform, prior, workers)
    mean, variance = posterior.latent(basis.vectors(X_new))
    log_p = log_probability_of(y_new, mean, variance, coarse=True)
    return np.mean(mean.argmax(axis=1) != y_new), -log_p.mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1_000)
    parser.add_argument("--draws", type=int, default=45)
    given = parser.parse_args()
    with Workers(1) as workers:
        found = np.array(
            [
                [scores(*problem(seed), alpha, workers) for alpha in ALPHAS]
                for seed in range(given.first, given.first + given.draws)
            ]
        )
    regret = found[..., 1] - found[..., 1].min(axis=1, keepdims=True)
    print("| alpha | error | MNLL | mean regret | largest regret |\n|---|---|---|---|---|")
    for i, alpha in enumerate(ALPHAS):
        error, loss = found[:, i].mean(axis=0)
        print(
            f"| {alpha:g} | {error:.3f} | {loss:.3f} | {regret[:, i].mean():.3f} "
            f"| {regret[:, i].max():.3f} |"
        )


if __name__ == "__main__":
    main()
