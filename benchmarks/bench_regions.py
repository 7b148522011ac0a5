"""Regions: what they bring on large datasets, beside boosted trees, and how that grows with rows.

    python benchmarks/bench_regions.py [scores] [--classes 2 | 7] [--rows 522910]
    python benchmarks/bench_regions.py growth [--classes 2 | 7] [--plot docs/images/regions.png]
    python benchmarks/bench_regions.py datasets [--names electricity skin]

`scores` fits the paper's split of coverbin (class 2 against the rest, 522,910 training rows) or all
seven classes of the same rows. `growth` does so for 10,000 to 522,910 of them, and draws what it
found. `datasets` compares "auto" with no regions on datasets of 45,000 to 245,000 rows.

All take --methods, --quick (few rows) and --out, a file of results that a run which was stopped
goes on from. Every fit is a process of its own. CatBoost and scikit-learn have their defaults;
LightGBM has 3,000 trees at most and stops early on a tenth of the rows.
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
# Test rows of datasets that the paper does not have.
DATASETS = {
    "electricity": 9_062,
    "adult": 16_281,
    "shuttle": 14_500,
    "skin": 10_000,
    "mnist": 10_000,
}
ALL_ROWS = 522_910
GROWING = (10_000, 30_000, 100_000, 300_000, ALL_ROWS)
QUICK_ROWS, QUICK_GROWING = 3_000, (1_000, 2_000, 4_000)


def data(name):
    """The split of a dataset; "covertype" is coverbin with all of its classes."""
    s = split("coverbin" if name == "covertype" else name, 0, DATASETS.get(name))
    if name == "covertype":
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


def memory_from_here():
    """Resident memory now, in bytes; where possible, the peak counts from here on."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return memory("VmHWM")
    return memory("VmRSS")


def fit_and_report(name, method, n_rows):
    s = data(name)
    n_classes = len(np.unique(s.y))
    X, y = s.X[:n_rows].copy(), s.y[:n_rows].copy()
    before = memory_from_here()
    start = time.perf_counter()
    classifier = fitted(method, X, y)
    report = {"data": name, "method": method, "rows": len(y)}
    report["seconds"] = time.perf_counter() - start
    report["above"] = max(0, memory("VmHWM") - before)
    parts = np.array_split(s.X_test, 4)
    found = np.concatenate([classifier.predict_proba(part) for part in parts])
    p = np.zeros((len(found), n_classes))
    p[:, np.asarray(classifier.classes_, dtype=int)] = found  # few rows may lack a class
    report["error"] = error_rate(s.y_test, p)
    report["mnll"] = mean_negative_log_likelihood(s.y_test, p)
    report["ece"] = expected_calibration_error(s.y_test, p)
    report["regions"] = int(getattr(classifier, "n_regions_", 0))
    print(json.dumps(report))


class Results:
    """Fits made so far; those in the file are not made again."""

    def __init__(self, path):
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._known = [json.loads(line) for line in lines]

    def of(self, name, method, n_rows):
        """What a fit gave, made now in a process of its own or before."""
        for r in self._known:
            if (r["data"], r["method"], r["asked"]) == (name, method, n_rows):
                return r
        command = [sys.executable, __file__, "--fit", name, method, str(n_rows)]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        r = json.loads(found.stdout.splitlines()[-1]) | {"asked": n_rows}
        if self._path is not None:
            with self._path.open("a") as file:
                print(json.dumps(r), file=file)
        return r


def table(names, methods, sizes, results):
    """Print a line for each fit; returns them."""
    print(f"{'data':>11} {'method':>10} {'rows':>7} {'regions':>7} {'fit s':>7}", end="")
    print(f" {'above input MB':>14} {'error':>7} {'MNLL':>7} {'ECE':>7}")
    found = []
    for name in names:
        for n_rows in sizes:
            for method in methods:
                r = results.of(name, method, n_rows)
                found.append(r)
                print(f"{name:>11} {method:>10} {r['rows']:>7} {r['regions']:>7}", end="")
                print(f" {r['seconds']:>7.0f} {r['above'] / 1e6:>14.0f} {r['error']:>7.4f}", end="")
                print(f" {r['mnll']:>7.4f} {r['ece']:>7.4f}", flush=True)
    return found


def say_how_much_worse(found):
    """MNLL of "auto" beside that of no regions."""
    print()
    for name in dict.fromkeys(r["data"] for r in found):
        loss = {r["method"]: r["mnll"] for r in found if r["data"] == name}
        change = 100 * (loss["regions"] / loss["no regions"] - 1)
        print(f"{name:>11} MNLL with auto {loss['regions']:.4f}, ", end="")
        print(f"without regions {loss['no regions']:.4f}: {change:+.2f} %")


def draw(found, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    ours = {"regions": ("#0b5cad", "o-", 2.2), "no regions": ("#5b9bd5", "o--", 1.6)}
    trees = {"catboost": "#b83d06", "lightgbm": "#7a5000", "sklearn": "#777777"}
    for method in dict.fromkeys(r["method"] for r in found):
        own = sorted((r for r in found if r["method"] == method), key=lambda r: r["rows"])
        colour, line, width = ours.get(method, (trees.get(method), "s-", 1.2))
        style = {"color": colour, "linewidth": width, "markersize": 4, "label": method}
        rows = [r["rows"] for r in own]
        left.plot(rows, [r["mnll"] for r in own], line, **style)
        right.plot(rows, [r["seconds"] for r in own], line, **style)
    rows = sorted({r["rows"] for r in found})
    for axes, name in ((left, "test MNLL"), (right, "seconds to fit")):
        axes.set(xscale="log", yscale="log", xlabel="training rows", ylabel=name)
        axes.set_xticks(rows, [f"{n:,}" for n in rows], rotation=30)
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}" if axes is left else "")
        for edge in ("top", "right"):
            axes.spines[edge].set_visible(False)
        axes.grid(alpha=0.25, which="both")
    left.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", nargs="?", choices=("scores", "growth", "datasets"), default="scores"
    )
    parser.add_argument("--classes", type=int, choices=(2, 7), default=2)
    parser.add_argument("--rows", type=int, nargs="+", help="training rows, instead of the usual")
    parser.add_argument("--methods", nargs="+", choices=METHODS)
    parser.add_argument("--names", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--plot", type=Path, help="draw what growth found")
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--out", type=Path, help="keep results here, and go on from there")
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def sizes_of(what, quick):
    """Numbers of training rows; no dataset has as many as the largest."""
    if what == "growth":
        return QUICK_GROWING if quick else GROWING
    if quick:
        return (QUICK_ROWS,)
    return (ALL_ROWS,) if what == "scores" else (10**9,)


def main():
    arguments = _arguments()
    if arguments.fit:
        name, method, n_rows = arguments.fit
        return fit_and_report(name, method, int(n_rows))
    say_where()
    results = Results(arguments.out)
    sizes = arguments.rows or sizes_of(arguments.what, arguments.quick)
    names = ["covertype" if arguments.classes == 7 else "coverbin"]
    methods = arguments.methods or METHODS
    if arguments.what == "datasets":
        names, methods = arguments.names, arguments.methods or METHODS[:2]
    found = table(names, methods, sizes, results)
    if arguments.what == "datasets" and {"regions", "no regions"} <= set(methods):
        say_how_much_worse(found)
    if arguments.plot is not None:
        draw(found, arguments.plot)
    return None


if __name__ == "__main__":
    main()
