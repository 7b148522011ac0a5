"""The promise of `tolerance` on every dataset of the folder: the largest error of a probability.

    python benchmarks/bench_guarantee.py [--rows 4000] [--points 300] [--test 1000] [names ...]

Models are small and quickly learned; what is tested does not depend on how good they are. Each
predicts rows that it has not seen with several tolerances, and exactly (tolerance 0, another path
through the code). Models that compact() makes are measured at 1e-4 too: their corrections are
chosen at the inducing points, and beyond them nothing is proven.
"""

import argparse
import sys

import numpy as np
from _data import FOLDER, load

from dirichletgp import DirichletGPClassifier

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-6)
COMPACT = 1e-4


def largest_errors(X, y, X_new, n_points):
    """Of probabilities at each tolerance, and of a compact model."""
    model = DirichletGPClassifier(
        kernel="rbf", n_inducing=n_points, n_regions=1, max_iter=10, random_state=0
    ).fit(X, y)
    exact = model.set_params(tolerance=0).predict_proba(X_new)
    found = []
    for tolerance in TOLERANCES:
        p = model.set_params(tolerance=tolerance).predict_proba(X_new)
        found.append(np.abs(p - exact).max())
    small = model.set_params(tolerance=COMPACT).compact()
    found.append(np.abs(small.predict_proba(X_new) - exact).max())
    return len(model.classes_), found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--test", type=int, default=1_000)
    given = parser.parse_args()
    names = given.names or sorted(path.stem for path in FOLDER.glob("*.npz"))
    columns = [f"{t:g}" for t in TOLERANCES] + [f"compact, {COMPACT:g}"]
    print("| dataset | classes | rows predicted | " + " | ".join(columns) + " |")
    print("|" + "---|" * (3 + len(columns)))
    broken = 0
    for name in names:
        X, y = load(name)
        order = np.random.default_rng(0).permutation(len(y))
        new, train = np.split(order[: given.rows + given.test], [given.test])
        classes, errors = largest_errors(X[train], y[train], X[new], given.points)
        broken += sum(e > t for e, t in zip(errors, TOLERANCES, strict=False))
        cells = [name, str(classes), f"{len(new):,}", *(f"{e:.1e}" for e in errors)]
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{broken} of {len(names) * len(TOLERANCES)} tolerances exceeded")
    sys.exit(int(broken > 0))


if __name__ == "__main__":
    main()
