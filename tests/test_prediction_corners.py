"""Predictions where something is special: no rows, votes with weights, no shap, no names."""

import sys

import numpy as np
import pytest

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.decisions import explanation
from dirichletgp._gp.decisions.label_issues import twins_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
y = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0).astype(int)


def quick(**parameters):
    basis = {"kernel": "rbf", "n_inducing": 10, "max_iter": 0, "random_state": 0, "n_jobs": 1}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier(**{**basis, **labels, **parameters})


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(X, y)


@pytest.mark.parametrize("name", ["classes_", "history_", "inducing_points_", "variance_"])
def test_attributes_of_a_fit_are_not_there_before_it(name):
    assert not hasattr(DirichletGPClassifier(), name)


def test_votes_of_left_out_rows_have_the_weights_of_the_fit():
    votes = np.column_stack([1.0 - y, y + 0.0])
    weights = RNG.uniform(0.5, 2.0, size=40)
    settings = {"class_weight": {0: 2.0, 1: 1.0}}
    labelled = quick(**settings).fit(X, y, weights)
    voted = quick(**settings).fit(X, votes, weights)
    np.testing.assert_allclose(voted.predict_proba(X), labelled.predict_proba(X), atol=1e-10)
    one, other = voted.loo_proba(X, votes, weights), labelled.loo_proba(X, y, weights)
    np.testing.assert_allclose(one, other, atol=1e-10)
    with pytest.raises(ValueError, match=r"pass votes of shape \(40, 2\)"):
        voted.loo_proba(X, votes[:-1])


def test_a_frame_without_rows_is_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "colour": np.where(y, "red", "blue")})
    model = quick(kernel="product").fit(frame, y)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict_proba(frame[:0])


def test_texts_in_a_column_of_numbers_are_named(fitted):
    rows = X.astype(object)[:3]
    rows[1, 2] = "tall"
    with pytest.raises(ValueError, match="'tall'"):
        fitted.predict_proba(rows)


def test_a_compact_model_says_what_it_has_left_behind(fitted):
    compact = fitted.compact()
    for call in (lambda: compact.loo_proba(X, y), lambda: compact.partial_fit(X, y)):
        with pytest.raises(ValueError, match="needs what a compact model has left behind"):
            call()
    assert compact.compact() is not None


def test_explanations_need_no_shap(fitted, monkeypatch):
    monkeypatch.setattr(explanation, "find_spec", lambda name: None)
    found = fitted.explain(X[:4])
    assert isinstance(found, explanation.Explanation)
    mean, _ = fitted.latent_mean_and_variance(X[:4])
    log_odds = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(log_odds, mean[:, 1] - mean[:, 0], atol=1e-9)


def test_contributions_need_a_kernel_that_is_a_product_over_features():
    with pytest.raises(ValueError, match="is not a product over features"):
        quick(kernel="matern32").fit(X, y).explain(X[:2])


def test_contributions_need_to_know_how_features_are_spread():
    from sklearn.decomposition import PCA

    with pytest.raises(ValueError, match="does not know how its features are spread"):
        quick(scaler=PCA(2)).fit(X, y).explain(X[:2])


def test_no_rows_have_no_twins():
    nobody = np.empty(0, dtype=np.intp)
    assert len(twins_of(nobody, X, y, KERNELS["rbf"](np.ones(3), 1.0))) == 0


def test_verbose_fits_print_stages_and_evaluations(capsys):
    quick(verbose=2, max_iter=2).fit(X, y)
    said = capsys.readouterr().out
    assert "evaluation 1, bound per row" in said
    assert "posterior" in said


def test_a_terminal_shows_the_stage_that_runs(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    quick(verbose=1, max_iter=2).fit(X, y)
    assert "\r[dirichletgp]" in capsys.readouterr().out


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([1.0, 2.0])])
def test_labels_of_any_type_come_out_of_a_graph(labels):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from dirichletgp.export import to_onnx

    model = quick().fit(X, labels[y])
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    assert found.ravel().tolist() == model.predict(X).tolist()


