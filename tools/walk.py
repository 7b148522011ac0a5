"""The modules that a call walks through, in the order in which they are entered.

    python tools/walk.py            # fit(X, y), fit("rows.parquet", y=...), predict_proba
    python tools/walk.py --markdown # the same as it stands in docs/architecture.md
    python tools/walk.py --classes 3 --rows 150 --more 3

A module counts if one of its functions runs during the call; what runs while a module is imported
does not. Threads are followed too. Every call is the first one of a process of its own, so that
what is computed once and kept counts as well.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from sklearn.datasets import make_classification

import dirichletgp
from dirichletgp import DirichletGPClassifier

PACKAGE = os.path.dirname(os.path.abspath(dirichletgp.__file__)) + os.sep
FIT, FIT_FILE, PREDICT = "fit(X, y)", 'fit("rows.parquet", y="label")', "predict_proba(X)"
# Probabilities of three classes need a module more, few rows a stage more: --more allows for them.
MOST = {FIT: 27, FIT_FILE: 28, PREDICT: 10}
# With more than 1,500 rows and 400 points every stage of a fit takes place.
ROWS, SETTINGS = 1_600, {"n_inducing": 410, "max_iter": 2, "random_state": 0}


def walk(call):
    """Modules of the package whose functions run during `call`, relative to the package."""
    seen = {}

    def enter(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and is_function(code):
            seen.setdefault(code.co_filename.removeprefix(PACKAGE))

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(seen)


def is_function(code):
    """Whether code is that of a function; bodies of modules and classes are not optimised."""
    return bool(code.co_flags & 0x1)


def walk_of(name, folder, n_classes, n_rows):
    """The walk of one of the calls; predictions are those of the model that `fit(X, y)` left."""
    X, y = make_classification(
        n_rows, 5, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0
    )
    model = Path(folder, "model.dgp")
    if name == PREDICT:
        classifier = DirichletGPClassifier.load(model)
        return walk(lambda: classifier.predict_proba(X))
    classifier = DirichletGPClassifier(**SETTINGS)
    if name == FIT_FILE:
        path = Path(folder, "rows.parquet")
        write_parquet(X, y, path)
        return walk(lambda: classifier.fit(path, y="label"))
    modules = walk(lambda: classifier.fit(X, y))
    classifier.save(model)
    return modules


def write_parquet(X, y, path):
    import pyarrow as pa
    from pyarrow import parquet

    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    parquet.write_table(pa.table({**columns, "label": y}), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--more", type=int, default=0, help="modules above the limits")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    too_long = False
    fresh = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1)
    with tempfile.TemporaryDirectory() as folder, fresh:
        for name, most in MOST.items():
            modules = fresh.submit(walk_of, name, folder, given.classes, given.rows).result()
            most += given.more
            too_long |= len(modules) > most
            if given.markdown:
                print(f"`{name}`, {len(modules)} modules:\n")
                print(" → ".join(f"`{module.removesuffix('.py')}`" for module in modules) + "\n")
            else:
                print(f"{name}: {len(modules)} modules, at most {most}")
                print("".join(f"    {module}\n" for module in modules))
    sys.exit(int(too_long))


if __name__ == "__main__":
    main()
