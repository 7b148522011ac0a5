"""From a fitted classifier and labelled rows to the numbers of a report."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix
from sklearn.utils import _safe_indexing

from .._gp.core.arrays import AnyArray, Array, Integers
from .._gp.rows.arrays import refuse_missing_labels
from ..plotting import feature_relevance
from ..plotting.kernels import feature_names_of, has_fitted_kernel
from ..plotting.pipelines import innermost_classifier, require, transformed_rows
from .bootstrap import headline_metrics
from .cautions import few_rows_of_a_class
from .curves import class_curve, headline_curve
from .deciding import cost_curves, labels_to_check, thresholds_table
from .directions import MOST_FEATURES, directions
from .examined_rows import ExaminedRows, notable_rows, uncertainty_sample
from .numbers import ReportNumbers
from .outcomes import outcomes_by_threshold
from .provenance import how_it_was_made
from .region_numbers import region_numbers
from .rejecting import rejection_points

# Intervals and uncertainties cost more than probabilities; a sample of rows shows them as well.
MOST_EXAMINED = 20_000
_ROWS_FOR_DIRECTIONS = 2_000


def gather(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    title: str = "Classifier report",
    feature_names: ArrayLike | None = None,
    shown: Any = None,
    made: Mapping[str, str] | None = None,
    cautions: Sequence[str] = (),
    n_bootstrap: int = 1_000,
    random_state: int = 0,
) -> ReportNumbers:
    """The numbers of a report.

    Parameters
    ----------
    model : fitted classifier, or a pipeline or search that ends in one
        Any with `predict_proba`; what only a `DirichletGPClassifier` knows is left out for others.
    X : array-like of shape (n, D)
        Labelled rows that the model was not fitted to.
    y : array-like of shape (n,)
    title : str
    feature_names : array-like of str of shape (n_features,), default=None
        Of the features that the innermost classifier sees. None: the names it was fitted with.
    shown : DataFrame of n rows, default=None
        The rows as people know them, for the table of notable rows; pass `X` to see what it holds.
        None: rows are listed by their number, and what is in them stays out of the report.
    made : mapping of str to str, default=None
        More to say about how the model was made.
    cautions : sequence of str, default=()
        What readers should know before they believe the numbers. That a class has few rows here,
        and that the model was fitted to these rows, is said anyway.
    n_bootstrap : int, default=1000
        Resamples for the intervals of the metrics.
    random_state : int, default=0
        Seed of the resampling.

    Returns
    -------
    ReportNumbers

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> from dirichletgp.report import gather
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DirichletGPClassifier(random_state=0).fit(X[::2], y[::2])
    >>> numbers = gather(classifier, X[1::2], y[1::2])
    >>> numbers.n_rows, [metric.key for metric in numbers.metrics]
    (75, ['accuracy', 'ece', 'mnll', 'brier', 'auc', 'precision', 'recall', 'f1'])
    """
    require(model, "predict_proba", "a report is about probabilities")
    rng = np.random.default_rng(random_state)
    classifier = innermost_classifier(model)
    codes = _codes(y, model.classes_)
    prob = np.asarray(model.predict_proba(X), dtype=np.float64)
    labels = [str(label) for label in model.classes_.tolist()]
    metrics, verdict = headline_metrics(prob, codes, n_bootstrap, rng, labels)
    examined = _examine(model, X, prob, codes, rng)
    if feature_names is None:
        feature_names = feature_names_of(classifier)
    relevance = _relevance(classifier, feature_names, _some_rows(model, X, rng), labels)
    few = few_rows_of_a_class(codes, labels)
    return ReportNumbers(
        title=title,
        created=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        n_rows=len(codes),
        classes=labels,
        metrics=metrics,
        verdict=verdict,
        reliability=headline_curve(examined, labels),
        classwise=[class_curve(examined, c, labels) for c in range(len(labels))],
        confusion=confusion_matrix(codes, prob.argmax(axis=1), labels=range(len(labels))).tolist(),
        rejection=rejection_points(codes, prob),
        rows=notable_rows(examined, shown, labels, [entry["name"] for entry in relevance]),
        uncertainty=uncertainty_sample(examined, shown, rng),
        relevance=relevance,
        history=list(getattr(classifier, "history_", [])),
        made=how_it_was_made(classifier, made),
        checks=labels_to_check(prob, codes, labels, _numbers(shown, len(codes))),
        costs=cost_curves(prob, codes, labels),
        thresholds=thresholds_table(prob, codes, labels),
        outcomes=outcomes_by_threshold(prob, codes, labels),
        regions=region_numbers(model, X, prob, codes),
        cautions=list(dict.fromkeys([*cautions, *_seen(model, X, y), *few])),
    )


def _seen(model: Any, X: Any, y: ArrayLike) -> list[str]:
    """What to know of rows that the model was fitted to, where it can tell."""
    classifier = innermost_classifier(model)
    if not hasattr(classifier, "rows_seen_in"):
        return []
    said = classifier.rows_seen_in(transformed_rows(model, X), y)
    return [] if said is None else [said]


def _numbers(shown: Any, n: int) -> Integers:
    """What the rows are called: as they are numbered where they come from, or from one on."""
    return np.asarray(getattr(shown, "numbers", np.arange(1, n + 1)))


def _codes(y: ArrayLike, classes: AnyArray) -> Integers:
    """Columns of the true classes."""
    refuse_missing_labels(y)
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"y has shape {labels.shape}, expected (n,) with at least one label")
    column = {label: place for place, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in labels.tolist() if label not in column})
    if unknown:
        raise ValueError(f"y holds labels that the model was not fitted with: {unknown[:5]}")
    return np.array([column[label] for label in labels.tolist()], dtype=np.intp)


def _examine(
    model: Any, X: Any, prob: Array, codes: Integers, rng: np.random.Generator
) -> ExaminedRows:
    """All rows or a sample, with intervals and uncertainties if the classifier has them."""
    n = len(codes)
    chosen = np.arange(n)
    if n > MOST_EXAMINED:
        chosen = np.sort(rng.choice(n, MOST_EXAMINED, replace=False))
    lower = upper = uncertainty = None
    classifier = innermost_classifier(model)
    if hasattr(classifier, "predict_interval") and hasattr(classifier, "predict_uncertainty"):
        rows = X if len(chosen) == n else _safe_indexing(X, chosen)
        rows = transformed_rows(model, rows)
        lower, upper = classifier.predict_interval(rows)
        uncertainty = np.stack(classifier.predict_uncertainty(rows))
    return ExaminedRows(chosen, prob[chosen], codes[chosen], lower, upper, uncertainty)


def _some_rows(model: Any, X: Any, rng: np.random.Generator) -> Any:
    """Some rows, as the innermost classifier sees them."""
    n = np.shape(X)[0]
    rows = X
    if n > _ROWS_FOR_DIRECTIONS:
        chosen = np.sort(rng.choice(n, _ROWS_FOR_DIRECTIONS, replace=False))
        rows = _safe_indexing(X, chosen)
    return transformed_rows(model, rows)


def _relevance(
    classifier: Any, feature_names: ArrayLike | None, rows: Any, labels: list[str]
) -> list[dict[str, Any]]:
    if not has_fitted_kernel(classifier):
        return []
    share = feature_relevance(classifier)
    if feature_names is None:
        names = [f"x{j}" for j in range(len(share))]
    else:
        names = [str(name) for name in np.asarray(feature_names)]
    order = np.argsort(-share, kind="stable").tolist()
    known = names
    if hasattr(classifier, "fitted_names"):
        known = list(dict.fromkeys(classifier.fitted_names()))
    ways = directions(classifier, rows, labels, [known[j] for j in order[:MOST_FEATURES]])
    return [{"name": names[j], "share": float(share[j]), **ways.get(known[j], {})} for j in order]
