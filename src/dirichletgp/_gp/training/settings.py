"""What a fit is told, what it works with, and what it says meanwhile.

Parameters of the estimators are checked here and become settings; errors say what was got and what
to do. Resources are threads, randomness, and the progress that is told of every stage.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import Enum
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.arrays import Array, Integers
from ..core.fields import VARIANCE
from ..core.kernels import KERNELS, Kernel
from ..core.parallel import Workers
from ..core.probabilities.softmax import checked_tolerance
from ..core.warning import warn_caller as warn_caller
from ..rows.scaling import scaling_function
from ..rows.weights import as_numbers

Default = TypeVar("Default")
AnySettings = TypeVar("AnySettings", bound="KernelSettings")

INDUCING = ("kmeans", "rpcholesky", "random")
LABEL_TRANSFORMS = ("learned", "dirichlet")
COPY_RULES = ("auto", "ignore")
ALPHA_RULES = ("auto", "training")
_DEFAULT_POINTS = 1_000
MANY_CLASSES = 100
"""More classes than this have one Gram, and one noise, for all of them."""
_SECONDS_BETWEEN_LINES = 10.0
# Probabilities that people write down sum to one up to this.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class KernelSettings:
    """What training needs to know of the parameters that all estimators have."""

    kernel: type[Kernel]
    ard: bool
    lengthscale: float | Array | None
    variance: float | None
    n_inducing: int
    inducing: str | Array
    optimize_inducing: bool
    max_iter: int
    n_subsample: int | None
    categories: Integers | None = field(default=None, kw_only=True)
    """How many categories each scaled column has, 0 for numbers; None: all are numbers."""


@dataclass(frozen=True)
class DirichletSettings(KernelSettings):
    """What training needs to know of the parameters of `DirichletGPClassifier`."""

    label_transform: str
    alpha_epsilon: float | str
    pooled: bool = False
    """Whether all classes share one Gram and one noise, as many do."""
    class_prior: Any = "empirical"
    n_regions: int | str = 1
    memory_limit: float = 1e9
    copies: str = "auto"


class Family(NamedTuple):
    """A kind of kernel, and whether features differ in it."""

    kernel: type[Kernel]
    ard: bool

    def __str__(self) -> str:
        return self.kernel.name if self.ard else f"{self.kernel.name}, one lengthscale"


def family_of(estimator: Any, others: tuple[str, ...] = ()) -> Family:
    """The kernel that an estimator names; `others` it might have named are told of in the error."""
    name = choice("kernel", estimator.kernel, (*others, *KERNELS))
    return Family(KERNELS[name], bool(estimator.ard))


def check_kernel_settings(
    estimator: Any, n_features: int, default_points: int, family: Family | None = None
) -> KernelSettings:
    """The parameters that all estimators have, for `n_features` scaled features."""
    variance = estimator.variance
    kernel, ard = family_of(estimator) if family is None else family
    return KernelSettings(
        kernel=kernel,
        ard=ard,
        lengthscale=_lengthscale(estimator.lengthscale, n_features, ard),
        variance=None if variance is None else _variance(variance),
        n_inducing=_count_or("n_inducing", estimator.n_inducing, default_points),
        inducing=_inducing(estimator.inducing),
        optimize_inducing=bool(estimator.optimize_inducing),
        max_iter=count("max_iter", estimator.max_iter, smallest=0),
        n_subsample=rows_to_learn_from(estimator),
    )


def check_settings(
    estimator: Any, n_features: int, n_classes: int, family: Family
) -> DirichletSettings:
    """The parameters of a `DirichletGPClassifier`, for `n_features` scaled features."""
    checked_tolerance(estimator.tolerance)
    pooled = is_pooled(estimator, n_classes)
    n_points = default_points(n_classes, pooled)
    shared = check_kernel_settings(estimator, n_features, n_points, family)
    return DirichletSettings(
        **vars(shared),
        label_transform=choice("label_transform", estimator.label_transform, LABEL_TRANSFORMS),
        alpha_epsilon=_alpha(estimator.alpha_epsilon),
        pooled=pooled,
        class_prior=estimator.class_prior,
        n_regions=_regions(estimator.n_regions),
        memory_limit=positive("memory_limit", estimator.memory_limit),
        copies=choice("copies", estimator.copies, COPY_RULES),
    )


def with_scaled_points(settings: AnySettings, scaler: Any, n_features: int) -> AnySettings:
    """Settings whose inducing points, if given in the units of X, are scaled, each once."""
    points = settings.inducing
    if isinstance(points, str):
        return settings
    if points.shape[1] != n_features:
        raise ValueError(
            f"inducing has {points.shape[1]} columns, but X has {n_features}; "
            "pass points in the units of X."
        )
    return replace(settings, inducing=np.unique(scaling_function(scaler)(points), axis=0))


def is_pooled(estimator: Any, n_classes: int) -> bool:
    """Whether classes are so many that all share one Gram: if no other noises were asked for."""
    chosen = (estimator.label_transform, estimator.alpha_epsilon) == ("learned", "auto")
    return n_classes > MANY_CLASSES and chosen and estimator.n_regions in ("auto", 1)


def default_points(n_classes: int, pooled: bool = False) -> int:
    """How many inducing points by default: fewer when C Grams and factors would take over 1 GB."""
    if pooled:
        return _DEFAULT_POINTS
    return min(_DEFAULT_POINTS, int(np.sqrt(1e9 / (16 * n_classes))))


def points_wanted(estimator: Any, default: int) -> int:
    """How many inducing points an estimator is to have."""
    inducing = _inducing(estimator.inducing)
    if not isinstance(inducing, str):
        return len(inducing)
    return _count_or("n_inducing", estimator.n_inducing, default)


def rows_to_learn_from(estimator: Any) -> int | None:
    """The `n_subsample` of an estimator, checked."""
    return _count_or("n_subsample", estimator.n_subsample, None)


def _count_or(name: str, value: Any, default: Default) -> int | Default:
    return default if value is None else count(name, value, smallest=1)


def count(name: str, value: Any, smallest: int) -> int:
    """An integer argument that must not be smaller than `smallest`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < smallest:
        raise ValueError(f"{name}={value!r} is not valid; pass an integer of at least {smallest}.")
    return int(value)


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < float(value) < np.inf:
        raise ValueError(f"{name}={value!r} is not valid; pass a finite number greater than 0.")
    return float(value)


