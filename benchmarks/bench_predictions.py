"""Predictions before and now, in one run, beside CatBoost and scikit-learn's boosting.

    python benchmarks/bench_predictions.py --baseline COMMIT [--quick] [--models FOLDER] [names ...]

The earlier version is taken from git into a temporary folder. It fits and saves the model; both
versions load that file, each in a process of its own, and predict the same test rows by turns, so
that what slows the machine for a while slows both. Single rows are predicted one after the other.
With a folder for the models, those that are there are not fitted again.
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

NAMES = ("letter", "magic", "eeg", "htru2")
ROUNDS = 5
COLUMNS = (
    "dataset",
    "before",
    "now",
    "ratio",
    "largest difference",
    "one row, ms",
    "CatBoost",
    "HGB",
)


def rows_of(name, quick):
    from _data import split

    s = split(name, 0)
    n, m = (1_000, 500) if quick else (15_000, 5_000)
    return s.X[:n], s.y[:n], s.X_test[:m]


def child(source, folder, quick):
    """A process with a version of the library, which does what it is told line by line."""
    path = os.pathsep.join([str(source), str(ROOT / "benchmarks")])
    command = [sys.executable, __file__, "--child", str(folder)] + ["--quick"] * quick
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process, *words):
    process.stdin.write(" ".join(words) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def answer(folder, quick):
    """The other end of `ask`."""
    from dirichletgp import DirichletGPClassifier

    model, X = None, None
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "fit":
            X, y, _ = rows_of(rest[0], quick)
            n_points = 200 if quick else 1_000
            made = DirichletGPClassifier(n_inducing=n_points, random_state=0).fit(X, y)
            made.save(rest[1])
            result = 0
        elif word == "load":
            model = DirichletGPClassifier.load(rest[1])
            if "tolerance" in model.get_params():  # files of before ask for everything exactly
                model.set_params(tolerance=1e-4)
            X = np.ascontiguousarray(rows_of(rest[0], quick)[2], dtype=np.float64)
            model.predict_proba(X)
            result = 0
        elif word == "all":
            start = time.perf_counter()
            model.predict_proba(X)
            result = (time.perf_counter() - start) / len(X)
        elif word == "single":
            times = []
            for row in X[:100]:
                start = time.perf_counter()
                model.predict_proba(row[None])
                times.append(time.perf_counter() - start)
            result = float(np.median(times))
        else:
            np.save(folder / f"{rest[0]}.npy", model.predict_proba(X))
            result = 0
        print(json.dumps(result), flush=True)


def rivals(name, quick):
    """Rows per second of boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y, new = rows_of(name, quick)
    made = {"HGB": HistGradientBoostingClassifier(random_state=0)}
    try:
        from catboost import CatBoostClassifier

        made["CatBoost"] = CatBoostClassifier(verbose=0, random_seed=0)
    except ImportError:
        pass
    found = {}
    for rival, model in made.items():
        model.fit(X, y)
        model.predict_proba(new)
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            model.predict_proba(new)
            times.append(time.perf_counter() - start)
        found[rival] = len(new) / float(np.median(times))
    return found


def measured(name, before, now, folder, models, quick, with_rivals):
    path = models / f"{name}.dgp"
    if not path.exists():
        ask(before, "fit", name, str(path))
    for process in (before, now):
        ask(process, "load", name, str(path))
    times = np.array([[ask(p, "all") for p in (before, now)] for _ in range(ROUNDS)])
    for process, where in ((before, "before"), (now, "now")):
        ask(process, "keep", where)
    off = np.abs(np.load(folder / "before.npy") - np.load(folder / "now.npy")).max()
    single = ask(now, "single")
    rates = 1.0 / np.median(times, axis=0)
    ratio = float(np.median(times[:, 0] / times[:, 1]))
    trees = rivals(name, quick) if with_rivals else {}
    cells = [name, f"{rates[0]:,.0f}", f"{rates[1]:,.0f}", f"{ratio:.1f}", f"{off:.1e}"]
    cells.append(f"{1e3 * single:.2f}")
    cells += [f"{trees[r]:,.0f}" if r in trees else "-" for r in ("CatBoost", "HGB")]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--baseline", default=BEFORE, help="commit of the earlier version")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--models", type=Path, help="where fitted models are, or are to be kept")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        answer(given.child, given.quick)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        before = child(source_of(given.baseline, folder), folder, given.quick)
        now = child(ROOT / "src", folder, given.quick)
        print("Rows per second with all threads; a ratio above one is faster now.\n")
        print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
        for name in given.names:
            measured(
                name,
                before,
                now,
                folder,
                given.models or folder,
                given.quick,
                not given.no_rivals,
            )
        for process in (before, now):
            process.stdin.close()
            process.wait()


if __name__ == "__main__":
    main()
