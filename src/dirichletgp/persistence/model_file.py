"""A fitted classifier as a JSON object and named arrays in one file, and back."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._gp.core.arrays import Array
from .._gp.core.kernels import KERNELS
from .._gp.core.regressions import LabelTransform
from .._gp.core.statistics import ClassStatistics
from .._gp.rows.columns import Columns
from .._gp.rows.in_memory import Encoder
from .._gp.training.compact import CompactModel
from .._gp.training.fitted import (
    Features,
    FirstRows,
    Fitted,
    LeftOut,
    Model,
    basis_again,
    packed_grams,
    unpacked_grams,
)
from .archive import Archive, ModelFileError, read_archive, write_archive
from .compact_form import form_described, form_restored
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

_KIND = "classifier"
_EXTRAS = "extras/"
_WRONG_CONTENT = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def save(
    classifier: Any, path: str | os.PathLike[str], extras: Mapping[str, bytes] | None = None
) -> None:
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
    archive = _described(classifier)
    for name, value in (extras or {}).items():
        archive.arrays[_EXTRAS + name] = np.frombuffer(value, dtype=np.uint8)
    write_archive(path, _KIND, archive)


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
    return load_with_extras(path, cls)[0]


def load_with_extras(
    path: str | os.PathLike[str], cls: type[Classifier]
) -> tuple[Classifier, dict[str, bytes]]:
    """Read a classifier and the extras that were saved with it, as `load` and `read_extras` do."""
    archive = read_archive(path, _KIND)
    try:
        return _restored(archive, cls), _extras(archive)
    except _WRONG_CONTENT as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} does not describe a classifier: {error!r}"
        ) from error


def read_extras(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The extras that were saved with a classifier, by name."""
    return _extras(read_archive(path, _KIND))


def _extras(archive: Archive) -> dict[str, bytes]:
    return {
        name.removeprefix(_EXTRAS): array.tobytes()
        for name, array in archive.arrays.items()
        if name.startswith(_EXTRAS)
    }


def _described(classifier: Any) -> Archive:
    """A fitted classifier as a JSON object and arrays."""
    fitted: Fitted = classifier._fitted
    model = fitted.model
    arrays: Arrays = {}
    parameters = classifier.get_params(deep=False)
    kernel, kernel_arrays = model.kernel.described()
    content = {
        "parameters": {name: encoded(name, v, arrays) for name, v in parameters.items()},
        "classes": labels_encoded(fitted.classes, arrays),
        "n_features_in": fitted.features.number,
        "feature_names_in": fitted.features.names,
        "n_iter": fitted.n_iter,
        "history": fitted.history,
        "scaler": scaler_described(classifier.scaler, fitted.encoder.scaler, arrays),
        "kernel": kernel,
        "jitter": model.jitter,
        "transform": asdict(model.transform),
        "alpha_epsilon": model.alpha_epsilon,
    }
    columns = fitted.features.columns
    if not columns.is_plain:
        content["columns"] = columns.as_json()
    first_rows = fitted.first_rows
    if first_rows is not None:
        content["warm_up"] = first_rows.trained_at
        names = ("X", "codes", "weights")
        arrays |= {f"warm_up/{name}": getattr(first_rows, name) for name in names}
    if fitted.encoder.class_factors is not None:
        arrays["class_factors"] = fitted.encoder.class_factors
    statistics = model.statistics
    arrays |= kernel_arrays
    arrays |= {"points": model.points, "prior": model.prior, "counts": statistics.counts}
    if isinstance(model, CompactModel):
        content["compact"], form = form_described(model)
        arrays |= form
        return Archive(content, arrays)
    arrays["sums"] = statistics.sums
    arrays["grams"] = packed_grams(statistics.grams)
    if model.left_out is not None:
        arrays |= {f"left_out/{name}": value for name, value in vars(model.left_out).items()}
    return Archive(content, arrays)


def _restored(archive: Archive, cls: type[Classifier]) -> Classifier:
    """The classifier that `_described` was given."""
    content, arrays = archive
    unknown = set(content["parameters"]) - set(cls._get_param_names())
    if unknown:
        raise ValueError(f"unknown parameters {sorted(unknown)}")
    parameters = {name: decoded(v, arrays) for name, v in content["parameters"].items()}
    classifier: Any = cls(**parameters)
    features = _features_restored(content)
    scaler = scaler_restored(content["scaler"], classifier.scaler, features.columns, arrays)
    factors = floats(arrays, "class_factors") if "class_factors" in arrays else None
    encoder = Encoder(labels_decoded(content["classes"], arrays), factors, scaler)
    model = _model_restored(content, arrays, bool(classifier.ard))
    expect(len(encoder.classes) == len(model.prior) > 1, "number of classes")
    expect(factors is None or factors.shape == model.prior.shape, "class weights")
    classifier._result = Fitted(
        encoder=encoder,
        features=features,
        model=model,
        n_iter=whole_number(content["n_iter"]),
        history=_history_restored(content.get("history", [])),
        first_rows=_first_rows_restored(content, features, len(encoder.classes), arrays),
    )
    return classifier


