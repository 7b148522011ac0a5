"""Saving and loading fitted classifiers: arrays and JSON in one file, no pickle.

`DirichletGPClassifier.save` and `.load` are the usual way in. The functions here also keep small extras of other tools
(such as the recipe of a table's columns) in the same file.
"""

import os
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ._archive import Archive, ModelFileError, read_archive, write_archive
from ._kernels import KERNELS, Kernel
from ._labels import LabelTransform
from ._model import Model, packed_grams, unpacked_grams
from ._scaling import SCALERS, NormalScores
from ._statistics import ClassStatistics
from ._warm_up import WarmUp

__all__ = ["ModelFileError", "load", "read_extras", "save"]

Arrays = dict[str, NDArray[Any]]
Classifier = TypeVar("Classifier", bound=BaseEstimator)

_KIND = "classifier"
_EXTRAS = "extras/"
_STANDARD = ("mean_", "var_", "scale_", "n_samples_seen_")
_MINMAX = ("min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_")


def save(classifier: Any, path: str | os.PathLike[str], extras: Mapping[str, bytes] | None = None) -> None:
    """Write a fitted `DirichletGPClassifier` to one file, in one step.

    Parameters
    ----------
    classifier : DirichletGPClassifier
        Fitted. Its scaler must be one of the library's own.
    path : str or path-like
    extras : mapping from str to bytes, default=None
        Kept in the file and given back by `read_extras`.
    """
    check_is_fitted(classifier)
    content, arrays = described(classifier)
    for name, value in (extras or {}).items():
        arrays[_EXTRAS + name] = np.frombuffer(value, dtype=np.uint8)
    write_archive(path, _KIND, Archive(content, arrays))


def load(path: str | os.PathLike[str], cls: type[Classifier]) -> Classifier:
    """Read a classifier that `save` wrote; `ModelFileError` if the file is not what `save` wrote.

    Parameters
    ----------
    path : str or path-like
    cls : type
        `DirichletGPClassifier`, or a class derived from it.

    Returns
    -------
    cls
        A fitted classifier.
    """
    archive = read_archive(path, _KIND)
    try:
        return restored(archive, cls)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{os.fspath(path)!r} does not describe a classifier: {error!r}") from error


