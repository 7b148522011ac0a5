"""Error, MNLL and ECE on six datasets: defaults, the paper's setting, boosted trees; same splits.

    python benchmarks/bench_quality.py [--splits 5] [--datasets eeg letter] [--out results.jsonl]

Every line of the output file is one fit; splits found there are not computed again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from _data import split
from sklearn.ensemble import HistGradientBoostingClassifier

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood

DATASETS = ["eeg", "htru2", "magic", "letter", "pendigits", "satimage"]
PAPER_ALPHA = {
    "letter": 0.001,
    "pendigits": 0.001,
}  # 0.01 for the others; pendigits and satimage are not in the paper


def methods(name):
    return {
        "defaults": DirichletGPClassifier(random_state=0),
        "paper": DirichletGPClassifier(
            "rbf",
            scaler="minmax",
            ard=False,
            n_inducing=200,
            label_transform="dirichlet",
            alpha_epsilon=PAPER_ALPHA.get(name, 0.01),
            random_state=0,
        ),
        "boosting": HistGradientBoostingClassifier(
            max_iter=500, early_stopping=True, random_state=0
        ),
    }


def measure(name, seed, method, model):
    s = split(name, seed)
    start = time.perf_counter()
    model.fit(s.X, s.y)
    fitted = time.perf_counter()
    probabilities = model.predict_proba(s.X_test)
    predicted = time.perf_counter()
    labels = model.classes_
    result = {
        "dataset": name,
        "split": seed,
        "method": method,
        "error": error_rate(s.y_test, probabilities, labels=labels),
        "mnll": mean_negative_log_likelihood(s.y_test, probabilities, labels=labels),
        "ece": expected_calibration_error(s.y_test, probabilities, labels=labels),
        "ece_midpoint": expected_calibration_error(
            s.y_test, probabilities, labels=labels, confidence="midpoint"
        ),
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
    }
    if hasattr(model, "loo_proba"):
        result["loo_mnll"] = mean_negative_log_likelihood(
            s.y, model.loo_proba(s.X, s.y), labels=labels
        )
        result["lengthscale"] = float(np.mean(model.lengthscale_))
        result["variance"] = model.variance_
    return result


def table(results):
    print(
        f"\n{'dataset':<10} {'method':<9} {'splits':>6} {'error':>8} {'MNLL':>8} {'ECE':>8} "
        f"{'ECE mid':>8}",
        end="",
    )
    print(f" {'LOO MNLL':>9} {'fit s':>7} {'max fit':>7} {'predict':>8}")
    for name in DATASETS:
        for method in ("defaults", "paper", "boosting"):
            rows = [r for r in results if r["dataset"] == name and r["method"] == method]
            if not rows:
                continue

            def mean(key, rows=rows):
                return np.mean([r.get(key, np.nan) for r in rows])

            print(
                f"{name:<10} {method:<9} {len(rows):>6} {mean('error'):8.4f} {mean('mnll'):8.4f}",
                end="",
            )
            print(
                f" {mean('ece'):8.4f} {mean('ece_midpoint'):8.4f} {mean('loo_mnll'):9.4f}", end=""
            )
            longest = max(r["fit_seconds"] for r in rows)
            print(f" {mean('fit_seconds'):7.2f} {longest:7.2f} {mean('predict_seconds'):8.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--out", type=Path, default=Path("bench_quality.jsonl"))
    arguments = parser.parse_args()
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    results = [json.loads(line) for line in lines]
    done = {(r["dataset"], r["split"], r["method"]) for r in results}
    for name in arguments.datasets:
        for seed in range(arguments.splits):
            for method, model in methods(name).items():
                if (name, seed, method) in done:
                    continue
                result = measure(name, seed, method, model)
                results.append(result)
                with arguments.out.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(
                    f"{name} split {seed} {method}: MNLL {result['mnll']:.4f}, "
                    f"{result['fit_seconds']:.1f} s",
                    flush=True,
                )
    table(results)


if __name__ == "__main__":
    main()
