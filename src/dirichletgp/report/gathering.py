"""From a fitted classifier and labelled rows to the numbers of a report."""

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix
from sklearn.utils import _safe_indexing

from ..metrics import ReliabilityCurve, reliability_curve
from ..plotting import feature_relevance, rejection_curve
from ..plotting.band import quantile_curves
from ..plotting.fitted import innermost, needs, transformed
from .bootstrap import N_BINS, expected_error_if_calibrated, headline_metrics
from .numbers import Curve, ReportNumbers
from .provenance import how_it_was_made
from .rows import Judged, notable_rows, uncertainty_sample
from .verdict import calibration_verdict

Array = NDArray[np.float64]

# Intervals and uncertainties cost more than probabilities; a sample of rows shows them as well.
MOST_EXAMINED = 20_000
_MOST_REJECTION_POINTS = 200


def gather(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    title: str = "Classifier report",
    feature_names: ArrayLike | None = None,
    shown: Any = None,
    made: Mapping[str, str] | None = None,
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
        The rows as people know them, for the table of notable rows. None: `X`.
    made : mapping of str to str, default=None
        More to say about how the model was made.
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
    >>> numbers = gather(DirichletGPClassifier(random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> numbers.n_rows, [metric.key for metric in numbers.metrics]
    (75, ['accuracy', 'ece', 'mnll', 'brier'])
    """
    needs(model, "predict_proba", "a report is about probabilities")
    rng = np.random.default_rng(random_state)
    classifier = innermost(model)
    prob = np.asarray(model.predict_proba(X), dtype=np.float64)
    codes = _codes(y, model.classes_)
    labels = [str(label) for label in model.classes_.tolist()]
    metrics, values = headline_metrics(prob, codes, n_bootstrap, rng)
    judged = _judge(classifier, model, X, prob, codes, rng)
    if feature_names is None:
        feature_names = getattr(classifier, "feature_names_in_", None)
    relevance = _relevance(classifier, feature_names)
    shown = X if shown is None else shown
    return ReportNumbers(
        title=title,
        created=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        n_rows=len(codes),
        classes=labels,
        metrics=metrics,
        verdict=calibration_verdict(
            len(codes),
            values["ece"],
            expected_error_if_calibrated(prob, rng),
            float(prob.max(axis=1).mean()),
            values["accuracy"],
        ),
        reliability=_reliability(judged, labels),
        classwise=[_class_curve(judged, c, labels) for c in range(len(labels))],
        confusion=confusion_matrix(codes, prob.argmax(axis=1), labels=range(len(labels))).tolist(),
        rejection=_rejection(codes, prob),
        rows=notable_rows(judged, shown, labels, [entry["name"] for entry in relevance]),
        uncertainty=uncertainty_sample(judged, shown, rng),
        relevance=relevance,
        history=list(getattr(classifier, "history_", [])),
        made=how_it_was_made(classifier, made),
    )


def _codes(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Columns of the true classes."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"y has shape {labels.shape}, expected (n,) with at least one label")
    column = {label: place for place, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in labels.tolist() if label not in column})
    if unknown:
        raise ValueError(f"y holds labels that the model was not fitted with: {unknown[:5]}")
    return np.array([column[label] for label in labels.tolist()], dtype=np.intp)


def _judge(
    classifier: Any,
    model: Any,
    X: Any,
    prob: Array,
    codes: NDArray[np.intp],
    rng: np.random.Generator,
) -> Judged:
    """Predictions of all rows; intervals and uncertainties of all or of a sample, if the classifier has them."""
    examined = np.arange(len(codes))
    if len(codes) > MOST_EXAMINED:
        examined = np.sort(rng.choice(len(codes), MOST_EXAMINED, replace=False))
    lower = upper = uncertainty = None
    if hasattr(classifier, "predict_interval") and hasattr(classifier, "predict_uncertainty"):
        rows = transformed(model, X if len(examined) == len(codes) else _safe_indexing(X, examined))
        lower, upper = classifier.predict_interval(rows)
        uncertainty = np.stack(classifier.predict_uncertainty(rows))
    return Judged(examined, prob[examined], codes[examined], lower, upper, uncertainty)


def _reliability(judged: Judged, labels: list[str]) -> Curve:
    """Of the second of two classes, or of the predicted class of many."""
    if len(labels) == 2:
        return _class_curve(judged, 1, labels)
    chosen = judged.prob.argmax(axis=1)
    return _curve("", judged, judged.prob.max(axis=1), chosen == judged.codes, chosen)


def _class_curve(judged: Judged, c: int, labels: list[str]) -> Curve:
    column = np.full(len(judged.codes), c)
    return _curve(labels[c], judged, judged.prob[:, c], judged.codes == c, column)


def _curve(
    label: str, judged: Judged, score: Array, event: NDArray[np.bool_], column: NDArray[np.intp]
) -> Curve:
    curve = reliability_curve(
        event, np.clip(score, 0.0, 1.0), n_bins=N_BINS, pos_label=True, labels=[False, True]
    )
    edges: list[ReliabilityCurve | None] = [None, None]
    if judged.lower is not None and judged.upper is not None:
        rows = np.arange(len(column))
        quantiles: dict[str, ArrayLike | None] = {
            "lower": judged.lower[rows, column],
            "upper": judged.upper[rows, column],
        }
        edges = quantile_curves(curve, score, quantiles, True, np.array([False, True]), None)
    counts = np.rint(curve.mass * len(score)).astype(int)
    bins = []
    for b in np.flatnonzero(counts):
        low, high = _wilson(curve.accuracy[b], counts[b])
        entry = {
            "confidence": curve.confidence[b],
            "accuracy": curve.accuracy[b],
            "rows": int(counts[b]),
        }
        entry |= {"low": low, "high": high}
        if edges[0] is not None and edges[1] is not None:
            entry |= {"lower": edges[0].confidence[b], "upper": edges[1].confidence[b]}
        bins.append({key: float(value) for key, value in entry.items()})
    return Curve(label, curve.calibration_error, int(event.sum()), bins, curve.mass.tolist())


def _wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion (Wilson's)."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def _rejection(codes: NDArray[np.intp], prob: Array) -> list[dict[str, float]]:
    curve = rejection_curve(codes, prob, labels=np.arange(prob.shape[1]))
    # The last few rows say nothing: one wrong among them throws the accuracy about.
    useful = np.flatnonzero(curve.rejected <= max(0.0, 1.0 - 20 / len(codes)))
    kept = useful[np.unique(np.linspace(0, len(useful) - 1, _MOST_REJECTION_POINTS).astype(int))]
    columns = zip(curve.rejected[kept], curve.accuracy[kept], curve.threshold[kept], strict=True)
    return [
        {"rejected": float(r), "accuracy": float(a), "threshold": float(t)} for r, a, t in columns
    ]


def _relevance(classifier: Any, feature_names: ArrayLike | None) -> list[dict[str, Any]]:
    if not hasattr(classifier, "lengthscale_") or not hasattr(classifier, "_model"):
        return []
    share = feature_relevance(classifier)
    names = (
        [f"x{j}" for j in range(len(share))]
        if feature_names is None
        else [str(n) for n in np.asarray(feature_names)]
    )
    order = np.argsort(-share, kind="stable")
    return [{"name": names[j], "share": float(share[j])} for j in order]
