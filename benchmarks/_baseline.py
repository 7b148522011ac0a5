"""An earlier version of the package, taken from git."""

import io
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "5e16233"
"""The commit before predictions and fits were made faster."""


def source_of(commit, folder):
    """Unpack the package of a commit into a folder; returns where to import it from."""
    packed = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"
