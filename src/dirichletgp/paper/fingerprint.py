"""What the numbers of a run were computed by, so that results of other code are not taken for them.

Results are keyed by what computes and not by where it stands. The fingerprint is a hash of the set
of all definitions (functions, classes, constants of modules) of the code that computes, without
their docstrings, comments, imports and types. So a definition may move to another module, a module
may be renamed, and what only draws may change: all results are still found. A definition that
changes, comes or goes makes all of them results of other code.
"""

import ast
import hashlib
from collections.abc import Iterable, Set
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]

# All code that has a say in the numbers: packages, and single modules of this one. Besides, of an
# artefact, what its `tasks` need (see `artefact_definitions`).
COMPUTES = (
    "_gp",
    "baselines",
    "datasets",
    "metrics",
    "paper/dataset.py",
    "paper/evaluation.py",
    "paper/methods.py",
)
# What draws, prints, and reads and writes files has none. A test sees to it that every package is
# in one of the lists.
DOES_NOT_COMPUTE = ("__init__.py", "cli", "export", "paper", "persistence", "plotting", "report")


@cache
def code_fingerprint(kind: str = "") -> str:
    """Hash of all code that computes results of a kind of task.

    Parameters
    ----------
    kind : str, default=""
        A kind of task: what the artefact of that name computes with counts too.

    Examples
    --------
    >>> from dirichletgp.paper.fingerprint import code_fingerprint
    >>> len(code_fingerprint("alpha"))
    16
    """
    of_artefact = artefact_definitions(_PACKAGE / "paper" / "artefacts", kind)
    return fingerprint_of(_of_all_kinds() | of_artefact)


@cache
def _of_all_kinds() -> frozenset[str]:
    return frozenset(computing_definitions(_PACKAGE, COMPUTES))


def fingerprint_of(definitions: Set[str]) -> str:
    """Hash of a set of definitions."""
    digest = hashlib.sha256()
    for definition in sorted(definitions):
        digest.update(definition.encode() + b"\0")
    return digest.hexdigest()[:16]


def computing_definitions(package: Path, parts: Iterable[str]) -> set[str]:
    """The definitions in parts of a package: modules, or folders with all modules below them."""
    found: set[str] = set()
    for part in parts:
        place = package / part
        if not place.exists():
            raise FileNotFoundError(f"{place} is listed as code that computes, but is not there")
        for path in [place] if place.is_file() else place.rglob("*.py"):
            found.update(map(_meaning, _definitions(path)))
    return found


def artefact_definitions(folder: Path, kind: str) -> set[str]:
    """Of the artefact whose `NAME` is a kind of task: `tasks`, and all of its module it needs.

    Empty if no module in the folder has that name.
    """
    for path in folder.glob("*.py"):
        by_name = {_name(node): node for node in _definitions(path)}
        if kind and _constant(by_name.get("NAME")) == kind:
            return {_meaning(by_name[name]) for name in _needed(by_name, "tasks")}
    return set()


def _definitions(path: Path) -> list[ast.stmt]:
    """The statements of a module that define or do something, in a form free of its place."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    normal = _PlaceFree(*_imported(tree, path)).visit(tree)
    return [node for node in normal.body if _name(node) not in ("__all__", "__version__")]


def _meaning(node: ast.stmt) -> str:
    return ast.dump(node)


def _name(node: ast.stmt) -> str:
    """What a statement defines; its meaning if that has no single name."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else _meaning(node)


def _constant(node: ast.stmt | None) -> object:
    value = getattr(node, "value", None)
    return value.value if isinstance(value, ast.Constant) else None


def _needed(by_name: dict[str, ast.stmt], start: str) -> set[str]:
    """The definitions of a module that one of them needs, itself included."""
    needed: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in needed:
            needed.add(name)
            inside = ast.walk(by_name[name])
            waiting += [node.id for node in inside if isinstance(node, ast.Name)]
    return needed


def _imported(tree: ast.Module, path: Path) -> tuple[dict[str, str], set[str]]:
    """What imported names stand for, and which of them are modules of the library itself."""
    names: dict[str, str] = {}
    own_modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if node.level and _is_module(path, node, alias.name):
                    own_modules.add(name)
                elif node.level:
                    names[name] = alias.name
                else:
                    names[name] = f"{node.module}.{alias.name}"
    return names, own_modules


def _is_module(path: Path, node: ast.ImportFrom, name: str) -> bool:
    """Whether a relative import from a file brings a module rather than a definition."""
    place = path.parents[node.level - 1].joinpath(*(node.module or "").split("."), name)
    return place.is_dir() or place.with_suffix(".py").is_file()


class _PlaceFree(ast.NodeTransformer):
    """Removes docstrings, imports and types, and writes imported names as what they stand for.

    Names of other packages are written in full, since `cholesky` from elsewhere computes something
    else. Of a definition of the library itself only its own name is left.
    """

    def __init__(self, names: dict[str, str], own_modules: set[str]):
        self.names = names
        self.own_modules = own_modules

    def visit_Import(self, node: ast.Import) -> None:
        """Nothing is left."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Nothing is left."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Imports for the type checker go, other conditions stay."""
        only_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if only_types else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Docstrings, and other texts that stand alone, go."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Without its type."""
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Without its type."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Without the type of what it returns."""
        node.returns = None
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """What an imported name stands for."""
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`module.definition` of the library is the definition."""
        if isinstance(node.value, ast.Name) and node.value.id in self.own_modules:
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)
