"""Few or noisy rows: 40 synthetic problems with known probabilities, and eight small tables.

    python benchmarks/bench_small.py synthetic [--quick] [--draws 10] [--out small.jsonl]
        [--picture few_rows.png]
    python benchmarks/bench_small.py tables [--quick] [--splits 10] [--out small.jsonl]

Every line of the output file is one fit; what is found there is not computed again. Tables are read
from DIRICHLETGP_TABLES; they need pandas, CatBoost and LightGBM (which `bench_tables.py` needs).
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr, expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier

KINDS = ("linear", "additive", "smooth", "interaction", "noise")
# rows, features, rows of the common class for one of the rare class
SHAPES = (
    (50, 2, 1),
    (100, 5, 1),
    (200, 1, 1),
    (300, 10, 1),
    (300, 5, 20),
    (1000, 20, 1),
    (1000, 5, 20),
    (3000, 10, 1),
)
TEST_ROWS = 3_000
TABLES = ("german", "titanic", "penguins", "soybean")
BUNDLED = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}


def log_odds(kind, X, weights):
    """True log-odds of rows with normal features."""
    d = X.shape[1]
    if kind == "linear":
        return X @ weights
    if kind == "additive":
        k = min(d, 4)
        return 2.4 * np.sin(1.5 * X[:, :k] + np.arange(k)).sum(axis=1) / np.sqrt(k)
    if kind == "smooth":
        k = min(d, 3)
        return 3.0 * (np.square(X[:, :k]).mean(axis=1) - 1.0) + X[:, 0]
    if kind == "interaction":
        if d == 1:
            return 3.0 * np.sin(2.0 * X[:, 0])
        return 2.5 * X[:, 0] * X[:, 1] + (1.5 * X[:, 2] * X[:, 3] if d >= 4 else 0.0)
    return np.zeros(len(X))


def draw(kind, n, d, ratio, seed):
    """Training rows and labels, test rows and labels, and true probabilities of the test rows."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(d)
    weights *= 2.0 / np.linalg.norm(weights)
    X, X_test = rng.standard_normal((n, d)), rng.standard_normal((TEST_ROWS, d))
    shift = 0.0
    if ratio > 1:
        many = log_odds(kind, np.random.default_rng(99).standard_normal((20_000, d)), weights)
        shift = brentq(lambda b: expit(many + b).mean() - 1.0 / (1.0 + ratio), -30, 30)
    p, p_test = (expit(log_odds(kind, rows, weights) + shift) for rows in (X, X_test))
    y, y_test = (rng.random(n) < p).astype(int), (rng.random(TEST_ROWS) < p_test).astype(int)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    return X, y, X_test, y_test, p_test


def table(name, seed):
    """A stratified split, 75 % to train: frames as pandas reads them, and codes of labels."""
    from bench_tables import framed, parts, stratified

    if name in BUNDLED:
        split = stratified(*framed(*BUNDLED[name](return_X_y=True)), seed)
    else:
        split = parts(name, seed)
    X, y, X_test, y_test = split
    labels = np.unique(y.astype(str))
    codes, test_codes = (np.searchsorted(labels, part.astype(str)) for part in (y, y_test))
    return X, codes, X_test, test_codes


def linear():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5_000))


def methods_for_problems():
    return {
        "ours": lambda: DirichletGPClassifier(random_state=0),
        "logistic": linear,
        "frequencies": lambda: DummyClassifier(strategy="prior"),
    }


class Fitted:
    """A method of `bench_tables.py` as an estimator."""

    def __init__(self, method):
        self.method = method

    def fit(self, X, y):
        _, self.predict_proba, _ = self.method(X, y, False)


def methods_for_tables(n, n_classes):
    """Every method is given the frame in the form that suits it best."""
    from bench_tables import catboost, indicators, logistic

    forest = RandomForestClassifier(300, min_samples_leaf=2, random_state=0)
    calibrated = CalibratedClassifierCV(forest, method="sigmoid", cv=3)
    methods = {
        "ours": lambda: DirichletGPClassifier(random_state=0),
        "logistic": lambda: Fitted(logistic),
        "forest": lambda: make_pipeline(indicators(), calibrated),
        "catboost": lambda: Fitted(catboost),
    }
    if n <= 800 and n_classes <= 3:
        kernel = ConstantKernel(1.0) * RBF(3.0)
        gpc = GaussianProcessClassifier(kernel, random_state=0)
        methods["gpc"] = lambda: make_pipeline(indicators(), StandardScaler(), gpc)
    return methods


def losses(probabilities, y):
    return -np.log(np.maximum(probabilities[np.arange(len(y)), y], 1e-15))


def measure(model, X, y, X_test, y_test):
    start, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    result = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    test = losses(model.predict_proba(X_test), y_test)
    result |= {"mnll": test.mean(), "se": test.std() / np.sqrt(len(test)), "warned": len(caught)}
    if isinstance(model, DirichletGPClassifier):
        left_out = losses(model.loo_proba(X, y), y)
        result |= {"loo": left_out.mean(), "loo_se": left_out.std() / np.sqrt(len(y))}
        lower, upper = model.predict_interval(X_test)
        result["width"] = float((upper - lower)[:, 1].mean())
    return result


class Log:
    """The lines of the output file."""

    def __init__(self, path):
        self.path = path
        text = path.read_text() if path.exists() else ""
        self.lines = [json.loads(line) for line in text.splitlines()]
        self.done = {(r["problem"], r["seed"], r["method"]) for r in self.lines}

    def run(self, problem, seed, method, make, data, **more):
        if (problem, seed, method) in self.done:
            return
        about = {"problem": problem, "seed": seed, "method": method, **more}
        result = {**about, **measure(make(), *data)}
        self.lines.append(result)
        with self.path.open("a") as file:
            file.write(json.dumps(result) + "\n")

    def of(self, problem, method):
        return [r for r in self.lines if r["problem"] == problem and r["method"] == method]


