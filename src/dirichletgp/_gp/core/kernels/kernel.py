"""What a kernel must be able to do, and the names under which kernels are known."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import AnyArray, Array, Integers
from ..operations import NUMPY, Operations
from ..parallel import Mapper


class _Kernels(dict[str, "type[Kernel]"]):
    """Kernels by name; asking for another one says which there are."""

    def __missing__(self, name: Any) -> "type[Kernel]":
        raise ValueError(f"kernel={name!r} is not known; pass one of {tuple(self)}.")


KERNELS = _Kernels()
"""All kernels by the names that users call them."""


def register(cls: "type[Kernel]") -> "type[Kernel]":
    """Make a kernel known by its `name`; a decorator of classes."""
    KERNELS[cls.name] = cls
    return cls


class KernelGradient(NamedTuple):
    """Derivatives of a scalar with respect to parameters (P,), log variance, and points (M, D)."""

    parameters: Array
    log_variance: float
    points: Array


class KernelBelief(NamedTuple):
    """Log density of a kernel before rows are seen, and its derivatives."""

    value: float
    parameters: Array
    log_variance: float


class KernelAt(ABC):
    """A kernel at given points: a function of rows alone, prepared once for a pass over them.

    Attributes
    ----------
    rows_at_once : int or None
        How many rows `add_derivatives` likes to be given at a time; None: as many as fit in cache.
    """

    rows_at_once: int | None = None

    @abstractmethod
    def values(self, rows: Array, out: Array | None = None) -> Array:
        """Kernel matrix k(rows, points) of shape (n, M), in `out` if it is given."""

    def factors(self, rows: Array) -> Array:
        """Factors (n, D, M) of the kernel, one for each column, if it `is_product`.

        The variance is left out.
        """
        raise NotImplementedError

    @abstractmethod
    def no_derivatives(self) -> Array:
        """An array of zeros, for sums of `add_derivatives`."""

    @abstractmethod
    def add_derivatives(self, rows: Array, values: Array, derivative: Array, total: Array) -> None:
        """Add to `total` what the rows contribute to the gradient; `derivative` is overwritten."""

    @abstractmethod
    def gradient(self, total: Array, mapper: Mapper = map) -> KernelGradient:
        """The gradient that a sum of contributions stands for; `mapper` may use threads."""


class Kernel(ABC):
    """A kernel k(x, z) = variance * shape(x, z) with shape(x, x) = 1, and its parameters.

    Kernels are values: what changes a parameter returns another kernel. Rows and points are scaled
    features; a kernel may read its columns in any way it likes.

    Attributes
    ----------
    name : str
        What users call it.
    title : str
        What reports call it.
    variance : float
        Value on the diagonal.
    ard : bool
        Whether features may differ.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    takes_categories: ClassVar[bool] = False
    """Whether columns may hold codes of categories, and marks of missing numbers."""
    is_product: ClassVar[bool] = False
    """Whether the kernel is a product over columns, so that `KernelAt.factors` has them."""
    variance: float
    ard: bool

    @classmethod
    @abstractmethod
    def starting(
        cls,
        rows: Array,
        lengthscale: float | Array | None,
        variance: float,
        ard: bool,
        categories: Integers | None = None,
    ) -> Self:
        """Where a search begins, for scaled rows (n, D); None: a lengthscale from their spread.

        `categories` (D,) says of each column how many categories it has, 0 for numbers; None: all
        are numbers. A kernel of numbers alone is not given others.
        """

    @classmethod
    @abstractmethod
    def continuing(cls, earlier: "Kernel", ard: bool) -> "Self | None":
        """With what can be taken over from an earlier kernel; None if nothing can."""

    @abstractmethod
    def beginning_at(self, start: "Kernel") -> "Kernel":
        """The kernel as made for the rows at hand, with the parameters of a `start` of its kind."""

    @abstractmethod
    def refined(self, rows: Array) -> Self:
        """The kernel of a finished model, for scaled rows (n, D): without what hastes a search."""

    @abstractmethod
    def values(self, rows: Any, points: Any, on: Operations = NUMPY) -> Any:
        """Kernel matrix k(rows, points) of shape (n, M), for rows (n, D) and points (M, D)."""

    @abstractmethod
    def pull_back(
        self, rows: Any, points: Any, values: Any, derivative: Any, on: Operations = NUMPY
    ) -> KernelGradient:
        """From the derivative of a scalar by `values` (n, M) to its derivative by parameters.

        `values` is what `values(rows, points)` returned; `derivative` is overwritten. No array has
        more than two of the dimensions rows, points and features.
        """

    @abstractmethod
    def at(self, points: Array) -> KernelAt:
        """The kernel at given points, for passes over many rows."""

    @abstractmethod
    def of_points(self, points: Array) -> "Kernel":
        """The kernel that compares points with each other."""

    @abstractmethod
    def snapped(self, points: Array) -> Array:
        """Points where the kernel is fastest, close to those given; each once."""

    @property
    @abstractmethod
    def parameters(self) -> Array:
        """All parameters but the variance as unbounded numbers (P,), for a search."""

    @abstractmethod
    def with_parameters(self, parameters: Array, variance: float) -> Self:
        """The same kernel with other parameters."""

    @abstractmethod
    def belief(self, typical: Self) -> KernelBelief:
        """How plausible the parameters are before any row was seen, next to those of `typical`.

        With few rows, a parameter per feature is more freedom than the rows can pay for.
        """

    @abstractmethod
    def pulled_together(self) -> Self:
        """The same kernel with all features alike."""

    @abstractmethod
    def stretched(self, factor: float, variance: float) -> Self:
        """The same kernel, `factor` times as long."""

    @property
    @abstractmethod
    def shown_lengthscale(self) -> float | Array:
        """What the attribute `lengthscale_` of an estimator shows."""

    @abstractmethod
    def parameter_names(self, features: Sequence[str]) -> list[str]:
        """What each parameter is called, given the names of the features."""

    @abstractmethod
    def feature_weights(self) -> Array:
        """How far apart a unit of each scaled feature puts rows (D,); 0 for categories."""

    @abstractmethod
    def to_metric(self, rows: Array) -> Array:
        """Rows (n, D) where Euclidean distance is what the kernel sees."""

    @abstractmethod
    def from_metric(self, rows: Array) -> Array:
        """The inverse of `to_metric`."""

    @property
    @abstractmethod
    def has_inverse_metric(self) -> bool:
        """Whether there is a row for every point of the metric."""

    @abstractmethod
    def relevance(self, points: Array) -> Array:
        """How much each feature takes away from the correlation of points, (D,), from 0 to 1."""

    @abstractmethod
    def described(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The kernel as JSON and arrays, for files; `restored` reads them."""

    @classmethod
    @abstractmethod
    def restored(
        cls, content: Mapping[str, Any], arrays: Mapping[str, AnyArray], ard: bool
    ) -> Self:
        """The kernel that `described` was called on; `ValueError` if there is none like that."""

    def fits(self, n_features: int, categories: Integers | None = None) -> bool:
        """Whether rows of so many scaled features are what the kernel was made for.

        `categories` (D,) says of each how many categories it has, 0 for numbers; None: all are
        numbers.
        """
        return True

    def same(self, other: "Kernel") -> bool:
        """Whether two kernels give the same values, to the last bit."""
        (mine, my_arrays), (theirs, their_arrays) = self.described(), other.described()
        theirs["ard"] = mine["ard"] = None  # how parameters are learned is no part of the values
        if mine != theirs or my_arrays.keys() != their_arrays.keys():
            return False
        return all(np.array_equal(my_arrays[name], their_arrays[name]) for name in my_arrays)
