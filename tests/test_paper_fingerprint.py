"""Results of the paper are keyed by what computes, not by where it stands."""

from pathlib import Path

import pytest

import dirichletgp
from dirichletgp.paper.artefacts import REGISTRY
from dirichletgp.paper.fingerprint import (
    COMPUTES,
    DOES_NOT_COMPUTE,
    artefact_definitions,
    code_fingerprint,
    computing_definitions,
    fingerprint_of,
)

# A tiny library: a constant, a function, a class, and a module that uses them.
KERNELS = '''"""Kernels."""

import numpy as np
from scipy.linalg import cholesky

JITTER = 1e-6


def values(x, z):
    """The kernel."""
    return np.exp(-0.5 * (x - z) ** 2)


class Basis:
    size = 3

    def factor(self, gram):
        return cholesky(gram + JITTER)
'''
MODEL = """from ..core import kernels
from ..core.kernels import Basis


def fit(x):
    from ..core.kernels import JITTER

    return Basis().factor(kernels.values(x, x)) + JITTER
"""
BEFORE = {
    "core/__init__.py": "",
    "core/kernels.py": KERNELS,
    "training/__init__.py": "",
    "training/model.py": MODEL,
}


def fingerprint(folder, files):
    """Of a library that consists of these files."""
    package = folder / f"library{len(list(folder.iterdir()))}"
    for name, content in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return fingerprint_of(computing_definitions(package, sorted({n.split("/")[0] for n in files})))


def moved_apart():
    """Every definition in another module, in another package, in another order."""
    return {
        "numerics/__init__.py": "",
        "numerics/constants.py": "JITTER = 1e-6\n",
        "numerics/whitening.py": """from scipy.linalg import cholesky

from .constants import JITTER


class Basis:
    size = 3

    def factor(self, gram):
        return cholesky(gram + JITTER)
""",
        "numerics/profiles.py": """import numpy


def values(x, z):
    return numpy.exp(-0.5 * (x - z) ** 2)
""",
        "model.py": """from .numerics import profiles
from .numerics.constants import JITTER
from .numerics.whitening import Basis


def fit(x):
    return Basis().factor(profiles.values(x, x)) + JITTER
""",
    }


def replaced(old, new, name="core/kernels.py"):
    assert BEFORE[name].count(old) == 1
    return {**BEFORE, name: BEFORE[name].replace(old, new)}


@pytest.mark.parametrize(
    "files",
    [
        moved_apart(),
        {name.replace("kernels", "covariances"): content.replace("kernels", "covariances")
         for name, content in BEFORE.items()},
        replaced('"""The kernel."""', '"""Another word about it."""  # and a comment'),
        replaced("def values(x, z):", "def values(x: Array, z: Array) -> Array:"),
        replaced("from scipy.linalg import cholesky", "from scipy.linalg import cholesky, solve"),
        replaced('"""Kernels."""', '"""Kernels."""\n\n__all__ = ["values"]'),
        {**BEFORE, "core/version.py": '__version__ = "2.0"\n'},
        {**BEFORE, "core/copy.py": "JITTER = 1e-6\n"},
    ],
    ids=["moved", "renamed", "docstring", "types", "imports", "exports", "version", "said twice"],
)  # fmt: skip
def test_what_computes_the_same_has_the_same_fingerprint(tmp_path, files):
    assert fingerprint(tmp_path, files) == fingerprint(tmp_path, BEFORE)


@pytest.mark.parametrize(
    "files",
    [
        replaced("-0.5", "-0.6"),
        replaced("1e-6", "1e-5"),
        replaced("size = 3", "size = 4"),
        replaced("def values(x, z):", "def values(x, z=0):"),
        replaced("return np.exp", "return 2 * np.exp"),
        replaced("from scipy.linalg", "from numpy.linalg"),
        replaced("kernels.values(x, x)", "kernels.values(x, -x)", "training/model.py"),
        {**BEFORE, "core/more.py": "def more():\n    return 1\n"},
        {name: content for name, content in BEFORE.items() if "model" not in name},
    ],
    ids=[
        "number in a function",
        "constant",
        "attribute of a class",
        "default",
        "formula",
        "function of another package",
        "call",
        "more code",
        "less code",
    ],
)
def test_what_computes_something_else_has_another_fingerprint(tmp_path, files):
    assert fingerprint(tmp_path, files) != fingerprint(tmp_path, BEFORE)


ARTEFACT = """from ..task import Task

NAME = "curve"
SIZES = (1, 2)
COLOUR = "red"


def tasks(plan):
    return [Task(NAME, size, _compute) for size in SIZES]


def _compute():
    return 1.0


def render(plan):
    return COLOUR
"""


def artefact_fingerprint(folder, content, name="curve.py"):
    for path in folder.iterdir():
        path.unlink()
    (folder / name).write_text(content)
    return fingerprint_of(artefact_definitions(folder, "curve"))


def test_of_an_artefact_only_what_its_tasks_need_counts(tmp_path):
    before = artefact_fingerprint(tmp_path, ARTEFACT)
    recoloured = ARTEFACT.replace("red", "blue")
    recomputed = ARTEFACT.replace("return 1.0", "return 2.0")
    resized = ARTEFACT.replace("(1, 2)", "(1, 3)")
    assert artefact_fingerprint(tmp_path, recoloured) == before
    assert artefact_fingerprint(tmp_path, ARTEFACT, "other_name.py") == before
    assert artefact_fingerprint(tmp_path, recomputed) != before
    assert artefact_fingerprint(tmp_path, resized) != before


def test_artefacts_with_computations_of_their_own_have_their_own_fingerprints():
    own = {"alpha", "loss_convergence", "one_dimensional"}
    fingerprints = {code_fingerprint(kind) for kind in own}
    assert len(fingerprints) == 3
    assert code_fingerprint() not in fingerprints
    assert code_fingerprint("evaluation") == code_fingerprint()
    assert own < set(REGISTRY)


def test_every_package_is_listed_as_computing_or_not():
    package = Path(dirichletgp.__file__).parent
    there = {path.name for path in package.iterdir() if path.name[:2] != "__" or path.suffix}
    there -= {"py.typed"}
    computing = {part for part in COMPUTES if "/" not in part}
    assert computing | set(DOES_NOT_COMPUTE) == there
    assert not computing & set(DOES_NOT_COMPUTE)


def test_a_listed_place_that_is_gone_is_an_error_and_not_a_smaller_fingerprint(tmp_path):
    with pytest.raises(FileNotFoundError, match="listed as code that computes"):
        computing_definitions(tmp_path, ["gone"])
