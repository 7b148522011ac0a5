"""Votes in the place of labels are the same as weighted rows, and are left out as a whole."""

import numpy as np
import pandas as pd
import pytest

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows.soft_labels import RepeatedRows

FAST = {"n_inducing": 25, "max_iter": 3, "random_state": 0}


def voted(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    p = np.exp(1.5 * np.column_stack([X[:, 0], -X[:, 0], X[:, 1]]))
    p /= p.sum(axis=1, keepdims=True)
    return X, np.array([rng.multinomial(4, each) for each in p]).astype(float)


def repeated(X, Y):
    rows, codes = np.nonzero(Y)
    return np.asarray(X)[rows], codes, Y[rows, codes], rows


@pytest.mark.parametrize("kernel", ["rbf", "product"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_votes_are_the_same_as_weighted_rows(kernel, class_weight):
    X, Y = voted()
    given = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    options = FAST | {"kernel": kernel, "class_weight": class_weight}
    soft = DirichletGPClassifier(**options).fit(X, Y, sample_weight=given)
    rows, codes, weights, origin = repeated(X, Y)
    hard = DirichletGPClassifier(**options).fit(rows, codes, sample_weight=weights * given[origin])
    np.testing.assert_allclose(soft.predict_proba(X), hard.predict_proba(X), rtol=0, atol=1e-10)
    assert soft.classes_.tolist() == [0, 1, 2]


def test_certain_votes_are_labels():
    X, Y = voted()
    y = Y.argmax(axis=1)
    soft = DirichletGPClassifier("rbf", **FAST).fit(X, np.eye(3)[y])
    hard = DirichletGPClassifier("rbf", **FAST).fit(X, y)
    assert np.array_equal(soft.predict_proba(X), hard.predict_proba(X))


def test_classes_are_called_as_the_columns_of_votes_are():
    X, Y = voted()
    frame = pd.DataFrame(Y, columns=["wolf", "cat", "dog"])
    named = DirichletGPClassifier("rbf", **FAST).fit(X, frame)
    plain = DirichletGPClassifier("rbf", **FAST).fit(X, Y)
    assert named.classes_.tolist() == ["cat", "dog", "wolf"]
    # Probabilities are within a tolerance, in which the order of classes may show.
    for of_named, of_plain in zip(
        named.latent_mean_and_variance(X), plain.latent_mean_and_variance(X), strict=True
    ):
        np.testing.assert_allclose(of_named, of_plain[:, [1, 2, 0]], atol=1e-8)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_may_have_a_column_of_votes_for_each_class(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    X, Y = voted()
    Y[-1] = [0.5, 0.25, 0.25]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).join(
        pd.DataFrame(Y, columns=["no", "so", "yes"])
    )
    path = tmp_path / f"rows.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    labels = ["no", "so", "yes"]
    from_file = DirichletGPClassifier("rbf", **FAST).fit(str(path), y=labels)
    in_memory = DirichletGPClassifier("rbf", **FAST).fit(frame[["a", "b", "c"]], frame[labels])
    rows = frame[["a", "b", "c"]]
    np.testing.assert_allclose(
        from_file.predict_proba(rows), in_memory.predict_proba(rows), atol=1e-10
    )


def test_leaving_a_row_out_removes_all_of_its_votes():
    X, Y = voted(60)
    options = FAST | {"kernel": "rbf", "max_iter": 0, "scaler": None, "inducing": X[:20]}
    options |= {"label_transform": "dirichlet", "alpha_epsilon": 0.1, "class_prior": "uniform"}
    options |= {"lengthscale": 1.0, "variance": 3.0}
    everything = DirichletGPClassifier(**options).fit(X, Y)
    left_out = everything.loo_proba(X, Y)
    for i in (0, 17):
        others = np.delete(np.arange(60), i)
        without = DirichletGPClassifier(**options).fit(X[others], Y[others])
        np.testing.assert_allclose(left_out[i], without.predict_proba(X[i : i + 1])[0], atol=1e-8)


def test_few_votes_are_left_out_with_kernels_that_did_not_see_them():
    X, Y = voted(60)
    model = DirichletGPClassifier("rbf", **FAST).fit(X, Y)
    rows, codes, weights, origin = repeated(X, Y)
    by_row = model.loo_proba(X, Y)
    np.testing.assert_allclose(model.loo_proba(rows, codes, weights), by_row[origin], atol=1e-12)


def test_votes_recover_more_than_their_majority_does():
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (1_200, 2))
        truth = np.column_stack([X[:, 1] - np.sin(2 * X[:, 0]), -X[:, 1], X[:, 0]]).argmax(axis=1)
        chances = np.where(np.eye(3)[truth[:200]] > 0, 0.6, 0.2)
        votes = np.array([rng.multinomial(5, each) for each in chances]).astype(float)
        majority = (votes + rng.uniform(0, 0.1, votes.shape)).argmax(axis=1)
        for y in (votes, majority):
            model = DirichletGPClassifier("rbf", n_inducing=60, random_state=0).fit(X[:200], y)
            errors.append(np.mean(model.predict(X[200:]) != truth[200:]))
    assert np.mean(errors[::2]) < np.mean(errors[1::2])


def test_rows_are_pointed_to_not_copied():
    X = np.arange(6.0).reshape(3, 2)
    rows = RepeatedRows(X, np.array([0, 0, 2]))
    assert rows.shape == (3, 2)
    assert np.array_equal(rows[1:], X[[0, 2]])
    assert np.array_equal(np.asarray(rows), X[[0, 0, 2]])
    assert rows._X is X


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda Y: -Y, "negative, infinite or missing"),
        (lambda Y: Y * [1, 0, 1], r"no votes at all for \[1\]"),
        (lambda Y: Y[:-1], "inconsistent numbers of samples|one per row"),
        (lambda Y: np.full(Y.shape, "yes"), "not all numbers"),
    ],
)
def test_votes_that_are_none_are_refused(change, problem):
    X, Y = voted(30)
    with pytest.raises(ValueError, match=problem):
        DirichletGPClassifier("rbf", **FAST).fit(X, change(Y))
