"""The modules that a call walks through, in the order in which they are entered.

    python tools/walk.py            # fit(X, y), fit("rows.parquet", y=...), predict_proba
    python tools/walk.py --markdown # the same as it stands in docs/architecture.md

A module counts if one of its functions runs during the call; what runs while a module is imported
does not. Threads are followed too.
"""

import argparse
import os
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

import dirichletgp
from dirichletgp import DirichletGPClassifier

PACKAGE = os.path.dirname(os.path.abspath(dirichletgp.__file__)) + os.sep
MOST = {"fit(X, y)": 20, 'fit("rows.parquet", y="label")': 20, "predict_proba(X)": 10}


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


def calls(folder, n_classes):
    """The three calls, with enough rows and points that every stage of a fit takes place."""
    import pyarrow as pa
    from pyarrow import parquet

    X, y = make_classification(
        2_000, 5, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0
    )
    path = Path(folder, "rows.parquet")
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    parquet.write_table(pa.table({**columns, "label": y}), path)
    settings = {"n_inducing": 450, "max_iter": 2, "random_state": 0}
    fitted = DirichletGPClassifier(**settings)
    return {
        "fit(X, y)": lambda: fitted.fit(X, y),
        'fit("rows.parquet", y="label")': lambda: DirichletGPClassifier(**settings).fit(
            path, y="label"
        ),
        "predict_proba(X)": lambda: fitted.predict_proba(np.array(X)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    too_long = False
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(folder, given.classes).items():
            modules = walk(call)
            too_long |= len(modules) > MOST[name]
            if given.markdown:
                print(f"`{name}`, {len(modules)} modules:\n")
                print(" → ".join(f"`{module.removesuffix('.py')}`" for module in modules) + "\n")
            else:
                print(f"{name}: {len(modules)} modules, at most {MOST[name]}")
                print("".join(f"    {module}\n" for module in modules))
    sys.exit(int(too_long))


if __name__ == "__main__":
    main()
