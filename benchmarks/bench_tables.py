"""Tables with texts, dates and holes, and numeric ones: our defaults beside boosted trees.

    python benchmarks/bench_tables.py [--splits 3] [--tables german letter]
        [--methods ours catboost] [--out tables.jsonl] [--quick]

With --out, every fit is a line of that file, and fits found there are not repeated; without it,
everything is computed anew. Tables are read from DIRICHLETGP_TABLES, numeric datasets from
DIRICHLETGP_DATA. It needs pandas, CatBoost and LightGBM (4.7 or newer).
"""

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _data import TEST_ROWS, load, split
from scipy.stats import rankdata
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood

try:
    import pandas as pd
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier, early_stopping
except ImportError as error:
    print(f"{error.name} is not installed: pip install pandas catboost lightgbm")
    sys.exit(0)

FOLDER = Path(os.environ.get("DIRICHLETGP_TABLES", Path(__file__).parents[2] / "shared" / "tables"))
# Small ones first. Rows without a label (44 of taxis) are dropped. The smallest class of all, in
# soybean, has 8 rows, so that every class is in both parts of every split.
TABLES = {
    "penguins": {"target": "species"},
    "soybean": {"target": "Class"},
    "german": {"target": "default"},
    "titanic": {"target": "Survived"},
    "taxis": {"target": "payment"},
    "telco": {"target": "Churn"},
    # Both columns are the outcome, written down afterwards.
    "hotel": {
        "target": "is_canceled",
        "leave_out": ["reservation_status", "reservation_status_date"],
    },
    "hrjob": {"target": "target"},
    "airbnb": {"target": "room_type"},
    "adult": {"target": "class"},
}
# Name here: name of the file. One is the table adult again, its categories made indicators.
NUMERIC = {
    "satimage": "satimage",
    "pendigits": "pendigits",
    "eeg": "eeg",
    "htru2": "htru2",
    "magic": "magic",
    "electricity": "electricity",
    "adult_numeric": "adult",
    "letter": "letter",
}
FOUR = ("ours", "catboost", "lightgbm", "boosting")  # those that are ranked
LOO_ROWS = 5_000


def parts(name, seed):
    """Training rows and labels, test rows and labels: frames as pandas reads them, and Series."""
    if name in NUMERIC:
        file = NUMERIC[name]
        if file in TEST_ROWS:
            s = split(file, seed)
            return *framed(s.X, s.y), *framed(s.X_test, s.y_test)
        return stratified(*framed(*load(file)), seed)
    path = FOLDER / f"{name}.csv.gz"
    if not path.exists():
        raise SystemExit(
            f"{path.name} not found: set DIRICHLETGP_TABLES to the folder that holds the tables."
        )
    about = TABLES[name]
    rows = pd.read_csv(path).dropna(subset=about["target"])
    rows = rows.drop(columns=about.get("leave_out", [])).reset_index(drop=True)
    y = rows.pop(about["target"])
    return stratified(rows, y, seed)


