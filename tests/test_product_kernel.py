"""The product kernel is its dense form, and everything that models do works with it."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st
from interruptions import interrupt_the_pass
from sklearn.decomposition import PCA
from sklearn.preprocessing import RobustScaler

from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.kernels.product import MISSING, levels_of
from dirichletgp._gp.core.kernels.product_tables import ProductAt
from dirichletgp._gp.rows.in_memory import InMemoryRows
from dirichletgp._gp.training.kernel_search import BoundObjective

COLUMNS = {
    "numbers": [0],
    "numbers with holes": [1],
    "categories": [2],
    "categories with holes": [3],
    "a mixture": [0, 1, 2, 3],
}


def example(columns="a mixture", n=40, ard=True, seed=0):
    """A kernel, rows and points whose numbers are no levels."""
    X, categories = referee.mixed_rows(n, seed)
    chosen = COLUMNS[columns]
    X, categories = X[:, chosen], categories[chosen]
    length = np.full(len(chosen), 0.8) if ard else 0.8
    kernel = referee.kernel_of("product", X, length, 1.7, ard, categories)
    Z = X[:9].copy()
    moved = (categories == 0) & (Z > MISSING)
    Z[moved] += np.random.default_rng(1).normal(size=Z.shape)[moved] / 10
    return kernel, X, Z


# The kernel


@pytest.mark.parametrize("columns", COLUMNS)
def test_values_are_those_of_the_dense_form(columns):
    kernel, X, Z = example(columns)
    dense = referee.product_matrix(kernel, X, Z)
    np.testing.assert_allclose(kernel.values(X, Z), dense, rtol=1e-12)
    np.testing.assert_allclose(kernel.at(Z).values(X), dense, rtol=1e-12)
    among_points = kernel.of_points(Z).values(Z, Z)
    np.testing.assert_allclose(among_points, referee.product_matrix(kernel, Z, Z), rtol=1e-12)


def test_a_missing_number_is_like_the_average_of_all():
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    for x, length in ((0.0, 1.0), (1.3, 0.7), (-2.0, 2.0)):
        average = weights @ np.exp(-((x - nodes) ** 2) / (2 * length**2)) / weights.sum()
        assert referee.likeness_of_an_average(x, length) == pytest.approx(average, rel=1e-10)


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("columns", COLUMNS)
def test_gradients_are_differences_of_the_dense_form(columns, ard):
    kernel, X, Z = example(columns, n=15, ard=ard)
    weights = np.random.default_rng(0).normal(size=(15, 9))
    start = np.concatenate([kernel.parameters, [np.log(kernel.variance)], Z.ravel()])
    n = len(kernel.parameters)

    def dense(vector):
        moved = kernel.with_parameters(vector[:n], np.exp(vector[n]))
        points = vector[n + 1 :].reshape(Z.shape)
        return np.vdot(weights, referee.product_matrix(moved, X, points))

    found = kernel.pull_back(X, Z, kernel.values(X, Z), weights.copy())
    moves = np.array([len(levels) > 0 for levels in kernel.levels]) & (Z > MISSING)
    assert not found.points[~moves].any()  # a category or a hole stays one
    analytic = np.concatenate([found.parameters, [found.log_variance], found.points.ravel()])
    for i in np.flatnonzero(np.concatenate([np.ones(n + 1, dtype=bool), moves.ravel()])):
        step = 1e-5 * (np.arange(len(start)) == i)
        numeric = (dense(start + step) - dense(start - step)) / 2e-5
        assert analytic[i] == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_the_bound_and_its_gradient_are_right_for_mixed_rows_whose_points_move(workers):
    p = referee.problem(3, n=40, n_features=4)
    p.kernel, p.X, p.Z = example()
    rows = InMemoryRows(p.X, p.codes, None, 3)
    objective = BoundObjective(rows, p.transform, p.prior, p.jitter, workers)
    value, gradient = objective.value_and_gradient(p.kernel, p.Z)
    assert value == pytest.approx(referee.bound(p), rel=1e-10)
    start, kernel = p.kernel.parameters, p.kernel
    for i in range(len(start)):
        step = 1e-4 * (np.arange(len(start)) == i)
        ends = []
        for vector in (start + step, start - step):
            p.kernel = kernel.with_parameters(vector, kernel.variance)
            ends.append(referee.bound(p))
        numeric = (ends[0] - ends[1]) / 2e-4
        assert gradient.parameters[i] == pytest.approx(numeric, rel=1e-4, abs=1e-5)
    p.kernel = kernel
    for j in (0, 1):
        m = int(np.flatnonzero(p.Z[:, j] > MISSING)[0])
        ends = []
        for step in (1e-5, -1e-5):
            p.Z[m, j] += step
            ends.append(referee.bound(p))
            p.Z[m, j] -= step
        numeric = (ends[0] - ends[1]) / 2e-5
        assert gradient.points[m, j] == pytest.approx(numeric, rel=1e-4, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(2, 40),
    logits=st.lists(st.floats(-9, 9), min_size=4, max_size=4),
    lengths=st.lists(st.floats(-4, 4), min_size=2, max_size=2),
    likeness=st.floats(-9, 9),
)
def test_it_is_positive_definite(seed, n, logits, lengths, likeness):
    X, categories = referee.mixed_rows(n, seed)
    X[0, 1] = MISSING
    kernel = KERNELS["product"].starting(X, None, 1.0, True, categories)
    kernel = kernel.with_parameters(np.array([*logits, *lengths, likeness]), 1.0)
    covariance = kernel.values(X, X)
    np.testing.assert_array_equal(covariance, covariance.T)
    np.testing.assert_allclose(np.diagonal(covariance), 1.0, rtol=1e-12)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12 * n


def test_bundled_columns_are_the_columns_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 11)).astype(float)
    X[:, 3] = np.round(rng.normal(size=200), 1)
    categories = np.where(np.arange(11) % 2 == 0, 2, 0)
    kernel = referee.kernel_of("product", X, np.ones(11), 2.0, categories=categories)
    Z, weights = X[:20], rng.normal(size=(200, 20))
    found = []
    for bundled in (True, False):
        at = ProductAt(kernel, Z, MISSING, bundled=bundled)
        total, values = at.no_derivatives(), at.values(X)
        at.add_derivatives(X, values, weights.copy(), total)
        found.append((values, *at.gradient(total)))
    for together, alone in zip(*found, strict=True):
        np.testing.assert_allclose(together, alone, rtol=1e-10, atol=1e-12)


def test_binned_is_unbinned_where_values_lie_on_levels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    kernel = referee.kernel_of("product", X, np.array([0.5, 1.5]), 1.0)
    assert all(len(levels) < 200 for levels in kernel.levels)
    there = kernel.snapped(X[:300])
    Z = X[:20]
    np.testing.assert_allclose(
        kernel.values(there, Z), referee.product_matrix(kernel, there, Z), rtol=1e-12
    )
    between = referee.product_matrix(kernel, X, Z)
    np.testing.assert_allclose(kernel.values(X, Z), between, atol=0.05)


def test_few_distinct_values_are_all_levels():
    column = np.array([3.0, 1.0, MISSING, 2.0, 1.0])
    levels = levels_of(column, 128)
    assert set(levels) > {1.0, 2.0, 3.0}
    assert np.all(np.diff(levels) > 0)
    assert levels.min() > MISSING


def test_a_finished_model_has_finer_levels_than_a_search_and_the_extremes_are_among_them():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    kernel = referee.kernel_of("product", X, np.array([0.5, 1.5]), 1.0)
    fine = kernel.refined(X)
    exact = referee.product_matrix(kernel, X[:500], X[:20])
    off = [np.abs(k.values(X[:500], X[:20]) - exact).max() for k in (kernel, fine)]
    assert off[1] < 0.3 * off[0]
    for column, levels in zip(X.T, fine.levels, strict=True):
        assert {column.min(), column.max()} <= set(levels.tolist())
    few = np.round(X)
    assert all(map(np.array_equal, kernel.refined(few).levels, fine.refined(few).levels))


def test_a_number_in_the_middle_belongs_to_the_lower_level_however_it_was_rounded():
    X = np.arange(8.0)[:, None] / 7.0
    kernel = referee.kernel_of("product", X, np.ones(1), 1.0)
    middles = 0.5 * (X[1:] + X[:-1])
    for rounded in (middles, np.nextafter(middles, 9.0), np.nextafter(middles, -9.0)):
        np.testing.assert_array_equal(kernel.values(rounded, X), kernel.values(X[:-1], X))


def test_far_outside_a_feature_is_all_it_can_be_away():
    """Numbers of any size are no missing ones: nothing is left but what other features share."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    kernel = referee.kernel_of("product", X, np.array([0.9, 0.8]), 2.0)
    for far in (30.0, -30.0, 1e6, -1e6, -1e100):
        expected = 2.0 * np.prod(1 - kernel.shares)
        np.testing.assert_allclose(kernel.values(np.full((1, 2), far), X), expected, rtol=1e-6)


