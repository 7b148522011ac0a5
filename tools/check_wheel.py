"""Install wheel and sdist of a folder in empty environments and see that they import lightly.

The import may take a second beyond that of NumPy, SciPy and scikit-learn, and must not bring an
extra with it. Both must say the version of the code, and what the sdist builds must hold the same
files as the wheel.
"""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN_SECONDS = 1.0
PROBE = """
import sys
import time

import numpy, scipy.linalg, scipy.optimize, scipy.special
import sklearn.base, sklearn.pipeline, sklearn.preprocessing, sklearn.utils.validation
import threadpoolctl

start = time.perf_counter()
import dirichletgp

print(time.perf_counter() - start, dirichletgp.__version__)
extras = {"matplotlib", "pandas", "polars", "pyarrow", "jinja2", "typer", "rich", "dask", "onnx"}
brought = sorted(extras & set(sys.modules))
assert not brought, f"the import brought {brought} along"
"""
FILES = (
    "dirichletgp/py.typed",
    "dirichletgp/report/page/report.html",
    "dirichletgp/report/page/charts.js",
)


def printed(*command):
    """What a command prints; if it fails, so does the check, with what it said."""
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, command[:4]))} ... failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def checked(archive):
    """Install an archive in an empty environment: its files, and seconds of the import."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = str(Path(place, "bin", "python"))
        printed(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", archive)
        listed = printed(python, "-m", "pip", "show", "-f", "dirichletgp")
        files = sorted(re.findall(r"^  (dirichletgp/(?!.*__pycache__).*)$", listed, re.MULTILINE))
        missing = sorted(set(FILES) - set(files))
        if missing:
            sys.exit(f"{archive.name} lacks {missing}")
        imports = [printed(python, "-c", PROBE).split() for _ in range(3)]
    version = re.search(
        r'__version__ = "(.+)"', (ROOT / "src/dirichletgp/_gp/version.py").read_text()
    )[1]
    if imports[0][1] != version:
        sys.exit(f"{archive.name} says version {imports[0][1]}, the code {version}")
    return files, min(float(seconds) for seconds, _ in imports)


def main(folder):
    (wheel,) = Path(folder).glob("*.whl")
    (sdist,) = Path(folder).glob("*.tar.gz")
    files, seconds = checked(wheel)
    if checked(sdist)[0] != files:
        sys.exit(f"{sdist.name} installs other files than {wheel.name}")
    print(
        f"{wheel.name} and {sdist.name}: {len(files)} files, "
        f"import takes {seconds:.2f} s beyond numpy, scipy and scikit-learn"
    )
    if seconds > OWN_SECONDS:
        sys.exit(f"that is more than {OWN_SECONDS} s")


if __name__ == "__main__":
    main(sys.argv[1])
