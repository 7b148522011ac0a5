"""Do 95 % intervals of class probabilities hold? Twelve problems with known ones.

Random smooth functions of the features are the log-probabilities of the classes: with a standard
deviation of log-odds of 1.5 (smooth), 6 (steep) and 0.4 (noisy), or constant. For every problem:
the share of intervals that contain the true probability, their mean width, and the mean error of
the predicted probability, of `DirichletGPClassifier` (its intervals, and the paper's) and of
`VariationalGPClassifier` (GPC), each with its defaults. Every draw has a function and rows of its
own; 1,000 further rows are predicted. Results are kept in a file, so a run can be taken up again.

    python benchmarks/bench_intervals.py --output intervals.json [--draws 5] [--most-rows 20000]
    python benchmarks/bench_intervals.py --output intervals.json --table
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from dirichletgp import DirichletGPClassifier, VariationalGPClassifier

# Shape, training rows, classes, features.
PROBLEMS = [
    ("smooth", 100, 2, 2),
    ("smooth", 2_000, 5, 10),
    ("smooth", 20_000, 2, 10),
    ("steep", 500, 5, 2),
    ("steep", 2_000, 2, 10),
    ("steep", 20_000, 5, 2),
    ("noisy", 200, 2, 10),
    ("noisy", 1_000, 5, 2),
    ("noisy", 10_000, 2, 2),
    ("constant", 100, 5, 2),
    ("constant", 1_000, 2, 10),
    ("constant", 20_000, 5, 10),
]
DEVIATION = {"smooth": 1.5, "steep": 6.0, "noisy": 0.4}
FREQUENCIES = {2: [0.3, 0.7], 5: [0.4, 0.25, 0.15, 0.12, 0.08]}
N_TEST = 1_000
COVERS = 0.9


def random_function(rng, n_features, n_terms=12):
    """A sum of cosines of the features, of variance one; of many, later ones matter less."""
    relevance = np.ones(n_features)
    if n_features > 2:
        relevance = 1.0 / np.sqrt(1.0 + np.arange(n_features))
    slopes = rng.normal(size=(n_terms, n_features))
    slopes *= 0.9 * relevance / np.sqrt(max(1.0, n_features / 4))
    phases = rng.uniform(0, 2 * np.pi, n_terms)
    amplitudes = rng.normal(size=n_terms) * np.sqrt(2 / n_terms)
    return lambda X: np.cos(X @ slopes.T + phases) @ amplitudes


def draw(shape, n_rows, n_classes, n_features, seed):
    """Training rows and labels, and further rows with their true class probabilities."""
    rng = np.random.default_rng([seed, n_rows, n_classes, n_features, len(shape)])
    X = rng.normal(size=(n_rows + N_TEST, n_features))
    if shape == "constant":
        truth = np.tile(FREQUENCIES[n_classes], (len(X), 1))
    else:
        f = np.stack([random_function(rng, n_features)(X) for _ in range(n_classes)], axis=1)
        f *= DEVIATION[shape] / np.sqrt(2)
        truth = np.exp(f - f.max(axis=1, keepdims=True))
        truth /= truth.sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) < rng.random((len(X), 1))).sum(axis=1).clip(0, n_classes - 1)
    return X[:n_rows], y[:n_rows], X[n_rows:], truth[n_rows:]


def measured(model, X, truth, seconds, **kind):
    """Coverage, mean width and mean error of a fitted model."""
    lower, upper = model.predict_interval(X, **kind)
    return {
        "covers": float(np.mean((lower <= truth) & (truth <= upper))),
        "width": float(np.mean(upper - lower)),
        "error": float(np.mean(np.abs(model.predict_proba(X) - truth))),
        "seconds": seconds,
    }


def measure(methods, problem, seed):
    """Results of some methods on one draw of a problem, by name."""
    X, y, X_test, truth = draw(*problem, seed)
    results = {}
    for method in methods:
        model = {"ours": DirichletGPClassifier, "gpc": VariationalGPClassifier}[method]
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model(random_state=0).fit(X, y)
        seconds = time.perf_counter() - start
        results[method] = measured(fitted, X_test, truth, seconds)
        if method == "ours":
            results["latent"] = measured(fitted, X_test, truth, seconds, kind="latent")
    return results


def show(kept):
    """Print a Markdown table of means over the draws."""
    print("| problem | rows | classes | features | ours | the paper's | GPC | error, ours | GPC |")
    print("|---|---|---|---|---|---|---|---|---|")
    widths = defaultdict(list)
    for problem in PROBLEMS:
        cells, means = [], {}
        for method in ("ours", "latent", "gpc"):
            found = [r for key, r in kept.items() if key.startswith(name(method, problem))]
            if not found:
                cells.append("")
                continue
            means[method] = {k: np.mean([r[k] for r in found]) for k in found[0]}
            cover, width = means[method]["covers"], means[method]["width"]
            cells.append(f"{100 * cover:.1f} % / {width:.3f}")
        errors = [f"{means[m]['error']:.3f}" if m in means else "" for m in ("ours", "gpc")]
        shape, n, n_classes, n_features = problem
        print(
            f"| {shape} | {n:,} | {n_classes} | {n_features} | " + " | ".join(cells + errors), "|"
        )
        if {"ours", "gpc"} <= set(means) and means["gpc"]["covers"] >= COVERS:
            for method in ("ours", "gpc"):
                widths[method].append(means[method]["width"])
    if widths:
        both = {method: round(float(np.mean(values)), 3) for method, values in widths.items()}
        print(f"\nmean width where GPC covers {COVERS:.0%} ({len(widths['gpc'])} problems): {both}")


def name(method, problem):
    return f"{method} {' '.join(map(str, problem))} draw "


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--most-rows", type=int, default=20_000)
    parser.add_argument("--methods", nargs="+", default=["ours", "gpc"])
    parser.add_argument("--table", action="store_true", help="only show what was measured")
    arguments = parser.parse_args()
    kept = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    for seed in [] if arguments.table else range(arguments.draws):
        for problem in PROBLEMS:
            todo = [m for m in arguments.methods if name(m, problem) + str(seed) not in kept]
            if problem[1] > arguments.most_rows or not todo:
                continue
            for method, result in measure(todo, problem, seed).items():
                kept[name(method, problem) + str(seed)] = result
                print(name(method, problem), seed, result, flush=True)
            arguments.output.write_text(json.dumps(kept, indent=1))
    show(kept)


if __name__ == "__main__":
    main()
