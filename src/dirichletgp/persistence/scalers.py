"""Scalers in a model file: the library's own, as arrays."""

from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from .._gp.core.arrays import Integers
from .._gp.rows.columns import Columns
from .._gp.rows.mixed import MixedScaler
from .._gp.rows.scaling import SCALERS, NormalScores
from .._gp.rows.target_codes import FOLDS, ScalerWithTargetCodes, TargetCodes
from .values import Arrays, expect, floats

_STANDARD = ("mean_", "var_", "scale_", "n_samples_seen_")
_MINMAX = ("min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_")


def scaler_described(kind: Any, fitted: Any, arrays: Arrays) -> str | None:
    """The kind of a fitted scaler, if it is one of the library's; its numbers go to `arrays`."""
    if isinstance(fitted, ScalerWithTargetCodes):
        _describe_target_codes(fitted.codes, arrays)
        fitted = fitted.scaler
    if isinstance(fitted, MixedScaler):
        _describe_mixed(fitted, arrays)
        if fitted.scaler_ is None:
            return None if kind is None else str(kind)
        fitted = fitted.scaler_
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
    if "scaler/holes" not in arrays:
        expect(columns.is_plain, "scaler")
        return _numbers_restored(kind, columns.n_in, arrays)
    levels = columns.levels
    codes = None
    if "scaler/target/columns" in arrays:
        codes = _target_codes_restored(len(levels), arrays)
        levels = np.concatenate([levels, np.zeros(len(codes.origin), dtype=np.intp)])
    scaler = _mixed_restored(parameter, levels, arrays)
    n_numbers = scaler.n_scaled
    scaler.scaler_ = _numbers_restored(kind, n_numbers, arrays) if n_numbers else None
    return scaler if codes is None else ScalerWithTargetCodes(codes, scaler)


def _describe_target_codes(codes: TargetCodes, arrays: Arrays) -> None:
    arrays["scaler/target/columns"] = codes.columns.astype(np.int64)
    arrays["scaler/target/counts"] = np.array([len(v) for v in codes.values], dtype=np.int64)
    arrays["scaler/target/values"] = np.concatenate(codes.values)
    arrays["scaler/target/sums"] = np.concatenate(codes.sums)
    arrays["scaler/target/prior"] = codes.prior


def _target_codes_restored(n_columns: int, arrays: Arrays) -> TargetCodes:
    columns, counts = arrays["scaler/target/columns"], arrays["scaler/target/counts"]
    values = floats(arrays, "scaler/target/values")
    sums, prior = floats(arrays, "scaler/target/sums"), floats(arrays, "scaler/target/prior")
    expect(columns.dtype == counts.dtype == np.int64 and columns.ndim == 1, "scaler")
    expect(columns.shape == counts.shape and bool(np.all(counts > 0)), "scaler")
    expect(bool(np.all((columns >= 0) & (columns < n_columns))), "scaler")
    expect(values.shape == (int(counts.sum()),) and prior.ndim == 1 and len(prior) > 1, "scaler")
    expect(sums.ndim == 3 and sums.shape == (len(values), FOLDS, len(prior)), "scaler")
    expect(bool(np.all(sums >= 0) and np.all(prior > 0)), "scaler")
    ends = np.cumsum(counts)[:-1]
    return TargetCodes(
        columns.astype(np.intp), tuple(np.split(values, ends)), tuple(np.split(sums, ends)), prior
    )


def _describe_mixed(fitted: MixedScaler, arrays: Arrays) -> None:
    arrays["scaler/holes"] = np.asarray(fitted.holes_, dtype=np.uint8)
    arrays["scaler/medians"] = fitted.medians_
    arrays["scaler/kept"] = np.concatenate([np.empty(0), *fitted.kept_])
    arrays["scaler/kept_counts"] = np.array([len(kept) for kept in fitted.kept_], dtype=np.int64)
    arrays["scaler/as_codes"] = np.array([fitted.as_codes], dtype=np.uint8)


def _mixed_restored(parameter: Any, levels: Integers, arrays: Arrays) -> MixedScaler:
    holes, counts = arrays["scaler/holes"], arrays["scaler/kept_counts"]
    as_codes, kept = arrays["scaler/as_codes"], arrays["scaler/kept"]
    medians = floats(arrays, "scaler/medians")
    expect(holes.shape == counts.shape == medians.shape == levels.shape, "scaler")
    expect(holes.dtype == np.uint8 and counts.dtype == np.int64, "scaler")
    expect(as_codes.shape == (1,) and bool(np.all(counts >= 0)), "scaler")
    expect(kept.shape == (int(counts.sum()),) and kept.dtype == np.float64, "scaler")
    scaler = MixedScaler(parameter, levels, bool(as_codes[0]))
    scaler.holes_ = holes.astype(bool)
    scaler.medians_ = medians
    scaler.kept_ = np.split(kept, np.cumsum(counts)[:-1])
    scaler.width_ = scaler.n_scaled
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
