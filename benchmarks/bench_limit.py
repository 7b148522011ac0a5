"""Distance from the limit: an evaluation of bound and gradient over its matrix products alone.

    python benchmarks/bench_limit.py [--quick]

The products are those that the two passes over the rows make, per block of rows, with the same
blocks and the same threads: the exponents of the kernel (rows times points, in both passes), the
symmetric product K'K, the product K W, and the product of the derivative with the features. Their
operands are allocated once per thread and stay in cache. No exponentials, no M-sized
factorisations, no scaling, no gathering of rows: the ratio is the price of those.
"""

import argparse
import threading

import numpy as np
from _measure import by_turns, objective_of, ratio, rounds_for, say_where, synthetic

from dirichletgp._gp.core.parallel import Workers, add_gram, block_size

# rows, points, classes, features
SIZES = [(100_000, 500, 2, 18), (100_000, 200, 2, 18), (15_000, 200, 26, 16)]
QUICK = [(4_000, 100, 2, 18), (3_000, 100, 26, 16)]


class Products:
    """The matrix products of an evaluation, on operands that mean nothing."""

    def __init__(self, rows, n_points, n_features, workers):
        self.workers = workers
        self.m = n_points
        self.d = n_features
        self.size = block_size(n_points)
        self.spans = [
            [len(block.rows) for block in rows.blocks(span, self.size)] for span in rows.spans()
        ]
        self._local = threading.local()

    def __call__(self):
        for single_pass in (self._statistics, self._gradient):
            for _ in self.workers.map(single_pass, self.spans):
                pass

    def _operands(self):
        """Of this thread: rows and points with two columns more, kernel values, W, results."""
        if not hasattr(self._local, "operands"):
            rng = np.random.default_rng(0)
            shapes = [
                (self.size, self.d + 2),
                (self.d + 2, self.m),
                (self.size, self.m),
                (self.m, self.m),
            ]
            out = [(self.size, self.m), (self.m, self.m), (self.m, self.d + 1)]
            self._local.operands = [rng.uniform(0.1, 1.0, s) for s in shapes] + [
                np.zeros(s) for s in out
            ]
        return self._local.operands

    def _statistics(self, blocks):
        rows, points, values, _, out, gram, _ = self._operands()
        for n in blocks:
            np.matmul(rows[:n], points, out=out[:n])
            add_gram(values[:n], gram)

    def _gradient(self, blocks):
        rows, points, values, W, out, _, thin = self._operands()
        for n in blocks:
            np.matmul(rows[:n], points, out=out[:n])
            np.matmul(values[:n], W, out=out[:n])
            np.matmul(values[:n].T, rows[:n, : self.d + 1], out=thin)


def measure(n, n_points, n_classes, n_features, budget):
    X, codes, points, kernel = synthetic(n, n_points, n_classes, n_features)
    with Workers(None) as workers:
        objective = objective_of(X, codes, workers)
        products = Products(objective.rows, n_points, n_features, workers)

        def evaluation():
            objective.value_and_gradient(kernel, points)

        times = by_turns([evaluation, products], rounds_for(evaluation, budget))
    # K'K has n M^2 flops (one triangle), K W has 2 n M^2, the three thin products 2 n M (3 D + 5)
    flops = 3 * n * n_points**2 + 2 * n * n_points * (3 * n_features + 5)
    best = times.min(axis=0)
    print(
        f"{n:>7} {n_points:>6} {n_classes:>7} {n_features:>8} {best[0]:>12.4f} {best[1]:>10.4f}",
        end="",
    )
    print(
        f" {flops / best[1] / 1e9:>10.1f} {best[0] / best[1]:>13.2f} {ratio(times, 0, 1):>13.2f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--budget", type=float, default=30.0, help="seconds of evaluations per line of the table"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, one second a line")
    arguments = parser.parse_args()
    say_where()
    print(
        f"{'rows':>7} {'points':>6} {'classes':>7} {'features':>8} {'evaluation s':>12} "
        f"{'products s':>10}",
        end="",
    )
    print(f" {'GFlop/s':>10} {'ratio of best':>13} {'median ratio':>13}")
    for size in QUICK if arguments.quick else SIZES:
        measure(*size, 1.0 if arguments.quick else arguments.budget)


if __name__ == "__main__":
    main()