def _features_restored(content: Mapping[str, Any]) -> Features:
    number = whole_number(content["n_features_in"])
    names = content["feature_names_in"]
    if names is not None:
        names = strings(names, "O").tolist()
        expect(len(names) == number, "feature names")
    if "columns" not in content:
        return Features(Columns(number, names))
    columns = Columns.from_json(content["columns"])
    expect((columns.n_in, columns.names_in) == (number, names), "columns")
    return Features(columns)


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


def _first_rows_restored(
    content: Mapping[str, Any], features: Features, n_classes: int, arrays: Arrays
) -> FirstRows | None:
    if "warm_up" not in content:
        return None
    X, codes, weights = (arrays[f"warm_up/{name}"] for name in ("X", "codes", "weights"))
    expect(X.shape == (len(codes), len(features.columns.levels)), "rows")
    expect(codes.shape == weights.shape, "rows")
    expect(X.dtype.kind == "f" and codes.dtype == np.int64, "rows")
    expect(weights.dtype == np.float64, "rows")
    expect(bool(np.all((codes >= 0) & (codes < n_classes))), "rows")
    return FirstRows(X, codes, weights, whole_number(content["warm_up"]))


def _model_restored(content: Mapping[str, Any], arrays: Arrays, ard: bool) -> Model:
    points, prior = floats(arrays, "points"), floats(arrays, "prior")
    counts = floats(arrays, "counts")
    (m, d), c = points.shape, len(prior)
    expect(prior.shape == counts.shape == (c,) and m > 0 and d > 0, "shapes of the arrays")
    expect(bool(np.all(prior > 0)), "prior")
    kernel = KERNELS[content["kernel"]["family"]].restored(content["kernel"], arrays, ard)
    expect(kernel.fits(d), "number of features of the kernel")
    transform = content["transform"]
    jitter = positive_number(content["jitter"])
    try:
        basis = basis_again(kernel, points, jitter)
    except np.linalg.LinAlgError as error:
        raise ValueError("the kernel matrix of the inducing points cannot be factored") from error
    parts: dict[str, Any] = {
        "basis": basis,
        "jitter": jitter,
        "transform": LabelTransform(
            target_in=float(transform["target_in"]),
            target_out=float(transform["target_out"]),
            noise_in=positive_number(transform["noise_in"]),
            noise_out=positive_number(transform["noise_out"]),
        ),
        "prior": prior,
        "alpha_epsilon": positive_number(content["alpha_epsilon"]),
    }
    if "compact" in content:
        nothing = ClassStatistics(counts, np.empty((c, 0)), np.empty((0, 0, 0)))
        form = form_restored(content["compact"], arrays, c, m)
        bound = float(content["compact"]["bound"])
        return CompactModel(**parts, statistics=nothing, form=form, known_bound=bound)
    left_out = _left_out_restored(arrays, c) if "left_out/keys" in arrays else None
    return Model(**parts, statistics=_statistics_restored(arrays, counts, m), left_out=left_out)


def _statistics_restored(arrays: Arrays, counts: Array, n_points: int) -> ClassStatistics:
    sums, packed = floats(arrays, "sums"), floats(arrays, "grams")
    shapes = (len(counts), n_points), (len(counts), n_points * (n_points + 1) // 2)
    expect((sums.shape, packed.shape) == shapes, "shapes of the arrays")
    return ClassStatistics(counts, sums, unpacked_grams(packed, n_points))


def _left_out_restored(arrays: Arrays, n_classes: int) -> LeftOut:
    keys = arrays["left_out/keys"]
    mean, variance = floats(arrays, "left_out/mean"), floats(arrays, "left_out/variance")
    expect(keys.dtype == np.uint64 and keys.ndim == 1 and len(keys) > 0, "left-out predictions")
    expect(mean.shape == variance.shape == (len(keys), n_classes), "left-out predictions")
    expect(bool(np.all(variance >= 0)), "left-out predictions")
    return LeftOut(keys, mean, variance)
