"""Run the tests with the oldest, or with the newest, versions of the dependencies.

`oldest` pins the runtime dependencies to the lower bounds in pyproject.toml and takes whatever of the test tools goes
with them; tests of extras that do not are skipped. `newest` takes the newest of everything, pre-releases included.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ["pytest>=8", "hypothesis>=6.100"]
# Extras with old versions of their own; the others follow.
OLD_EXTRAS = ["pandas==2.2.*", "matplotlib==3.8.*", "jinja2==3.1.*", "typer==0.15.*", "rich==13.*", "pyarrow==16.*"]


def main(which, arguments):
    place = ROOT / f".venv-{which}"
    if not place.exists():
        venv.create(place, with_pip=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if which == "oldest":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        pins = [re.sub(r">=([\d.]+)", r"==\1.*", dependency) for dependency in project["dependencies"]]
        subprocess.run([*pip, *pins, *TOOLS, *OLD_EXTRAS], check=True)
        subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    else:
        subprocess.run([*pip, "--pre", "--upgrade", "--editable", f"{ROOT}[test]"], check=True)
    python = str(place / "bin" / "python")
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    named = ("numpy", "scipy", "scikit-learn", "threadpoolctl")
    print(which, *(line for line in listed.stdout.split() if line.split("==")[0] in named), flush=True)
    sys.exit(subprocess.run([python, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
