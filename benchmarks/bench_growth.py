"""How the cost of one evaluation of bound and gradient grows with rows, points and classes.

    python benchmarks/bench_growth.py [--rounds 5] [--quick]

Every table is measured by turns; "exponent" is the slope of log time between a line and the line
before it: 1 where doubling doubles the time, 0 where it changes nothing.
"""

import argparse

import numpy as np
from _measure import by_turns, objective_of, say_where, synthetic

from dirichletgp._gp.core.parallel import Workers


def evaluation(size, workers):
    X, codes, points, kernel = synthetic(*size)
    objective = objective_of(X, codes, workers)
    return lambda: objective.value_and_gradient(kernel, points)


def table(name, sizes, rounds):
    """Measure problems given as (n, n_points, n_classes) in which `name` grows."""
    with Workers(None) as workers:
        best = by_turns([evaluation(size, workers) for size in sizes], rounds).min(axis=0)
    axis = ["rows", "points", "classes"].index(name)
    print(
        f"{'rows':>7} {'points':>6} {'classes':>7} {'seconds':>8} {'to the first':>12} "
        f"{'exponent':>8}"
    )
    for i, ((n, m, c), time) in enumerate(zip(sizes, best, strict=True)):
        print(f"{n:>7} {m:>6} {c:>7} {time:>8.4f} {time / best[0]:>12.2f}", end="")
        if i:
            slope = np.log(time / best[i - 1]) / np.log(sizes[i][axis] / sizes[i - 1][axis])
            print(f" {slope:>8.2f}", end="")
        print()
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows")
    arguments = parser.parse_args()
    rounds, part = (2, 20) if arguments.quick else (arguments.rounds, 1)
    say_where()
    print("rows grow")
    table("rows", [(n // part, 200, 2) for n in (10_000, 20_000, 40_000, 80_000)], rounds)
    print("points grow")
    table("points", [(20_000 // part, m, 2) for m in (100, 200, 400, 800)], rounds)
    print("classes grow, each with more rows than points")
    table("classes", [(16_000 // part, 200, c) for c in (2, 4, 8, 16, 32, 64)], rounds)
    print("classes grow, most with fewer rows than points and kept as rows")
    table("classes", [(16_000 // part, 500, c) for c in (2, 16, 64, 256)], rounds)


if __name__ == "__main__":
    main()
