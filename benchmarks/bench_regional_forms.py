"""What a model of regions costs after the fit: files, compact form, ONNX graph, explanations.

    python benchmarks/bench_regional_forms.py [--rows 50000] [--classes 2 | 7]

coverbin, the paper's split, or all seven classes of the same rows; defaults. Predictions are of
2,000 test rows, all forms beside `predict_proba` of the model itself.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from _measure import say_where
from bench_regions import data

from dirichletgp import DirichletGPClassifier
from dirichletgp.export import to_onnx

N_TEST = 2_000


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def said(name, seconds, probabilities, expected, size=None):
    off = np.abs(probabilities - expected).max()
    bytes_ = "" if size is None else f"{size / 1e6:9.1f} MB"
    print(f"{name:>10} {1e6 * seconds / N_TEST:9.0f} us a row, off by {off:.1e} {bytes_}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=2, choices=(2, 7))
    options = parser.parse_args()
    import onnxruntime

    say_where()
    s = data(options.classes)
    X, y, new = s.X[: options.rows], s.y[: options.rows], s.X_test[:N_TEST]
    classifier, seconds = timed(lambda: DirichletGPClassifier(random_state=0).fit(X, y))
    print(f"fit {seconds:.0f} s, {classifier.regions_}")
    classifier.predict_proba(X)  # all regions are solved
    expected, seconds = timed(lambda: classifier.predict_proba(new))
    small, to_compact = timed(classifier.compact)
    small.predict_proba(X)
    graph, to_graph = timed(lambda: to_onnx(classifier).SerializeToString())
    print(f"compact() {to_compact:.1f} s, to_onnx {to_graph:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for model in (classifier, small):
            model.save(Path(folder, "model.dgp"))
            sizes.append(Path(folder, "model.dgp").stat().st_size)
    said("model", seconds, expected, expected, sizes[0])
    found, seconds = timed(lambda: small.predict_proba(new))
    said("compact", seconds, found, expected, sizes[1])
    session = onnxruntime.InferenceSession(graph)
    rows = np.ascontiguousarray(new, dtype=np.float64)
    (found,), seconds = timed(lambda: session.run(["probabilities"], {"X": rows}))
    said("ONNX", seconds, found, expected, len(graph))
    (values, base, _), seconds = timed(lambda: classifier.contributions(new))
    mean, _ = classifier.latent_mean_and_variance(new)
    others = (mean.sum(axis=1, keepdims=True) - mean) / (mean.shape[1] - 1)
    off = np.abs(values.sum(axis=1) + base - (mean - others)).max()
    print(f"{'explain':>10} {1e6 * seconds / N_TEST:9.0f} us a row, sums off by {off:.1e}")


if __name__ == "__main__":
    main()
