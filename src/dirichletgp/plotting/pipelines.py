"""The fitted classifier inside a pipeline or a search, and questions to it through them."""

from typing import Any

from sklearn.pipeline import Pipeline


def innermost_classifier(estimator: Any) -> Any:
    """The classifier at the end of pipelines and searches."""
    if isinstance(estimator, Pipeline):
        return innermost_classifier(estimator[-1])
    if hasattr(estimator, "best_estimator_"):
        return innermost_classifier(estimator.best_estimator_)
    return estimator


def transformed_rows(estimator: Any, X: Any) -> Any:
    """Rows as the innermost classifier sees them."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return transformed_rows(estimator[-1], estimator[:-1].transform(X))
    if hasattr(estimator, "best_estimator_"):
        return transformed_rows(estimator.best_estimator_, X)
    return X


def display_name(estimator: Any, name: str | None) -> str:
    """The name given, or that of the innermost classifier's class."""
    return type(innermost_classifier(estimator)).__name__ if name is None else name


def require(estimator: Any, method: str, purpose: str) -> None:
    """An error if the innermost classifier lacks a method or attribute."""
    owner = estimator if method == "predict_proba" else innermost_classifier(estimator)
    if not hasattr(owner, method):
        raise TypeError(f"estimator {type(owner).__name__} has no {method}; {purpose}")
