"""Checks of the estimator's arguments, each with an error that says what was got and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..training.inducing_points import INDUCING
from .kernels import KERNELS

Array = NDArray[np.float64]
Default = TypeVar("Default")

LABEL_TRANSFORMS = ("learned", "dirichlet")
ALPHA_RULES = ("auto", "training")
_DEFAULT_POINTS = 1_000


@dataclass(frozen=True)
class KernelSettings:
    """What every training schedule needs to know of an estimator's parameters, already checked."""

    family: str
    ard: bool
    lengthscale: float | Array | None
    variance: float | None
    n_inducing: int
    inducing: str | Array
    optimize_inducing: bool
    max_iter: int
    n_subsample: int | None


@dataclass(frozen=True)
class Settings(KernelSettings):
    """What the schedule of `DirichletGPClassifier` needs to know besides."""

    label_transform: str
    alpha_epsilon: float | str


def check_kernel_settings(estimator: Any, n_features: int, default_points: int) -> KernelSettings:
    """The parameters that all estimators have, for `n_features` scaled features."""
    return KernelSettings(
        family=choice("kernel", estimator.kernel, KERNELS),
        ard=bool(estimator.ard),
        lengthscale=_lengthscale(estimator.lengthscale, n_features, estimator.ard),
        variance=None if estimator.variance is None else positive("variance", estimator.variance),
        n_inducing=_count_or("n_inducing", estimator.n_inducing, default_points),
        inducing=_inducing(estimator.inducing),
        optimize_inducing=bool(estimator.optimize_inducing),
        max_iter=count("max_iter", estimator.max_iter, smallest=0),
        n_subsample=rows_to_learn_from(estimator),
    )


def check_settings(estimator: Any, n_features: int, n_classes: int) -> Settings:
    """The parameters of a `DirichletGPClassifier`, for `n_features` scaled features."""
    return Settings(
        **vars(check_kernel_settings(estimator, n_features, default_points(n_classes))),
        label_transform=choice("label_transform", estimator.label_transform, LABEL_TRANSFORMS),
        alpha_epsilon=_alpha(estimator.alpha_epsilon),
    )


def default_points(n_classes: int) -> int:
    """How many inducing points by default: fewer when the C Grams and C factors would take more than a gigabyte."""
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
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name}={value!r} is not valid; pass a finite number greater than 0.")
    return float(value)


def positive_numbers(name: str, values: Any) -> Array:
    """One or more finite numbers above zero."""
    given = _numbers(values)
    if given.ndim != 1 or len(given) == 0 or not np.all((given > 0) & np.isfinite(given)):
        raise ValueError(
            f"{name}={values!r} is not valid; pass a list of finite numbers greater than 0."
        )
    return given


def fraction(name: str, value: Any) -> float:
    """A number strictly between zero and one."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(
            f"{name}={value!r} is not valid; pass a number between 0 and 1, such as 0.95."
        )
    return float(value)


def sample_weights(sample_weight: Any, n: int, part: bool = False) -> Array | None:
    """Row weights (n,) from the `sample_weight` argument; None if every row counts once.

    All may be zero if the rows are a `part` of more.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but X has {n} rows; pass one weight per row."
        )
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight holds NaN or infinity; pass finite weights.")
    if np.any(weights < 0):
        raise ValueError(
            f"sample_weight holds negative values, such as {weights.min():g}; pass weights of at least 0."
        )
    if not part and not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every row; pass at least one positive weight.")
    return weights


def class_prior(prior: Any, class_weights: Array) -> Array:
    """Class probabilities (C,) from the `class_prior` argument and the total weight of each class.

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
        given = _numbers(prior)
        if given.shape == (n_classes,) and np.all(given > 0) and np.all(np.isfinite(given)):
            return np.asarray(given / given.sum())
    raise ValueError(
        f"class_prior={prior!r} is not valid; pass 'empirical', 'uniform', or {n_classes} positive numbers, "
        "one per class in the order of classes_."
    )


def class_factors(class_weight: Any, classes: NDArray[Any], totals: Array) -> Array | None:
    """Weight of each class (C,) from the `class_weight` argument and the total sample weight of each class."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        # A class without rows (declared to partial_fit) has nothing to balance yet.
        present = totals > 0
        return np.where(
            present, totals.sum() / (present.sum() * np.where(present, totals, 1.0)), 1.0
        )
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in classes]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[:5]}, which are not among the labels; classes are {classes}."
            )
        factors = _numbers([class_weight.get(label, 1.0) for label in classes.tolist()])
        if factors.shape == classes.shape and np.all((factors > 0) & np.isfinite(factors)):
            return factors
    raise ValueError(
        f"class_weight={class_weight!r} is not valid; pass None, 'balanced', or a dict from labels to positive numbers."
    )


def _numbers(value: Any) -> Array:
    """An array of numbers, or an empty one for what cannot be read as such."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name}={value!r} is not known; pass one of {options}.")
    return value


def _alpha(value: Any) -> float | str:
    if isinstance(value, str):
        return choice("alpha_epsilon", value, ALPHA_RULES)
    return positive("alpha_epsilon", value)


def _lengthscale(value: Any, n_features: int, ard: bool) -> float | Array | None:
    if value is None or isinstance(value, Real):
        return None if value is None else positive("lengthscale", value)
    given = _numbers(value)
    if not ard or given.shape != (n_features,) or not np.all((given > 0) & np.isfinite(given)):
        raise ValueError(
            f"lengthscale={value!r} is not valid; pass None, a positive number, or (with ard=True) {n_features} "
            "positive numbers, one per scaled feature."
        )
    return given


def _inducing(value: Any) -> str | Array:
    if isinstance(value, str):
        return choice("inducing", value, INDUCING)
    points = _numbers(value)
    if points.ndim != 2 or len(points) == 0 or not np.all(np.isfinite(points)):
        raise ValueError(
            f"inducing is an array of shape {points.shape}; pass one of {INDUCING}, or a finite array with one "
            "inducing point per row and the columns of X."
        )
    return points