@pytest.mark.parametrize("ard", [True, False])
def test_the_gradient_of_what_is_believed_of_it_equals_differences(ard):
    kernel, X, _ = example(ard=ard)
    typical = KERNELS["product"].starting(X, None, 0.7, ard, np.array([0, 0, 3, 12]))
    at = np.append(kernel.parameters, np.log(kernel.variance))

    def value(vector):
        moved = kernel.with_parameters(vector[:-1], float(np.exp(vector[-1])))
        return moved.belief(typical).value

    belief = kernel.belief(typical)
    numeric = [(value(at + e) - value(at - e)) / 2e-5 for e in 1e-5 * np.eye(len(at))]
    found = [*belief.parameters, belief.log_variance]
    np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-8)


def test_kernels_go_on_with_each_other_pull_together_and_describe_themselves():
    kernel, X, Z = example()
    product = KERNELS["product"]
    assert product.continuing(kernel, True).same(kernel)
    assert len(set(product.continuing(kernel, False).shares)) == 1
    assert product.continuing(KERNELS["rbf"](np.ones(4), 1.0), True) is None
    content, arrays = kernel.described()
    again = product.restored(content, arrays, True)
    assert again.same(kernel)
    np.testing.assert_array_equal(again.values(X, Z), kernel.values(X, Z))
    names = kernel.parameter_names(["a", "b", "c", "d"])
    assert len(names) == len(kernel.parameters)
    assert names[-1] == "likeness of a missing b"
    with pytest.raises(ValueError, match="unexpected numbers in shares"):
        product.restored(content, {**arrays, "shares": arrays["shares"] + 1.0}, True)


