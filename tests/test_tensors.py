"""Rows that are PyTorch tensors give the model of the same rows in NumPy."""

import numpy as np
import pytest
import referee
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.regressions import LabelTransform
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.rows.scaling import NormalScores
from dirichletgp._gp.training.kernel_search import BoundObjective

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
torch.set_num_threads(1)  # more are slow where several tests share the cores

from dirichletgp._gp.rows.device import Device  # noqa: E402
from dirichletgp._gp.rows.on_device import DeviceRows  # noqa: E402

N = 800


@pytest.fixture(scope="module")
def data():
    return make_classification(N, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02, "tolerance": 0}
    return DirichletGPClassifier(
        **{
            "kernel": "rbf",
            "n_inducing": 25,
            "max_iter": 2,
            "random_state": 0,
            **labels,
            **parameters,
        }
    )


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("weighted", [True, False])
def test_bound_and_gradient_are_those_of_numpy(data, kernel, weighted):
    X, y = data
    X = np.round(4 * X) / 4  # few levels, for the kernel that has some
    y = np.where(np.arange(N) < 10, 2, np.minimum(y, 1))  # a small class, which is kept as rows
    weights = np.linspace(0.5, 2.0, N) if weighted else None
    rows = InMemoryRows(X, y, weights, 3)
    transform, prior = LabelTransform.dirichlet(0.05), np.array([0.5, 0.3, 0.2])
    found = referee.kernel_of(kernel, X, np.array([1.0, 2.0, 3.0, 4.0]), 2.0)
    with Workers(1) as workers:
        settings = (transform, prior, 1e-6, workers)
        host = BoundObjective(rows, *settings)
        value, gradient = host.value_and_gradient(found, X[20:60])
        device = Device(torch.zeros(1))
        there = BoundObjective(DeviceRows(device, device.array(X), rows), *settings)
        other_value, other_gradient = there.value_and_gradient(found, X[20:60])
    assert other_value == pytest.approx(value, rel=1e-10)
    for mine, theirs in zip(gradient, other_gradient, strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-6, atol=1e-6 * np.abs(mine).max())


def test_normal_scores_are_those_of_numpy(data):
    X, _ = data
    X = np.column_stack([X, np.arange(N) % 3, np.full(N, 2.0)])
    scaler = NormalScores(n_knots=50).fit(X)
    wide = np.concatenate([X, 100 * X, X + 1e-3, np.full((1, 6), 1e300), np.full((1, 6), -5.0)])
    tensor = torch.from_numpy(wide)
    np.testing.assert_allclose(
        Device(tensor).scaled_rows(scaler, tensor).numpy(), scaler.scores(wide), atol=1e-12
    )


@pytest.mark.parametrize("scaler", ["quantile", "standard", "minmax", None, PCA(3)])
def test_a_fit_to_tensors_is_the_fit_to_arrays(data, scaler):
    X, y = data
    weights = np.where(np.arange(N) % 4, 1.0, 2.0)
    host = quick(scaler=scaler, class_weight={0: 2.0}).fit(X, y, weights)
    there = quick(scaler=scaler, class_weight={0: 2.0})
    there.fit(torch.from_numpy(X), torch.from_numpy(y), torch.from_numpy(weights))
    assert there.n_features_in_ == 4
    np.testing.assert_allclose(there.lengthscale_, host.lengthscale_, rtol=1e-4)
    np.testing.assert_allclose(there.predict_proba(X), host.predict_proba(X), atol=1e-4)


def test_statistics_of_tensors_are_those_of_arrays(data):
    X, y = data
    given = {"inducing": X[:30], "lengthscale": 2.0, "variance": 4.0, "max_iter": 0, "scaler": None}
    host, there = quick(**given).fit(X, y), quick(**given).fit(torch.from_numpy(X), y)
    np.testing.assert_allclose(
        there._fitted.model.statistics.grams,
        host._fitted.model.statistics.grams,
        rtol=1e-9,
        atol=1e-9,
    )
    np.testing.assert_allclose(there.predict_proba(X), host.predict_proba(X), atol=1e-9)


def test_predictions_of_tensors_are_those_of_arrays(data):
    X, y = data
    names = np.array(["a", "b", "c"])[y]
    classifier = quick().fit(X, names)
    tensor = torch.from_numpy(X)
    for method in (
        "predict_proba",
        "predict_log_proba",
        "latent_mean_and_variance",
        "predict_interval",
    ):
        np.testing.assert_allclose(
            getattr(classifier, method)(tensor), getattr(classifier, method)(X), atol=1e-8
        )
    np.testing.assert_array_equal(classifier.predict(tensor), classifier.predict(X))
    single = classifier.predict_proba(tensor.to(torch.float32))
    np.testing.assert_allclose(single, classifier.predict_proba(X), atol=1e-4)


def test_tensors_may_have_holes(data):
    X, y = data
    holes = np.where(np.arange(N)[:, None] % 9 == 0, np.nan, X)
    expected = quick().fit(holes, y)
    found = quick().fit(torch.from_numpy(holes), y)
    for rows in (torch.from_numpy(holes), holes):
        np.testing.assert_allclose(
            found.predict_proba(rows), expected.predict_proba(holes), atol=1e-6
        )
    plain = quick().fit(X, y)
    np.testing.assert_allclose(
        plain.predict_proba(torch.from_numpy(holes)), plain.predict_proba(holes), atol=1e-9
    )


def test_a_data_loader_is_an_iterable_of_blocks(data):
    X, y = data
    rows = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    loaded = quick().fit(torch.utils.data.DataLoader(rows, batch_size=64))
    np.testing.assert_allclose(
        loaded.predict_proba(X), quick().fit(X, y).predict_proba(X), atol=1e-9
    )


def test_errors_say_what_is_wrong(data, tmp_path):
    X, y = data
    classifier = quick().fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(800, 2\); pass a tensor of shape \(n, 4\)"):
        classifier.predict_proba(torch.from_numpy(X[:, :2]))
    with pytest.raises(ValueError, match="infinity"):
        classifier.predict_proba(torch.full((2, 4), torch.inf))
    with pytest.raises(ValueError, match="leave it out with tensors"):
        quick().fit(torch.from_numpy(X), y, checkpoint=tmp_path / "fit.ckpt")
    with pytest.raises(ValueError, match="requires y"):
        quick().fit(torch.from_numpy(X))
