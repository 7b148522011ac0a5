"""Export a fitted classifier to ONNX: one graph of standard operators, from raw rows on.

The graph needs no code of this library where it runs. Needs onnx.
"""

import warnings
from typing import Any

import numpy as np

from .._gp.classifier import DirichletGPClassifier
from .._gp.core.arrays import AnyArray
from .._gp.training.regional import AnyModel, RegionalModel
from .latent import add_latent
from .probabilities import add_probabilities
from .regional import largest_variance, numbers_of_regions

__all__ = ["onnx_rows", "to_onnx"]

# The largest message that protobuf takes.
_MOST_BYTES = 2**31 - 2**24


def to_onnx(classifier: Any, *, labels: bool = True) -> Any:
    """A fitted `DirichletGPClassifier` as an ONNX model.

    The input is `X`, of shape (n, n_features) and double precision, with n free; a model of
    categories, dates or missing values takes what `onnx_rows` makes of rows: codes in the place of
    categories, several numbers in that of a date, NaN where a value is missing. The outputs are
    `label`, of shape (n,), and `probabilities`, of shape (n, n_classes) and double precision, equal
    to `predict_proba` to 1e-5 or better. With many classes, rows take some 10 kB each per class
    while they are computed: feed a thousand at a time. A model of regions is a graph too, with a
    loop over the regions that hold any of the rows; a file takes at most 2 GB. Where copies of
    training rows vote beside the model, the graph leaves their votes out, with a warning.

    Parameters
    ----------
    classifier : DirichletGPClassifier
        Fitted, with one of the library's own scalers.
    labels : bool, default=True
        Whether the model gives `label` besides `probabilities`.

    Returns
    -------
    onnx.ModelProto
        Write it with `onnx.save`.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> from dirichletgp.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DirichletGPClassifier(random_state=0).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(classifier).SerializeToString())
    >>> (probabilities,) = session.run(["probabilities"], {"X": X})
    >>> bool(np.allclose(probabilities, classifier.predict_proba(X), atol=1e-4))
    True
    """
    try:
        from .graph import Graph
    except ImportError as error:
        raise ImportError("export needs onnx; install it with: pip install onnx") from error
    if not isinstance(classifier, DirichletGPClassifier):
        raise TypeError(
            f"to_onnx takes a fitted DirichletGPClassifier, got {type(classifier).__name__}; of a "
            "pipeline or a search pass the classifier itself, and give the graph rows that the "
            "steps before it have prepared."
        )
    fitted = classifier._fitted
    n_classes = len(fitted.classes)
    _check_size(fitted.model)
    if fitted.copies is not None:
        warnings.warn(
            "The graph leaves out the votes of copies: a row that is among the training rows has "
            "the probabilities of the model alone there.",
            UserWarning,
            stacklevel=2,
        )
    graph = Graph()
    mean, variance = add_latent(graph, "X", fitted)
    largest = fitted.model.kernel.variance
    if isinstance(fitted.model, RegionalModel):
        largest = largest_variance(fitted.model)
    probabilities = add_probabilities(graph, mean, variance, n_classes, largest)
    n_features = len(fitted.features.columns.levels)
    return graph.model(n_features, fitted.classes, probabilities, labels)


def _check_size(model: AnyModel) -> None:
    """`ValueError` if a model is too large for a file."""
    n_points = len(model.points)
    if isinstance(model, RegionalModel):
        size = 8 * numbers_of_regions(model)
        advice = f"fit it with fewer regions than {model.regions.number}, or a smaller n_inducing"
    else:
        n_matrices = len(model.posterior.roots) + 1 if model.learns else 4
        size = 8 * n_matrices * n_points**2
        advice = f"export its compact() form, or fit it with a smaller n_inducing than {n_points}"
    if size > _MOST_BYTES:
        raise ValueError(f"the model takes {size / 1e9:.1f} GB and ONNX files at most 2; {advice}")


def onnx_rows(classifier: Any, X: Any) -> AnyArray:
    """Rows as the graph of a classifier takes them.

    Where the graph runs without Python, the same has to be done there: a category is its place
    (from 0 on) among the known ones, or their number if it is not known.

    Parameters
    ----------
    classifier : DirichletGPClassifier
        Fitted.
    X : array-like of shape (n, n_features)
        Rows as `predict_proba` takes them.

    Returns
    -------
    ndarray of shape (n, D) and double precision

    Examples
    --------
    >>> import pandas as pd
    >>> from dirichletgp import DirichletGPClassifier
    >>> from dirichletgp.export import onnx_rows
    >>> rows = pd.DataFrame({"size": [1.0, None, 3.0, 2.5], "name": ["red", "blue", "blue", "red"]})
    >>> classifier = DirichletGPClassifier("product", max_iter=2, random_state=0)
    >>> classifier = classifier.fit(rows, ["a", "b", "b", "a"])
    >>> onnx_rows(classifier, rows)[:2].tolist()
    [[1.0, 1.0], [nan, 0.0]]
    """
    return np.ascontiguousarray(classifier._matrix(X), dtype=np.float64)
