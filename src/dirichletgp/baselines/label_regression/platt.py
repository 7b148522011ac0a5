"""Platt scaling of latent scores, by scikit-learn's own tools."""

import warnings
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from ..._gp.core.arrays import AnyArray, Array, Integers
from ..._gp.rows.in_memory import InMemoryRows

HELD_OUT = 0.2


class _Scores(ClassifierMixin, BaseEstimator):
    """A "classifier" whose rows are scores: scikit-learn then calibrates scores, not rows."""

    def fit(self, X: Array, y: AnyArray) -> Self:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Array) -> Array:
        return X[:, 1] if X.shape[1] == 2 else X

    def predict(self, X: Array) -> AnyArray:
        return np.asarray(self.classes_[X.argmax(axis=1)])


class PlattScaling:
    """A sigmoid per class, normalised, fitted to held-out scores.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
    codes : ndarray of shape (n,)
        Classes, each of which must occur.
    weights : ndarray of shape (n,) or None
    """

    def __init__(self, scores: Array, codes: Integers, weights: Array | None):
        frozen = FrozenEstimator(_Scores().fit(scores, codes))
        # The estimator is frozen, so one "fold" of all rows is as good as any, however rare a class
        # is.
        everything = np.arange(len(scores))
        self._calibrated = CalibratedClassifierCV(
            frozen, method="sigmoid", cv=[(everything, everything)]
        )
        with warnings.catch_warnings():
            # The warning that a frozen estimator takes no weights is beside the point: it is not
            # fitted again.
            warnings.filterwarnings(
                "ignore", message=".*FrozenEstimator.*sample_weight", category=UserWarning
            )
            self._calibrated.fit(scores, codes, sample_weight=weights)

    def probabilities(self, scores: Array) -> Array:
        """Calibrated probabilities (n, C) of scores (n, C)."""
        return np.asarray(self._calibrated.predict_proba(scores))


def hold_out(rows: InMemoryRows, rng: np.random.RandomState) -> tuple[Integers, Integers]:
    """Positions to train with and to calibrate with: 80 % and 20 % of each class.

    At least one row of each class is in either part. Copies of a row stay together. A class with a
    single row, or copies of one, is in both parts.
    """
    identity = rows.identities()
    train = np.ones(identity.max() + 1, dtype=bool)
    calibrate = np.zeros(identity.max() + 1, dtype=bool)
    for code in range(rows.n_classes):
        own = rng.permutation(np.unique(identity[rows.codes == code]))
        held = own[: max(1, round(HELD_OUT * len(own)))]
        calibrate[held] = True
        train[held] = len(own) == 1
    return np.flatnonzero(train[identity]), np.flatnonzero(calibrate[identity])
