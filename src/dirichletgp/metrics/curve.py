"""The reliability curve: rows binned by confidence, once, for all that speaks of calibration."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._gp.core.arrays import AnyArray, Array, Booleans, Integers
from .inputs import checked_predictions

Strategy = Literal["uniform", "quantile"]
Confidence = Literal["mean", "midpoint"]


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

    See Also
    --------
    sklearn.calibration.calibration_curve : Observed frequencies of a binary problem.

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

    See Also
    --------
    sklearn.calibration.calibration_curve : Observed frequencies of a binary problem.

    Examples
    --------
    >>> from dirichletgp.metrics import reliability_curve
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], n_bins=2, pos_label=1)
    >>> curve.accuracy.round(3).tolist(), curve.confidence.round(3).tolist(), curve.mass.tolist()
    ([0.333, 1.0], [0.283, 0.8], [0.75, 0.25])
    """
    true_column, prob, weight, classes = checked_predictions(y_true, y_prob, labels, sample_weight)
    if pos_label is None:
        score = prob.max(axis=1)
        event = prob.argmax(axis=1) == true_column
    else:
        if pos_label not in classes:
            raise ValueError(f"pos_label={pos_label!r} is not one of the classes {classes}")
        column = classes.index(pos_label)
        score = prob[:, column]
        event = true_column == column
    return binned_curve(score, event, weight, n_bins, strategy, confidence)


def binned_curve(
    score: Array,
    event: Booleans,
    weight: Array,
    n_bins: int,
    strategy: Strategy,
    confidence: Confidence,
) -> ReliabilityCurve:
    """The curve of rows with a score (n,), an event that came true or not (n,), and a weight."""
    if confidence not in ("mean", "midpoint"):
        raise ValueError(f"confidence must be 'mean' or 'midpoint', got {confidence!r}")
    edges = _bin_edges(score, weight, n_bins, strategy)
    size = len(edges) - 1
    bins = bin_of_rows(score, edges)
    if confidence == "mean":
        confidence_of_bin = mean_of_bins(score, bins, weight, size)
    else:
        confidence_of_bin = (edges[:-1] + edges[1:]) / 2
    return ReliabilityCurve(
        bin_edges=edges,
        accuracy=mean_of_bins(event, bins, weight, size),
        confidence=confidence_of_bin,
        mass=np.bincount(bins, weights=weight, minlength=size) / weight.sum(),
    )


def bin_of_rows(score: Array, edges: Array) -> Integers:
    """The bin (n,) of every row, given the edges of all bins."""
    # Only inner edges: whatever lies beyond an outer one belongs to the bin next to it.
    return np.searchsorted(edges[1:-1], score, side="left")


def mean_of_bins(values: AnyArray, bins: Integers, weight: Array, n_bins: int) -> Array:
    """Weighted means (n_bins,) of the values of each bin's rows; NaN in an empty bin."""
    weight_in_bin = np.bincount(bins, weights=weight, minlength=n_bins)
    total = np.bincount(bins, weights=weight * values, minlength=n_bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin is the NaN it should be
        return total / weight_in_bin


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
    low = score.min()
    high = score.max()
    return np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
