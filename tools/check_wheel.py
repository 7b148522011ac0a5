"""Install the wheel of a folder in an empty environment and see that it imports lightly.

The import may take a second beyond that of NumPy, SciPy and scikit-learn, and must not bring an
extra with it.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

OWN_SECONDS = 1.0
PROBE = """ import sys, time import numpy, scipy.linalg, scipy.optimize, scipy.special,
sklearn.base, sklearn.preprocessing, sklearn.pipeline import sklearn.utils.validation, threadpoolctl
start = time.perf_counter() import dirichletgp print(time.perf_counter() - start) extras =
{"matplotlib", "pandas", "polars", "pyarrow", "jinja2", "typer", "rich", "dask", "onnx", "torch"}
brought = sorted(extras & set(sys.modules)) assert not brought, f"the import brought {brought}
along"
"""
FILES = (
    "dirichletgp/py.typed",
    "dirichletgp/report/page/report.html",
    "dirichletgp/report/page/charts.js",
)


def main(folder):
    (wheel,) = Path(folder).glob("*.whl")
    (sdist,) = Path(folder).glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = str(Path(place, "bin", "python"))
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
            check=True,
        )
        listed = subprocess.run(
            [python, "-m", "pip", "show", "-f", "dirichletgp"], check=True, capture_output=True
        )
        for name in FILES:
            assert name in listed.stdout.decode(), f"{name} is not in the wheel"
        seconds = min(
            float(
                subprocess.run(
                    [python, "-c", PROBE], check=True, capture_output=True, text=True
                ).stdout
            )
            for _ in range(3)
        )
    print(
        f"{wheel.name} and {sdist.name}: "
        f"import takes {seconds:.2f} s beyond numpy, scipy and scikit-learn"
    )
    if seconds > OWN_SECONDS:
        sys.exit(f"that is more than {OWN_SECONDS} s")


if __name__ == "__main__":
    main(sys.argv[1])
