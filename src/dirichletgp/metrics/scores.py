"""Numbers that sum up predicted probabilities: error rate, likelihood, calibration errors."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from math import log

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import AnyArray, Array, Integers
from .curve import Confidence, Strategy, binned_curve
from .inputs import as_labels, check_same_length, checked_predictions, checked_weight

# log of 2**-1074, the smallest positive double: the charge for an event declared impossible.
_LOG_OF_ZERO = -1074 * log(2.0)


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

    See Also
    --------
    sklearn.calibration.calibration_curve : Observed frequencies of a binary problem.
    sklearn.metrics.brier_score_loss : A proper score, unlike a calibration error.

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
    true_column, prob, weight, _ = checked_predictions(y_true, y_prob, labels, sample_weight)
    event = prob.argmax(axis=1) == true_column
    curve = binned_curve(prob.max(axis=1), event, weight, n_bins, strategy, confidence)
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

    See Also
    --------
    sklearn.calibration.calibration_curve : Observed frequencies of a binary problem.
    sklearn.metrics.brier_score_loss : A proper score, unlike a calibration error.

    Examples
    --------
    >>> from dirichletgp.metrics import classwise_calibration_error
    >>> y_prob = [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]
    >>> round(classwise_calibration_error(["a", "b", "c"], y_prob), 3)
    0.2
    >>> classwise_calibration_error(["a", "b", "c"], y_prob, per_class=True).round(3).tolist()
    [0.167, 0.233, 0.2]
    """
    true_column, prob, weight, classes = checked_predictions(y_true, y_prob, labels, sample_weight)
    errors = np.empty(len(classes))
    for column in range(len(classes)):
        event = true_column == column
        curve = binned_curve(prob[:, column], event, weight, n_bins, strategy, confidence)
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

    See Also
    --------
    sklearn.metrics.log_loss : The same from scikit-learn.

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
    true_column, prob, weight, _ = checked_predictions(y_true, y_prob, labels, sample_weight)
    return float(-np.average(log_likelihood_of_rows(prob, true_column), weights=weight))


def log_likelihood_of_rows(prob: Array, true_column: Integers) -> Array:
    """Log probabilities (n,) of the true classes, of which none is infinite."""
    likelihood = prob[np.arange(len(true_column)), true_column]
    log_likelihood = np.full(len(likelihood), _LOG_OF_ZERO)
    np.log(likelihood, out=log_likelihood, where=likelihood > 0)
    return log_likelihood


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

    See Also
    --------
    sklearn.metrics.zero_one_loss : The same of predicted labels.

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
        true_column, prob, weight, _ = checked_predictions(
            y_true, prediction, labels, sample_weight
        )
        return float(np.average(prob.argmax(axis=1) != true_column, weights=weight))
    truth = as_labels(y_true, "y_true")
    predicted = as_labels(y_pred, "y_pred")
    check_same_length("y_pred", len(predicted), len(truth))
    if (truth.dtype.kind == "U") != (predicted.dtype.kind == "U"):
        raise ValueError(
            f"y_pred holds labels like {predicted[0]!r} and y_true labels like {truth[0]!r}, which "
            "can never be equal; pass labels of one type, or probabilities of shape (n, C)"
        )
    weight = checked_weight(sample_weight, len(truth))
    return float(np.average(predicted != truth, weights=weight))


def _has_fractions(values: AnyArray) -> bool:
    return values.dtype.kind == "f" and bool(np.any(values != np.floor(values)))
