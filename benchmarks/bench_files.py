"""Fitting from Parquet files larger than memory should hold: time and peak memory by rows.

    python benchmarks/bench_files.py [--points 200] [--rows 500000 1000000 2000000 4000000]
    [--quick]

The problem has the shape of SUSY: 18 features and two classes that overlap. The log-odds are a
smooth function of the features, so that the best possible MNLL is known. Files of half a million
rows each are written to a temporary folder; every fit runs in a process of its own. "in memory" is
the same fit to an array of the largest training set.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import say_where
from bench_memory import memory

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, mean_negative_log_likelihood

N_FEATURES = 18
FILE_ROWS = 500_000


def problem(n, seed):
    """Rows, labels, and the true probability of the second class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    X[:, 6:12] = np.exp(X[:, 6:12])  # skewed, as energies are
    Z = np.where(X > 0, np.log(np.maximum(X, 1e-300)), 0.0)[:, 6:12]
    logit = (
        1.2 * X[:, 0]
        - 0.8 * X[:, 1]
        + 1.5 * np.sin(X[:, 2])
        + X[:, 0] * X[:, 3]
        - 0.7 * Z[:, 0] ** 2
    )
    logit += 0.6 * Z[:, 1] * X[:, 4] + 0.3
    p = 1.0 / (1.0 + np.exp(-logit))
    return X, (rng.random(n) < p).astype(np.int64), p


def bayes_mnll(y, p):
    return float(-np.mean(np.log(np.where(y == 1, p, 1 - p))))


def write(folder, n_rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(N_FEATURES)]
    for i, start in enumerate(range(0, n_rows, FILE_ROWS)):
        X, y, _ = problem(min(FILE_ROWS, n_rows - start), i)
        columns = {name: X[:, j] for j, name in enumerate(names)} | {"label": y}
        pq.write_table(pa.table(columns), folder / f"part-{i:03d}.parquet", row_group_size=200_000)


def fit_and_report(arguments):
    """In a process of its own: fit, print what it took."""
    classifier = DirichletGPClassifier(
        n_inducing=arguments.points, random_state=0, verbose=arguments.verbose
    )
    before = memory("VmHWM")
    n = arguments.fit
    if arguments.in_memory:
        parts = [
            problem(min(FILE_ROWS, n - start), i) for i, start in enumerate(range(0, n, FILE_ROWS))
        ]
        X, y = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        del parts
        start = time.perf_counter()
        classifier.fit(X, y)
    else:
        files = sorted(arguments.folder.glob("*.parquet"))[: max(1, n // FILE_ROWS)]
        start = time.perf_counter()
        classifier.fit([str(file) for file in files], "label")
    seconds = time.perf_counter() - start
    peak = memory("VmHWM")
    X, y, p = problem(200_000, 10_000)
    names = getattr(classifier, "feature_names_in_", None)
    q = classifier.predict_proba(X if names is None else pd.DataFrame(X, columns=names))
    report = {
        "rows": n,
        "seconds": seconds,
        "before": before,
        "peak": peak,
        "error": error_rate(y, q),
    }
    report |= {"mnll": mean_negative_log_likelihood(y, q), "bayes": bayes_mnll(y, p)}
    print(json.dumps(report))


def in_own_process(folder, n, arguments, *extra):
    command = [
        sys.executable,
        __file__,
        "--folder",
        str(folder),
        "--fit",
        str(n),
        "--points",
        str(arguments.points),
    ]
    found = subprocess.run([*command, *extra], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[500_000, 1_000_000, 2_000_000, 4_000_000]
    )
    parser.add_argument("--quick", action="store_true", help="500,000 rows, 50 points")
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--fit", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--in-memory", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        return fit_and_report(arguments)
    if arguments.quick:
        arguments.rows, arguments.points = [500_000], 50
    say_where()
    print(
        f"{'rows':>9} {'from':>7} {'fit s':>7} {'peak MB':>8} {'error':>7} {'MNLL':>8} "
        f"{'Bayes MNLL':>11}"
    )
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), max(arguments.rows))
        for n in arguments.rows:
            show("files", in_own_process(name, n, arguments))
        show("memory", in_own_process(name, max(arguments.rows), arguments, "--in-memory"))


def show(source, r):
    print(f"{r['rows']:>9} {source:>7} {r['seconds']:>7.1f} {r['peak'] / 1e6:>8.0f}", end="")
    print(f" {r['error']:>7.4f} {r['mnll']:>8.4f} {r['bayes']:>11.4f}", flush=True)


if __name__ == "__main__":
    main()
