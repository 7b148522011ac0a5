"""What the numbers of a run were computed by: results of other code are not taken for results of this one."""

import ast
import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
# What draws, prints and reads files of users has no say in the numbers. Of this package these have,
# and the module of the artefact in question.
_PRESENTATION = ("cli", "export", "paper", "plotting", "report")
_OF_PAPER = ("evaluation.py", "methods.py", "plan.py")


@cache
def code_fingerprint(kind: str = "") -> str:
    """Hash of all code that computes, comments and docstrings aside.

    Parameters
    ----------
    kind : str, default=""
        A kind of task: the code of the artefact of that name counts too.

    Examples
    --------
    >>> from dirichletgp.paper.fingerprint import code_fingerprint
    >>> len(code_fingerprint("alpha"))
    16
    """
    paths = [
        path
        for path in _PACKAGE.rglob("*.py")
        if path.relative_to(_PACKAGE).parts[0] not in _PRESENTATION
    ]
    paths += [
        path for name in (*_OF_PAPER, f"{kind}.py") if (path := _PACKAGE / "paper" / name).is_file()
    ]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(_meaning(path.read_text(encoding="utf-8")).encode() + b"\0")
    return digest.hexdigest()[:16]


def _meaning(source: str) -> str:
    """The syntax tree of a module as text, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)
