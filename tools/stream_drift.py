"""How far a stream drifts from the model of its rows, when rows come and go ten thousand times.

    python tools/stream_drift.py [cycles]

Sums of floats round, and what was added is not subtracted to the last bit. This measures how much
of that is left in the probabilities, beside a model that never saw the rows that went.
"""

import sys
import time

import numpy as np

from dirichletgp import DirichletGPClassifier


def main():
    cycles = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 4))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1_000) > 0).astype(int)
    stream = DirichletGPClassifier("rbf", n_inducing=50, max_iter=10, random_state=0, n_jobs=1)
    stream.fit(X, y)
    new = 1.5 * rng.normal(size=(500, 4))
    before = stream.predict_proba(new)
    latents = stream.latent_mean_and_variance(new)
    start = time.perf_counter()
    for cycle in range(1, cycles + 1):
        rows, labels = rng.normal(size=(10, 4)), rng.integers(0, 2, size=10)
        stream.partial_fit(rows, labels).forget(rows, labels)
        if cycle in (10, 100, 1_000, cycles):
            drift = np.abs(stream.predict_proba(new) - before).max()
            pairs = zip(stream.latent_mean_and_variance(new), latents, strict=True)
            of_latents = max(np.abs(now - then).max() for now, then in pairs)
            seconds = time.perf_counter() - start
            print(
                f"{cycle:6d} cycles, {seconds:5.1f} s: probabilities have moved by {drift:.1e}, "
                f"latent means and variances by {of_latents:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
