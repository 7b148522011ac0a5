"""The kernel for tables: what a pass costs beside the kernel of distances, and what binning loses.

    python benchmarks/bench_product.py [--rounds 5]

A pass is an evaluation of the bound with its gradient. Both kernels take turns on the same rows and
points. Binning: the MNLL of a fitted model, and of the same kernel, points and label transform with
every distinct value of the training rows as a level.
"""

import argparse
from dataclasses import replace

import numpy as np
from _data import split
from _measure import by_turns, objective_of, ratio, say_where

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.kernels.product import levels_of
from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.probabilities.softmax import class_probabilities
from dirichletgp._gp.core.regressions import Posterior, make_basis
from dirichletgp._gp.rows.in_memory import Chunk
from dirichletgp._gp.rows.scaling import scaling_function
from dirichletgp.metrics import mean_negative_log_likelihood

DATASETS = ["eeg", "htru2", "magic", "letter", "pendigits", "satimage"]


def rows(n, n_numbers, n_two_valued, seed=0):
    """Normal scores, and columns of two values."""
    rng = np.random.default_rng(seed)
    two_valued = rng.integers(0, 2, (n, n_two_valued)) - 0.5
    X = np.concatenate([rng.normal(size=(n, n_numbers)), two_valued], axis=1)
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(np.intp)


def cost(n_numbers, n_two_valued, rounds, n=100_000, n_points=500):
    """Time of a pass with the product kernel, in passes with the ARD kernel."""
    X, codes = rows(n, n_numbers, n_two_valued)
    places = np.random.default_rng(1).choice(n, n_points, replace=False)
    with Workers() as workers:
        objective = objective_of(X, codes, workers)

        def of(name):
            kernel = KERNELS[name].starting(X[:20_000], None, 2.0, True)
            points = kernel.snapped(X[places])

            def evaluate():
                # A new kernel every time: its tables belong to the evaluation.
                fresh = kernel.with_parameters(kernel.parameters, 2.0)
                objective.value_and_gradient(fresh, points)

            return evaluate

        return ratio(by_turns([of("product"), of("rbf")], rounds), 0, 1)


def binning(name):
    """MNLL with levels, and with every distinct value a level."""
    s = split(name, 0)
    settings = {"n_inducing": 300, "max_iter": 20, "random_state": 0}
    classifier = DirichletGPClassifier("product", **settings).fit(s.X, s.y)
    model, encoder = classifier._fitted.model, classifier._fitted.encoder
    labelled = encoder.rows(Chunk(s.X, s.y, None))
    everything = labelled.take(np.arange(len(labelled)))
    scaled = scaling_function(encoder.scaler)(np.asarray(s.X_test, dtype=np.float64))

    def mnll(kernel):
        with Workers() as workers:
            basis = make_basis(kernel, model.points, model.jitter)
            statistics = everything.class_statistics(basis, workers)
            posterior = Posterior.from_statistics(
                statistics, kernel.variance, model.transform, model.prior, workers
            )
            parts = [posterior.latent(basis.vectors(part)) for part in np.array_split(scaled, 10)]
        p = np.concatenate([class_probabilities(*part) for part in parts])
        return mean_negative_log_likelihood(s.y_test, p)

    every_value = tuple(levels_of(column, len(column)) for column in everything.X.T)
    return mnll(model.kernel), mnll(replace(model.kernel, levels=every_value))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    say_where()
    for n_numbers, n_two_valued in ((16, 0), (10, 44)):
        found = cost(n_numbers, n_two_valued, given.rounds)
        print(
            f"100,000 rows, 500 points, {n_numbers} numbers, {n_two_valued} columns of two values: "
            f"{found:.2f} times the ARD kernel's pass"
        )
    print("\n| dataset | MNLL, levels | MNLL, all values | difference |\n|---|---|---|---|")
    for name in DATASETS:
        binned, exact = binning(name)
        print(f"| {name} | {binned:.5f} | {exact:.5f} | {100 * (binned / exact - 1):+.3f} % |")


if __name__ == "__main__":
    main()
