"""How good, and how honest, are predicted probabilities?

Error rate, mean negative log-likelihood (MNLL) and expected calibration error (ECE). All that is
said about calibration goes through one object, the `ReliabilityCurve`: rows are binned by
confidence once, and the ECE, the class-wise ECE and the reliability diagram of
`dirichletgp.plotting` read the same bins.

Probabilities are an array (n, C) whose columns follow `labels` or, for two classes, an array (n,)
of probabilities of the second label. Sample weights have repeat semantics: a row of weight 2
counts as two rows, a row of weight 0 as none.
"""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import dataclass
from math import log
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ReliabilityCurve",
    "classwise_calibration_error",
    "error_rate",
    "expected_calibration_error",
    "mean_negative_log_likelihood",
    "reliability_curve",
]

Array = NDArray[np.float64]
Strategy = Literal["uniform", "quantile"]
Confidence = Literal["mean", "midpoint"]

# log of 2**-1074, the smallest positive double: the charge for an event declared impossible.
LOG_OF_ZERO = -1074 * log(2.0)

# Sums further from one, or numbers further outside [0, 1], are mistakes and not rounding.
SUM_TOLERANCE = 1e-3
RANGE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class ReliabilityCurve:
    """Accuracy as a function of confidence, over B bins.

    Attributes
    ----------
    bin_edges : ndarray of shape (B + 1,)
        Bin b holds the confidences in (bin_edges[b], bin_edges[b + 1]]; the first one also holds
        its lower edge.
    accuracy : ndarray of shape (B,)
        Proportion of the bin's rows for which the predicted event came true; NaN in an empty bin.
    confidence : ndarray of shape (B,)
        Mean confidence of the bin's rows (NaN in an empty bin), or the middle of the bin.
    mass : ndarray of shape (B,)
        Proportion of all rows that fall into the bin; sums to one.

    Examples
    --------
    >>> import numpy as np
    >>> from dirichletgp.metrics import ReliabilityCurve
    >>> curve = ReliabilityCurve(
    ...     bin_edges=np.array([0.0, 0.5, 1.0]),
    ...     accuracy=np.array([0.25, 1.0]),
    ...     confidence=np.array([0.25, 0.75]),
    ...     mass=np.array([0.5, 0.5]),
    ... )
    >>> curve.calibration_error
    0.125
    """

    bin_edges: Array
    accuracy: Array
    confidence: Array
    mass: Array

    @property
    def calibration_error(self) -> float:
        """Distance between accuracy and confidence, averaged over the rows."""
        occupied = self.mass > 0
        gap = np.abs(self.accuracy - self.confidence)[occupied]
        return float(self.mass[occupied] @ gap)


def reliability_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    confidence: Confidence = "mean",
    pos_label: Any = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """Bin the rows by confidence and measure the accuracy in each bin.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_prob : array-like of shape (n, C), or (n,) for two classes
        Predicted probabilities; (n,) means the probability of the second label.
    n_bins : int, default=10
        Number of bins. Bins of equal mass are fewer where ties leave nothing to divide.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width on [0, 1], or of equal mass.
    confidence : {"mean", "midpoint"}, default="mean"
        The confidence of a bin: the mean over its rows, or the middle of the bin.
    pos_label : label, default=None
        None: the confidence of a row is its largest probability, and the event is that the
        predicted class is the true one. A label: the confidence is the probability of that class,
        and the event is that it is the true one.
    labels : array-like of shape (C,), default=None
        The class of every column of `y_prob`; None: the sorted classes in `y_true`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; None: all one.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> from dirichletgp.metrics import reliability_curve
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], n_bins=2, pos_label=1)
    >>> curve.accuracy.round(3).tolist(), curve.confidence.round(3).tolist(), curve.mass.tolist()
    ([0.333, 1.0], [0.283, 0.8], [0.75, 0.25])
    """
    true_column, prob, weight, classes = _checked(y_true, y_prob, labels, sample_weight)
    if pos_label is None:
        score, event = prob.max(axis=1), prob.argmax(axis=1) == true_column
    else:
        if pos_label not in classes:
            raise ValueError(f"pos_label={pos_label!r} is not one of the classes {classes}")
        column = classes.index(pos_label)
        score, event = prob[:, column], true_column == column
    return _binned(score, event, weight, n_bins, strategy, confidence)


