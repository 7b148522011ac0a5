"""What the columns of X are, learned from training rows, and the matrix that stands for rows.

A number column is itself in the matrix, a category column is its codes 0 to k - 1 (k for a category
that is not known), a date several number columns, a text a column for each of some words; NaN means
that a value is missing. Columns that carry nothing are left out.

Columns are a plain value, written as JSON into model files: loading them runs no code.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from ..core.arrays import AnyArray, Array, Booleans, Integers
from ..core.fields import expect, text, texts, truth
from ..core.warning import warn_caller
from .bands import BANDS
from .door import refuse_repeated_names
from .frames import Frame, Values, Words
from .kinds import KINDS, PARTS, Category, Date, Kind, Notify, Number
from .texts import STYLES, is_date_pattern
from .wordings import Wording


@dataclass(frozen=True)
class Columns:
    """Columns that are numbers, one to one, of which none was missing in the training rows.

    Attributes
    ----------
    n_in : int
        Number of columns of X as it is given.
    names_in : list of str or None
        Their names, if they have some.
    """

    n_in: int
    names_in: list[str] | None = None

    is_plain: ClassVar[bool] = True

    @property
    def names(self) -> list[str]:
        """Names of the D matrix columns."""
        return self.names_in or [f"x{j}" for j in range(self.n_in)]

    @property
    def levels(self) -> Integers:
        """For each matrix column (D,) the number of known categories, 0 for numbers."""
        return np.zeros(self.n_in, dtype=np.intp)

    @property
    def origin(self) -> Integers:
        """For each matrix column (D,) the column of X that it comes from."""
        return np.arange(self.n_in)

    def matrix(self, X: Any, notify: Notify | None = None, *, quiet: bool = False) -> Array:
        """Rows of X as a matrix (n, D)."""
        return self._as_kinds().matrix(X, notify, quiet=quiet)

    def described(self) -> list[tuple[str, str]]:
        """The name of each column of X, and what is done with it, in words."""
        return [(name, "number") for name in self.names]

    def with_missing(self, missing: Booleans) -> "Columns":
        """The same for rows with missing values in some matrix columns (D,)."""
        return self._as_kinds().with_missing(missing) if np.any(missing) else self

    def _as_kinds(self) -> "MixedColumns":
        kinds = tuple(Number(name) for name in self.names)
        return MixedColumns(self.n_in, self.names_in, kinds)

    def as_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        return {"n_in": self.n_in, "names_in": self.names_in}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Columns":
        """The columns that `as_json` described; `ValueError` if they cannot be such."""
        n_in, names = content["n_in"], content["names_in"]
        expect(type(n_in) is int and n_in > 0, "number of columns")
        if names is not None:
            names = texts(names, "names of columns")
            expect(len(names) == n_in, "names of columns")
        if "kinds" not in content:
            return Columns(n_in, names)
        kinds = tuple(_kind_from_json(kind) for kind in content["kinds"])
        blanks = texts(content["blanks"], "texts that stand for nothing")
        expect(len(kinds) == n_in, "kinds of columns")
        expect(names is None or names == [kind.name for kind in kinds], "names of columns")
        columns = MixedColumns(n_in, names, kinds, tuple(blanks))
        expect(len(columns.levels) > 0, "kinds of columns")
        return columns


@dataclass(frozen=True)
class MixedColumns(Columns):
    """Columns of any kind.

    Attributes
    ----------
    kinds : tuple of Kind
        One for each column of X.
    blanks : tuple of str
        Texts that stand for nothing.
    """

    kinds: tuple[Kind, ...] = ()
    blanks: tuple[str, ...] = ("",)

    is_plain: ClassVar[bool] = False

    @property
    def names(self) -> list[str]:
        """Names of the D matrix columns."""
        return [name for kind in self.kinds for name in kind.names]

    @cached_property
    def levels(self) -> Integers:
        """For each matrix column (D,) the number of known categories, 0 for numbers."""
        return np.array([level for kind in self.kinds for level in kind.levels], dtype=np.intp)

    @property
    def origin(self) -> Integers:
        """For each matrix column (D,) the column of X that it comes from."""
        return np.repeat(np.arange(self.n_in), [len(kind.levels) for kind in self.kinds])

    def matrix(self, X: Any, notify: Notify | None = None, *, quiet: bool = False) -> Array:
        """Rows of X as a matrix (n, D).

        Parameters
        ----------
        X : frame or array of shape (n, n_in)
            Columns of frames may be in any order if the training rows had names; others are
            ignored, and one that is not there counts as missing, with a warning.
        notify : callable, default=None
            Told of categories and texts that are not known, which then count as missing. None:
            unknown categories are nothing to tell of, other unknown texts are refused.
        quiet : bool, default=False
            Whether columns that are not there are known not to be.
        """
        frame = Frame(X)
        parts = []
        for kind, place in zip(self.kinds, self._places(frame, quiet), strict=True):
            if place is None:
                parts.append(np.full((frame.shape[0], len(kind.levels)), np.nan))
            elif kind.levels:
                parts.append(kind.matrix(cleaned(frame.values(place), self.blanks), notify))
        return np.concatenate(parts, axis=1)

    def _places(self, frame: Frame, quiet: bool) -> Sequence[int | None]:
        """Where the columns stand in a frame; None for one that is not there."""
        if frame.names is None or self.names_in is None:
            self._check_number(frame)
            return range(self.n_in)
        if frame.names == self.names_in:
            return range(self.n_in)
        refuse_repeated_names(frame.X)
        place = {name: j for j, name in enumerate(frame.names)}
        used = [kind.name for kind in self.kinds if kind.levels]
        absent = [name for name in used if name not in place]
        if len(absent) == len(used):
            raise ValueError(
                f"X has none of the columns that the model was fitted to, such as {absent[:5]}; "
                f"it has {frame.names[:5]}."
            )
        if absent and not quiet:
            named = ", ".join(map(repr, absent[:5])) + " and more" * (len(absent) > 5)
            warn_caller(f"X has no column {named}; all values there count as missing.", UserWarning)
        return [place.get(name) for name in self.names_in]

    def _check_number(self, frame: Frame) -> None:
        if frame.shape[1] != self.n_in:
            raise ValueError(
                f"X has {frame.shape[1]} features, but the model is expecting {self.n_in} features "
                "as input."
            )
        if (frame.names is None) != (self.names_in is None):
            without = "X does not have valid feature names, but the model was fitted with them"
            other = "X has feature names, but the model was fitted without them"
            # Files and Arrow tables have no numbers as names: there 0, 1, 2 become texts.
            if frame.names != [str(j) for j in range(self.n_in)]:
                warn_caller(without if frame.names is None else other, UserWarning)

    def described(self) -> list[tuple[str, str]]:
        """The name of each column of X, and what is done with it, in words."""
        return [(kind.name, kind.treatment) for kind in self.kinds]

    def with_missing(self, missing: Booleans) -> Columns:
        """The same for rows with missing values in some matrix columns (D,)."""
        origins = set(self.origin[missing].tolist())
        kinds = [_with_holes(k) if j in origins else k for j, k in enumerate(self.kinds)]
        return MixedColumns(self.n_in, self.names_in, tuple(kinds), self.blanks)

    def as_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        words = {cls: word for word, cls in KINDS.items()}
        kinds = [{"kind": words[type(kind)], **asdict(kind)} for kind in self.kinds]
        return {**super().as_json(), "kinds": kinds, "blanks": list(self.blanks)}


class Matrix(np.ndarray[Any, Any]):
    """Rows (n, D) as `Columns.matrix` gives them: a fitted model takes them as they are."""

    @classmethod
    def of(cls, rows: AnyArray) -> "Matrix":
        """The same rows, known to be a matrix."""
        return rows.view(cls)


def cleaned(values: Values, blanks: tuple[str, ...]) -> Values:
    """Values whose texts are stripped, and missing where they stand for nothing."""
    if not isinstance(values, Words):
        return values
    return Words(values.texts.without(blanks), values.declared)


def _with_holes(kind: Kind) -> Kind:
    if isinstance(kind, Number):
        return Number(kind.name, True, kind.style, kind.mistakes)
    if isinstance(kind, Category):
        return Category(kind.name, kind.categories, True, kind.rare)
    if isinstance(kind, Date):
        return Date(kind.name, kind.pattern, kind.parts, True, kind.mistakes)
    return kind


def _kind_from_json(content: Mapping[str, Any]) -> Kind:
    """A kind of column: every attribute is checked by its name, and no other is taken."""
    fields = {name: _KIND_FIELDS[name](value) for name, value in content.items() if name != "kind"}
    kind: Kind = KINDS[text(content["kind"], "kind of a column")](**fields)
    expect(not isinstance(kind, Category) or len(kind.categories) > 0, "categories")
    expect(not isinstance(kind, Date) or len(kind.parts) > 0, "parts of a date")
    expect(not isinstance(kind, Wording) or len(kind.words) > 0, "words")
    return kind


def _among(options: Collection[str]) -> Callable[[Any], str]:
    def chosen(value: Any) -> str:
        expect(isinstance(value, str) and value in options, "column")
        return str(value)

    return chosen


def _pattern(value: Any) -> str:
    expect(isinstance(value, str) and is_date_pattern(value), "pattern of dates")
    return str(value)


def _parts(value: Any) -> list[str]:
    parts = texts(value, "parts of a date")
    expect(set(parts) <= set(PARTS) and len(set(parts)) == len(parts), "parts of a date")
    return parts


def _distinct(value: Any, what: str) -> list[str]:
    words = texts(value, what)
    expect(len(set(words)) == len(words), what)
    return words


# What a file must say of a column.
_KIND_FIELDS: dict[str, Callable[[Any], Any]] = {
    "name": partial(text, what="name of a column"),
    "reason": partial(text, what="column"),
    "style": _among((*STYLES, BANDS)),
    "pattern": _pattern,
    "parts": _parts,
    "categories": partial(_distinct, what="categories"),
    "words": partial(_distinct, what="words"),
    "mistakes": partial(texts, what="column"),
    "missing": partial(truth, what="column"),
    "rare": partial(truth, what="column"),
}
