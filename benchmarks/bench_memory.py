"""Peak memory of a fit above its input arrays: half of coverbin, all of it, and twice as much.

    python benchmarks/bench_memory.py [--points 500] [--quick]

Every fit runs in a process of its own that reads float64 arrays straight from files, so nothing
larger than the arrays was ever allocated before the fit. The doubled rows are the rows again with a
small jitter in the ten numeric columns: still the same problem, but not duplicates, which the fit
would merge.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _data import split
from _measure import say_where

from dirichletgp import DirichletGPClassifier

MB = 1e6


def memory(key):
    """VmRSS (now) or VmHWM (largest so far) in bytes; elsewhere than Linux, the largest so far."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return 1024 * int(lines[key].split()[0])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def save_rows(folder, factor, quick):
    """Write X.npy and y.npy with `factor` times the training rows of coverbin."""
    s = split("coverbin", 0)
    X, y = (s.X[:20_000], s.y[:20_000]) if quick else (s.X, s.y)
    n = int(len(y) * factor)
    rng = np.random.default_rng(0)
    out = np.lib.format.open_memmap(
        folder / "X.npy", mode="w+", dtype=np.float64, shape=(n, X.shape[1])
    )
    for start in range(0, n, len(y)):
        part = X[: n - start].copy()
        if start:
            part[:, :10] += 1e-3 * X[:, :10].std(axis=0) * rng.normal(size=(len(part), 10))
        out[start : start + len(part)] = part
    out.flush()
    np.save(folder / "y.npy", np.resize(y, n))


def fit_and_report(folder, n_points):
    """In a process of its own: load, fit, print what it took."""
    warm_up()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    before, largest = memory("VmRSS"), memory("VmHWM")
    start = time.perf_counter()
    DirichletGPClassifier(n_inducing=n_points, random_state=0).fit(X, y)
    report = {
        "rows": len(y),
        "input": X.nbytes + y.nbytes,
        "before": before,
        "largest_before": largest,
        "peak": memory("VmHWM"),
        "seconds": time.perf_counter() - start,
    }
    print(json.dumps(report))


def warm_up():
    """Load the libraries and start the threads that a fit uses: they are not its memory."""
    rng = np.random.default_rng(0)
    DirichletGPClassifier(n_inducing=10, max_iter=1).fit(
        rng.normal(size=(50, 2)), np.arange(50) % 2
    )


def in_own_process(factor, arguments):
    with tempfile.TemporaryDirectory() as name:
        quick = ["--quick"] if arguments.quick else []
        script = [
            sys.executable,
            __file__,
            "--folder",
            name,
            "--points",
            str(arguments.points),
            *quick,
        ]
        subprocess.run([*script, "--save", str(factor)], check=True)
        found = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--save", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.save:
        return save_rows(arguments.folder, arguments.save, arguments.quick)
    if arguments.folder:
        return fit_and_report(arguments.folder, arguments.points)
    say_where()
    print(
        f"{'rows':>9} {'input MB':>9} {'before MB':>10} {'peak MB':>8} {'above MB':>9} {'fit s':>7}"
    )
    for factor in (0.5, 1.0, 2.0):
        r = in_own_process(factor, arguments)
        start = max(r["before"], r["largest_before"])
        if start > 1.02 * r["before"]:
            print("more was allocated before the fit than its input: the peak is a lower limit")
        print(
            f"{r['rows']:>9} {r['input'] / MB:>9.0f} {r['before'] / MB:>10.0f} "
            f"{r['peak'] / MB:>8.0f}",
            end="",
        )
        print(f" {(r['peak'] - r['before']) / MB:>9.0f} {r['seconds']:>7.1f}", flush=True)


if __name__ == "__main__":
    main()
