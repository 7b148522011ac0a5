"""A compact model predicts what the model predicts, takes little room, and no longer learns."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.low_rank import Rounded, Rounding, SharedPosterior, eigenvectors
from dirichletgp._gp.core.parallel import Workers, cholesky, inverse_triangle
from dirichletgp._gp.core.regressions import LabelTransform, shared_matrix
from dirichletgp.persistence import ModelFileError


def rows_of(n_classes):
    return make_classification(
        600,
        6,
        n_informative=6,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=2,
    )


@pytest.fixture(scope="module", params=[2, 7])
def pair(request):
    """Rows, a model and its compact form."""
    X, y = rows_of(request.param)
    model = DirichletGPClassifier("rbf", n_inducing=80, max_iter=10, random_state=0).fit(X, y)
    return X, y, model, model.compact()


def test_its_probabilities_are_those_of_the_model(pair):
    X, _, model, small = pair
    exact = np.exp(model.predict_log_proba(X))
    assert np.abs(small.predict_proba(X) - exact).max() <= model.tolerance
    assert np.abs(np.exp(small.predict_log_proba(X)) - exact).max() <= model.tolerance
    np.testing.assert_array_equal(small.predict(X), small.classes_[exact.argmax(axis=1)])


def test_its_intervals_and_uncertainties_are_those_of_the_model(pair):
    X, _, model, small = pair
    for mine, theirs in zip(model.predict_interval(X), small.predict_interval(X), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-3)
    parts = zip(model.predict_uncertainty(X), small.predict_uncertainty(X), strict=True)
    for mine, theirs in parts:
        np.testing.assert_allclose(mine, theirs, atol=2e-3)


def test_its_attributes_are_those_of_the_model(pair):
    _, _, model, small = pair
    for name in ("classes_", "class_count_", "class_prior_", "lengthscale_", "bound_"):
        np.testing.assert_array_equal(getattr(small, name), getattr(model, name))


@pytest.mark.parametrize(
    "learn",
    [
        lambda small, X, y: small.partial_fit(X, y),
        lambda small, X, y: small.forget(X[:3], y[:3]),
        lambda small, X, y: small.merge(small),
        lambda small, X, y: small.decay(0.5),
        lambda small, X, y: small.refresh(X, y),
        lambda small, X, y: small.loo_proba(X, y),
    ],
)
def test_it_no_longer_learns(pair, learn):
    X, y, model, small = pair
    before = small.predict_proba(X)
    with pytest.raises(ValueError, match="compact"):
        learn(small, X, y)
    np.testing.assert_array_equal(small.predict_proba(X), before)
    with pytest.raises(ValueError, match="compact"):
        model.merge(small)


def test_a_file_and_a_pickle_give_it_back(pair, tmp_path):
    X, _, model, small = pair
    expected = small.predict_proba(X)
    model.save(tmp_path / "small.dgp", compact=True)
    model.save(tmp_path / "whole.dgp")
    again = DirichletGPClassifier.load(tmp_path / "small.dgp")
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(small)).predict_proba(X), expected)
    again.save(tmp_path / "again.dgp")
    assert (tmp_path / "again.dgp").stat().st_size == (tmp_path / "small.dgp").stat().st_size
    assert (tmp_path / "small.dgp").stat().st_size < (tmp_path / "whole.dgp").stat().st_size
    with pytest.raises(ValueError, match="compact"):
        again.partial_fit(X[:2], [0, 1])


def test_a_file_whose_parts_do_not_fit_is_refused(pair, tmp_path):
    small = pair[3]
    form = small._fitted.model.form
    path = tmp_path / "wrong.dgp"
    right = form.coefficients
    object.__setattr__(form, "coefficients", right[..., :-1])
    try:
        small.save(path)
    finally:
        object.__setattr__(form, "coefficients", right)
    with pytest.raises(ModelFileError, match="coefficients"):
        DirichletGPClassifier.load(path)


def test_its_graph_predicts_the_same(pair):
    onnxruntime = pytest.importorskip("onnxruntime")
    from dirichletgp.export import to_onnx

    X, _, _, small = pair
    session = onnxruntime.InferenceSession(to_onnx(small).SerializeToString())
    (found,) = session.run(["probabilities"], {"X": X})
    np.testing.assert_allclose(found, np.exp(small.predict_log_proba(X)), atol=1e-5)


@pytest.mark.parametrize("noises", [(0.1, 2.0), (2.0, 0.1)])
def test_corrections_of_full_width_are_the_variances_of_all_classes(noises):
    """Also where the noise of rows in a class is the larger one: then they are added."""
    X, y = rows_of(4)
    model = DirichletGPClassifier("rbf", n_inducing=40, max_iter=2, random_state=0).fit(X, y)
    transform = LabelTransform.from_constants(4.0, *noises)
    posterior = model._fitted.model.solve(transform)
    shared = cholesky(shared_matrix(model._fitted.model.statistics.total, transform))
    with Workers(1) as workers:
        found = eigenvectors(posterior, shared, 1e-9, workers)
    vectors = model._fitted.model.basis.factor
    root = inverse_triangle(shared)
    halves = vectors @ root.T
    rounding = Rounding(1e-9, 0.0)
    trial = SharedPosterior(
        posterior.variance,
        posterior.offsets,
        posterior.coefficients,
        root,
        transform.ratio,
        [Rounded.of(own, rounding, halves).correction() for own in found],
    )
    mean, variance = posterior.latent(vectors)
    np.testing.assert_allclose(trial.latent(vectors)[0], mean, atol=1e-12)
    np.testing.assert_allclose(trial.latent(vectors)[1], variance, atol=1e-3)
