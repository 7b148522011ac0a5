"""Class statistics against one regression per class, on letter with fixed inducing points.

    python benchmarks/bench_per_class.py [--points 200] [--evaluations 20] [--quick]

Both compute the same bound and gradient at the same hyperparameters, by turns. The second table
shows what classes cost: the same rows with 26 labels and with 2.
"""

import argparse

import numpy as np
from _measure import JITTER, PAUSE, by_turns, letter, objective_of, ratio, say_where
from per_class import PerClassBound

from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers

ALPHA = 0.001


def hyperparameters(n_features, n, seed=0):
    """Lengthscales and variances around the optimum of an isotropic kernel (1.02 and 4.6)."""
    rng = np.random.default_rng(seed)
    return [
        (1.02 * np.exp(0.2 * rng.normal(size=n_features)), 4.6 * np.exp(0.2 * rng.normal()))
        for _ in range(n)
    ]


def ours(X, codes, points, settings):
    """Evaluate the bound at all settings, in one pool of threads as in a fit."""
    results = []
    with Workers(None) as workers:
        objective = objective_of(X, codes, workers, ALPHA)
        for lengthscale, variance in settings:
            value, gradient = objective.value_and_gradient(
                KERNELS["rbf"](lengthscale, variance), points
            )
            results.append((value, np.append(gradient.parameters, gradient.log_variance)))
    return results


def largest_difference(first, second):
    """Largest relative difference of bounds, and of gradients in norm."""
    pairs = list(zip(first, second, strict=True))
    values = max(abs(a - b) / abs(b) for (a, _), (b, _) in pairs)
    gradients = max(np.linalg.norm(a - b) / np.linalg.norm(b) for (_, a), (_, b) in pairs)
    return values, gradients


def against_per_class(X, codes, points, evaluations):
    plain = PerClassBound(X, codes, points, ALPHA, JITTER)
    settings = hyperparameters(X.shape[1], 4)
    differences = largest_difference(
        ours(X, codes, points, settings),
        [plain.value_and_gradient(*setting) for setting in settings],
    )
    print(f"relative difference: bound {differences[0]:.1e}, gradient {differences[1]:.1e}")
    if max(differences) > 1e-8:
        raise SystemExit("the two implementations do not compute the same thing")
    per_turn, rounds = len(settings), max(1, evaluations // len(settings))
    times = by_turns(
        [
            lambda: [plain.value_and_gradient(*setting) for setting in settings],
            lambda: ours(X, codes, points, settings),
        ],
        rounds,
        PAUSE,
    )
    times /= per_turn
    print(
        f"{len(X)} rows, {codes.max() + 1} classes, {len(points)} points; "
        f"{rounds * per_turn} evaluations of each\n"
    )
    print(f"{'':<22} {'s / evaluation':>14} {'best':>8}")
    for name, column in (
        ("one regression / class", times[:, 0]),
        ("class statistics", times[:, 1]),
    ):
        print(f"{name:<22} {np.median(column):14.4f} {column.min():8.4f}")
    print(
        f"ratio {ratio(times, 0, 1):.1f}, of the best {times[:, 0].min() / times[:, 1].min():.1f}\n"
    )


def cost_of_classes(X, codes, points, rounds):
    setting = hyperparameters(X.shape[1], 1)
    two = (codes >= (codes.max() + 1) // 2).astype(int)
    with Workers(None) as workers:
        kernel = KERNELS["rbf"](*setting[0])
        many_classes, two_classes = (
            objective_of(X, codes, workers, ALPHA),
            objective_of(X, two, workers, ALPHA),
        )
        times = by_turns(
            [
                lambda: many_classes.value_and_gradient(kernel, points),
                lambda: two_classes.value_and_gradient(kernel, points),
            ],
            rounds,
        )
    print(f"{'classes':<8} {'median s':>9} {'best s':>8}")
    for name, column in ((codes.max() + 1, times[:, 0]), (2, times[:, 1])):
        print(f"{name:<8} {np.median(column):9.4f} {column.min():8.4f}")
    print(
        f"ratio {ratio(times, 0, 1):.2f}, of the best {times[:, 0].min() / times[:, 1].min():.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--evaluations", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="2,000 rows, few evaluations")
    arguments = parser.parse_args()
    say_where()
    X, codes, points, _, _ = letter(arguments.points, 2_000 if arguments.quick else None)
    against_per_class(X, codes, points, 4 if arguments.quick else arguments.evaluations)
    cost_of_classes(X, codes, points, 5 if arguments.quick else 25)


if __name__ == "__main__":
    main()
