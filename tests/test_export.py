"""A classifier in ONNX gives the probabilities of the classifier in Python."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from dirichletgp import DirichletGPClassifier

onnx = pytest.importorskip("onnx", reason="export needs onnx")
runtime = pytest.importorskip("onnxruntime", reason="exported models are run by onnxruntime")

from dirichletgp.export import onnx_rows, to_onnx  # noqa: E402


def rows_and_labels(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 10, 0.1]
    X[:, 2] = np.round(X[:, 2], 1)  # ties
    cuts = np.linspace(-1.2, 1.2, n_classes + 1)[1:-1]
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), cuts)


def quick(*kernel, **parameters):
    """A fit of few iterations: what matters is that both say the same of it."""
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02, "tolerance": 0}
    return DirichletGPClassifier(
        *kernel, **{"max_iter": 5, "random_state": 0, **labels, **parameters}
    )


def run(model, X):
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": np.ascontiguousarray(X, dtype=np.float64)})


def far_and_near(X):
    """Rows near the data, rows far outside, and one exactly on a training value."""
    return np.concatenate([X[:200] + 0.05, 30 * X[200:240], -1e6 * np.abs(X[240:245]), X[:1]])


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("scaler", ["quantile", "standard", "minmax", None])
@pytest.mark.parametrize("kernel", ["product", "rbf"])
def test_probabilities_and_labels_are_those_of_python(n_classes, scaler, kernel):
    X, y = rows_and_labels(250, n_classes)
    classifier = quick(kernel, n_inducing=30, max_iter=3, scaler=scaler).fit(X, y)
    new = far_and_near(X)
    label, probabilities = run(to_onnx(classifier), new)
    expected = classifier.predict_proba(new)
    assert_allclose(probabilities, expected, atol=1e-6)
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-5
    assert_array_equal(label[clear], classifier.predict(new)[clear])


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_kernel_can_be_exported(kernel, n_classes):
    X, y = rows_and_labels(300, n_classes)
    classifier = quick(kernel, n_inducing=40, ard=False).fit(X, y)
    _, probabilities = run(to_onnx(classifier), far_and_near(X))
    assert_allclose(probabilities, classifier.predict_proba(far_and_near(X)), atol=1e-6)


def mixed_frame(n, seed=0):
    """Numbers, whole numbers with holes, and categories with holes, in no order."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", None], n),
            "width": rng.normal(size=n),
            "count": np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 6, n)),
            "town": rng.choice(list("abcdefgh"), n),
        }
    )
    y = np.digitize(frame["width"] + (frame["colour"] == "red"), [0.0, 1.0])
    return frame, y


@pytest.mark.parametrize("kernel", ["product", "rbf"])
@pytest.mark.parametrize("scaler", ["quantile", "standard", "minmax", None])
def test_categories_and_missing_values_go_through_the_graph(kernel, scaler):
    frame, y = mixed_frame(200)
    classifier = quick(kernel, n_inducing=30, max_iter=3, scaler=scaler).fit(frame, y)
    new, _ = mixed_frame(60, seed=1)
    new.loc[:4, "town"] = "unseen"
    new.loc[5:9, "town"] = None
    new.loc[10:14, "width"] = np.nan
    new.loc[15:19, "width"] = [1e6, -1e6, 50.0, -50.0, 0.0]
    new["count"] += np.where(np.arange(60) % 2, 0.5, 0.0)  # between two levels
    _, probabilities = run(to_onnx(classifier), onnx_rows(classifier, new))
    assert_allclose(probabilities, classifier.predict_proba(new), atol=1e-6)


def test_columns_that_are_all_categories_go_through_the_graph():
    frame, y = mixed_frame(150)
    frame = frame[["colour", "town"]]
    for kernel in ("product", "rbf"):
        classifier = quick(kernel, n_inducing=20).fit(frame, y)
        rows = onnx_rows(classifier, frame)
        assert rows.shape == (150, 2)
        assert_allclose(run(to_onnx(classifier), rows)[1], classifier.predict_proba(frame), 1e-6)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("variance", [0.01, 1.0, 30.0, 400.0])
def test_nodes_serve_small_and_large_latent_variances(n_classes, variance):
    X, y = rows_and_labels(200, n_classes)
    classifier = quick(n_inducing=20, variance=variance, lengthscale=0.5, max_iter=0).fit(X, y)
    new = far_and_near(X)[::3]
    _, probabilities = run(to_onnx(classifier), new)
    assert_allclose(probabilities, classifier.predict_proba(new), atol=1e-6)


@pytest.mark.parametrize(
    "names",
    [["a", "b", "c"], np.array([1.0, 2.0, 3.0]), np.array([10, 20, 30])],
    ids=["text", "float", "int"],
)
def test_labels_of_any_type(names):
    X, y = rows_and_labels(200, 3)
    classifier = quick("rbf", n_inducing=20).fit(X, np.array(names)[y])
    label, _ = run(to_onnx(classifier), X)
    assert_array_equal(label, classifier.predict(X))
    (probabilities,) = run(to_onnx(classifier, labels=False), X)
    assert probabilities.shape == (200, 3)


def test_a_constant_column_and_a_single_row():
    X, y = rows_and_labels(200, 2)
    X[:, 1] = 7.0
    for kernel in ("product", "rbf"):
        classifier = quick(kernel, n_inducing=20).fit(X, y)
        new = np.array([[0.1, 8.0, 0.2]])
        assert_allclose(run(to_onnx(classifier), new)[1], classifier.predict_proba(new), atol=1e-6)


def test_what_cannot_be_exported_is_named(monkeypatch):
    X, y = rows_and_labels(100, 2)
    classifier = quick("rbf", n_inducing=10, scaler=RobustScaler()).fit(X, y)
    with pytest.raises(TypeError, match="cannot be exported; use 'quantile'"):
        to_onnx(classifier)
    monkeypatch.setattr("dirichletgp.export._MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="fit it with a smaller n_inducing than 10"):
        to_onnx(classifier)
    monkeypatch.delitem(sys.modules, "dirichletgp.export.graph", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        to_onnx(classifier)


def test_a_pipeline_is_refused_with_advice():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(
        StandardScaler(), DirichletGPClassifier(n_inducing=10, max_iter=0)
    ).fit(X, y)
    with pytest.raises(
        TypeError, match=r"got Pipeline; of a pipeline or a search pass the classifier itself"
    ):
        to_onnx(pipeline)
