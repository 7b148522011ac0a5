"""Sets, explanations, wrong labels and soft labels beside what else there is.

    python benchmarks/bench_decisions.py sets [--splits 3] [--datasets magic letter]
    python benchmarks/bench_decisions.py shapley
    python benchmarks/bench_decisions.py labels
    python benchmarks/bench_decisions.py crowd

Models have 200 inducing points and are otherwise the defaults. Datasets are read from
DIRICHLETGP_DATA. `sets` needs MAPIE and CatBoost, `shapley` needs shap, `labels` needs cleanlab and
LightGBM.
"""

import argparse
import time
import warnings

import numpy as np
from _data import load
from _measure import say_where

from dirichletgp import DirichletGPClassifier

POINTS = 200
SETS = (
    "eeg",
    "htru2",
    "magic",
    "electricity",
    "adult",
    "susy_partial",
    "satimage",
    "pendigits",
    "drive_partial",
    "letter",
)
LABELS = ("magic", "htru2", "electricity", "satimage", "pendigits", "letter")
COVERAGES = (0.9, 0.95, 0.99)
TRAIN, TEST = 4_000, 6_000
# Rows that split-conformal sets are calibrated on, out of those to train with.
CALIBRATION = 0.3


def parts(name, seed, n_train=TRAIN):
    """Rows and labels to train and to test with, of a random split."""
    X, y = load_any(name)
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(n_train, 2 * len(y) // 3)
    train, test = order[:n_train], order[n_train : n_train + TEST]
    return X[train], y[train], X[test], y[test]


def load_any(name):
    """A dataset, complete or partial."""
    if not name.endswith("_partial"):
        return load(name)
    from dirichletgp.datasets import load_dataset

    data = load_dataset(name.removesuffix("_partial"), allow_partial=True)
    return data.X, data.y


def ours(seed=0):
    return DirichletGPClassifier(n_inducing=POINTS, random_state=seed)


def boosted(seed=0):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=300, random_seed=seed, verbose=False, allow_writing_files=False
    )


def sets(names, splits):
    """Coverage and mean size: ours on all rows, split-conformal sets around ours and CatBoost."""
    from mapie.classification import SplitConformalClassifier

    print("| dataset | coverage | | never empty | ours | MAPIE, ours | MAPIE, CatBoost |")
    print("|---|---:|---|---:|---:|---:|---:|")
    total = {}
    for name in names:
        found = {}
        for seed in range(splits):
            X, y, X_test, y_test = parts(name, seed)
            model = ours(seed).fit(X, y)
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(y))
            held, kept = np.split(order, [int(CALIBRATION * len(y))])
            # Every class must be known to all models.
            first = np.unique(y, return_index=True)[1]
            kept = np.union1d(kept, first)
            held = np.setdiff1d(held, first)
            rivals = {"mapie": ours(seed), "catboost": boosted(seed)}
            for key, rival in rivals.items():
                rival.fit(X[kept], y[kept])
                wrapped = SplitConformalClassifier(
                    rival, confidence_level=list(COVERAGES), prefit=True, conformity_score="lac"
                )
                wrapped.conformalize(X[held], y[held])
                _, inside = wrapped.predict_set(X_test)
                for j, coverage in enumerate(COVERAGES):
                    found.setdefault((coverage, key), []).append(measured(inside[:, :, j], y_test))
            for coverage in COVERAGES:
                full = model.predict_set(X_test, coverage)
                bare = model.predict_set(X_test, coverage, allow_empty=True)
                found.setdefault((coverage, "full"), []).append(measured(full, y_test))
                found.setdefault((coverage, "bare"), []).append(measured(bare, y_test))
            n_test = len(y_test)
        for coverage in COVERAGES:
            rows = {
                key: np.mean(found[coverage, key], axis=0)
                for key in ("full", "bare", "mapie", "catboost")
            }
            covered = " | ".join(f"{rows[key][0]:.3f}" for key in rows)
            size = " | ".join(f"{rows[key][1]:.3f}" for key in rows)
            print(f"| {name} | {coverage} | covered | {covered} |")
            print(f"| | | mean size | {size} |", flush=True)
            error = np.sqrt(coverage * (1 - coverage) / n_test)
            total.setdefault("held", []).append(rows["bare"][0] >= coverage - 2 * error)
            total.setdefault("smaller", []).append(rows["bare"][1] <= rows["mapie"][1])
            total.setdefault("trees", []).append(rows["bare"][1] <= rows["catboost"][1])
    print(f"\ncoverage within two standard errors or above: {share(total['held'])}")
    print(f"no larger than MAPIE around the same classifier: {share(total['smaller'])}")
    print(f"no larger than MAPIE around CatBoost: {share(total['trees'])}")


def measured(inside, y):
    """Share of labels that are in their sets, and the mean number of classes in them."""
    return float(inside[np.arange(len(y)), y].mean()), float(inside.sum(axis=1).mean())


def share(flags):
    return f"{sum(map(bool, flags))} of {len(flags)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("sets",))
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--splits", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    say_where()
    start = time.perf_counter()
    if arguments.part == "sets":
        sets(arguments.datasets or SETS, arguments.splits)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