def mean(lines, key="mnll"):
    return float(np.mean([r[key] for r in lines])) if lines else np.nan


def run_synthetic(log, draws, quick):
    for seed in range(draws):
        for kind in KINDS:
            for shape in SHAPES:
                if quick and shape[0] > 300:
                    continue
                *data, p = draw(kind, *shape, seed)
                bayes = float((entr(p) + entr(1 - p)).mean())
                f = data[3].mean()
                entropy = float(entr(f) + entr(1 - f))
                problem = "-".join(map(str, (kind, *shape)))
                for method, make in methods_for_problems().items():
                    log.run(problem, seed, method, make, data, bayes=bayes, entropy=entropy)
    show_synthetic(log)


def show_synthetic(log):
    headings = ("draws", "Bayes", "entropy", "linear", "ours", "LOO", "above H", "above f")
    headings += ("cpu s", "max s", "width")
    print(f"{'problem':<24}" + "".join(f"{heading:>9}" for heading in headings))
    for kind in KINDS:
        for shape in SHAPES:
            problem = "-".join(map(str, (kind, *shape)))
            ours = log.of(problem, "ours")
            if not ours:
                continue
            known = {r["seed"]: r["mnll"] for r in log.of(problem, "frequencies")}
            numbers = (
                mean(ours, "bayes"),
                mean(ours, "entropy"),
                mean(log.of(problem, "logistic")),
                mean(ours),
                mean(ours, "loo"),
                max(r["mnll"] - r["entropy"] for r in ours),
                max(r["mnll"] - known[r["seed"]] for r in ours),
                mean(ours, "cpu"),
                max(r["seconds"] for r in ours),
                mean(ours, "width"),
            )
            row = "".join(f"{number:9.4f}" for number in numbers)
            print(f"{problem:<24}{len(ours):>9}{row}")


def draw_synthetic(log, path):
    """MNLL of every problem beside what is possible, and what is known without features."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(KINDS), figsize=(13, 3.4), sharey=True, layout="tight")
    shapes = [shape for shape in SHAPES if shape[2] == 1]
    names = [f"{n:,} x {d}" for n, d, _ in shapes]
    for kind, panel in zip(KINDS, panels, strict=True):
        problems = ["-".join(map(str, (kind, *shape))) for shape in shapes]
        ours = [[r["mnll"] for r in log.of(problem, "ours")] for problem in problems]
        places = np.arange(len(shapes))
        entropy = [mean(log.of(problem, "ours"), "entropy") for problem in problems]
        best = [mean(log.of(problem, "ours"), "bayes") for problem in problems]
        linear = [mean(log.of(problem, "logistic")) for problem in problems]
        panel.plot(places, entropy, color="0.6", ls=":", label="class frequencies")
        panel.plot(places, best, color="0.3", ls="--", label="best possible")
        panel.plot(
            places, linear, color="tab:orange", marker="s", ms=4, label="logistic regression"
        )
        panel.plot(places, [np.mean(o) for o in ours], color="tab:blue", lw=2, label="ours")
        for place, draws in zip(places, ours, strict=True):
            panel.plot(np.full(len(draws), place), draws, "o", ms=3, alpha=0.4, color="tab:blue")
        panel.set_title(kind)
        panel.set_xticks(places, names, rotation=60, ha="right", fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("test MNLL")
    panels[2].set_xlabel("training rows x features")
    panels[0].legend(fontsize=7, frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)


def run_tables(log, splits, quick):
    for seed in range(splits):
        for name in (*BUNDLED, *TABLES):
            if quick and name in ("digits", "soybean"):
                continue
            data = table(name, seed)
            for method, make in methods_for_tables(len(data[1]), len(np.unique(data[1]))).items():
                log.run(name, seed, method, make, data)
    show_tables(log)


def rank(value, all_values):
    return 1 + sum(other < value for other in all_values) if np.isfinite(value) else np.nan


def show_tables(log):
    names = ["ours", "logistic", "gpc", "forest", "catboost"]
    print(
        f"{'table':<14} {'splits':>6}"
        + "".join(f"{name:>10}" for name in names)
        + f"{'LOO':>9} {'cpu s':>6} {'max s':>6}"
    )
    ranks = []
    for name in (*BUNDLED, *TABLES):
        ours = log.of(name, "ours")
        if not ours:
            continue
        means = [mean(log.of(name, method)) for method in names]
        ranks.append([rank(value, means) for value in means])
        print(f"{name:<14} {len(ours):>6}" + "".join(f"{value:10.4f}" for value in means), end="")
        longest = max(r["seconds"] for r in ours)
        print(f"{mean(ours, 'loo'):9.4f} {mean(ours, 'cpu'):6.2f} {longest:6.2f}")
    print(f"{'mean rank':<21}" + "".join(f"{value:10.2f}" for value in np.nanmean(ranks, axis=0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["synthetic", "tables"])
    parser.add_argument(
        "--quick", action="store_true", help="small problems, three draws or splits"
    )
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("bench_small.jsonl"))
    parser.add_argument("--picture", type=Path, help="draw the synthetic problems, with matplotlib")
    arguments = parser.parse_args()
    log = Log(arguments.out)
    if arguments.part == "synthetic":
        run_synthetic(log, 3 if arguments.quick else arguments.draws, arguments.quick)
        if arguments.picture:
            draw_synthetic(log, arguments.picture)
    else:
        run_tables(log, 3 if arguments.quick else arguments.splits, arguments.quick)


if __name__ == "__main__":
    main()