# Models


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    settings = {"kernel": "product", "n_inducing": 25, "max_iter": 3, "random_state": 0}
    return DirichletGPClassifier(**{**settings, **labels, **parameters})


def frame_and_labels(n, seed=0):
    """Two numbers, one with holes, and two categories, one with holes; three of them matter."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "width": rng.normal(size=n).round(2),
            "height": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(2)),
            "colour": rng.choice(["red", "green", "blue"], n),
            "town": rng.choice([*"abcdefgh", None], n),
        }
    )
    score = frame["width"] + 1.5 * (frame["colour"] == "red") - (frame["height"].isna())
    y = np.where(score + 0.3 * rng.normal(size=n) > 0.4, "yes", "no")
    return frame, y


N = 200


@pytest.fixture(scope="module")
def data():
    return frame_and_labels(N)


@pytest.fixture(scope="module")
def fitted(data):
    return quick().fit(*data)


def assert_same(one, other, X, atol):
    for mine, theirs in zip(
        one.latent_mean_and_variance(X), other.latent_mean_and_variance(X), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=atol, atol=atol)


def test_it_learns_from_categories_and_holes(fitted, data):
    assert fitted.kernel_ == "product"
    assert fitted.score(*data) > 0.85
    assert np.isnan(fitted.lengthscale_[2:]).all()
    assert fitted.inducing_points_.shape[1] == 4
    codes = fitted.inducing_points_[:, 2]
    assert set(codes) <= {0.0, 1.0, 2.0}


def test_two_unseen_categories_are_the_same_and_not_a_missing_one(fitted, data):
    rows = data[0][:5]
    unseen, other = rows.assign(town="x"), rows.assign(town="y")
    expected = fitted.predict_proba(unseen)
    np.testing.assert_array_equal(fitted.predict_proba(other), expected)
    assert np.abs(fitted.predict_proba(rows.assign(town=None)) - expected).max() > 1e-6


def test_a_number_that_is_missing_at_prediction_only_is_an_average_one(data):
    frame, y = data
    known = frame[["width", "colour"]]
    classifier = quick(scaler=None).fit(known, y)
    row = pd.DataFrame({"width": [np.nan], "colour": ["red"]})
    kernel, points = classifier.fitted_kernel()
    scaled = classifier.scaler_.transform(np.array([[np.nan, 2.0]]))
    np.testing.assert_allclose(
        kernel.values(scaled, points), referee.product_matrix(kernel, scaled, points), rtol=1e-10
    )
    (found,) = classifier.predict_proba(row)
    reds = classifier.predict_proba(known[known["colour"] == "red"])
    assert reds[:, 1].min() < found[1] < reds[:, 1].max()


def test_numbers_below_any_mark_are_numbers():
    """Without scaling a number may be anything; only a missing one counts as missing."""
    rng = np.random.default_rng(0)
    X = 1e4 * rng.choice([-3.0, -2.0, -1.0], (120, 1))
    y = (X[:, 0] < -1.5e4).astype(int)
    classifier = quick(scaler=None, lengthscale=3e3).fit(X, y)
    assert classifier.score(X, y) == 1.0


def test_far_from_all_rows_probabilities_return_to_the_frequencies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = (X[:, 0] + 0.1 * rng.normal(size=300) > 0.5).astype(int)
    classifier = quick(max_iter=0).fit(X, y)
    near, far = classifier.predict_proba(np.array([[3.0], [1e9]]))
    frequency = np.mean(y)
    assert abs(far[1] - frequency) < abs(near[1] - frequency)
    _, variance = classifier.latent_mean_and_variance(np.array([[0.0], [1e9]]))
    assert np.all(variance[1] > 2 * variance[0])


def test_loaded_pickled_and_copied_models_are_the_same_to_the_last_bit(fitted, data, tmp_path):
    fitted.save(tmp_path / "model.dgp")
    expected = fitted.predict_proba(data[0])
    for again in (
        DirichletGPClassifier.load(tmp_path / "model.dgp"),
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
    ):
        np.testing.assert_array_equal(again.predict_proba(data[0]), expected)
        assert again.fitted_kernel()[0].same(fitted.fitted_kernel()[0])


def test_rows_are_added_and_taken_away_exactly(fitted, data):
    frame, y = data
    more, labels = frame_and_labels(90, seed=1)
    at_once = copy.deepcopy(fitted).partial_fit(more, labels)
    in_parts = copy.deepcopy(fitted)
    for rows in np.array_split(np.arange(90), 5):
        in_parts.partial_fit(more.iloc[rows], labels[rows])
    assert_same(in_parts, at_once, frame, 1e-8)
    assert_same(in_parts.forget(more, labels), fitted, frame, 1e-8)
    from_nothing = copy.deepcopy(fitted).decay(0).partial_fit(frame, y)
    assert_same(from_nothing, fitted, frame, 1e-8)


def test_copies_that_saw_their_own_rows_merge_exactly(fitted, data):
    frame, y = data
    one = copy.deepcopy(fitted).decay(0).partial_fit(frame[:120], y[:120])
    other = copy.deepcopy(fitted).decay(0).partial_fit(frame[120:], y[120:])
    assert_same(one.merge(other), fitted, frame, 1e-8)
    with pytest.raises(ValueError, match="merge: the models differ"):
        one.merge(quick(max_iter=0).fit(frame, y))


def test_left_out_rows_are_predicted_as_by_a_model_that_forgot_them(data):
    frame, y = data
    classifier = quick(class_prior="uniform").fit(frame, y)
    result = classifier._fitted
    # With few rows the kernel, too, would be one that never saw the row: not here.
    classifier._result = replace(result, model=replace(result.model, left_out=None))
    left_out = classifier.loo_proba(frame, y)
    for i in (0, 50, 199):
        row, label = frame.iloc[i : i + 1], y[i : i + 1]
        without = copy.deepcopy(classifier).forget(row, label)
        np.testing.assert_allclose(left_out[i], without.predict_proba(row)[0], atol=1e-8)


@pytest.mark.parametrize("kernel", ["product", "rbf"])
def test_a_weight_of_two_is_the_row_twice(kernel):
    frame, y = frame_and_labels(120)
    twice = np.arange(120) % 3 == 0
    weighted = quick(kernel=kernel).fit(frame, y, np.where(twice, 2.0, 1.0))
    repeated = quick(kernel=kernel).fit(
        pd.concat([frame, frame[twice]]), np.concatenate([y, y[twice]])
    )
    np.testing.assert_allclose(
        weighted.predict_proba(frame), repeated.predict_proba(frame), atol=1e-7
    )


def test_threads_and_batches_do_not_change_a_bit(fitted, data):
    frame, y = data
    expected = fitted.predict_proba(frame)
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(
            quick(n_jobs=n_jobs).fit(frame, y).predict_proba(frame), expected
        )
    for rows in (slice(7), slice(3, 4), slice(50, 190)):
        np.testing.assert_array_equal(fitted.predict_proba(frame[rows]), expected[rows])


def test_single_precision_rows_are_the_same_rows():
    X, categories = referee.mixed_rows(150, holes=False)
    X[::7, 1] = np.nan
    y = (X[:, 0] + X[:, 2] > 0.5).astype(int)
    chosen = np.flatnonzero(categories)
    double = quick(categorical_features=chosen).fit(X, y)
    single = quick(categorical_features=chosen).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(
        single.predict_proba(X.astype(np.float32)), double.predict_proba(X), atol=1e-12
    )


def test_one_share_and_one_lengthscale_for_all(data):
    classifier = quick(ard=False).fit(*data)
    kernel, _ = classifier.fitted_kernel()
    assert len(set(kernel.shares)) == 1
    assert np.ndim(classifier.lengthscale_) == 0
    assert classifier.score(*data) > 0.8


@pytest.mark.parametrize("kernel", ["product", "rbf"])
@pytest.mark.parametrize("scaler", ["standard", "minmax", None, RobustScaler()])
def test_any_scaler_scales_the_numbers_and_leaves_the_categories(data, scaler, kernel, tmp_path):
    frame, y = data
    classifier = quick(scaler=scaler, kernel=kernel).fit(frame, y)
    assert classifier.score(frame, y) > 0.8
    if not isinstance(scaler, RobustScaler):
        classifier.save(tmp_path / "model.dgp")
        again = DirichletGPClassifier.load(tmp_path / "model.dgp")
        np.testing.assert_array_equal(again.predict_proba(frame), classifier.predict_proba(frame))


def test_a_scaler_may_make_fewer_columns_of_the_numbers(data):
    frame, y = data
    whole = frame.assign(height=frame["height"].fillna(0.0))
    classifier = quick(scaler=PCA(1)).fit(whole, y)
    kernel, points = classifier.fitted_kernel()
    assert points.shape[1] == 3
    assert [len(levels) > 0 for levels in kernel.levels] == [True, False, False]
    assert np.isfinite(classifier.predict_proba(whole)).all()


@pytest.mark.parametrize("inducing", ["kmeans", "rpcholesky", "random"])
def test_points_are_rows_or_levels_however_they_are_chosen(data, inducing):
    classifier = quick(inducing=inducing, n_inducing=15).fit(*data)
    assert len(classifier.inducing_points_) <= 15
    assert classifier.score(*data) > 0.8


def test_points_move_where_they_are_numbers(data):
    frame, y = data
    still = quick(n_inducing=12).fit(frame, y)
    moved = quick(n_inducing=12, optimize_inducing=True, max_iter=10).fit(frame, y)
    assert moved.bound_ > still.bound_
    points = moved.inducing_points_
    assert set(points[:, 2]) <= {0.0, 1.0, 2.0}


@pytest.mark.parametrize(
    "rival", [GPRegressionClassifier, NystromRidgeClassifier, VariationalGPClassifier]
)
def test_the_rivals_take_it_for_numbers(rival):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    settings = {"n_inducing": 30, "random_state": 0}
    if rival is VariationalGPClassifier:
        settings["tol"] = 1e-3
    assert rival("product", **settings).fit(X, y).score(X, y) > 0.8


# Rows from elsewhere


@pytest.fixture(scope="module")
def holes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).round(1)
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


class Blocks:
    """Blocks that can be read again."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __iter__(self):
        for start in range(0, len(self.X), 90):
            yield self.X[start : start + 90], self.y[start : start + 90]


