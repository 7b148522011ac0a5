"""What a pass over the rows costs by points and features: the cost model of docs/scaling.md.

    python benchmarks/bench_cost.py [--quick]

Sums up the class statistics of rows in memory for a grid of sizes, with normal scores computed on
the way as in a fit, and fits non-negative constants to: seconds per row and core = a + b D + c M +
d M D + e M^2. With regions that hold a row p times, the terms with M count p times, finding a row's
regions among R adds f D log2 R, and summing n rows at a time, few for each region, g M R / n.
Seconds are those of the processor, with one thread, so that company on the machine matters little.
"""

import argparse
import itertools
import time

import numpy as np
from _measure import say_where
from scipy.optimize import nnls

from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.regional import RegionalBasis
from dirichletgp._gp.core.regions import grown
from dirichletgp._gp.core.regressions import make_basis
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.rows.scaling import NormalScores

TERMS = ("1", "D", "M", "M D", "M^2")


def seconds_per_row(n, n_features, n_points, n_classes, rounds):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(n, n_features)), rng.integers(0, n_classes, n)
    scaler = NormalScores().fit(X[:10_000])
    kernel = KERNELS["rbf"](np.full(n_features, np.sqrt(n_features)), 2.0)
    basis = make_basis(kernel, scaler.scores(rng.normal(size=(n_points, n_features))), 1e-6)
    best = np.inf
    with Workers(1) as workers:
        for _ in range(rounds):
            start = time.process_time()
            rows = InMemoryRows(X, codes, None, n_classes, scaler.scores)
            rows.class_statistics(basis, workers)
            best = min(best, time.process_time() - start)
    return best / n


def seconds_per_row_in_regions(n, n_features, n_points, n_regions, rounds):
    """Seconds per row, and in how many regions a row is."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(n, n_features)), rng.integers(0, 2, n)
    scaler = NormalScores().fit(X[:10_000])
    kernel = KERNELS["rbf"](np.full(n_features, np.sqrt(n_features)), 2.0)
    scaled = scaler.scores(X)
    regions = grown(scaled, codes, kernel.feature_weights(), n_regions)
    places = regions.places(scaled)
    bases = []
    with Workers(1) as workers:
        for _, own, _ in places.by_region():
            bases.append(make_basis(kernel, scaled[own[:n_points]], 1e-6))
        basis = RegionalBasis(regions, tuple(bases), (1e-6,) * len(bases))
        best = np.inf
        for _ in range(rounds):
            start = time.process_time()
            rows = InMemoryRows(X, codes, None, 2, scaler.scores)
            basis.add_rows(basis.no_statistics(2), rows, workers)
            best = min(best, time.process_time() - start)
    return best / n, len(places.rows) / n


def terms(d, m):
    return [1.0, d, m, m * d, m * m]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller problems")
    arguments = parser.parse_args()
    say_where()
    points, features = (
        ((50, 100), (5, 20)) if arguments.quick else ((100, 200, 500, 1_000), (6, 18, 54))
    )
    rounds = 1 if arguments.quick else 3
    sizes, found = list(itertools.product(points, features)), []
    for m, d in sizes:
        n = int(np.clip(1e10 / m**2, 8_192, 65_536))
        found.append(seconds_per_row(n, d, m, 2, rounds))
    # Relative errors count, or the largest problems alone would decide.
    design, measured = np.array([terms(d, m) for m, d in sizes]), np.array(found)
    constants, _ = nnls(design / measured[:, None], np.ones(len(sizes)))
    print(f"{'M':>5} {'D':>4} {'C':>4} {'us per row':>11} {'model':>7}")
    for (m, d), seconds, model in zip(sizes, found, design @ constants, strict=True):
        print(f"{m:>5} {d:>4} {2:>4} {1e6 * seconds:>11.2f} {1e6 * model:>7.2f}")
    for c in (10, 100):
        m, d = points[1], features[1]
        seconds, model = (
            seconds_per_row(65_536 // (16 if arguments.quick else 1), d, m, c, rounds),
            terms(d, m) @ constants,
        )
        print(f"{m:>5} {d:>4} {c:>4} {1e6 * seconds:>11.2f} {1e6 * model:>7.2f}")
    print(
        "\nseconds per row and core = "
        + " + ".join(f"{k:.2e} {t}" for k, t in zip(constants, TERMS, strict=True))
    )
    regions(constants, arguments.quick)


def regions(constants, quick):
    """What finding the regions of a row adds, and how far the model is off."""
    n, rounds = (8_192, 1) if quick else (65_536, 3)
    numbers, points, features = (
        ((8,), (32,), (5, 20)) if quick else ((64, 256), (128, 256), (6, 18, 54))
    )
    sizes, found = list(itertools.product(numbers, points, features)), []
    for n_regions, m, d in sizes:
        found.append(seconds_per_row_in_regions(n, d, m, n_regions, rounds))
    without = np.array(
        [
            np.dot(terms(d, m), constants * [1, 1, held, held, held])
            for (_, m, d), (_, held) in zip(sizes, found, strict=True)
        ]
    )
    measured = np.array([seconds for seconds, _ in found])
    more = np.array([[d * np.log2(r), m * r / n] for r, m, d in sizes])
    own, _ = nnls(more / measured[:, None], 1.0 - without / measured)
    print(f"\n{'R':>5} {'M':>5} {'D':>4} {'held by':>7} {'us per row':>11} {'model':>7}")
    models = without + more @ own
    for (r, m, d), (seconds, held), model in zip(sizes, found, models, strict=True):
        print(f"{r:>5} {m:>5} {d:>4} {held:>7.2f} {1e6 * seconds:>11.2f} {1e6 * model:>7.2f}")
    print("\nwith regions: terms with M times the regions of a row, ", end="")
    print(f"+ {own[0]:.2e} D log2 R + {own[1]:.2e} M R / n, n = {n}")


if __name__ == "__main__":
    main()
