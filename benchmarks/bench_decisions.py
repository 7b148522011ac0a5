"""Sets, explanations, wrong labels and soft labels beside what else there is.

    python benchmarks/bench_decisions.py sets [--splits 3] [--datasets magic letter]
    python benchmarks/bench_decisions.py shapley
    python benchmarks/bench_decisions.py labels [--rivals lightgbm boosting catboost]
    python benchmarks/bench_decisions.py crowd

Models have 200 inducing points and are otherwise the defaults. Datasets are read from
DIRICHLETGP_DATA. `sets` needs MAPIE and CatBoost, `shapley` needs shap, `labels` needs cleanlab and
LightGBM.
"""

import argparse
import time
import warnings

import numpy as np
from _data import load
from _measure import say_where

from dirichletgp import DirichletGPClassifier

POINTS = 200
SETS = (
    "eeg",
    "htru2",
    "magic",
    "electricity",
    "adult",
    "susy_partial",
    "satimage",
    "pendigits",
    "drive_partial",
    "letter",
)
LABELS = ("magic", "htru2", "electricity", "satimage", "pendigits", "letter")
COVERAGES = (0.9, 0.95, 0.99)
TRAIN, TEST = 4_000, 6_000
# Rows that split-conformal sets are calibrated on, out of those to train with.
CALIBRATION = 0.3


def parts(name, seed, n_train=TRAIN):
    """Rows and labels to train and to test with, of a random split."""
    X, y = load_any(name)
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(n_train, 2 * len(y) // 3)
    train, test = order[:n_train], order[n_train : n_train + TEST]
    return X[train], y[train], X[test], y[test]


def load_any(name):
    """A dataset, complete or partial."""
    if not name.endswith("_partial"):
        return load(name)
    from dirichletgp.datasets import load_dataset

    data = load_dataset(name.removesuffix("_partial"), allow_partial=True)
    return data.X, data.y


def ours(seed=0, **settings):
    return DirichletGPClassifier(n_inducing=POINTS, random_state=seed, **settings)


def boosted(seed=0):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=300, random_seed=seed, verbose=False, allow_writing_files=False
    )


def sets(names, splits):
    """Coverage and mean size: ours on all rows, split-conformal sets around ours and CatBoost."""
    from mapie.classification import SplitConformalClassifier

    print("| dataset | coverage | | never empty | ours | MAPIE, ours | MAPIE, CatBoost |")
    print("|---|---:|---|---:|---:|---:|---:|")
    total = {}
    for name in names:
        found = {}
        for seed in range(splits):
            X, y, X_test, y_test = parts(name, seed)
            model = ours(seed).fit(X, y)
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(y))
            held, kept = np.split(order, [int(CALIBRATION * len(y))])
            # Every class must be known to all models.
            first = np.unique(y, return_index=True)[1]
            kept = np.union1d(kept, first)
            held = np.setdiff1d(held, first)
            rivals = {"mapie": ours(seed), "catboost": boosted(seed)}
            for key, rival in rivals.items():
                rival.fit(X[kept], y[kept])
                wrapped = SplitConformalClassifier(
                    rival, confidence_level=list(COVERAGES), prefit=True, conformity_score="lac"
                )
                wrapped.conformalize(X[held], y[held])
                _, inside = wrapped.predict_set(X_test)
                for j, coverage in enumerate(COVERAGES):
                    found.setdefault((coverage, key), []).append(measured(inside[:, :, j], y_test))
            for coverage in COVERAGES:
                full = model.predict_set(X_test, coverage)
                bare = model.predict_set(X_test, coverage, allow_empty=True)
                found.setdefault((coverage, "full"), []).append(measured(full, y_test))
                found.setdefault((coverage, "bare"), []).append(measured(bare, y_test))
            n_test = len(y_test)
        for coverage in COVERAGES:
            rows = {
                key: np.mean(found[coverage, key], axis=0)
                for key in ("full", "bare", "mapie", "catboost")
            }
            covered = " | ".join(f"{rows[key][0]:.3f}" for key in rows)
            size = " | ".join(f"{rows[key][1]:.3f}" for key in rows)
            print(f"| {name} | {coverage} | covered | {covered} |")
            print(f"| | | mean size | {size} |", flush=True)
            error = np.sqrt(coverage * (1 - coverage) / n_test)
            total.setdefault("held", []).append(rows["bare"][0] >= coverage - 2 * error)
            total.setdefault("smaller", []).append(rows["bare"][1] <= rows["mapie"][1])
            total.setdefault("trees", []).append(rows["bare"][1] <= rows["catboost"][1])
    print(f"\ncoverage within two standard errors or above: {share(total['held'])}")
    print(f"no larger than MAPIE around the same classifier: {share(total['smaller'])}")
    print(f"no larger than MAPIE around CatBoost: {share(total['trees'])}")


def measured(inside, y):
    """Share of labels that are in their sets, and the mean number of classes in them."""
    return float(inside[np.arange(len(y)), y].mean()), float(inside.sum(axis=1).mean())


def share(flags):
    return f"{sum(map(bool, flags))} of {len(flags)}"