def test_blocks_give_the_model_of_the_rows_in_memory(holes, fitted, data):
    X, y = holes
    assert_same(quick().fit(Blocks(X, y)), quick().fit(X, y), X, 1e-10)
    assert_same(quick().fit(Blocks(*data)), fitted, data[0], 1e-10)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_give_the_model_of_the_rows_in_memory(fitted, data, kind, tmp_path):
    pytest.importorskip("pyarrow")
    frame, y = data
    table = frame.assign(label=y)
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    assert_same(quick().fit(path, "label"), fitted, frame, 1e-9)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_dask_gives_the_model_of_the_rows_in_memory(holes, fitted, data):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    X, y = holes
    found = quick().fit(da.from_array(X, chunks=(90, 2)), da.from_array(y, chunks=90))
    assert_same(found, quick().fit(X, y), X, 1e-9)
    frame, labels = data
    rows = dd.from_pandas(frame, npartitions=3)
    found = quick().fit(rows, dd.from_pandas(pd.Series(labels), npartitions=3))
    assert_same(found, fitted, frame, 1e-9)


def test_tensors_give_the_model_of_the_rows_in_memory(holes):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    torch.set_num_threads(1)  # more are slow where several tests share the cores
    X, y = holes
    host, there = quick().fit(X, y), quick().fit(torch.from_numpy(X), torch.from_numpy(y))
    np.testing.assert_allclose(there.predict_proba(X), host.predict_proba(X), atol=1e-6)
    host.set_params(tolerance=0)
    np.testing.assert_allclose(
        host.predict_proba(torch.from_numpy(X)), host.predict_proba(X), atol=1e-9
    )


def test_an_interrupted_fit_goes_on_with_the_same_kernel(data, tmp_path, monkeypatch):
    frame, y = data
    path = tmp_path / "fit.ckpt"

    classifier = quick()
    with monkeypatch.context() as patch:
        interrupt_the_pass(patch, 0)
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(frame, y, checkpoint=path)
    assert path.exists()
    classifier.fit(frame, y, checkpoint=path)
    whole = quick().fit(frame, y, checkpoint=tmp_path / "other.ckpt")
    np.testing.assert_array_equal(classifier.predict_proba(frame), whole.predict_proba(frame))
