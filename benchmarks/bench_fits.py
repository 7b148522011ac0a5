"""Fits with the defaults before and now, by turns in one run: seconds and test MNLL.

    python benchmarks/bench_fits.py [--baseline COMMIT] [--splits 5] [--quick] [names ...]

The earlier version is taken from git into a temporary folder. Every fit has a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _baseline import BEFORE, ROOT, source_of

NAMES = ("eeg", "htru2", "magic", "letter", "pendigits", "satimage")
COLUMNS = ("dataset", "before, s", "now, s", "ratio", "slowest now, s", "MNLL before", "MNLL now")


def measure(name, seed, quick):
    """Fit one split and print seconds and test MNLL as JSON."""
    import warnings

    from _data import split

    from dirichletgp import DirichletGPClassifier
    from dirichletgp.metrics import mean_negative_log_likelihood

    warnings.simplefilter("ignore")
    parts = split(name, seed)
    n = 2_000 if quick else len(parts.X)
    settings = {"max_iter": 2, "n_inducing": 100} if quick else {}
    start = time.perf_counter()
    classifier = DirichletGPClassifier(random_state=0, **settings).fit(parts.X[:n], parts.y[:n])
    seconds = time.perf_counter() - start
    p = classifier.predict_proba(parts.X_test)
    mnll = mean_negative_log_likelihood(parts.y_test, p, labels=classifier.classes_)
    print(json.dumps([seconds, mnll]))


def measured(source, name, seed, quick):
    """Seconds and MNLL of a fit by the version in a folder."""
    command = [sys.executable, __file__, name, "--child", str(seed)] + ["--quick"] * quick
    environment = {**os.environ, "PYTHONPATH": str(source)}
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--baseline", default=BEFORE, help="commit of the earlier version")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one split, few rows and steps")
    parser.add_argument("--child", type=int, metavar="SEED", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        measure(given.names[0], given.child, given.quick)
        return
    with tempfile.TemporaryDirectory() as folder:
        sources = (source_of(given.baseline, Path(folder)), ROOT / "src")
        print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
        for name in given.names:
            seeds = range(1 if given.quick else given.splits)
            found = np.array(
                [[measured(s, name, seed, given.quick) for s in sources] for seed in seeds]
            )
            (before, mnll_before), (now, mnll_now) = found.mean(axis=0)
            cells = [name, f"{before:.1f}", f"{now:.1f}", f"{before / now:.2f}"]
            cells += [f"{found[:, 1, 0].max():.1f}", f"{mnll_before:.4f}", f"{mnll_now:.4f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
