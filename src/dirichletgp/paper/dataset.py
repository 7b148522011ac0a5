"""A dataset at the size of a run, and its random splits."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._gp.core.arrays import Array, Integers


@dataclass(frozen=True)
class Split:
    """Rows to train with and to test on."""

    X: Array
    y: Integers
    X_test: Array
    y_test: Integers


@dataclass(frozen=True)
class Dataset:
    """A dataset with the sizes of this run.

    Attributes
    ----------
    name, label : str
        The label says "(partial)" if it is.
    n_train, n_test, n_inducing, n_splits, n_classes : int
    inducing : str
    alpha_epsilon : float
    settings : dict
        What results on it depend on, as JSON.
    bunch : Bunch
    order : ndarray of shape (n,)
        The rows in an order that does not depend on the source.
    quick : bool
        Whether this is a quick run.
    """

    name: str
    label: str
    n_train: int
    n_test: int
    n_inducing: int
    n_splits: int
    n_classes: int
    inducing: str
    alpha_epsilon: float
    settings: dict[str, Any]
    bunch: Any
    order: Integers
    quick: bool = False

    def split(self, seed: int) -> Split:
        """A seeded random split."""
        shuffled = np.random.default_rng(seed).permutation(len(self.order))
        rows = self.order[shuffled]
        test = rows[: self.n_test]
        train = rows[self.n_test : self.n_test + self.n_train]
        X = self.bunch.X
        y = self.bunch.y
        return Split(X[train], y[train], X[test], y[test])

    @property
    def partial(self) -> bool:
        """Whether rows of the paper's dataset are missing."""
        return bool(self.bunch.partial)

    @property
    def binary(self) -> bool:
        """Whether it has two classes."""
        return self.n_classes == 2
