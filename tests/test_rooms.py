"""The floor plan: which room may know which, how many there are, and how far a call walks."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "dirichletgp"

# From the ground up. A room knows the rooms below it, and itself; those of one line not each other.
FLOORS = [
    ["_gp.version"],
    ["_gp.core"],
    ["_gp.rows"],
    ["_gp.training"],
    ["persistence"],
    ["_gp.predictions"],
    ["_gp.decisions"],
    ["_gp.classifier"],
    ["baselines", "export", "metrics"],
    [""],  # the front door
    ["plotting", "datasets"],
    ["report", "paper"],
    ["cli"],
]
# Inside the core: what each part may know besides itself.
CORE = [
    "arrays",
    "fields",
    "operations",
    "parallel",
    "kernels",
    "statistics",
    "handicaps",
    "correction",
    "regressions",
    "regions",
    "regional",
    "counted",
    "bound",
    "shapley",
    "concentration",
    "probabilities",
    "low_rank",
    "predictor",
]


def modules():
    """Names of all modules relative to the package, "" being the package itself."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield path, ".".join(part for part in parts if part != "__init__")


PACKAGES = ("_gp", "_gp.core", "_gp.rows", "_gp.training", "_gp.decisions")
NAMES = {name for _, name in modules()}


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def guarded_lines(path):
    """Lines of imports under `if TYPE_CHECKING`, which do not run."""
    return {
        child.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in node.body
    }


def imports_of(path, name):
    """Modules of the package that a module imports when it runs, relative to the package."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if (
            isinstance(node, ast.ImportFrom)
            and node.level
            and node.lineno not in guarded_lines(path)
        ):
            parts = package.split(".") if package else []
            base = ".".join(parts[: len(parts) - node.level + 1])
            target = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                inner = f"{target}.{alias.name}" if target else alias.name
                yield inner if inner in NAMES else target


def floor_of(name):
    for number, rooms in enumerate(FLOORS):
        for room in rooms:
            if name == room or (room and name.startswith(room + ".")):
                return number, room
    raise AssertionError(f"{name} stands on no floor; give it one in this test")


@cache
def edges():
    """Pairs of modules of which the first imports the second; docstrings of packages aside."""
    return [
        (name, other)
        for path, name in modules()
        for other in imports_of(path, name)
        if name not in PACKAGES and other not in PACKAGES
    ]


def test_a_room_knows_only_the_rooms_below_it():
    wrong = []
    for name, other in edges():
        floor, room = floor_of(name)
        below, other_room = floor_of(other)
        if below >= floor and other_room != room:
            wrong.append(f"{name} knows {other}, which is not below it")
    assert not wrong


def test_inside_the_core_statistics_come_before_the_bound():
    def place(name):
        return CORE.index(name.split(".")[2])

    inside = [edge for edge in edges() if all(name.startswith("_gp.core.") for name in edge)]
    assert inside
    assert not [edge for edge in inside if place(edge[1]) > place(edge[0])]


def test_no_module_imports_what_is_private_to_another():
    wrong = []
    for path, name in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.level:
                names = {alias.name for alias in node.names} - {"_gp", "__version__"}
                wrong += [f"{name} imports {each}" for each in names if each.startswith("_")]
    assert not wrong


def test_opening_the_package_shows_a_dozen_entries():
    entries = [entry.name for entry in PACKAGE.iterdir() if entry.name != "__pycache__"]
    assert len(entries) <= 12, sorted(entries)


# Three classes need one module more than two, and few rows are compared with plainer models.
@pytest.mark.parametrize(
    "case",
    [(), ("--classes", "3", "--rows", "150", "--more", "3")],
    ids=["two classes", "few rows of three classes"],
)
def test_a_fit_walks_through_few_modules_and_a_prediction_through_ten(case):
    pytest.importorskip("pyarrow")
    tool = Path(__file__).parents[1] / "tools" / "walk.py"
    command = [sys.executable, tool, *case]
    walked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert walked.returncode == 0, walked.stdout + walked.stderr


def test_no_sentence_of_an_example_stands_where_the_gallery_drops_it():
    """Sphinx-Gallery takes the lines below a cell marker as text, not what follows on its line."""
    for path in sorted((PACKAGE.parents[1] / "examples" / "gallery").glob("plot_*.py")):
        markers = [line for line in path.read_text().splitlines() if line.startswith("# %%")]
        assert set(markers) <= {"# %%"}, path.name
