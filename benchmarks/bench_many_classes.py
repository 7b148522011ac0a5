"""Many classes: Gaussian clusters whose Bayes error is known, seconds, memory and error.

    python benchmarks/bench_many_classes.py [--classes 10000] [--per-class 20] [--features 64]
                                            [--points 500] [--rivals]

Centres are standard normal, rows lie around them with one standard deviation in all directions, so
the nearest true centre is the best guess there is. Rivals (k-nearest neighbours, logistic
regression, and the nearest mean of a class's rows, which knows what the clusters look like) get the
same rows. Logistic regression takes minutes from a thousand classes on, and is left out where its
probabilities of all rows would take more than 2 GB.
"""

import argparse
import resource
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier

_BATCH = 1_000
_MOST_PROBABILITIES = 250_000_000


class NearestMean:
    """Gaussian clusters of one spread around the means of the training rows."""

    def fit(self, X, y):
        self.means = np.zeros((y.max() + 1, X.shape[1]))
        np.add.at(self.means, y, X)
        counts = np.bincount(y)
        self.means /= counts[:, None]
        inside = ((X - self.means[y]) ** 2).sum() / X.shape[1] / (len(y) - len(counts))
        # A new row is as far from its class's mean as the mean is uncertain, too.
        self.spread = np.sqrt(inside * (1.0 + 1.0 / counts.mean()))
        return self

    def predict_proba(self, X):
        return best_probabilities(X, self.means, self.spread)


def clusters(n_classes, per_class, n_features, spread, n_test):
    """Training rows and labels, test rows and labels, and the true centres."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes, n_features))

    def rows(y):
        return centres[y] + spread * rng.normal(size=(len(y), n_features))

    y = np.repeat(np.arange(n_classes), per_class)
    y_test = rng.integers(0, n_classes, n_test)
    return rows(y), y, rows(y_test), y_test, centres


def best_probabilities(X, centres, spread):
    """Class probabilities (n, C) of who knows the clusters."""
    square = (X**2).sum(axis=1)[:, None] - 2 * X @ centres.T + (centres**2).sum(axis=1)
    logs = -0.5 * square / spread**2
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def scored(probabilities, X, y):
    """Error rate, mean negative log-likelihood and seconds of a function of rows, in batches."""
    wrong, loss = 0, 0.0
    start = time.perf_counter()
    for i in range(0, len(y), _BATCH):
        p = probabilities(X[i : i + _BATCH])
        own = y[i : i + _BATCH]
        wrong += int((p.argmax(axis=1) != own).sum())
        loss -= np.log(np.maximum(p[np.arange(len(own)), own], 1e-300)).sum()
    return wrong / len(y), loss / len(y), time.perf_counter() - start


def peak_gigabytes():
    """The largest memory of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9


def say(name, fit_seconds, result):
    """A line of the table."""
    error, loss, seconds = result
    print(
        f"{name:<28} fit {fit_seconds:8.1f} s   predict {seconds:7.1f} s   error {error:.4f}   "
        f"MNLL {loss:.4f}   peak {peak_gigabytes():.2f} GB",
        flush=True,
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--classes", type=int, default=10_000)
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--spread", type=float, default=1.2)
    parser.add_argument("--points", type=int, default=None)
    parser.add_argument("--test", type=int, default=5_000)
    parser.add_argument("--rivals", action="store_true")
    given = parser.parse_args()
    X, y, X_test, y_test, centres = clusters(
        given.classes, given.per_class, given.features, given.spread, given.test
    )
    print(f"{len(y):,} rows, {given.classes:,} classes, {given.features} features")
    best = scored(lambda rows: best_probabilities(rows, centres, given.spread), X_test, y_test)
    say("the true clusters", 0.0, best)
    models = {
        "DirichletGPClassifier": DirichletGPClassifier(
            n_inducing=given.points, random_state=0, verbose=1
        )
    }
    if given.rivals:
        models["15 nearest neighbours"] = make_pipeline(
            StandardScaler(), KNeighborsClassifier(15, weights="distance")
        )
        models["nearest mean"] = NearestMean()
        if len(y) * given.classes <= _MOST_PROBABILITIES:
            models["logistic regression"] = make_pipeline(
                StandardScaler(), LogisticRegression(max_iter=200)
            )
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X, y)
        say(name, time.perf_counter() - start, scored(model.predict_proba, X_test, y_test))


if __name__ == "__main__":
    main()