def _variance(value: Any) -> float:
    """The variance of a kernel, if it is given."""
    variance = positive("variance", value)
    if not VARIANCE[0] <= variance <= VARIANCE[1]:
        raise ValueError(
            f"variance={value!r} is not valid; pass a number from {VARIANCE[0]:g} to "
            f"{VARIANCE[1]:g}: that of log-odds."
        )
    return variance


def positive_numbers(name: str, values: Any) -> Array:
    """One or more finite numbers above zero."""
    given = as_numbers(values)
    if given.ndim != 1 or len(given) == 0 or not np.all((given > 0) & np.isfinite(given)):
        raise ValueError(
            f"{name}={values!r} is not valid; pass a list of finite numbers greater than 0."
        )
    return given


def fraction(name: str, value: Any) -> float:
    """A number strictly between zero and one."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < float(value) < 1:
        raise ValueError(
            f"{name}={value!r} is not valid; pass a number between 0 and 1, such as 0.95."
        )
    return float(value)


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name}={value!r} is not known; pass one of {options}.")
    return value


def class_prior(prior: Any, class_weights: Array) -> Array:
    """Class probabilities (C,) from the `class_prior` argument and the weight of each class.

    A class without rows counts as half the lightest row or class there is: its logarithm must be
    finite.
    """
    n_classes = len(class_weights)
    if isinstance(prior, str):
        if prior == "uniform":
            return np.full(n_classes, 1.0 / n_classes)
        if prior == "empirical":
            floor = 0.5 * min(1.0, class_weights[class_weights > 0].min(initial=1.0))
            weights = np.maximum(class_weights, floor)
            return np.asarray(weights / weights.sum())
    else:
        given = as_numbers(prior)
        valid = given.shape == (n_classes,) and np.all((given > 0) & np.isfinite(given))
        if valid:
            return np.asarray(given / given.sum())
    raise ValueError(
        f"class_prior={prior!r} is not valid; pass 'empirical', 'uniform', or {n_classes} positive "
        "numbers, one per class in the order of classes_."
    )


def check_sums_to_one(name: str, probabilities: Any) -> None:
    """`ValueError` if numbers that are given as probabilities do not sum to one."""
    if isinstance(probabilities, str):
        return
    total = float(np.sum(as_numbers(probabilities)))
    if abs(total - 1.0) > _ROUNDING:
        raise ValueError(
            f"{name}={probabilities!r} sums to {total:.6g}; pass probabilities that sum to 1."
        )


def _alpha(value: Any) -> float | str:
    if isinstance(value, str):
        return choice("alpha_epsilon", value, ALPHA_RULES)
    return positive("alpha_epsilon", value)


def _regions(value: Any) -> int | str:
    if isinstance(value, str):
        return choice("n_regions", value, ("auto",))
    return count("n_regions", value, smallest=1)


def _lengthscale(value: Any, n_features: int, ard: bool) -> float | Array | None:
    if value is None or isinstance(value, Real):
        return None if value is None else positive("lengthscale", value)
    given = as_numbers(value)
    valid = given.shape == (n_features,) and np.all((given > 0) & np.isfinite(given))
    if not ard or not valid:
        raise ValueError(
            f"lengthscale={value!r} is not valid; pass None, a positive number, or (with ard=True) "
            f"{n_features} positive numbers, one per scaled feature."
        )
    return given


def _inducing(value: Any) -> str | Array:
    if isinstance(value, str):
        return choice("inducing", value, INDUCING)
    points = as_numbers(value)
    if points.ndim != 2 or len(points) == 0 or not np.all(np.isfinite(points)):
        raise ValueError(
            f"inducing is an array of shape {points.shape}; pass one of {INDUCING}, or a finite "
            "array with one inducing point per row and the columns of X."
        )
    return points


class Stage(Enum):
    """The kinds of stages that a fit goes through; what is printed of them may say more."""

    SCALING = "scaling"
    FIRST_PASS = "first pass"
    CHOICE = "choice of the kernel"
    POINTS = "inducing points"
    KERNEL = "kernel"
    ALPHA = "alpha_epsilon"
    LEFT_OUT = "left-out predictions"
    STATISTICS = "statistics"
    LABELS = "label transform"
    POSTERIOR = "posterior"
    CORRECTION = "likelihood of labels"
    REGIONS = "regions"
    COMPARISON = "comparison"
    BELIEF = "belief"
    INTERVALS = "intervals"
    COPIES = "copies of rows"


class Event(NamedTuple):
    """A stage begins (`evaluation` is 0), or so many evaluations were made in it."""

    stage: Stage
    evaluation: int = 0


Listener = Callable[[Event], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within this context a fit tells `listener` what it is doing; how progress bars are fed."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _tell(event: Event) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(event)


class Progress:
    """Prints one line per stage, with what it found and how long it took; silent at verbosity 0.

    Keeps the same as `history`: per stage its name, seconds, note, and the bound per row at every
    evaluation.

    Parameters
    ----------
    verbose : int
        0 is silent, 1 prints stages, 2 prints every evaluation of the bound too.
    """

    def __init__(self, verbose: int = 0):
        self.verbose = verbose
        self.history: list[dict[str, Any]] = []
        self._stage = Stage.SCALING
        self._name = ""
        self._notes: list[str] = []
        self._bounds: list[float] = []
        self._start = time.perf_counter()
        self._live = verbose == 1 and sys.stdout.isatty()

    @contextmanager
    def stage(self, stage: Stage, name: str | None = None) -> Iterator[None]:
        """A stage of the work, printed as `name`; notes made inside stand in its line."""
        self._stage = stage
        self._name = stage.value if name is None else name
        self._notes, self._bounds = [], []
        start = time.perf_counter()
        _tell(Event(stage))
        if self._live:
            self._show("...", end="\r")
        yield
        seconds = time.perf_counter() - start
        note = ", ".join(self._notes)
        self.history.append(
            {"stage": self._name, "seconds": seconds, "note": note, "bound_per_row": self._bounds}
        )
        if self.verbose:
            self._show(f"{seconds:7.2f} s  {note}")

    def note(self, text: str) -> None:
        """Something worth saying at the end of the stage under way."""
        self._notes.append(text)

    def evaluation(self, count: int, bound_per_row: float) -> None:
        """One evaluation of the bound was made."""
        self._bounds.append(float(bound_per_row))
        _tell(Event(self._stage, count))
        if self.verbose > 1:
            self._show(f"evaluation {count}, bound per row {bound_per_row:.6f}")
        elif self._live:
            self._show(f"... evaluation {count}, bound per row {bound_per_row:.4f}", end="\r")

    def begin_rows(self, done: int, total: int) -> None:
        """A pass over rows begins, some of which may have been done before."""
        self._first, self._total = done, total
        self._since = self._shown = time.perf_counter()

    def rows(self, done: int) -> None:
        """So many rows of the pass are done."""
        now = time.perf_counter()
        pause = 0.2 if self._live else _SECONDS_BETWEEN_LINES
        if not self.verbose or now - self._shown < pause:
            return
        speed = (done - self._first) / (now - self._since)
        left = (self._total - done) / speed
        words = f"{done:,} rows, {speed:,.0f} rows/s, {left:.0f} s left"
        self._show(words, end="\r" if self._live else "\n")
        self._shown = now

    def done(self) -> None:
        """The whole work is finished."""
        if self.verbose:
            self._name = "total"
            self._show(f"{time.perf_counter() - self._start:7.2f} s")

    def _show(self, text: str, end: str = "\n") -> None:
        line = f"[dirichletgp] {self._name:<44} {text:<50}"
        # Live lines stay padded, so that a shorter one leaves nothing of a longer one behind.
        print(line if self._live else line.rstrip(), end=end, flush=True)


class Resources(NamedTuple):
    """What a fit works with: threads, randomness, and somebody to tell."""

    workers: Workers
    rng: np.random.RandomState
    progress: Progress
