"""Scalers in a model file: the library's own, as arrays."""

from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from .._gp.rows.columns import Columns
from .._gp.rows.scaling import SCALERS, MixedScaler, NormalScores
from .values import Arrays, expect, floats

_STANDARD = ("mean_", "var_", "scale_", "n_samples_seen_")
_MINMAX = ("min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_")


def scaler_described(kind: Any, fitted: Any, arrays: Arrays) -> str | None:
    """The kind of a fitted scaler, if it is one of the library's; its numbers go to `arrays`."""
    if isinstance(fitted, MixedScaler):
        arrays["scaler/missing"] = np.asarray(fitted.missing_, dtype=np.uint8)
        if fitted.numbers_ is None:
            return None if kind is None else str(kind)
        fitted = fitted.numbers_
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
            f"scaler={kind!r} cannot be saved: only the scalers {SCALERS} and None are known to "
            "every version. Pickle the classifier, write it with skops, or put the transformer "
            "before it in a Pipeline."
        )
    return None if kind is None else str(kind)


def scaler_restored(kind: Any, parameter: Any, columns: Columns, arrays: Arrays) -> Any:
    """The fitted scaler that was described, of a classifier with this `scaler` parameter."""
    expect(kind == parameter and (kind is None or kind in SCALERS), "scaler")
    if columns.is_plain:
        return _numbers_restored(kind, columns.n_in, arrays)
    levels = columns.levels
    missing = arrays["scaler/missing"]
    expect(missing.shape == levels.shape and missing.dtype == np.uint8, "scaler")
    scaler = MixedScaler(parameter, levels)
    scaler.missing_ = missing.astype(bool)
    n_numbers = int(np.sum(levels == 0))
    scaler.numbers_ = _numbers_restored(kind, n_numbers, arrays) if n_numbers else None
    return scaler


def _numbers_restored(kind: Any, n_features: int, arrays: Arrays) -> Any:
    scaler: Any = {
        None: FunctionTransformer(),
        "standard": StandardScaler(),
        "minmax": MinMaxScaler((-1, 1)),
    }.get(kind)
    if kind == "quantile":
        scaler = _normal_scores(arrays, n_features)
    for name in {"standard": _STANDARD, "minmax": _MINMAX}.get(kind, ()):
        value = arrays[f"scaler/{name}"]
        expect(
            value.shape == (n_features,) or (name == "n_samples_seen_" and value.ndim == 0),
            "scaler",
        )
        setattr(scaler, name, value if value.ndim else value[()])
    scaler.n_features_in_ = n_features
    return scaler


def _normal_scores(arrays: Arrays, n_features: int) -> NormalScores:
    lengths, widths = arrays["scaler/lengths"], floats(arrays, "scaler/widths")
    knots, scores = floats(arrays, "scaler/knots"), floats(arrays, "scaler/scores")
    expect(lengths.shape == widths.shape == (n_features,) and lengths.dtype.kind == "i", "scaler")
    expect(
        bool(np.all(lengths > 0)) and knots.shape == scores.shape == (int(lengths.sum()),), "scaler"
    )
    ends = np.cumsum(lengths)[:-1]
    scaler = NormalScores()
    scaler.knots_ = np.split(knots, ends)
    scaler.scores_ = np.split(scores, ends)
    scaler.widths_ = widths
    return scaler