def test_a_stream_that_forgets_all_rows_of_a_class_still_knows_it(fitted):
    stream = quick(inducing=X[:6], scaler=None, lengthscale=1.0).partial_fit(X, y)
    stream.forget(X[y == 1], y[y == 1])
    p = stream.predict_proba(X)
    assert p.shape == (40, 2)
    assert np.all(p[:, 0] > 0.5)


def test_given_points_may_be_copies_of_each_other():
    model = quick(inducing=np.repeat(X[:4], 3, axis=0), scaler=None).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("inducing", ["rpcholesky", "random", "kmeans"])
def test_fewer_different_rows_than_points_are_all_points(inducing):
    rows = np.repeat(X[:5], 8, axis=0)
    labels = np.repeat(np.array([0, 1, 0, 1, 1]), 8)
    model = quick(inducing=inducing, n_inducing=20).fit(rows, labels)
    assert len(model.inducing_points_) == 5
    assert model.score(rows, labels) == 1.0


def test_sets_can_be_asked_for_by_class(fitted):
    sets = fitted.predict_set(X, 0.8, by_class=True)
    for c in (0, 1):
        assert sets[y == c, c].mean() >= 0.7


def test_a_fit_whose_points_cannot_be_factored_says_what_to_check(monkeypatch):
    from dirichletgp._gp.training import kernel_search

    def hopeless(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(kernel_search, "make_basis", hopeless)
    with pytest.raises(np.linalg.LinAlgError, match="Check X for values that are huge"):
        quick().fit(X, y)


def test_models_merge_whatever_classes_they_have_seen():
    start = quick(inducing=X[:8], scaler=None, lengthscale=1.0, variance=2.0)
    labels = np.array(["a", "b", "c"])
    both = [np.array([0, 1])[y], np.array([1, 2])[y]]
    parts = [start.__class__(**start.get_params()).partial_fit(X, labels[c]) for c in both]
    merged = parts[0].merge(parts[1])
    whole = start.partial_fit(np.tile(X, (2, 1)), labels[np.concatenate(both)])
    np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert merged.classes_.tolist() == ["a", "b", "c"]


def test_a_stream_is_saved_with_what_it_still_knows(tmp_path):
    stream = quick(inducing=X[:8], scaler=None, lengthscale=1.0).partial_fit(X[:30], y[:30])
    stream.partial_fit(X[30:], y[30:]).forget(X[:10], y[:10])
    stream.save(tmp_path / "stream.dgp")
    again = DirichletGPClassifier.load(tmp_path / "stream.dgp")
    np.testing.assert_array_equal(again.predict_proba(X), stream.predict_proba(X))


def test_a_feature_that_is_not_there_is_named(fitted):
    with pytest.raises(ValueError, match="feature=7 is neither a position below 3"):
        fitted.effect(X, 7)


def test_a_scaler_with_sparse_rows_is_refused():
    from sklearn.preprocessing import OneHotEncoder

    with pytest.raises(ValueError, match="gives sparse rows; pass a transformer with dense output"):
        quick(scaler=OneHotEncoder()).fit(np.round(X), y)


def test_a_frame_without_rows_cannot_be_learned_from():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "colour": ["red", "blue"]})
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape="):
        quick(kernel="product").fit(frame[:0], y[:0])


def test_many_classes_and_few_do_not_merge():
    from unittest import mock

    from dirichletgp._gp.training import settings

    labels = np.arange(40) % 8
    chosen = {"label_transform": "learned", "alpha_epsilon": "auto"}
    given = {"inducing": X[:6], "scaler": None, "lengthscale": 1.0, "variance": 2.0}
    with mock.patch.object(settings, "MANY_CLASSES", 5):
        pooled = quick(**chosen, **given).fit(X, labels)
    apart = quick(**chosen, **given).fit(X, labels)
    with pytest.raises(ValueError, match="one Gram for all of its many classes"):
        pooled.merge(apart)
