"""Everything that is looked at before a release, and a summary of what held.

    python tools/release_check.py [--steps dist docs oldest newest 3.12 ...] [-- pytest arguments]

- version: the code, the changelog and CITATION.cff speak of the same one.
- dist: wheel and sdist build, install and import lightly; twine finds their metadata right.
- docs: the site builds, examples and all, without a warning.
- oldest, newest: the tests, with the oldest dependencies, and with the newest on the newest Python
  that is found: dependencies leave old ones behind.
- 3.11 to 3.14: the tests with the wheel, on each Python that is found on this machine. One that is
  not found is skipped, and the summary says so.

Every step runs, whatever becomes of those before it. The exit code is that of a failure if any
step failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
STEPS = ("version", "dist", "docs", "oldest", "newest", *PYTHONS)


class NotHereError(Exception):
    """A step that cannot be had on this machine."""


def run(*command):
    print("$", *command, flush=True)
    subprocess.run(command, cwd=ROOT, check=True)


def make(target, pytest_arguments=(), python=None):
    chosen = [] if python is None else [f"PYTHON={python}"]
    run("make", target, *chosen, f"ARGS={' '.join(pytest_arguments)}")


def check_version():
    code = re.search(
        r'__version__ = "(.+)"', (ROOT / "src/dirichletgp/_gp/version.py").read_text()
    )[1]
    changelog = re.search(r"^## \[?([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    print(f"code {code}, newest in the changelog {changelog}, CITATION.cff {citation}")
    if not code == changelog == citation:
        raise ValueError("versions differ")


def interpreter(version):
    """A Python of this version: on the PATH, or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    for candidate in filter(None, candidates):
        # A shim of pyenv may be there without a Python behind it.
        probe = subprocess.run([candidate, "-c", ""], check=False, capture_output=True)
        if probe.returncode == 0:
            return str(candidate)
    raise NotHereError(f"python{version} is not on this machine")


def first_interpreter(versions):
    """The first of some versions of Python that is found, None if there is none by its version."""
    for version in versions:
        try:
            return interpreter(version)
        except NotHereError:
            continue
    return None


def test_wheel(version, pytest_arguments):
    """Install the wheel and what tests need on one Python, and run the tests against it."""
    python = interpreter(version)
    wheels = list((ROOT / "dist").glob("*.whl"))
    if not wheels:
        raise FileNotFoundError("there is no wheel in dist: run the step dist before")
    place = ROOT / f".venv-{version}"
    run(python, "-m", "venv", "--clear", str(place))
    inside = str(place / "bin" / "python")
    run(
        inside,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"{wheels[0]}[test]",
    )
    run(inside, "-m", "pytest", "tests", "--pyargs", "dirichletgp", *pytest_arguments)


def check(step, pytest_arguments):
    if step == "version":
        check_version()
    elif step in PYTHONS:
        test_wheel(step, pytest_arguments)
    elif step == "oldest":
        # Old versions of dependencies have no wheels for a new Python, and the other way round.
        make(step, pytest_arguments, first_interpreter(PYTHONS))
    elif step == "newest":
        make(step, pytest_arguments, first_interpreter(reversed(PYTHONS)))
    else:
        make(step)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS, metavar="STEP")
    parser.add_argument("pytest_arguments", nargs="*", default=[])
    arguments = parser.parse_args()
    outcomes = []
    for step in arguments.steps:
        print(f"\n== {step}", flush=True)
        start = time.perf_counter()
        try:
            check(step, arguments.pytest_arguments)
            outcome = "held"
        except NotHereError as reason:
            outcome = f"SKIPPED: {reason}"
        except Exception as error:
            outcome = f"FAILED: {error}"
        print(outcome, flush=True)
        outcomes.append((step, outcome, time.perf_counter() - start))
    print("\nWhat a release is made of:")
    for step, outcome, seconds in outcomes:
        print(f"{step:8} {seconds:6.0f} s  {outcome}")
    sys.exit(any(outcome.startswith("FAILED") for _, outcome, _ in outcomes))


if __name__ == "__main__":
    main()
