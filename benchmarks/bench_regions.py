"""Regions on covertype: scores, time and memory beside boosted trees, and how they grow with rows.

    python benchmarks/bench_regions.py [--rows 10000 50000 ...] [--classes 2 | 7]
        [--methods regions "no regions" catboost lightgbm sklearn] [--plot growth.png]

The paper's split of coverbin (class 2 against the rest; 522,910 training rows at most) or all seven
classes of the same rows. Every fit is a process of its own. Boosted trees have their defaults;
lightgbm has 3,000 trees at most and stops early on a tenth of the rows.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _data import FOLDER, split
from _measure import say_where
from bench_memory import memory

from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood

METHODS = ("regions", "no regions", "catboost", "lightgbm", "sklearn")


def data(n_classes):
    s = split("coverbin", 0)
    if n_classes == 7:
        with np.load(FOLDER / "coverbin.npz", allow_pickle=False) as file:
            y = np.unique(file["y"], return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(len(y))
        s.y_test, s.y = np.split(y[order], [len(s.y_test)])
    return s


def fitted(method, X, y):
    if method in ("regions", "no regions"):
        from dirichletgp import DirichletGPClassifier

        n_regions = "auto" if method == "regions" else 1
        return DirichletGPClassifier(n_regions=n_regions, random_state=0).fit(X, y)
    if method == "catboost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            verbose=0, random_seed=0, thread_count=2, allow_writing_files=False
        ).fit(X, y)
    if method == "lightgbm":
        from lightgbm import LGBMClassifier, early_stopping

        held = len(y) // 10
        model = LGBMClassifier(n_estimators=3_000, random_state=0, n_jobs=2, verbose=-1)
        return model.fit(
            X[held:],
            y[held:],
            eval_set=[(X[:held], y[:held])],
            callbacks=[early_stopping(50, verbose=False)],
        )
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0).fit(X, y)


def fit_and_report(method, n_rows, n_classes):
    s = data(n_classes)
    X, y = s.X[:n_rows].copy(), s.y[:n_rows].copy()
    before = memory("VmHWM")
    start = time.perf_counter()
    classifier = fitted(method, X, y)
    report = {"method": method, "rows": len(y), "seconds": time.perf_counter() - start}
    report["above"] = max(0, memory("VmHWM") - before)
    p = np.concatenate([classifier.predict_proba(part) for part in np.array_split(s.X_test, 4)])
    report |= {"error": error_rate(s.y_test, p), "mnll": mean_negative_log_likelihood(s.y_test, p)}
    report |= {"ece": expected_calibration_error(s.y_test, p)}
    report["regions"] = int(getattr(classifier, "n_regions_", 0))
    print(json.dumps(report))


def draw(results, path):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for method in dict.fromkeys(r["method"] for r in results):
        own = [r for r in results if r["method"] == method]
        rows = [r["rows"] for r in own]
        left.plot(rows, [r["mnll"] for r in own], "o-", label=method)
        right.plot(rows, [r["seconds"] for r in own], "o-", label=method)
    for axes, name in ((left, "test MNLL"), (right, "seconds to fit")):
        axes.set(xscale="log", yscale="log", xlabel="training rows", ylabel=name)
        axes.grid(alpha=0.3, which="both")
    left.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[522_910])
    parser.add_argument("--classes", type=int, choices=(2, 7), default=2)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        method, n_rows, n_classes = arguments.fit
        return fit_and_report(method, int(n_rows), int(n_classes))
    say_where()
    print(f"{'method':>12} {'rows':>7} {'regions':>7} {'fit s':>7} {'above input MB':>14}", end="")
    print(f" {'error':>7} {'MNLL':>7} {'ECE':>7}")
    results = []
    for n_rows in arguments.rows:
        for method in arguments.methods:
            task = ["--fit", method, str(n_rows), str(arguments.classes)]
            command = [sys.executable, __file__, *task]
            found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            r = json.loads(found.stdout.splitlines()[-1])
            results.append(r)
            print(f"{method:>12} {r['rows']:>7} {r['regions']:>7} {r['seconds']:>7.0f}", end="")
            print(f" {r['above'] / 1e6:>14.0f} {r['error']:>7.4f}", end="")
            print(f" {r['mnll']:>7.4f} {r['ece']:>7.4f}", flush=True)
    if arguments.plot:
        draw(results, arguments.plot)


if __name__ == "__main__":
    main()
