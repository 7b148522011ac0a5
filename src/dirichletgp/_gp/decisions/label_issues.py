"""Labels that look wrong: rows that are predicted as something else when they are left out."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..core.arrays import AnyArray, Array, Integers
from ..core.kernels import Kernel

UNLIKELY = 0.05
"""A label of less probability is worth checking."""
# Of so many labels that look wrong, the rows most like them are searched for.
_TWINS_OF = 500
# Correlation of the latent function at two rows that are all but the same.
_ALIKE = 0.98
# Mean square of the differences of their columns, which are scaled to about unit variance.
_APART = 0.05
_ROWS_AT_ONCE = 4_096


@dataclass(frozen=True)
class LabelIssues:
    """Rows whose label looks wrong, the most suspicious first.

    Attributes
    ----------
    rows : ndarray of shape (k,)
        Their positions in `X`.
    given : ndarray of shape (k,)
        Their labels.
    suggested : ndarray of shape (k,)
        The likeliest labels, predicted without the rows themselves.
    probability : ndarray of shape (k,)
        That the given label is right.
    suggested_probability : ndarray of shape (k,)
        That the suggested label is right.
    twin : ndarray of shape (k,)
        Position of a row that is all but the same and has another label; -1 if there is none. Of
        the first 500.
    quality : ndarray of shape (n,)
        Of all rows of `X`: the probability that the given label is right.
    voted : bool
        Whether the given labels are those with most of several votes.

    See Also
    --------
    sklearn.model_selection.cross_val_predict : Out-of-sample predictions of any estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2
    >>> classifier = DirichletGPClassifier(kernel="rbf", random_state=0).fit(X, y)
    >>> issues = classifier.label_issues(X, y)
    >>> int(issues.rows[0]), int(issues.given[0]), int(issues.suggested[0])
    (7, 2, 0)
    >>> len(issues) >= issues.n_unlikely >= 1, issues.expected < 15
    (True, True)
    """

    rows: Integers
    given: AnyArray
    suggested: AnyArray
    probability: Array
    suggested_probability: Array
    twin: Integers
    quality: Array
    voted: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def expected(self) -> float:
        """How many labels would be listed by chance, if these probabilities are the true ones.

        Classes that overlap are part of it. So are wrong labels as far as the model has learned
        to expect them: that no more are listed does not say that all are right.

        NaN for votes: probabilities are those of a single vote, and the label with most of
        several is another one less often.
        """
        if self.voted:
            return float("nan")
        likeliest = self.quality.copy()
        likeliest[self.rows] = self.suggested_probability
        return float(np.sum(1.0 - likeliest))

    @property
    def n_unlikely(self) -> int:
        """How many of those listed have a probability below 5 %."""
        return int(np.sum(self.probability < UNLIKELY))

    def as_dict(self) -> dict[str, AnyArray]:
        """The columns of the list; ``pandas.DataFrame(issues.as_dict())`` is a table."""
        names = ("rows", "given", "suggested", "probability", "suggested_probability", "twin")
        return {name: getattr(self, name) for name in names}


def issues_among(probabilities: Array, codes: Integers, classes: AnyArray) -> LabelIssues:
    """Rows that are likelier something else, for left-out class probabilities (n, C)."""
    everything = np.arange(len(codes))
    quality = probabilities[everything, codes]
    best = probabilities.argmax(axis=1)
    suspects = np.flatnonzero(best != codes)
    rows = suspects[np.argsort(quality[suspects], kind="stable")]
    return LabelIssues(
        rows=rows,
        given=np.asarray(classes[codes[rows]]),
        suggested=np.asarray(classes[best[rows]]),
        probability=quality[rows],
        suggested_probability=probabilities[rows, best[rows]],
        twin=np.full(len(rows), -1, dtype=np.intp),
        quality=quality,
    )


def twins_of(rows: Integers, scaled: Array, codes: Integers, kernel: Kernel) -> Integers:
    """For some of the scaled rows (n, D) the one most like each that has another label, or -1."""
    twins = np.full(len(rows), -1, dtype=np.intp)
    suspects = rows[:_TWINS_OF]
    if len(suspects) == 0:
        return twins
    alike = np.full(len(suspects), _ALIKE)
    points = np.ascontiguousarray(scaled[suspects])
    for start in range(0, len(scaled), _ROWS_AT_ONCE):
        block = scaled[start : start + _ROWS_AT_ONCE]
        likeness: Any = kernel.values(block, points) / kernel.variance
        same = codes[start : start + _ROWS_AT_ONCE, None] == codes[suspects]
        # To a kernel that is all but linear most rows are alike.
        apart = cdist(block, points, "sqeuclidean") > _APART * scaled.shape[1]
        likeness[same | apart] = -1.0
        best = likeness.argmax(axis=0)
        found = likeness[best, np.arange(len(suspects))]
        better = found > alike
        twins[: len(suspects)][better] = start + best[better]
        alike[better] = found[better]
    return twins
