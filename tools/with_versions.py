"""Run the tests with the oldest, or with the newest, versions of the dependencies.

`oldest` pins everything that the tests need to the lower bounds in pyproject.toml; `newest` takes
the newest of everything, pre-releases included.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def is_of_this_python(place):
    """Whether there is an environment already, of the Python that runs this."""
    config = place / "pyvenv.cfg"
    this = "version = {}.{}.{}".format(*sys.version_info)
    complete = config.exists() and (place / "bin" / "pip").exists()
    return complete and this in config.read_text().splitlines()


def main(which, arguments):
    place = ROOT / f".venv-{which}"
    if not is_of_this_python(place):
        venv.create(place, with_pip=True, clear=True)
    pip = [
        str(place / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    if which == "oldest":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        bounded = project["dependencies"] + project["optional-dependencies"]["test"]
        pins = [re.sub(r">=([\d.]+)", r"==\1.*", requirement) for requirement in bounded]
        subprocess.run([*pip, *pins], check=True)
        subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    else:
        subprocess.run([*pip, "--pre", "--upgrade", "--editable", f"{ROOT}[test]"], check=True)
    python = str(place / "bin" / "python")
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    named = ("numpy", "scipy", "scikit-learn", "threadpoolctl")
    print(
        which, *(line for line in listed.stdout.split() if line.split("==")[0] in named), flush=True
    )
    # Old libraries warn about each other, which is not ours to mend.
    leniency = (
        [f"-Wdefault::{kind}Warning" for kind in ("Deprecation", "Future")]
        if which == "oldest"
        else []
    )
    sys.exit(
        subprocess.run(
            [python, "-m", "pytest", *leniency, *arguments], cwd=ROOT, check=False
        ).returncode
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
