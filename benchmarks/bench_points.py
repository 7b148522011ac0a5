"""More inducing points on coverbin: error, MNLL, time and peak memory with 500, 1,000 and 2,000.

    python benchmarks/bench_points.py [--points 500 1000 2000] [--quick]

The paper's split of coverbin (class 2 against the rest, 522,910 training rows, 54 features), in
memory, each fit in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
from _data import split
from _measure import say_where
from bench_memory import memory

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood


def fit_and_report(n_points, quick, verbose):
    s = split("coverbin", 0)
    rows = slice(0, 20_000 if quick else None)
    start = time.perf_counter()
    classifier = DirichletGPClassifier(
        n_inducing=n_points, n_regions=1, random_state=0, verbose=verbose
    ).fit(s.X[rows], s.y[rows])
    report = {"points": n_points, "rows": len(s.y[rows]), "seconds": time.perf_counter() - start}
    report["peak"] = memory("VmHWM")
    p = np.concatenate([classifier.predict_proba(part) for part in np.array_split(s.X_test, 20)])
    report |= {"error": error_rate(s.y_test, p), "mnll": mean_negative_log_likelihood(s.y_test, p)}
    print(json.dumps(report | {"ece": expected_calibration_error(s.y_test, p)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[500, 1_000, 2_000])
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--fit", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        return fit_and_report(arguments.fit, arguments.quick, arguments.verbose)
    say_where()
    print(
        f"{'points':>6} {'rows':>7} {'fit s':>7} {'peak MB':>8} {'error':>7} {'MNLL':>7} {'ECE':>7}"
    )
    for n_points in arguments.points:
        extra = ["--quick"] if arguments.quick else []
        command = [sys.executable, __file__, "--fit", str(n_points), *extra]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        r = json.loads(found.stdout.splitlines()[-1])
        print(
            f"{r['points']:>6} {r['rows']:>7} {r['seconds']:>7.0f} {r['peak'] / 1e6:>8.0f}", end=""
        )
        print(f" {r['error']:>7.4f} {r['mnll']:>7.4f} {r['ece']:>7.4f}", flush=True)


if __name__ == "__main__":
    main()
