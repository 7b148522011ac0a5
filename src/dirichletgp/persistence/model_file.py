"""A fitted classifier as a JSON object and named arrays, and back: what `save` writes and `load` reads."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from .._gp.core.kernels import KERNELS, Kernel
from .._gp.core.labels import LabelTransform
from .._gp.core.model import Model, packed_grams, unpacked_grams
from .._gp.core.statistics import ClassStatistics
from .._gp.training.warm_up import WarmUp
from .archive import Archive
from .scalers import scaler_described, scaler_restored
from .values import (
    Arrays,
    decoded,
    encoded,
    expect,
    floats,
    labels_decoded,
    labels_encoded,
    positive_number,
    strings,
    whole_number,
)

Classifier = TypeVar("Classifier", bound=BaseEstimator)


def described(classifier: Any) -> tuple[dict[str, Any], Arrays]:
    """A fitted classifier as a JSON object and arrays."""
    arrays: Arrays = {}
    scaler, model = scaler_described(classifier, arrays), classifier._model
    parameters = classifier.get_params(deep=False)
    content = {
        "parameters": {name: encoded(name, value, arrays) for name, value in parameters.items()},
        "classes": labels_encoded(classifier.classes_, arrays),
        "n_features_in": classifier.n_features_in_,
        "feature_names_in": list(getattr(classifier, "feature_names_in_", [])) or None,
        "n_iter": classifier.n_iter_,
        "history": getattr(classifier, "history_", []),
        "scaler": scaler,
        "kernel": {"family": model.kernel.family, "variance": model.kernel.variance},
        "jitter": model.jitter,
        "transform": vars(model.transform),
        "alpha_epsilon": model.alpha_epsilon,
    }
    if classifier._warm_up is not None:
        content["warm_up"] = classifier._warm_up.trained_at
        arrays |= {
            f"warm_up/{name}": getattr(classifier._warm_up, name)
            for name in ("X", "codes", "weights")
        }
    if classifier._class_factors is not None:
        arrays["class_factors"] = classifier._class_factors
    statistics = model.statistics
    arrays |= {
        "lengthscale": model.kernel.lengthscale,
        "points": model.points,
        "prior": model.prior,
    }
    arrays |= {
        "counts": statistics.counts,
        "sums": statistics.sums,
        "grams": packed_grams(statistics.grams),
    }
    return content, arrays


def restored(archive: Archive, cls: type[Classifier]) -> Classifier:
    """The classifier that `described` was given."""
    content, arrays = archive
    names = cls._get_param_names()
    unknown = set(content["parameters"]) - set(names)
    if unknown:
        raise ValueError(f"unknown parameters {sorted(unknown)}")
    classifier: Any = cls(
        **{name: decoded(value, arrays) for name, value in content["parameters"].items()}
    )
    classifier.classes_ = labels_decoded(content["classes"], arrays)
    classifier.n_features_in_ = whole_number(content["n_features_in"])
    if content["feature_names_in"] is not None:
        classifier.feature_names_in_ = strings(content["feature_names_in"], "O")
        expect(len(classifier.feature_names_in_) == classifier.n_features_in_, "feature names")
    classifier.n_iter_ = whole_number(content["n_iter"])
    classifier.history_ = _history_restored(content.get("history", []))
    classifier.scaler_ = scaler_restored(content["scaler"], classifier, arrays)
    classifier._class_factors = (
        floats(arrays, "class_factors") if "class_factors" in arrays else None
    )
    model = _model_restored(content, arrays)
    expect(len(classifier.classes_) == len(model.prior) > 1, "number of classes")
    expect(
        classifier._class_factors is None or classifier._class_factors.shape == model.prior.shape,
        "class weights",
    )
    classifier._keep(model)
    classifier._warm_up = (
        _warm_up_restored(content["warm_up"], classifier, arrays) if "warm_up" in content else None
    )
    return classifier


def _history_restored(stages: Any) -> list[dict[str, Any]]:
    expect(isinstance(stages, list), "history")
    return [
        {
            "stage": str(stage["stage"]),
            "seconds": float(stage["seconds"]),
            "note": str(stage["note"]),
            "bound_per_row": [float(value) for value in stage["bound_per_row"]],
        }
        for stage in stages
    ]


def _warm_up_restored(trained_at: Any, classifier: Any, arrays: Arrays) -> WarmUp:
    X, codes, weights = (arrays[f"warm_up/{name}"] for name in ("X", "codes", "weights"))
    expect(
        X.shape == (len(codes), classifier.n_features_in_) and codes.shape == weights.shape, "rows"
    )
    expect(X.dtype.kind == "f" and codes.dtype == np.int64 and weights.dtype == np.float64, "rows")
    expect(bool(np.all((codes >= 0) & (codes < len(classifier.classes_)))), "rows")
    return WarmUp(X, codes, weights, whole_number(trained_at))


def _model_restored(content: Mapping[str, Any], arrays: Arrays) -> Model:
    points, lengthscale, prior = (
        floats(arrays, name) for name in ("points", "lengthscale", "prior")
    )
    counts, sums, packed = (floats(arrays, name) for name in ("counts", "sums", "grams"))
    (m, d), c = points.shape, len(prior)
    shapes = [a.shape for a in (lengthscale, prior, counts, sums, packed)]
    expect(
        shapes == [(d,), (c,), (c,), (c, m), (c, m * (m + 1) // 2)] and m > 0 and d > 0,
        "shapes of the arrays",
    )
    expect(bool(np.all(lengthscale > 0) and np.all(prior > 0)), "positive lengthscales and priors")
    family, variance = content["kernel"]["family"], positive_number(content["kernel"]["variance"])
    expect(family in KERNELS, "kernel")
    transform = {name: float(content["transform"][name]) for name in ("target_in", "target_out")}
    noises = {
        name: positive_number(content["transform"][name]) for name in ("noise_in", "noise_out")
    }
    return Model(
        Kernel(family, lengthscale, variance),
        points,
        positive_number(content["jitter"]),
        ClassStatistics(counts, sums, unpacked_grams(packed, m)),
        LabelTransform(**transform, **noises),
        prior,
        positive_number(content["alpha_epsilon"]),
    )