def expected_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    confidence: Confidence = "mean",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Expected calibration error (ECE) of the predicted class.

    The confidence of a row is its largest probability. ECE is the distance between accuracy and
    confidence in a row's bin, averaged over the rows (Guo et al., 2017).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_prob : array-like of shape (n, C), or (n,) for two classes
        Predicted probabilities; (n,) means the probability of the second label.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width on [0, 1], or of equal mass.
    confidence : {"mean", "midpoint"}, default="mean"
        The confidence of a bin: the mean over its rows, or the middle of the bin.
    labels : array-like of shape (C,), default=None
        The class of every column of `y_prob`; None: the sorted classes in `y_true`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; None: all one.

    Returns
    -------
    float
        Between 0 and 1; 0 is best.

    Notes
    -----
    The experiments of Milios et al. (2018) took the middle of a bin as its confidence, so that a
    perfectly calibrated predictor that is always 0.999 sure scores 0.049;
    ``confidence="midpoint"`` is that definition. (Their code also lets every empty bin count as
    one wrong row, which adds about 1/n; here an empty bin counts nothing.)

    References
    ----------
    Guo, Pleiss, Sun and Weinberger: On calibration of modern neural networks. ICML 2017.

    Examples
    --------
    >>> from dirichletgp.metrics import expected_calibration_error
    >>> y_prob = [[0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.3, 0.7]]
    >>> round(expected_calibration_error(["no", "no", "no", "yes"], y_prob), 3)
    0.35
    """
    true_column, prob, weight, _ = _checked(y_true, y_prob, labels, sample_weight)
    event = prob.argmax(axis=1) == true_column
    curve = _binned(prob.max(axis=1), event, weight, n_bins, strategy, confidence)
    return curve.calibration_error


def classwise_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    confidence: Confidence = "mean",
    per_class: bool = False,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float | Array:
    """Calibration error of every class against the rest, or its mean over the classes.

    Unlike the ECE of the predicted class, it looks at every probability of a row.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_prob : array-like of shape (n, C), or (n,) for two classes
        Predicted probabilities; (n,) means the probability of the second label.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width on [0, 1], or of equal mass.
    confidence : {"mean", "midpoint"}, default="mean"
        The confidence of a bin: the mean over its rows, or the middle of the bin.
    per_class : bool, default=False
        Return one number per class instead of their mean.
    labels : array-like of shape (C,), default=None
        The class of every column of `y_prob`; None: the sorted classes in `y_true`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; None: all one.

    Returns
    -------
    float, or ndarray of shape (C,) if per_class

    Examples
    --------
    >>> from dirichletgp.metrics import classwise_calibration_error
    >>> y_prob = [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]
    >>> round(classwise_calibration_error(["a", "b", "c"], y_prob), 3)
    0.2
    >>> classwise_calibration_error(["a", "b", "c"], y_prob, per_class=True).round(3).tolist()
    [0.167, 0.233, 0.2]
    """
    true_column, prob, weight, classes = _checked(y_true, y_prob, labels, sample_weight)
    errors = np.empty(len(classes))
    for column in range(len(classes)):
        event = true_column == column
        curve = _binned(prob[:, column], event, weight, n_bins, strategy, confidence)
        errors[column] = curve.calibration_error
    return errors if per_class else float(errors.mean())


def mean_negative_log_likelihood(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean negative log-likelihood (MNLL): minus the mean log probability of the true class.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_prob : array-like of shape (n, C), or (n,) for two classes
        Predicted probabilities; (n,) means the probability of the second label.
    labels : array-like of shape (C,), default=None
        The class of every column of `y_prob`; None: the sorted classes in `y_true`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; None: all one.

    Returns
    -------
    float
        In nats, at least 0; 0 is best.

    Notes
    -----
    A positive probability counts as it is, however small. A true class of probability exactly
    zero, which would make the mean infinite, is charged 744.4 nats, those of the smallest positive
    double 2^-1074 (the experiments of Milios et al. charged 750).

    Examples
    --------
    >>> from dirichletgp.metrics import mean_negative_log_likelihood
    >>> round(mean_negative_log_likelihood([0, 1, 1], [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]), 4)
    0.3406
    """
    true_column, prob, weight, _ = _checked(y_true, y_prob, labels, sample_weight)
    likelihood = prob[np.arange(len(true_column)), true_column]
    log_likelihood = np.full(len(likelihood), LOG_OF_ZERO)
    np.log(likelihood, out=log_likelihood, where=likelihood > 0)
    return float(-np.average(log_likelihood, weights=weight))


