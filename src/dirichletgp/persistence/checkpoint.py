"""What a long fit writes down on its way, so that it goes on from there if it is killed.

Three things are kept: the random state it began with, what training found (the regions that it
proposed too), and the statistics of the rows read so far. Everything in between is deterministic,
so a fit that goes on ends with the same model as one that was never stopped.

A checkpoint belongs to one fit: to its parameters, and to its rows, labels, weights and columns, of
which it has a fingerprint. It is a file, so everything in it is checked before it is used.
"""

import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._gp.core.fields import (
    MODERATE,
    POSITIVE,
    Numbers,
    check_arrays,
    expect,
    real_number,
    truth,
    whole_number,
)
from .._gp.core.kernels import KERNELS
from .._gp.core.kernels.product import MISSING
from .._gp.core.parallel import Workers
from .._gp.core.regional import RegionalStatistics
from .._gp.core.regressions import LabelTransform
from .._gp.core.statistics import ClassStatistics
from .._gp.rows.chunks import chunk_rows
from .._gp.rows.columns import Columns
from .._gp.rows.in_memory import InMemoryRows, Summary
from .._gp.training.fitted import basis_again, packed_grams
from .._gp.training.record import DirichletState, Expected
from .._gp.training.region_search import Proposal
from .archive import Archive, ModelFileError, read_archive, write_archive
from .proposal import proposal_described, proposal_restored
from .regions import sums_described, sums_restored
from .statistics import statistics_restored
from .values import Arrays, random_state_decoded, random_state_encoded

