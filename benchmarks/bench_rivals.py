"""The paper's methods on the paper's datasets: same splits, same scaling, same number of inducing points.

    python benchmarks/bench_rivals.py [--splits 5] [--datasets eeg magic]

GPD is the paper's setting of `DirichletGPClassifier`, GPR and GPR (Platt) are `GPRegressionClassifier`, NKRR is
`NystromRidgeClassifier`; all with min-max scaling, an isotropic RBF kernel and 200 k-means points.
"""

import argparse
import time

import numpy as np
from _data import split

from dirichletgp import DirichletGPClassifier, GPRegressionClassifier, NystromRidgeClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood

DATASETS = ["eeg", "htru2", "magic", "letter"]


def methods(name):
    shared = {"scaler": "minmax", "n_inducing": 200, "random_state": 0}
    alpha = 0.001 if name == "letter" else 0.01
    return {
        "GPD": DirichletGPClassifier(ard=False, label_transform="dirichlet", alpha_epsilon=alpha, **shared),
        "GPR": GPRegressionClassifier(ard=False, **shared),
        "GPR (Platt)": GPRegressionClassifier(ard=False, calibration="platt", **shared),
        "NKRR": NystromRidgeClassifier(**shared),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    arguments = parser.parse_args()
    print(
        f"{'dataset':<8} {'method':<12} {'error':>8} {'MNLL':>8} {'ECE':>8} {'fit s':>7}   mean of {arguments.splits}"
    )
    for name in arguments.datasets:
        results = {method: [] for method in methods(name)}
        for seed in range(arguments.splits):
            s = split(name, seed)
            for method, model in methods(name).items():
                start = time.perf_counter()
                model.fit(s.X, s.y)
                seconds = time.perf_counter() - start
                probabilities = model.predict_proba(s.X_test)
                metrics = (error_rate, mean_negative_log_likelihood, expected_calibration_error)
                results[method].append([*(m(s.y_test, probabilities) for m in metrics), seconds])
        for method, rows in results.items():
            error, mnll, ece, seconds = np.mean(rows, axis=0)
            print(f"{name:<8} {method:<12} {error:8.4f} {mnll:8.4f} {ece:8.4f} {seconds:7.2f}", flush=True)


if __name__ == "__main__":
    main()