def error_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Proportion of rows whose predicted class is not the true one.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,) or (n, C)
        Predicted labels (n,), or predicted probabilities: (n, C), or (n,) for two classes. An
        array (n,) holds probabilities if any of its numbers is not whole, and labels otherwise.
    labels : array-like of shape (C,), default=None
        The class of every column of probabilities; None: the sorted classes in `y_true`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; None: all one.

    Returns
    -------
    float
        Between 0 and 1; 0 is best.

    Examples
    --------
    >>> from dirichletgp.metrics import error_rate
    >>> error_rate(["no", "no", "yes", "yes"], ["no", "yes", "yes", "yes"])
    0.25
    >>> error_rate(["no", "no", "yes", "yes"], [[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.1, 0.9]])
    0.25
    """
    prediction = np.asarray(y_pred)
    if prediction.ndim == 2 or _has_fractions(prediction):
        true_column, prob, weight, _ = _checked(y_true, prediction, labels, sample_weight)
        return float(np.average(prob.argmax(axis=1) != true_column, weights=weight))
    truth, predicted = _as_labels(y_true, "y_true"), _as_labels(y_pred, "y_pred")
    _check_same_length("y_pred", len(predicted), len(truth))
    if (truth.dtype.kind == "U") != (predicted.dtype.kind == "U"):
        raise ValueError(
            f"y_pred holds labels like {predicted[0]!r} and y_true labels like {truth[0]!r}, which "
            "can never be equal; pass labels of one type, or probabilities of shape (n, C)"
        )
    weight = _checked_weight(sample_weight, len(truth))
    return float(np.average(predicted != truth, weights=weight))


def _binned(
    score: Array,
    event: NDArray[np.bool_],
    weight: Array,
    n_bins: int,
    strategy: Strategy,
    confidence: Confidence,
) -> ReliabilityCurve:
    if confidence not in ("mean", "midpoint"):
        raise ValueError(f"confidence must be 'mean' or 'midpoint', got {confidence!r}")
    edges = _bin_edges(score, weight, n_bins, strategy)
    size = len(edges) - 1
    # Only inner edges: whatever lies beyond an outer one belongs to the bin next to it.
    bin_of_row = np.searchsorted(edges[1:-1], score, side="left")
    weight_in_bin = np.bincount(bin_of_row, weights=weight, minlength=size)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin is the NaN it should be
        accuracy = np.bincount(bin_of_row, weights=weight * event, minlength=size) / weight_in_bin
        mean = np.bincount(bin_of_row, weights=weight * score, minlength=size) / weight_in_bin
    return ReliabilityCurve(
        bin_edges=edges,
        accuracy=accuracy,
        confidence=mean if confidence == "mean" else (edges[:-1] + edges[1:]) / 2,
        mass=weight_in_bin / weight.sum(),
    )


def _bin_edges(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Array:
    if not isinstance(n_bins, Integral) or n_bins < 1:
        raise ValueError(f"n_bins must be a whole number of at least 1, got {n_bins!r}")
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, n_bins + 1)
    if strategy != "quantile":
        raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}")
    # Inner edge k is the smallest score with at least k / n_bins of the mass at or below it.
    # Multiplied out, so that whole-number weights give the very edges of repeated rows.
    order = np.argsort(score, kind="stable")
    mass_below = np.cumsum(weight[order])
    wanted = np.arange(1, n_bins) * mass_below[-1]
    position = np.searchsorted(mass_below * n_bins, wanted, side="left")
    inner = np.unique(score[order][np.minimum(position, len(score) - 1)])
    low, high = score.min(), score.max()
    return np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])


def _checked(
    y_true: ArrayLike, y_prob: ArrayLike, labels: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.intp], Array, Array, list[Any]]:
    """Column of the true class, probabilities (n, C), weights, and the classes of the columns."""
    truth = _as_labels(y_true, "y_true")
    prob = _as_columns(y_prob)
    _check_same_length("y_prob", len(prob), len(truth))
    weight = _checked_weight(sample_weight, len(truth))
    present, row_of_present = np.unique(truth, return_inverse=True)
    classes = present.tolist() if labels is None else _as_labels(labels, "labels").tolist()
    if len(set(classes)) != len(classes):
        raise ValueError(f"labels must name every class once, got {classes}")
    if len(classes) != prob.shape[1]:
        source = "y_true holds" if labels is None else "labels names"
        raise ValueError(
            f"y_prob has {prob.shape[1]} columns but {source} {len(classes)} classes, {classes}; "
            "pass labels with the class of every column (for an estimator: its classes_)"
        )
    unknown = [label for label in present.tolist() if label not in classes]
    if unknown:
        raise ValueError(f"y_true holds {unknown}, which labels={classes} does not name")
    column_of_present = np.array([classes.index(label) for label in present.tolist()])
    # A row of weight 0 must not even move the edges of equal-mass bins.
    kept = weight > 0
    return column_of_present[row_of_present][kept], prob[kept], weight[kept], classes


def _as_columns(y_prob: ArrayLike) -> Array:
    try:
        prob = np.asarray(y_prob, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y_prob must be an array of probabilities: {error}") from error
    if prob.ndim not in (1, 2) or (prob.ndim == 2 and prob.shape[1] < 2):
        raise ValueError(
            f"y_prob has shape {prob.shape}, expected (n, C) with a column for every class, "
            "or (n,) with the probability of the second of two classes"
        )
    inside = (prob >= -RANGE_TOLERANCE) & (prob <= 1 + RANGE_TOLERANCE)
    if not inside.all():
        raise ValueError(
            f"y_prob must hold probabilities between 0 and 1, found {prob[~inside][0]}; "
            "scores or logarithms have to be turned into probabilities first"
        )
    prob = np.clip(prob, 0.0, 1.0)
    if prob.ndim == 1:
        return np.column_stack([1.0 - prob, prob])
    off = np.abs(prob.sum(axis=1) - 1.0)
    if off.size and off.max() > SUM_TOLERANCE:
        row = int(off.argmax())
        raise ValueError(
            f"the rows of y_prob must sum to 1, row {row} sums to {prob[row].sum():.6g}; divide every row by its sum"
        )
    return prob


def _as_labels(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype == object:  # strings of pandas and polars arrive so
        is_text = [isinstance(value, str) for value in array.ravel()]
        # A missing string is a float NaN or None, which must not become the class "nan".
        array = np.asarray(array.tolist()) if all(is_text) or not any(is_text) else array
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}, expected (n,) with at least one label")
    if array.dtype.kind not in "biufU" or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise ValueError(f"{name} must hold only numbers or only strings, none missing")
    return array


def _has_fractions(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.any(values != np.floor(values)))


def _check_same_length(name: str, length: int, expected: int) -> None:
    if length != expected:
        raise ValueError(f"{name} has {length} rows but y_true has {expected}; they must match")


def _checked_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}, expected ({n_rows},)")
    if not np.all(np.isfinite(weight)) or weight.min() < 0 or weight.sum() == 0:
        raise ValueError("sample_weight must be finite and not negative, and not all zero")
    return weight
