"""To add a stationary kernel takes one class with two formulas; everything works with it.

The recipe in CONTRIBUTING says to write it into a file of `_gp/core/kernels`; here it is registered
from the test, and every path is taken with it.
"""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons

from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
from dirichletgp._gp.core.kernels import KERNELS, Stationary, register


@pytest.fixture(scope="module", autouse=True)
def rational_quadratic():
    """1 / (1 + r2 / 2): a mixture of squared exponentials of all lengthscales."""

    @register
    class RationalQuadratic(Stationary):
        name = "rational_quadratic"
        title = "rational quadratic"

        def profile(self, r2, on):
            return 1.0 / (1.0 + 0.5 * r2)

        def slope(self, r2, on):
            return -0.5 * self.profile(r2, on) ** 2

    yield RationalQuadratic
    del KERNELS["rational_quadratic"]


@pytest.fixture(scope="module")
def data():
    return make_moons(200, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def fitted(data, rational_quadratic):
    settings = {"n_inducing": 20, "max_iter": 5, "random_state": 0}
    return DirichletGPClassifier("rational_quadratic", **settings).fit(*data)


def test_values_are_the_formula_and_gradients_are_differences(rational_quadratic):
    rng = np.random.default_rng(0)
    X, Z, weights = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)), rng.normal(size=(7, 5))
    kernel = rational_quadratic(np.array([0.7, 1.4]), 2.0)
    r2 = (((X[:, None] - Z) / kernel.lengthscale) ** 2).sum(axis=2)
    np.testing.assert_allclose(kernel.values(X, Z), 2.0 / (1.0 + 0.5 * r2), rtol=1e-12)
    gradient = kernel.pull_back(X, Z, kernel.values(X, Z), weights.copy())
    for j in range(2):
        step = 1e-6 * (np.arange(2) == j)
        above = kernel.with_parameters(kernel.parameters + step, 2.0).values(X, Z)
        below = kernel.with_parameters(kernel.parameters - step, 2.0).values(X, Z)
        numeric = np.vdot(weights, above - below) / 2e-6
        assert gradient.parameters[j] == pytest.approx(numeric, rel=1e-6)


def test_it_fits_and_says_its_name(fitted, data):
    assert fitted.score(*data) > 0.85
    assert fitted.lengthscale_.shape == (2,)


@pytest.mark.parametrize(
    "rival", [GPRegressionClassifier, NystromRidgeClassifier, VariationalGPClassifier]
)
def test_the_rivals_take_it(rival, data):
    settings = {"n_inducing": 15, "random_state": 0}
    if rival is VariationalGPClassifier:
        settings["tol"] = 1e-3
    assert rival("rational_quadratic", **settings).fit(*data).score(*data) > 0.8


def test_it_is_saved_loaded_pickled_and_copied(fitted, data, tmp_path):
    fitted.save(tmp_path / "model.dgp")
    expected = fitted.predict_proba(data[0])
    for again in (
        DirichletGPClassifier.load(tmp_path / "model.dgp"),
        copy.deepcopy(fitted),
    ):
        np.testing.assert_array_equal(again.predict_proba(data[0]), expected)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(fitted)  # a class made inside a function; one in a module is pickled


def test_a_stream_goes_on_with_it(fitted, data):
    X, y = data
    stream = copy.deepcopy(fitted).partial_fit(X[:50], y[:50]).forget(X[:50], y[:50])
    np.testing.assert_allclose(stream.predict_proba(X), fitted.predict_proba(X), atol=1e-8)


def test_a_fit_that_is_taken_up_again_knows_it(data, tmp_path):
    settings = {"n_inducing": 20, "max_iter": 5, "random_state": 0}
    classifier = DirichletGPClassifier("rational_quadratic", **settings)
    classifier.fit(*data, checkpoint=tmp_path / "fit.ckpt")
    assert classifier.score(*data) > 0.85


def test_a_device_gives_the_same(fitted, data):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    X, y = data
    settings = {"n_inducing": 20, "max_iter": 5, "random_state": 0}
    there = DirichletGPClassifier("rational_quadratic", **settings)
    there.fit(torch.from_numpy(X), torch.from_numpy(y))
    np.testing.assert_allclose(there.predict_proba(X), fitted.predict_proba(X), atol=1e-6)


def test_onnx_gives_the_same(fitted, data):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from dirichletgp.export import to_onnx

    session = runtime.InferenceSession(to_onnx(fitted).SerializeToString())
    (found,) = session.run(["probabilities"], {"X": data[0]})
    np.testing.assert_allclose(found, fitted.predict_proba(data[0]), atol=1e-6)


def test_the_command_line_takes_it(data, tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    pytest.importorskip("pyarrow")
    from dirichletgp.cli import main

    table = tmp_path / "rows.csv"
    rows = [f"{a:.4f},{b:.4f},class {label}" for (a, b), label in zip(*data, strict=True)]
    table.write_text("\n".join(["a,b,label", *rows]))
    words = f"dirichletgp fit {table} --target label -o {tmp_path / 'm.dgp'} --n-inducing 20"
    monkeypatch.setattr("sys.argv", [*words.split(), "--kernel", "rational_quadratic"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert DirichletGPClassifier.load(tmp_path / "m.dgp").kernel == "rational_quadratic"


def test_the_report_calls_it_by_its_title(fitted, data):
    from dirichletgp.report.provenance import how_it_was_made

    assert "rational quadratic" in dict(how_it_was_made(fitted, None))["Kernel"]
