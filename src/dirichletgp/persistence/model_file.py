"""A fitted classifier as a JSON object and named arrays in one file, and back."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._gp.core.fields import (
    ABOVE_ZERO,
    COUNTS,
    FINITE,
    MODERATE,
    NOT_NEGATIVE,
    POSITIVE,
    Numbers,
    check_arrays,
    expect,
    real_number,
    text,
    texts,
    whole_number,
)
from .._gp.core.kernels import KERNELS, Kernel
from .._gp.core.kernels.product import MISSING
from .._gp.core.regressions import LabelTransform
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
)
from .._gp.training.regional import AnyModel, RegionalModel
from .archive import Archive, ModelFileError, read_archive, write_archive
from .beliefs import beliefs_described, beliefs_restored
from .compact_form import compact_restored, form_described
from .compact_regions import (
    COMPACT_REGIONS,
    compact_regions_described,
    compact_regions_restored,
)
from .correction import correction_described, correction_restored
from .file_kinds import MODEL, check_replaceable
from .parameters import check_parameters
from .regions import regions_described, regions_restored
from .remembered import (
    background_restored,
    copies_restored,
    remembered_described,
    scores_restored,
    seen_restored,
)
from .scalers import scaled_width, scaler_described, scaler_restored
from .statistics import statistics_restored
from .values import Arrays, decoded, encoded, labels_decoded, labels_encoded, transform_restored

Classifier = TypeVar("Classifier", bound=BaseEstimator)

_KIND = "classifier"
_EXTRAS = "extras/"
_WRONG_CONTENT = (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError)
# What a file must hold: C classes, M points, D scaled features, N rows. Kernels, scalers and
# columns say what theirs must be; a file may hold more, which is left alone.
_MODEL = {
    "points": Numbers("M D", (MISSING, MODERATE[1])),
    "prior": Numbers("C", (ABOVE_ZERO[0], 1.0)),
}
_CLASS_FACTORS = {"class_factors": Numbers("C", ABOVE_ZERO)}
_LEFT_OUT = {
    "left_out/keys": Numbers("N", (0, 2**64), "uint64"),
    "left_out/mean": Numbers("N C"),
    "left_out/variance": Numbers("N C", NOT_NEGATIVE),
}
_FIRST_ROWS = {
    "warm_up/codes": Numbers("N", COUNTS, "int64"),
    "warm_up/weights": Numbers("N", NOT_NEGATIVE),
}
# What parameters amounted to before there were any: files of then predict what they did then.
_BEFORE = {"tolerance": 0.0}


def save(
    classifier: Any,
    path: str | os.PathLike[str],
    extras: Mapping[str, bytes] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a fitted `DirichletGPClassifier` to one file, in one step.

    Parameters
    ----------
    classifier : DirichletGPClassifier
        Fitted. Its scaler must be one of the library's own.
    path : str or path-like
    extras : mapping from str to bytes, default=None
        Kept in the file and given back by `read_extras`.
    overwrite : bool, default=False
        Whether to replace an existing file that is no model; `FileExistsError` otherwise.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from dirichletgp.persistence import read_extras, save
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.dgp")
    ...     save(classifier, path, extras={"note": b"measured in March"})
    ...     read_extras(path)
    {'note': b'measured in March'}
    """
    check_is_fitted(classifier)
    check_replaceable(path, MODEL, overwrite)
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

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from dirichletgp.persistence import load, save
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.dgp")
    ...     save(classifier, path)
    ...     again = load(path, DirichletGPClassifier)
    >>> bool((again.predict_proba(X) == classifier.predict_proba(X)).all())
    True
    """
    return load_with_extras(path, cls)[0]


def load_with_extras(
    path: str | os.PathLike[str], cls: type[Classifier]
) -> tuple[Classifier, dict[str, bytes]]:
    """Read a classifier and the extras that were saved with it, as `load` and `read_extras` do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from dirichletgp.persistence import load_with_extras, save
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.dgp")
    ...     save(classifier, path, extras={"note": b"measured in March"})
    ...     again, extras = load_with_extras(path, DirichletGPClassifier)
    >>> extras
    {'note': b'measured in March'}
    """
    archive = read_archive(path, _KIND)
    try:
        return _restored(archive, cls), _extras(archive)
    except _WRONG_CONTENT as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} does not describe a classifier: {error!r}"
        ) from error


def read_extras(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The extras that were saved with a classifier, by name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from dirichletgp.persistence import read_extras, save
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.dgp")
    ...     save(classifier, path)
    ...     read_extras(path)
    {}
    """
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
    # First, because it says best why a scaler cannot be saved.
    scaler = scaler_described(classifier.scaler, fitted.encoder.scaler, arrays)
    content = {
        "parameters": {name: encoded(name, v, arrays) for name, v in parameters.items()},
        "classes": labels_encoded(fitted.classes, arrays),
        "n_features_in": fitted.features.number,
        "feature_names_in": fitted.features.names,
        "n_iter": fitted.n_iter,
        "history": fitted.history,
        "scaler": scaler,
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
    arrays |= kernel_arrays
    arrays |= {"points": model.points, "prior": model.prior, "counts": model.statistics.counts}
    if isinstance(model, CompactModel):
        content["compact"], form = form_described(model)
        arrays |= form
    elif isinstance(model, RegionalModel) and model.learns:
        arrays |= regions_described(model)
    elif isinstance(model, RegionalModel):
        forms, form_arrays = compact_regions_described(model)
        content |= forms
        arrays |= form_arrays
    else:
        arrays["sums"] = model.statistics.sums
        arrays["grams"] = packed_grams(model.statistics.grams)
    beliefs, belief_arrays = beliefs_described(model)
    content |= beliefs
    arrays |= belief_arrays
    correction, correction_arrays = correction_described(model)
    content |= correction
    arrays |= correction_arrays
    if model.left_out is not None:
        arrays |= {f"left_out/{name}": value for name, value in vars(model.left_out).items()}
    remembered, remembered_arrays = remembered_described(fitted)
    return Archive(content | remembered, arrays | remembered_arrays)


def _restored(archive: Archive, cls: type[Classifier]) -> Classifier:
    """The classifier that `_described` was given."""
    content, arrays = archive
    unknown = set(content["parameters"]) - set(cls._get_param_names())
    if unknown:
        raise ValueError(f"unknown parameters {sorted(unknown)}")
    parameters = {name: decoded(v, arrays) for name, v in content["parameters"].items()}
    before = {name: v for name, v in _BEFORE.items() if name in cls._get_param_names()}
    classifier: Any = cls(**before | parameters)
    sizes = check_arrays(_MODEL, arrays)
    # A model of regions that only count has no points.
    has_points = sizes["M"] > 0 or "regions/children" in arrays
    expect(has_points and sizes["D"] > 0 and sizes["C"] > 1, "shapes of the arrays")
    features = _features_restored(content, sizes["D"])
    encoder = _encoder_restored(content, classifier.scaler, features, arrays, sizes)
    kernel = KERNELS[content["kernel"]["family"]].restored(
        content["kernel"], arrays, bool(classifier.ard)
    )
    expect(kernel.fits(sizes["D"], encoder.categories), "number of features of the kernel")
    model = _model_restored(content, kernel, arrays, sizes)
    check_parameters(classifier, features.columns, encoder, sizes["D"])
    classifier._result = Fitted(
        encoder=encoder,
        features=features,
        model=model,
        n_iter=whole_number(content["n_iter"], "number of evaluations"),
        history=_history_restored(content.get("history", [])),
        first_rows=_first_rows_restored(content, features, sizes["C"], arrays),
        scores=scores_restored(content, arrays, sizes["C"]),
        seen=seen_restored(content, arrays),
        background=background_restored(arrays, sizes["D"]),
        copies=copies_restored(content, arrays, sizes["C"]),
    )
    return classifier


def _features_restored(content: Mapping[str, Any], n_scaled: int) -> Features:
    n_in = whole_number(content["n_features_in"], "number of features")
    names = content["feature_names_in"]
    if names is not None:
        names = texts(names, "feature names")
        expect(len(names) == n_in, "feature names")
    if "columns" not in content:
        # Every number is a scaled feature.
        expect(0 < n_in <= n_scaled, "number of features")
        return Features(Columns(n_in, names))
    columns = Columns.from_json(content["columns"])
    expect((columns.n_in, columns.names_in) == (n_in, names), "columns")
    return Features(columns)


def _encoder_restored(
    content: Mapping[str, Any],
    parameter: Any,
    features: Features,
    arrays: Arrays,
    sizes: dict[str, int],
) -> Encoder:
    """Classes, class weights and scaler; `parameter` is the `scaler` of the classifier."""
    scaler = scaler_restored(content["scaler"], parameter, features.columns, arrays)
    expect(scaled_width(scaler, features.columns) == sizes["D"], "number of scaled features")
    factors = None
    if "class_factors" in arrays:
        check_arrays(_CLASS_FACTORS, arrays, sizes)
        factors = arrays["class_factors"]
    classes = labels_decoded(content["classes"], arrays)
    expect(len(classes) == sizes["C"], "number of classes")
    return Encoder(classes, factors, scaler)


def _model_restored(
    content: Mapping[str, Any], kernel: Kernel, arrays: Arrays, sizes: dict[str, int]
) -> AnyModel:
    points, prior = arrays["points"], arrays["prior"]
    expect(abs(float(prior.sum()) - 1.0) < 1e-6, "prior")
    jitter = real_number(content["jitter"], "jitter", (1e-100, 1.0))
    transform = transform_restored(content["transform"])
    alpha = real_number(content["alpha_epsilon"], "alpha_epsilon", POSITIVE)
    try:
        if "regions/children" in arrays:
            if COMPACT_REGIONS in content:
                of_all = (arrays, sizes, kernel, transform, alpha)
                return compact_regions_restored(content, *of_all)
            return regions_restored(arrays, sizes, kernel, transform, alpha)
        basis = basis_again(kernel, points, jitter)
    except np.linalg.LinAlgError as error:
        raise ValueError("the kernel matrix of the inducing points cannot be factored") from error
    parts: dict[str, Any] = {
        "basis": basis,
        "jitter": jitter,
        "transform": transform,
        "prior": prior,
        "alpha_epsilon": alpha,
        "beliefs": beliefs_restored(content, arrays, sizes) if "beliefs" in arrays else None,
    }
    if "compact" in content:
        # They cannot be learned again without the statistics.
        expect(parts["beliefs"] is not None, "absence of beliefs about log-odds")
        return compact_restored(parts, content["compact"], arrays, sizes)
    transforms = [transform, LabelTransform.dirichlet(alpha)]
    if len(arrays["grams"]) == 1:
        transforms[1] = LabelTransform.even(alpha, prior)
    return Model(
        **parts,
        statistics=statistics_restored(arrays, sizes, transforms),
        left_out=_left_out_restored(arrays, sizes) if "left_out/keys" in arrays else None,
        correction=correction_restored(content, arrays, sizes),
    )


def _left_out_restored(arrays: Arrays, sizes: dict[str, int]) -> LeftOut:
    found = check_arrays(_LEFT_OUT, arrays, {"C": sizes["C"]})
    keys, mean, variance = (arrays[name] for name in _LEFT_OUT)
    expect(found["N"] > 0 and bool(np.all(keys[:-1] <= keys[1:])), "left-out predictions")
    return LeftOut(keys, mean, variance)


def _history_restored(stages: Any) -> list[dict[str, Any]]:
    expect(isinstance(stages, list), "history")
    return [
        {
            "stage": text(stage["stage"], "history"),
            "seconds": real_number(stage["seconds"], "history", NOT_NEGATIVE),
            "note": text(stage["note"], "history"),
            "bound_per_row": [real_number(value, "history") for value in stage["bound_per_row"]],
        }
        for stage in stages
    ]


def _first_rows_restored(
    content: Mapping[str, Any], features: Features, n_classes: int, arrays: Arrays
) -> FirstRows | None:
    if "warm_up" not in content:
        return None
    sizes = check_arrays(_FIRST_ROWS, arrays)
    codes, weights = (arrays[name] for name in _FIRST_ROWS)
    expect(bool(np.all(codes < n_classes)), "rows")
    X = arrays["warm_up/X"]
    expect(X.dtype in (np.float32, np.float64), "rows")
    rows = Numbers("N D", FINITE, str(X.dtype), holes=True)
    rows.check("warm_up/X", X, {"N": sizes["N"], "D": len(features.columns.levels)})
    return FirstRows(X, codes, weights, whole_number(content["warm_up"], "number of rows"))