def framed(X, y):
    columns = [f"x{j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=columns), pd.Series(y, name="label")


def stratified(X, y, seed):
    X, X_test, y, y_test = train_test_split(X, y, train_size=0.75, stratify=y, random_state=seed)
    return X, y, X_test, y_test


def text_columns(frame):
    """Names of columns that are no numbers: texts, categories and truth values."""
    return list(frame.select_dtypes(exclude="number").columns)


def as_categories(frame, levels):
    """The frame with the columns in `levels` as categories; other values are missing."""
    columns = {name: pd.Categorical(frame[name], kept) for name, kept in levels.items()}
    return frame.assign(**columns)


# A method fits, and returns classes, a function that predicts, and the model. What it does to the
# columns is part of fitting and predicting, and of their times.


def ours(X, y, quick):
    options = {"n_inducing": 100, "max_iter": 5} if quick else {}
    model = DirichletGPClassifier(random_state=0, **options).fit(X, y)
    return model.classes_, model.predict_proba, model


def catboost(X, y, quick):
    texts = text_columns(X)

    def prepared(frame):
        columns = {name: frame[name].astype(object) for name in texts}
        return frame.assign(
            **{name: c.where(c.notna(), "missing").astype(str) for name, c in columns.items()}
        )

    model = CatBoostClassifier(
        iterations=50 if quick else None,
        verbose=0,
        random_seed=0,
        allow_writing_files=False,
        thread_count=2,
    )
    model.fit(prepared(X), y, cat_features=texts)
    return model.classes_, lambda frame: model.predict_proba(prepared(frame)), model


def lightgbm(X, y, quick):
    classes, codes = np.unique(y, return_inverse=True)  # it refuses texts in eval_y
    levels = {name: X[name].dropna().unique() for name in text_columns(X)}
    model = LGBMClassifier(
        n_estimators=50 if quick else 3_000,
        learning_rate=0.05,
        random_state=0,
        n_jobs=2,
        verbose=-1,
    )
    rows, held_out, labels, held_out_labels = train_test_split(
        as_categories(X, levels), codes, test_size=0.15, stratify=codes, random_state=0
    )
    model.fit(
        rows,
        labels,
        eval_X=held_out,
        eval_y=held_out_labels,
        callbacks=[early_stopping(50, verbose=False)],
    )
    return classes, lambda frame: model.predict_proba(as_categories(frame, levels)), model


def boosting(X, y, quick):
    # scikit-learn refuses columns without any value, and more than 255 categories of a column: the
    # 254 most frequent stay, the others are one.
    X = X.dropna(axis="columns", how="all")
    names = list(X.columns)
    kept = {}
    for name in text_columns(X):
        frequent = X[name].value_counts().index
        shortened = len(frequent) > 255
        kept[name] = (frequent[:254] if shortened else frequent, shortened)

    def prepared(frame):
        columns = {}
        for name, (levels, shortened) in kept.items():
            column = frame[name].astype(object)
            if shortened:
                column = column.where(column.isna() | column.isin(levels), "(other)")
                levels = [*levels, "(other)"]
            columns[name] = pd.Categorical(column, levels)
        return frame[names].assign(**columns)

    model = HistGradientBoostingClassifier(
        max_iter=20 if quick else 500,
        early_stopping=True,
        categorical_features="from_dtype",
        random_state=0,
    )
    model.fit(prepared(X), y)
    return model.classes_, lambda frame: model.predict_proba(prepared(frame)), model


def indicators():
    """Numbers without holes and on one scale, categories as indicators."""
    texts = make_column_selector(dtype_exclude="number")
    numbers = make_column_selector(dtype_include="number")
    scaled = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    one_hot = OneHotEncoder(
        max_categories=30, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    return make_column_transformer((scaled, numbers), (one_hot, texts))


def logistic(X, y, quick):
    model = make_pipeline(indicators(), LogisticRegression(max_iter=100 if quick else 1_000))
    with warnings.catch_warnings():
        # A yardstick: what 1,000 iterations reach is what it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return model.classes_, model.predict_proba, model


METHODS = {
    "ours": ours,
    "ours_file": ours,  # given the path of a CSV file and the name of its label column
    "catboost": catboost,
    "lightgbm": lightgbm,
    "boosting": boosting,
    "logistic": logistic,
}


def scores(y, classes, probabilities):
    """MNLL with its standard error, ECE and error rate."""
    # Compared as texts, because labels read from a file need not have the type of pandas' labels.
    y, labels = y.astype(str).to_numpy(), np.array([str(label) for label in classes])
    order = np.argsort(labels)
    labels, probabilities = labels[order], np.asarray(probabilities)[:, order]
    of_true = probabilities[np.arange(len(y)), np.searchsorted(labels, y)]
    losses = -np.log(np.maximum(of_true, np.finfo(float).tiny))
    return {
        "mnll": mean_negative_log_likelihood(y, probabilities, labels=labels),
        "mnll_se": float(losses.std() / np.sqrt(len(y))),
        "ece": expected_calibration_error(y, probabilities, n_bins=10, labels=labels),
        "error": error_rate(y, probabilities, labels=labels),
    }


def measure(name, seed, method, quick):
    X, y, X_test, y_test = parts(name, seed)
    result = {"table": name, "split": seed, "method": method, "rows": len(y)}
    result |= {"test_rows": len(y_test), "columns": X.shape[1], "classes": y.nunique()}
    with tempfile.TemporaryDirectory() as folder:
        given = (X, y)
        if method == "ours_file":
            path, test_path = Path(folder, "train.csv"), Path(folder, "test.csv")
            X.assign(**{y.name: y}).to_csv(path, index=False)
            X_test.to_csv(test_path, index=False)
            given, X_test = (path, y.name), pd.read_csv(test_path)
        start, cpu = time.perf_counter(), time.process_time()
        classes, predict_proba, model = METHODS[method](*given, quick)
        fitted, cpu_fitted = time.perf_counter(), time.process_time()
        probabilities = predict_proba(X_test)
        predicted = time.perf_counter()
    result |= scores(y_test, classes, probabilities)
    result |= {"fit_seconds": fitted - start, "predict_seconds": predicted - fitted}
    result["fit_cpu_seconds"] = cpu_fitted - cpu
    if method == "ours" and hasattr(model, "loo_proba"):
        some = np.random.default_rng(seed).permutation(len(y))[:LOO_ROWS]
        X, y = X.iloc[some], y.iloc[some]
        left_out = scores(y, classes, model.loo_proba(X, y))
        result |= {"loo_mnll": left_out["mnll"], "loo_mnll_se": left_out["mnll_se"]}
        result["kernel"] = str(getattr(model, "kernel_", model.kernel))
    return result


def mean(results, table, method, key):
    values = [r.get(key, np.nan) for r in results if r["table"] == table and r["method"] == method]
    return float(np.mean(values)) if values else np.nan


def line(*cells):
    print("| " + " | ".join(cells) + " |")


def heading(title, *cells):
    print(f"\n{title}:\n")
    line(*cells)
    line(*["---"] * len(cells))


def show_metric(results, tables, methods, key, title, digits):
    """Means over the splits; the best of a table in bold."""
    heading(title, "table", *methods)
    means = np.array([[mean(results, t, m, key) for m in methods] for t in tables])
    for table, values in zip(tables, means, strict=True):
        cells = ["" if np.isnan(v) else f"{v:.{digits}f}" for v in values]
        best = np.nanmin(values)
        line(table, *[f"**{c}**" if v == best else c for c, v in zip(cells, values, strict=True)])
    line("mean", *["" if np.isnan(v) else f"{v:.{digits}f}" for v in means.mean(axis=0)])


def show_ranks(results, tables, methods):
    """Mean ranks and wins, on the tables that all ranked methods have results for."""
    ranked = [method for method in FOUR if method in methods]
    keys = ("mnll", "ece", "error")
    columns = {}
    for key in keys:
        means = np.array([[mean(results, t, m, key) for m in ranked] for t in tables])
        means = means[np.isfinite(means).all(axis=1)]
        if not means.size:
            return
        wins = (means == means.min(axis=1, keepdims=True)).sum(axis=0)
        columns[key] = rankdata(means, axis=1).mean(axis=0), wins
    heading(
        f"Mean rank and wins on {len(means)} tables",
        "method",
        *[cell for key in ("MNLL", "ECE", "error") for cell in (f"{key}, rank", "wins")],
    )
    for i, method in enumerate(ranked):
        pairs = [columns[key] for key in keys]
        line(method, *[c for ranks, wins in pairs for c in (f"{ranks[i]:.2f}", str(wins[i]))])


def show_losses(results, tables):
    """Where ours loses most to CatBoost."""
    ratios = {
        t: mean(results, t, "ours", "mnll") / mean(results, t, "catboost", "mnll") for t in tables
    }
    ratios = {table: ratio for table, ratio in ratios.items() if np.isfinite(ratio)}
    if ratios:
        worst = max(ratios, key=ratios.get)
        print(f"\nMNLL of ours to CatBoost's, at worst: {ratios[worst] - 1:+.1%} ({worst})")


def show_left_out(results, tables):
    """What leave-one-out claims, and what the test rows say."""
    tables = [t for t in tables if np.isfinite(mean(results, t, "ours", "loo_mnll"))]
    if not tables:
        return
    heading("Leave-one-out MNLL of ours", "table", "test", "LOO", "LOO to test", "standard errors")
    for table in tables:
        rows = [r for r in results if r["table"] == table and r["method"] == "ours"]
        test, left_out = np.mean([(r["mnll"], r["loo_mnll"]) for r in rows], axis=0)
        # Of one split: splits share rows, so that more of them do not make it much smaller.
        deviation = np.mean([np.hypot(r["mnll_se"], r["loo_mnll_se"]) for r in rows])
        cells = (f"{test:.4f}", f"{left_out:.4f}", f"{left_out / test - 1:+.1%}")
        line(table, *cells, f"{(left_out - test) / deviation:+.1f}")


def show(results, tables, methods):
    tables = [t for t in tables if any(r["table"] == t for r in results)]
    for key, title, digits in (
        ("mnll", "MNLL", 4),
        ("ece", "ECE", 4),
        ("error", "Error", 4),
        ("fit_seconds", "Seconds to fit", 2),
        ("predict_seconds", "Seconds to predict", 3),
    ):
        show_metric(results, tables, methods, key, title, digits)
    show_ranks(results, tables, methods)
    show_losses(results, tables)
    show_left_out(results, tables)


def main():
    every = [*TABLES, *NUMERIC]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=every, metavar="NAME")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--quick", action="store_true", help="two tables, one split, few iterations"
    )
    arguments = parser.parse_args()
    if arguments.quick and arguments.out:
        parser.error("--quick results are not kept: leave --out away")
    tables = arguments.tables or (["penguins", "magic"] if arguments.quick else every)
    seeds = range(1 if arguments.quick else arguments.splits)
    # With numbers only, a file says no more than the array.
    fits = [
        (table, seed, method)
        for table in tables
        for seed in seeds
        for method in arguments.methods
        if not (method == "ours_file" and table in NUMERIC)
    ]
    if not fits:
        parser.error("ours_file is for tables with texts, not for numeric datasets")
    known = {}
    if arguments.out and arguments.out.exists():
        lines = [json.loads(text) for text in arguments.out.read_text().splitlines()]
        known = {(r["table"], r["split"], r["method"]): r for r in lines}
    results = []
    for fit in fits:
        result = known.get(fit)
        if result is None:
            result = measure(*fit, arguments.quick)
            if arguments.out:
                with arguments.out.open("a") as file:
                    file.write(json.dumps(result) + "\n")
            print(
                f"{result['table']} split {result['split']} {result['method']}: "
                f"MNLL {result['mnll']:.4f}, {result['fit_seconds']:.1f} s",
                flush=True,
            )
        results.append(result)
    show(results, tables, arguments.methods)


if __name__ == "__main__":
    main()