def read_extras(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The extras that were saved with a classifier, by name."""
    arrays = read_archive(path, _KIND).arrays
    return {name.removeprefix(_EXTRAS): a.tobytes() for name, a in arrays.items() if name.startswith(_EXTRAS)}


def described(classifier: Any) -> tuple[dict[str, Any], Arrays]:
    """A fitted classifier as a JSON object and arrays."""
    arrays: Arrays = {}
    scaler, model = _scaler_described(classifier, arrays), classifier._model
    parameters = classifier.get_params(deep=False)
    content = {
        "parameters": {name: _encoded(name, value, arrays) for name, value in parameters.items()},
        "classes": _labels_encoded(classifier.classes_, arrays),
        "n_features_in": classifier.n_features_in_,
        "feature_names_in": list(getattr(classifier, "feature_names_in_", [])) or None,
        "n_iter": classifier.n_iter_,
        "scaler": scaler,
        "kernel": {"family": model.kernel.family, "variance": model.kernel.variance},
        "jitter": model.jitter,
        "transform": vars(model.transform),
        "alpha_epsilon": model.alpha_epsilon,
    }
    if hasattr(classifier, "history_"):
        content["history"] = classifier.history_
    if classifier._warm_up is not None:
        content["warm_up"] = classifier._warm_up.trained_at
        arrays |= {f"warm_up/{name}": getattr(classifier._warm_up, name) for name in ("X", "codes", "weights")}
    if classifier._class_factors is not None:
        arrays["class_factors"] = classifier._class_factors
    statistics = model.statistics
    arrays |= {"lengthscale": model.kernel.lengthscale, "points": model.points, "prior": model.prior}
    arrays |= {"counts": statistics.counts, "sums": statistics.sums, "grams": packed_grams(statistics.grams)}
    return content, arrays


def restored(archive: Archive, cls: type[Classifier]) -> Classifier:
    """The classifier that `described` was given."""
    content, arrays = archive
    names = cls._get_param_names()
    unknown = set(content["parameters"]) - set(names)
    if unknown:
        raise ValueError(f"unknown parameters {sorted(unknown)}")
    classifier: Any = cls(**{name: _decoded(value, arrays) for name, value in content["parameters"].items()})
    classifier.classes_ = _labels_decoded(content["classes"], arrays)
    classifier.n_features_in_ = _checked_int(content["n_features_in"])
    if content["feature_names_in"] is not None:
        classifier.feature_names_in_ = _strings(content["feature_names_in"], "O")
        _expect(len(classifier.feature_names_in_) == classifier.n_features_in_, "feature names")
    classifier.n_iter_ = _checked_int(content["n_iter"])
    if "history" in content:
        classifier.history_ = content["history"]
    classifier.scaler_ = _scaler_restored(content["scaler"], classifier, arrays)
    classifier._class_factors = _floats(arrays, "class_factors") if "class_factors" in arrays else None
    model = _model_restored(content, arrays)
    _expect(len(classifier.classes_) == len(model.prior) > 1, "number of classes")
    _expect(classifier._class_factors is None or classifier._class_factors.shape == model.prior.shape, "class weights")
    classifier._keep(model)
    classifier._warm_up = _warm_up_restored(content["warm_up"], classifier, arrays) if "warm_up" in content else None
    return classifier


def _warm_up_restored(trained_at: Any, classifier: Any, arrays: Arrays) -> WarmUp:
    X, codes, weights = (arrays[f"warm_up/{name}"] for name in ("X", "codes", "weights"))
    _expect(X.shape == (len(codes), classifier.n_features_in_) and codes.shape == weights.shape, "rows")
    _expect(X.dtype.kind == "f" and codes.dtype == np.int64 and weights.dtype == np.float64, "rows")
    _expect(bool(np.all((codes >= 0) & (codes < len(classifier.classes_)))), "rows")
    return WarmUp(X, codes, weights, _checked_int(trained_at))


def _model_restored(content: Mapping[str, Any], arrays: Arrays) -> Model:
    points, lengthscale, prior = (_floats(arrays, name) for name in ("points", "lengthscale", "prior"))
    counts, sums, packed = (_floats(arrays, name) for name in ("counts", "sums", "grams"))
    (m, d), c = points.shape, len(prior)
    shapes = [a.shape for a in (lengthscale, prior, counts, sums, packed)]
    _expect(shapes == [(d,), (c,), (c,), (c, m), (c, m * (m + 1) // 2)] and m > 0 and d > 0, "shapes of the arrays")
    _expect(bool(np.all(lengthscale > 0) and np.all(prior > 0)), "positive lengthscales and priors")
    family, variance = content["kernel"]["family"], _positive(content["kernel"]["variance"])
    _expect(family in KERNELS, "kernel")
    transform = {name: float(content["transform"][name]) for name in ("target_in", "target_out")}
    noises = {name: _positive(content["transform"][name]) for name in ("noise_in", "noise_out")}
    return Model(
        Kernel(family, lengthscale, variance),
        points,
        _positive(content["jitter"]),
        ClassStatistics(counts, sums, unpacked_grams(packed, m)),
        LabelTransform(**transform, **noises),
        prior,
        _positive(content["alpha_epsilon"]),
    )


# Parameters: what JSON can say, arrays, dictionaries of class weights and random states.


def _encoded(name: str, value: Any, arrays: Arrays) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return {"pairs": [[_encoded(name, part, arrays) for part in pair] for pair in value.items()]}
    if isinstance(value, np.random.RandomState):
        _, keys, *rest = cast(tuple[Any, ...], value.get_state(legacy=True))
        arrays[f"parameters/{name}"] = np.asarray(keys)
        return {"random_state": f"parameters/{name}", "rest": rest}
    try:
        arrays[f"parameters/{name}"] = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} cannot be saved; pickle the classifier, or write it with skops.") from None
    return {"array": f"parameters/{name}"}


def _decoded(value: Any, arrays: Arrays) -> Any:
    if not isinstance(value, dict):
        return value
    if "pairs" in value:
        return dict(value["pairs"])
    if "random_state" in value:
        state = np.random.RandomState()
        state.set_state(("MT19937", arrays[value["random_state"]], *value["rest"]))
        return state
    return arrays[value["array"]]


# Class labels: numbers as an array, strings as JSON.


def _labels_encoded(labels: NDArray[Any], arrays: Arrays) -> Any:
    if labels.dtype.kind in "biuf":
        arrays["classes"] = labels
        return {"array": "classes"}
    if all(isinstance(label, str) for label in labels.tolist()):
        return {"strings": labels.tolist(), "dtype": "U" if labels.dtype.kind == "U" else "O"}
    raise TypeError(
        f"classes of the type {labels.dtype}, such as {labels[0]!r}, cannot be saved; "
        "use numbers or strings as labels, or pickle the classifier."
    )


def _labels_decoded(encoded: Mapping[str, Any], arrays: Arrays) -> NDArray[Any]:
    numbers = "array" in encoded
    labels = arrays[encoded["array"]] if numbers else _strings(encoded["strings"], encoded["dtype"])
    _expect(labels.ndim == 1 and bool(np.all(labels[:-1] < labels[1:])), "class labels in order")
    return labels


def _strings(values: Any, dtype: str) -> NDArray[Any]:
    _expect(isinstance(values, list) and all(isinstance(value, str) for value in values), "strings")
    return np.array(values, dtype=object if dtype == "O" else np.str_)


# Scalers: the library's own, as arrays.


def _scaler_described(classifier: Any, arrays: Arrays) -> str | None:
    kind, fitted = classifier.scaler, classifier.scaler_
    if isinstance(fitted, NormalScores) and kind == "quantile":
        arrays["scaler/lengths"] = np.array([len(knots) for knots in fitted.knots_], dtype=np.int64)
        arrays["scaler/knots"] = np.concatenate(fitted.knots_)
        arrays["scaler/scores"] = np.concatenate(fitted.scores_)
        arrays["scaler/widths"] = fitted.widths_
    elif kind in ("standard", "minmax"):
        for name in _STANDARD if kind == "standard" else _MINMAX:
            arrays[f"scaler/{name}"] = np.asarray(getattr(fitted, name))
    elif kind is not None:
        raise TypeError(
            f"scaler={kind!r} cannot be saved: only the scalers {SCALERS} and None are known to every version. "
            "Pickle the classifier, write it with skops, or put the transformer before it in a Pipeline."
        )
    return None if kind is None else str(kind)


def _scaler_restored(kind: Any, classifier: Any, arrays: Arrays) -> Any:
    _expect(kind == classifier.scaler and (kind is None or kind in SCALERS), "scaler")
    n_features = classifier.n_features_in_
    scaler: Any = {None: FunctionTransformer(), "standard": StandardScaler(), "minmax": MinMaxScaler((-1, 1))}.get(kind)
    if kind == "quantile":
        scaler = _normal_scores(arrays, n_features)
    for name in {"standard": _STANDARD, "minmax": _MINMAX}.get(kind, ()):
        value = arrays[f"scaler/{name}"]
        _expect(value.shape == (n_features,) or (name == "n_samples_seen_" and value.ndim == 0), "scaler")
        setattr(scaler, name, value if value.ndim else value[()])
    scaler.n_features_in_ = n_features
    return scaler


def _normal_scores(arrays: Arrays, n_features: int) -> NormalScores:
    lengths, widths = arrays["scaler/lengths"], _floats(arrays, "scaler/widths")
    knots, scores = _floats(arrays, "scaler/knots"), _floats(arrays, "scaler/scores")
    _expect(lengths.shape == widths.shape == (n_features,) and lengths.dtype.kind == "i", "scaler")
    _expect(bool(np.all(lengths > 0)) and knots.shape == scores.shape == (int(lengths.sum()),), "scaler")
    scaler, ends = NormalScores(), np.cumsum(lengths)[:-1]
    scaler.knots_, scaler.scores_, scaler.widths_ = np.split(knots, ends), np.split(scores, ends), widths
    return scaler


# What a file says is checked even though its checksums are right.


def _expect(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(f"unexpected {what}")


def _floats(arrays: Arrays, name: str) -> NDArray[np.float64]:
    array = arrays[name]
    _expect(array.dtype == np.float64 and bool(np.all(np.isfinite(array))), name)
    return array


def _positive(value: Any) -> float:
    _expect(type(value) in (int, float) and 0 < value < float("inf"), "number")
    return float(value)


def _checked_int(value: Any) -> int:
    _expect(type(value) is int and value >= 0, "count")
    return int(value)
