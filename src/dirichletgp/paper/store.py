"""Results on disk: one small JSON file per task, written whole or not at all."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from ..persistence.atomic_write import write_atomically
from .fingerprint import code_fingerprint

Settings = dict[str, Any]
Result = dict[str, Any]


class Store:
    """What was computed, found by what it was computed from.

    Parameters
    ----------
    folder : Path
        Holds a folder per kind of task. A file's name ends in a hash of all settings of its task
        and of the code that computes, so changed settings, or code that computes something else,
        find nothing and are computed.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._known: dict[Path, Result] = {}

    def path(self, kind: str, settings: Settings) -> Path:
        """Where the result of a task lies, or will."""
        key = {**settings, "code": code_fingerprint(kind)}
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        speaking = ("dataset", "method", "size", "split", "chunk")
        words = [str(settings[key]) for key in speaking if key in settings]
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", "-".join([*words, digest]))
        return self.folder / kind / f"{name}.json"

    def get(self, kind: str, settings: Settings) -> Result | None:
        """The result of a task with its `seconds`, or None; none is in a file that is not whole."""
        path = self.path(kind, settings)
        if path in self._known:
            return self._known[path]
        try:
            entry = json.loads(path.read_text())
            result: Result = {**entry["result"], "seconds": float(entry["seconds"])}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        self._known[path] = result
        return result

    def put(self, kind: str, settings: Settings, result: Result, seconds: float) -> None:
        """Keep the result of a task."""
        about = {"kind": kind, "code": code_fingerprint(kind), "settings": settings}
        entry = {**about, "result": result, "seconds": round(seconds, 3)}
        write_atomically(self.path(kind, settings), (json.dumps(entry, indent=1) + "\n").encode())