_KIND = "checkpoint"
# Statistics are written this often, and never for more than a small part of the time.
_SECONDS, _SHARE = 10.0, 0.02
_NOT_COMPARED = ("n_jobs", "verbose")
_WRONG_CONTENT = (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError)
# What a file must hold of training: M points of D scaled features.
_FIELDS = {"points": Numbers("M D", (MISSING, MODERATE[1]))}
# The smallest noises that the label transform may be given.
_LEAST_NOISE = LabelTransform(0.0, 0.0, 1e-3, 1e-3)


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
        self._statistics: ClassStatistics | None = None
        self._regional: RegionalStatistics | None = None
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

    def compare(self, summary: Summary, columns: Columns) -> None:
        """Refuse to go on with other rows, labels, weights or columns than the fit began with."""
        totals = sorted(summary.totals.items(), key=repr)
        digest = hashlib.sha256(repr([summary.n_rows, totals, columns.as_json()]).encode())
        digest.update(summary.fingerprint)
        found = self._content.setdefault("rows", digest.hexdigest())
        self._refuse_unless(found == digest.hexdigest(), "to other rows")
        if "done" in self._content:
            with self._only_what_a_fit_wrote():
                done = whole_number(self._content["done"], "number of rows", summary.n_rows)
                whole_chunks = done % chunk_rows(summary.sample.X.shape[1]) == 0
                expect(whole_chunks or done == summary.n_rows, "number of rows")

    def trained(self, rng: np.random.RandomState, expected: Expected) -> DirichletState | None:
        """What training found, or None; the random state is set to what it was then."""
        if "state" not in self._content:
            return None
        with self._only_what_a_fit_wrote():
            state = self._state(expected)
        rng.set_state(self._random_state("trained").get_state())
        return state

    def _state(self, expected: Expected) -> DirichletState:
        kept = dict(self._content["state"])
        kernel = KERNELS[kept["family"]].restored(kept, self._arrays, self._ard)
        sizes = check_arrays(_FIELDS, self._arrays, {"D": expected.n_features})
        points = self._arrays["points"]
        expect(type(kernel) is expected.kernel, "kernel")
        expect(kernel.fits(expected.n_features, expected.categories), "features of the kernel")
        state = DirichletState(
            kernel=kernel,
            points=points,
            jitter=real_number(kept["jitter"], "jitter", (1e-100, 1.0)),
            n_iter=whole_number(kept["n_iter"], "number of evaluations"),
            alpha_epsilon=real_number(kept["alpha_epsilon"], "alpha_epsilon", POSITIVE),
            labels=_transform(kept["labels"]) if "labels" in kept else None,
        )
        basis_again(kernel, points, state.jitter)
        if "done" in self._content and not self._content.get("regions_taken"):
            transforms = [state.transform, _LEAST_NOISE]
            if expected.even_for is not None:
                transforms = [LabelTransform.even(state.alpha_epsilon, expected.even_for)]
                expect(len(self._arrays["grams"]) == 1, "number of Grams")
            sizes = {"C": expected.n_classes, "M": sizes["M"]}
            self._statistics = statistics_restored(self._arrays, sizes, transforms)
        return state

    def proposal(
        self, rows: InMemoryRows, expected: Expected, workers: Workers
    ) -> tuple[Proposal | None, bool]:
        """The regions that were proposed for the rows to learn from, and whether they are taken."""
        if "proposal" not in self._content:
            return None, False
        with self._only_what_a_fit_wrote():
            taken = truth(self._content["regions_taken"], "decision about regions")
            kept = self._content["proposal"]
            proposal = proposal_restored(kept, self._arrays, rows, expected, workers)
            if taken and "done" in self._content:
                number = proposal.cutting.regions.number
                transforms = [proposal.transform, _LEAST_NOISE]
                self._regional = sums_restored(self._arrays, number, expected.n_classes, transforms)
        return proposal, taken

    def keep_trained(
        self,
        state: DirichletState,
        rng: np.random.RandomState,
        proposal: Proposal | None = None,
        decided: bool = False,
    ) -> None:
        """Write down what training found, and which regions it proposed."""
        kernel, arrays = state.kernel.described()
        self._content["state"] = {
            **kernel,
            "jitter": state.jitter,
            "n_iter": state.n_iter,
            "alpha_epsilon": state.alpha_epsilon,
        }
        if state.labels is not None:
            self._content["state"]["labels"] = [
                state.labels.separation,
                state.labels.noise_in,
                state.labels.noise_out,
            ]
        self._arrays |= {**arrays, "points": state.points}
        if proposal is not None:
            self._content["proposal"], arrays = proposal_described(proposal)
            self._content["regions_taken"] = decided
            self._arrays |= arrays
        self._keep_random_state("trained", rng)
        self._write()

    def keep_decision(self) -> None:
        """Write down that the regions are taken: a pass over all rows begins anew."""
        self._content["regions_taken"] = True
        self._content.pop("done", None)
        for name in ("counts", "sums", "grams"):
            self._arrays.pop(name, None)
        self._write()

    def statistics(self) -> tuple[ClassStatistics, int] | None:
        """The statistics of the first rows, and how many these are."""
        if self._statistics is None:
            return None
        return self._statistics.copy(), int(self._content["done"])

    def regional_statistics(self, n_points: Sequence[int]) -> tuple[RegionalStatistics, int] | None:
        """The same of regions that have so many points each."""
        found, self._regional = self._regional, None
        if found is None:
            return None
        with self._only_what_a_fit_wrote():
            expect([part.sums.shape[1] for part in found.parts] == list(n_points), "points")
        return found, int(self._content["done"])

    def keep_statistics(self, statistics: ClassStatistics | RegionalStatistics, done: int) -> None:
        """Write down the statistics of the first rows, if it is time to."""
        start = time.monotonic()
        if not self._next:
            self._next = start + self._pause
        if start < self._next:
            return
        self._content["done"] = done
        if isinstance(statistics, RegionalStatistics):
            sums = sums_described(statistics)
        else:
            sums = {"counts": statistics.counts, "sums": statistics.sums}
            sums["grams"] = packed_grams(statistics.grams)
        self._write(sums)
        now = time.monotonic()
        self._next = now + max(_SECONDS, (now - start) / _SHARE)

    def remove(self) -> None:
        """The fit is finished."""
        self.path.unlink(missing_ok=True)

    def _keep_random_state(self, name: str, rng: np.random.RandomState) -> None:
        self._arrays[f"{name}/random_state"], self._content[name] = random_state_encoded(rng)

    def _random_state(self, name: str) -> np.random.RandomState:
        with self._only_what_a_fit_wrote():
            return random_state_decoded(self._arrays[f"{name}/random_state"], self._content[name])

    @contextmanager
    def _only_what_a_fit_wrote(self) -> Iterator[None]:
        """Turns whatever is wrong with the content of the file into a `ModelFileError`."""
        try:
            yield
        except (*_WRONG_CONTENT, np.linalg.LinAlgError) as error:
            raise ModelFileError(
                f"checkpoint={str(self.path)!r} is not one that a fit wrote: {error}. "
                "Delete the file to start anew, or pass another path."
            ) from error

    def _write(self, sums: Arrays | None = None) -> None:
        """Write the file, with sums that are too large to be kept here as well."""
        arrays = self._arrays | (sums or {})
        write_archive(self.path, _KIND, Archive(self._content, arrays))

    def _refuse_unless(self, same: bool, difference: str) -> None:
        if not same:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is that of a fit {difference}; "
                "repeat that fit, delete the file to start anew, or pass another path."
            )


def _transform(constants: Any) -> LabelTransform:
    """The label transform with separation and noises as kept."""
    expect(isinstance(constants, list) and len(constants) == 3, "label transform")
    return LabelTransform.from_constants(
        *(real_number(constant, "label transform", POSITIVE) for constant in constants)
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
