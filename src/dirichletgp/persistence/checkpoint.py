"""What a long fit writes down on its way, so that it goes on from there if it is killed.

Three things are kept: the random state it began with, what training found, and the statistics of
the rows read so far. Everything in between is deterministic, so a fit that goes on ends with the
same model as one that was never stopped.
"""

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._gp.core.kernels import KERNELS
from .._gp.core.statistics import ClassStatistics
from .._gp.rows.in_memory import Summary
from .._gp.training.fitted import packed_grams, unpacked_grams
from .._gp.training.schedule import DirichletState
from .archive import Archive, ModelFileError, read_archive, write_archive
from .values import random_state_decoded, random_state_encoded

_KIND = "checkpoint"
# Statistics are written this often, and never for more than a small part of the time.
_SECONDS, _SHARE = 10.0, 0.02
_NOT_COMPARED = ("n_jobs", "verbose")


class Checkpoint:
    """A file that a fit writes to and may go on from.

    Parameters
    ----------
    path : str or path-like
        A file that exists is one that an earlier fit left behind.
    parameters : dict
        Of the estimator.
    """

    def __init__(self, path: str | os.PathLike[str], parameters: dict[str, Any]):
        self.path = Path(path)
        self._ard = bool(parameters.get("ard", True))
        kept = {name: value for name, value in parameters.items() if name not in _NOT_COMPARED}
        if not isinstance(kept["random_state"], int):
            del kept["random_state"]
        self._content: dict[str, Any] = {
            "parameters": hashlib.sha256(repr(_described(kept)).encode()).hexdigest()
        }
        self._arrays: dict[str, Any] = {}
        self._next, self._pause = 0.0, _SECONDS
        if self.path.exists():
            content, arrays = read_archive(self.path, _KIND)
            self._refuse_unless(
                content.get("parameters") == self._content["parameters"], "with other parameters"
            )
            self._content, self._arrays = content, arrays

    def random_state(self, rng: np.random.RandomState) -> np.random.RandomState:
        """The random state that the fit began with: `rng`, or the one in the file."""
        if "start" in self._content:
            return self._random_state("start")
        self._keep_random_state("start", rng)
        self._write()
        return rng

    def compare(self, summary: Summary) -> None:
        """Refuse to go on with other rows than those that the fit began with."""
        digest = hashlib.sha256(
            repr([summary.n_rows, sorted(summary.totals.items(), key=repr)]).encode()
        )
        digest.update(np.ascontiguousarray(summary.sample.X).tobytes())
        found = self._content.setdefault("rows", digest.hexdigest())
        self._refuse_unless(found == digest.hexdigest(), "to other rows")

    def trained(self, rng: np.random.RandomState) -> DirichletState | None:
        """What training found, or None; the random state is set to what it was then."""
        if "state" not in self._content:
            return None
        rng.set_state(self._random_state("trained").get_state())
        kept = dict(self._content["state"])
        kernel = KERNELS[kept["family"]].restored(kept, self._arrays, self._ard)
        return DirichletState(
            kernel=kernel,
            points=self._arrays["points"],
            jitter=kept["jitter"],
            n_iter=kept["n_iter"],
            alpha_epsilon=kept["alpha_epsilon"],
        )

    def keep_trained(self, state: DirichletState, rng: np.random.RandomState) -> None:
        """Write down what training found."""
        kernel, arrays = state.kernel.described()
        self._content["state"] = {
            **kernel,
            "jitter": state.jitter,
            "n_iter": state.n_iter,
            "alpha_epsilon": state.alpha_epsilon,
        }
        self._arrays |= {**arrays, "points": state.points}
        self._keep_random_state("trained", rng)
        self._write()

    def statistics(self) -> tuple[ClassStatistics, int] | None:
        """The statistics of the first rows, and how many these are."""
        if "done" not in self._content:
            return None
        counts, sums = self._arrays["counts"].copy(), self._arrays["sums"].copy()
        statistics = ClassStatistics(
            counts, sums, unpacked_grams(self._arrays["grams"], sums.shape[1])
        )
        return statistics, int(self._content["done"])

    def keep_statistics(self, statistics: ClassStatistics, done: int) -> None:
        """Write down the statistics of the first rows, if it is time to."""
        start = time.monotonic()
        if not self._next:
            self._next = start + self._pause
        if start < self._next:
            return
        self._content["done"] = done
        self._arrays |= {"counts": statistics.counts, "sums": statistics.sums}
        self._arrays["grams"] = packed_grams(statistics.grams)
        self._write()
        now = time.monotonic()
        self._next = now + max(_SECONDS, (now - start) / _SHARE)

    def remove(self) -> None:
        """The fit is finished."""
        self.path.unlink(missing_ok=True)

    def _keep_random_state(self, name: str, rng: np.random.RandomState) -> None:
        self._arrays[f"{name}/random_state"], self._content[name] = random_state_encoded(rng)

    def _random_state(self, name: str) -> np.random.RandomState:
        try:
            return random_state_decoded(self._arrays[f"{name}/random_state"], self._content[name])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"checkpoint={str(self.path)!r} is not one that a fit wrote."
            ) from error

    def _write(self) -> None:
        write_archive(self.path, _KIND, Archive(self._content, self._arrays))

    def _refuse_unless(self, same: bool, difference: str) -> None:
        if not same:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is that of a fit {difference}; "
                "repeat that fit, delete the file to start anew, or pass another path."
            )


def _described(value: Any) -> Any:
    """A parameter as something whose `repr` is the same in another process if it is the same."""
    if isinstance(value, Mapping):
        return [(_described(key), _described(part)) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [_described(part) for part in value]
    if hasattr(value, "get_params"):
        return type(value).__qualname__, _described(value.get_params(deep=False))
    if hasattr(value, "__array__"):
        array = np.ascontiguousarray(value)
        return array.shape, str(array.dtype), hashlib.sha256(array.tobytes()).hexdigest()
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return value
