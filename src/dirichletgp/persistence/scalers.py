"""Scalers in a model file: the library's own, as arrays."""

from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from .._gp.core.arrays import Integers
from .._gp.core.fields import (
    ABOVE_ZERO,
    COUNTS,
    FINITE,
    NOT_NEGATIVE,
    Numbers,
    check_arrays,
    expect,
    increasing,
)
from .._gp.rows.columns import Columns
from .._gp.rows.mixed import MixedScaler
from .._gp.rows.scaling import SCALERS, NormalScores
from .._gp.rows.target_codes import FOLDS, ScalerWithTargetCodes, TargetCodes
from .values import Arrays

# What a file must hold of each scaler. D is the number of its columns; the other letters are
# lengths of lists that stand one after the other.
_STANDARD = {
    "mean_": Numbers("D", FINITE),
    "var_": Numbers("D", (0.0, FINITE[1])),
    "scale_": Numbers("D", (1e-300, 1e300)),
}
_MINMAX = {
    "min_": Numbers("D", FINITE),
    "scale_": Numbers("D", ABOVE_ZERO),
    "data_min_": Numbers("D", FINITE),
    "data_max_": Numbers("D", FINITE),
    "data_range_": Numbers("D", (0.0, FINITE[1])),
}
_NORMAL_SCORES = {
    "scaler/lengths": Numbers("D", (1, COUNTS[1]), "int64"),
    "scaler/widths": Numbers("D", (0.0, FINITE[1])),
    "scaler/knots": Numbers("K", FINITE),
    "scaler/scores": Numbers("K", (-40.0, 40.0)),
}
_MIXED = {
    "scaler/holes": Numbers("D", (0, 1), "uint8"),
    "scaler/medians": Numbers("D", FINITE),
    "scaler/kept_counts": Numbers("D", COUNTS, "int64"),
    "scaler/kept": Numbers("K", COUNTS, holes=True),
    "scaler/as_codes": Numbers("1", (0, 1), "uint8"),
}
_TARGET_CODES = {
    "scaler/target/columns": Numbers("E", COUNTS, "int64"),
    "scaler/target/counts": Numbers("E", (1, COUNTS[1]), "int64"),
    "scaler/target/values": Numbers("V", FINITE),
    "scaler/target/sums": Numbers(f"V {FOLDS} C", NOT_NEGATIVE),
    "scaler/target/prior": Numbers("C", (1e-300, 1.0)),
}
_FIELDS_OF = {"standard": _STANDARD, "minmax": _MINMAX}


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
        for name in (*_FIELDS_OF[kind], "n_samples_seen_"):
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


def scaled_width(scaler: Any, columns: Columns) -> int:
    """How many scaled features a scaler makes of a row."""
    if isinstance(scaler, ScalerWithTargetCodes):
        scaler = scaler.scaler
    if not isinstance(scaler, MixedScaler):
        return columns.n_in
    n_codes = int(np.sum(scaler.levels > 0)) if scaler.as_codes else 0
    return int(scaler.n_scaled) + n_codes


def _describe_target_codes(codes: TargetCodes, arrays: Arrays) -> None:
    arrays["scaler/target/columns"] = codes.columns.astype(np.int64)
    arrays["scaler/target/counts"] = np.array([len(v) for v in codes.values], dtype=np.int64)
    arrays["scaler/target/values"] = np.concatenate(codes.values)
    arrays["scaler/target/sums"] = np.concatenate(codes.sums)
    arrays["scaler/target/prior"] = codes.prior


def _target_codes_restored(n_columns: int, arrays: Arrays) -> TargetCodes:
    sizes = check_arrays(_TARGET_CODES, arrays)
    columns, counts, values, sums, prior = (arrays[name] for name in _TARGET_CODES)
    expect(sizes["E"] > 0 and sizes["C"] > 1, "scaler")
    expect(bool(np.all(columns < n_columns)), "scaler")
    expect(_total(counts) == sizes["V"], "scaler")
    increasing(values, np.cumsum(counts), "scaler")
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
    sizes = check_arrays(_MIXED, arrays, {"D": len(levels)})
    holes, medians, counts, kept, as_codes = (arrays[name] for name in _MIXED)
    expect(_total(counts) == sizes["K"], "scaler")
    whole = np.isnan(kept) | (kept == np.round(kept))
    expect(bool(np.all(whole)), "scaler")
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
    for name, field in _FIELDS_OF.get(kind, {}).items():
        check_arrays({f"scaler/{name}": field}, arrays, {"D": n_features})
        setattr(scaler, name, arrays[f"scaler/{name}"])
    if kind in _FIELDS_OF:
        seen = arrays["scaler/n_samples_seen_"]
        expect(seen.shape in ((), (n_features,)) and seen.dtype.kind in "iuf", "scaler")
        expect(bool(np.all((seen >= 0) & (seen <= NOT_NEGATIVE[1]))), "scaler")
        scaler.n_samples_seen_ = seen if seen.ndim else seen[()]
    scaler.n_features_in_ = n_features
    return scaler


def _normal_scores(arrays: Arrays, n_features: int) -> NormalScores:
    sizes = check_arrays(_NORMAL_SCORES, arrays, {"D": n_features})
    lengths, widths, knots, scores = (arrays[name] for name in _NORMAL_SCORES)
    expect(_total(lengths) == sizes["K"], "scaler")
    increasing(knots, np.cumsum(lengths), "scaler")
    increasing(scores, np.cumsum(lengths), "scaler", strictly=False)
    ends = np.cumsum(lengths)[:-1]
    scaler = NormalScores()
    scaler.knots_ = np.split(knots, ends)
    scaler.scores_ = np.split(scores, ends)
    scaler.widths_ = widths
    return scaler


def _total(counts: Integers) -> int:
    """The sum of counts, however large they claim to be."""
    return sum(counts.tolist())
