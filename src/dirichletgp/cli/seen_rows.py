"""Were these rows trained on? What a model file remembers of its rows to answer that.

Every training row marks one of 8 n bits (n rows; at most 64 kB), chosen by a hash of the row and
its label. About one in eight rows that were never seen falls on a mark too, and more where rows are
many: a mark gives no row away, but of many rows at once it tells how many were trained on.
"""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._gp.core.arrays import AnyArray, Integers
from .._gp.core.fields import expect, text
from .._gp.rows.in_memory import fingerprints

_MOST_BYTES = 65_536
_BLOCK = 65_536
# Fewer copies than these are not told from chance, or not worth a word.
_DEVIATIONS, _FEWEST = 3.0, 0.02


@dataclass(frozen=True)
class SeenRows:
    """Marks of the rows that a model was fitted to.

    Attributes
    ----------
    marks : ndarray of shape (8 B,) of bool
    doubles : float
        Share of the rows that equal another: so many are equal by chance.
    """

    marks: AnyArray
    doubles: float

    @classmethod
    def of(cls, X: AnyArray, codes: Integers) -> "SeenRows":
        """Remember rows (n, D) with their classes (n,)."""
        keys = _keys(X, codes)
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        marks = np.zeros(8 * min(len(keys), _MOST_BYTES), dtype=bool)
        marks[keys % len(marks)] = True
        return cls(marks, float(np.mean(counts[inverse] > 1)))

    def warning(self, X: AnyArray, codes: Integers) -> list[str]:
        """What to say of rows (n, D) to be tested on if many of them were trained on."""
        n = len(codes)
        by_chance = float(self.marks.mean())
        hits = int(self.marks[_keys(X, codes) % len(self.marks)].sum())
        surplus = hits - n * by_chance
        copies = surplus / max(1.0 - by_chance, 1e-9)
        doubt = _DEVIATIONS * np.sqrt(n * by_chance * (1.0 - by_chance))
        if surplus <= doubt or copies < n * max(_FEWEST, 2.0 * self.doubles):
            return []
        how_many = f"all {n:,}" if hits == n else f"about {round(copies):,} of {n:,}"
        return [
            f"{how_many} rows seem to be rows that the model was fitted to; "
            "scores on them say nothing about new rows"
        ]

    def as_json(self) -> dict[str, Any]:
        """Texts and numbers."""
        packed = base64.b64encode(np.packbits(self.marks).tobytes())
        return {"marks": packed.decode("ascii"), "doubles": self.doubles}

    @classmethod
    def from_json(cls, content: Any) -> "SeenRows":
        """What `as_json` wrote; `ValueError` if it cannot be that."""
        expect(isinstance(content, dict), "marks of rows")
        packed = base64.b64decode(text(content["marks"], "marks of rows"), validate=True)
        expect(0 < len(packed) <= _MOST_BYTES, "marks of rows")
        doubles = content["doubles"]
        expect(type(doubles) is float and 0.0 <= doubles <= 1.0, "share of double rows")
        marks = np.unpackbits(np.frombuffer(packed, dtype=np.uint8)).astype(bool)
        return cls(marks, doubles)


def _keys(X: AnyArray, codes: Integers) -> Integers:
    """A number for each row (n,), made of blocks of rows: no copy of all is needed."""
    X = np.asarray(X)
    starts = range(0, len(codes), _BLOCK)
    keys = [fingerprints(X[i : i + _BLOCK], codes[i : i + _BLOCK]) for i in starts]
    return np.concatenate(keys).astype(np.uint64)
