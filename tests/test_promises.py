"""Promises that are easily broken: types of labels, whole estimators, heeded parameters."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

import dirichletgp
from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp.plotting import feature_relevance

QUICK = {"n_inducing": 10, "max_iter": 2, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_moons(80, noise=0.2, random_state=0)


def quick(**more):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier(**{"kernel": "rbf", **QUICK, **labels, **more})


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"], dtype=object),
        np.array(["no", "yes"]),
        np.array([-3, 4], dtype=np.int8),
        np.array([1, 2**63 + 5], dtype=np.uint64),
        np.array([0.5, 2.0], dtype=np.float32) * 2,
        np.array([False, True]),
        np.array(["2024-01-01", "2025-01-01"], dtype="datetime64[ns]"),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_come_back_in_the_type_they_were_given_in(data, labels):
    X, y = data
    for classifier in (quick(), GPRegressionClassifier(**QUICK)):
        classifier.fit(X, labels[y])
        assert classifier.classes_.dtype == labels.dtype
        assert classifier.predict(X).dtype == labels.dtype
        assert set(classifier.predict(X)) <= set(labels)


@pytest.mark.parametrize("rival", [GPRegressionClassifier, VariationalGPClassifier])
def test_the_relevance_of_features_is_known_of_rivals_too(data, rival):
    settings = {"n_inducing": 10, "random_state": 0}
    if rival is VariationalGPClassifier:
        settings["tol"] = 1e-2
    relevance = feature_relevance(rival(**settings).fit(*data))
    assert relevance.shape == (2,)
    assert relevance.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("rival", [GPRegressionClassifier, NystromRidgeClassifier])
def test_an_interrupted_calibration_leaves_a_rival_as_it_was(data, rival, monkeypatch):
    from dirichletgp.baselines.label_regression import model

    X, y = data
    fitted = rival(n_inducing=10, calibration="platt", random_state=0).fit(X, y)
    before = fitted.predict_proba(X)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "PlattScaling", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(np.column_stack([X, X]), y + 5)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


def test_refresh_goes_on_with_the_kernel_that_is_asked_for(data):
    classifier = quick().fit(*data)
    classifier.set_params(kernel="matern32", ard=False).refresh(*data)
    kernel, _ = classifier.fitted_kernel()
    assert kernel.name == "matern32"
    assert np.ndim(classifier.lengthscale_) == 0
    assert np.shape(classifier.set_params(ard=True).refresh(*data).lengthscale_) == (2,)


def test_kernels_are_the_same_if_their_values_are():
    kernel = KERNELS["rbf"](np.array([3e8, 1.0]), 2.0)
    assert kernel.same(KERNELS["rbf"](np.array([3e8, 1.0]), 2.0, ard=False))
    assert not kernel.same(KERNELS["rbf"](np.array([np.nextafter(3e8, 4e8), 1.0]), 2.0))
    assert not kernel.same(KERNELS["matern12"](np.array([3e8, 1.0]), 2.0))


def test_columns_are_refused_wherever_there_are_none_to_choose(data):
    X, y = data
    for rows in (X, np.asfortranarray(X)):
        with pytest.raises(ValueError, match="columns chooses columns of files"):
            quick().fit(rows, y, columns=["a"])
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    with pytest.raises(ValueError, match="columns chooses columns of files"):
        quick().fit(torch.from_numpy(X), torch.from_numpy(y), columns=["a"])


def test_a_class_derived_from_it_is_called_by_its_own_name(data):
    class Mine(DirichletGPClassifier):
        pass

    with pytest.raises(ValueError, match="Mine"):
        Mine().fit(data[0])


def test_the_front_door_shows_what_is_public_and_nothing_else():
    shown = {name for name in dir(dirichletgp) if not name.startswith("_")}
    public = {name for name in dirichletgp.__all__ if not name.startswith("_")}
    assert public <= shown
    assert not shown & {"Any", "TYPE_CHECKING", "import_module"}
    assert all(hasattr(getattr(dirichletgp, name), "__path__") for name in shown - public)