def shapley():
    """Seconds for exact values of 1,000 rows, and for shap's sampling of a few of them."""
    import shap

    X, y = load("letter")
    rng = np.random.default_rng(0)
    train = rng.permutation(len(y))[:TRAIN]
    rows = X[rng.permutation(len(y))[:1_000]]
    for kernel in ("rbf", "product"):
        for n_points in (POINTS, 1_000):
            settings = {"n_inducing": n_points, "max_iter": 5, "random_state": 0}
            model = DirichletGPClassifier(kernel, **settings).fit(X[train], y[train] < 13)
            model.explain(rows[:2])
            exact = min(timed(model.explain, rows) for _ in range(3))

            def log_odds(Z, model=model):
                mean, _ = model.latent_mean_and_variance(Z)
                return mean[:, 1] - mean[:, 0]

            background = shap.sample(X[train], 100, random_state=0)
            explainer = shap.KernelExplainer(log_odds, background)
            sampled = 100 * timed(explainer.shap_values, rows[:10], silent=True)
            print(
                f"{kernel}, {n_points} points, 16 features, 1,000 rows: exact {exact:.2f} s, "
                f"shap.KernelExplainer {sampled:.0f} s (from 10 rows), ratio {sampled / exact:.0f}",
                flush=True,
            )


def timed(function, *args, **options):
    start = time.perf_counter()
    function(*args, **options)
    return time.perf_counter() - start


def trees(name):
    """Boosted trees with their defaults."""
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(verbose=-1, n_jobs=2, random_state=0)
    if name == "catboost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(random_seed=0, verbose=False, allow_writing_files=False)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def labels(names, rivals):
    """How well flipped labels are found: area under the precision-recall curve, and seconds."""
    from cleanlab.rank import get_label_quality_scores
    from sklearn.metrics import average_precision_score
    from sklearn.model_selection import cross_val_predict

    columns = " | ".join(f"cleanlab, {rival} | seconds" for rival in rivals)
    print(f"| dataset | ours | seconds | ours, rbf | seconds | {columns} |")
    print("|---|---:|---:|---:|---:|" + "---:|---:|" * len(rivals))
    for name in names:
        X, y, _, _ = parts(name, 0)
        y = np.unique(y, return_inverse=True)[1]
        n_classes = len(np.unique(y))
        rng = np.random.default_rng(1)
        wrong = rng.random(len(y)) < 0.1
        given = np.where(wrong, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)
        found, seconds = [], []
        for settings in ({}, {"kernel": "rbf"}):
            start = time.perf_counter()
            found.append(ours(**settings).fit(X, given).label_issues(X, given).quality)
            seconds.append(time.perf_counter() - start)
        for rival in rivals:
            start = time.perf_counter()
            p = cross_val_predict(trees(rival), X, given, cv=5, method="predict_proba")
            found.append(get_label_quality_scores(given, p))
            seconds.append(time.perf_counter() - start)
        areas = [average_precision_score(wrong, -quality) for quality in found]
        line = " | ".join(f"{a:.3f} | {s:.1f}" for a, s in zip(areas, seconds, strict=True))
        print(f"| {name} | {line} |", flush=True)


def crowd(splits):
    """Five unreliable voters: votes as they are, and the majority; error against the truth."""
    print("| rows | right votes | votes: error, MNLL | majority: error, MNLL |")
    print("|---:|---:|---:|---:|")
    for n in (100, 300, 1_000):
        for skill in (0.6, 0.7):
            found = []
            for seed in range(splits):
                rng = np.random.default_rng(seed)
                X, truth = crowd_rows(n, rng)
                X_test, y_test = crowd_rows(4_000, rng)
                right = rng.random((n, 5)) < skill
                others = (truth[:, None] + rng.integers(1, 3, (n, 5))) % 3
                said = np.where(right, truth[:, None], others)
                votes = np.stack([(said == c).sum(axis=1) for c in range(3)], axis=1)
                # Ties are broken at random, as a person would.
                majority = (votes + rng.uniform(0, 0.1, votes.shape)).argmax(axis=1)
                for target in (votes, majority):
                    model = DirichletGPClassifier("rbf", n_inducing=POINTS, random_state=0)
                    p = model.fit(X, target).predict_proba(X_test)
                    error = float(np.mean(p.argmax(axis=1) != y_test))
                    found.append((error, -float(np.log(p[np.arange(4_000), y_test]).mean())))
            votes, majority = np.mean(found[::2], axis=0), np.mean(found[1::2], axis=0)
            print(
                f"| {n} | {skill} | {votes[0]:.3f}, {votes[1]:.3f} "
                f"| {majority[0]:.3f}, {majority[1]:.3f} |",
                flush=True,
            )


def crowd_rows(n, rng):
    """Rows of three classes that meet along curves, and the true class of each."""
    X = rng.uniform(-2, 2, (n, 2))
    scores = np.column_stack([X[:, 1] - np.sin(2 * X[:, 0]), -X[:, 1], X[:, 0]])
    return X, scores.argmax(axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("sets", "shapley", "labels", "crowd"))
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--rivals", nargs="+", default=["lightgbm", "boosting"])
    parser.add_argument("--splits", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    say_where()
    start = time.perf_counter()
    if arguments.part == "sets":
        sets(arguments.datasets or SETS, arguments.splits)
    elif arguments.part == "shapley":
        shapley()
    elif arguments.part == "labels":
        labels(arguments.datasets or LABELS, arguments.rivals)
    else:
        crowd(arguments.splits)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
