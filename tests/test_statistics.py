"""Class statistics are sums over rows: they add, subtract and do not care about grouping."""

import numpy as np
import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st

from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.statistics import (
    BoundStatistics,
    ClassStatistics,
    add_block,
    weighted_by_roots,
)
from dirichletgp._gp.rows.in_memory import InMemoryRows

N_ROWS = 200


def features_of(p):
    return lambda rows: p.kernel.values(rows, p.Z)


def statistics_of(p, positions, pool):
    weights = None if p.given_weights is None else p.given_weights[positions]
    rows = InMemoryRows(p.X[positions], p.codes[positions], weights, p.n_classes)
    return ClassStatistics.empty(p.n_classes, len(p.Z)).add_rows(rows, features_of(p), pool)


def assert_same(a, b):
    np.testing.assert_allclose(a.counts, b.counts, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.sums, b.sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.grams, b.grams, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_equal_their_definition(weighted, workers):
    p = referee.problem(3, n=N_ROWS, weighted=weighted)
    statistics = statistics_of(p, np.arange(N_ROWS), workers)
    K = referee.kernel_matrix(p.kernel, p.X, p.Z)
    for k in range(3):
        w, Kk = p.weights[p.codes == k], K[p.codes == k]
        assert statistics.counts[k] == pytest.approx(w.sum())
        np.testing.assert_allclose(statistics.sums[k], w @ Kk, rtol=1e-12)
        np.testing.assert_allclose(statistics.grams[k], (w[:, None] * Kk).T @ Kk, rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(parts=st.lists(st.integers(0, 4), min_size=N_ROWS, max_size=N_ROWS))
def test_statistics_of_any_partition_add_up_to_the_whole(parts):
    p = referee.problem(4, n=N_ROWS, weighted=True)
    with Workers(1) as pool:
        whole = statistics_of(p, np.arange(N_ROWS), pool)
        total = ClassStatistics.empty(4, len(p.Z))
        for part in range(5):
            total = total + statistics_of(p, np.flatnonzero(np.array(parts) == part), pool)
    assert_same(total, whole)


def test_rows_taken_away_leave_the_statistics_of_the_others(workers):
    p = referee.problem(3, n=N_ROWS)
    first, rest = np.arange(50), np.arange(50, N_ROWS)
    whole = statistics_of(p, np.arange(N_ROWS), workers)
    assert_same(whole - statistics_of(p, first, workers), statistics_of(p, rest, workers))


def test_small_classes_kept_as_rows_hold_the_same_sums(workers):
    p = referee.problem(3, n=N_ROWS, n_points=40, weighted=True)
    p.codes[:] = np.repeat([0, 1, 2], [150, 39, 11])
    whole = statistics_of(p, np.arange(N_ROWS), workers)
    rows = BoundStatistics.of_rows(referee.rows_of(p), p.kernel, p.Z, workers)
    assert set(rows.grams) == {0}
    assert set(rows.rows) == {1, 2}
    np.testing.assert_allclose(rows.grams[0], whole.grams[0], rtol=1e-12)
    np.testing.assert_allclose(rows.pooled, whole.grams[1] + whole.grams[2], rtol=1e-12)
    for k in (1, 2):
        np.testing.assert_allclose(rows.rows[k].T @ rows.rows[k], whole.grams[k], rtol=1e-12)
    np.testing.assert_allclose(rows.sums, whole.sums, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_do_not_change_the_vectors_they_are_given(weighted, workers):
    p = referee.problem(3, n=N_ROWS, n_points=40, weighted=weighted)
    vectors = p.kernel.values(p.X, p.Z)
    before = vectors.copy()
    add_block(vectors, p.given_weights, np.zeros(40))
    weighted_by_roots(vectors, p.given_weights)
    np.testing.assert_array_equal(vectors, before)

    places = {row.tobytes(): i for i, row in enumerate(p.X)}

    def kept(rows):
        """Views of `vectors` for single rows; what a pass writes into them would be seen."""
        return vectors[places[rows[0].tobytes()]][None]

    total = ClassStatistics.empty(3, 40)
    for i in range(N_ROWS):
        weights = None if p.given_weights is None else p.given_weights[i : i + 1]
        total.add_rows(InMemoryRows(p.X[i : i + 1], p.codes[i : i + 1], weights, 3), kept, workers)
    np.testing.assert_array_equal(vectors, before)
    assert_same(total, statistics_of(p, np.arange(N_ROWS), workers))


def test_weighted_rows_of_small_classes_are_kept_without_help_from_a_callee(workers):
    """The kept rows are sqrt(w) k, and their sum is still that of w k."""
    p = referee.problem(3, n=30, n_points=40, weighted=True)
    found = BoundStatistics.of_rows(referee.rows_of(p), p.kernel, p.Z, workers)
    K = referee.kernel_matrix(p.kernel, p.X, p.Z)
    for k in range(3):
        inside = p.codes == k
        roots = np.sqrt(p.weights[inside])[:, None]
        np.testing.assert_allclose(found.rows[k], roots * K[inside], rtol=1e-12)
        np.testing.assert_allclose(found.sums[k], p.weights[inside] @ K[inside], rtol=1e-12)


def test_a_stratified_sample_holds_every_class():
    codes = np.repeat([0, 1, 2], [10_000, 3, 1])
    rows = InMemoryRows(np.zeros((len(codes), 1)), codes, None, 3)
    sample = rows.stratified_sample(100, np.random.RandomState(0))
    assert np.all(np.bincount(codes[sample], minlength=3) >= 1)
    assert 95 <= len(sample) <= 105


def test_identical_rows_of_a_class_merge_into_their_weight():
    X = np.array([[1.0], [1.0], [2.0], [1.0]])
    rows = InMemoryRows(X, np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 4.0, 8.0]), 2).merged()
    np.testing.assert_array_equal(rows.X.ravel(), [1.0, 2.0, 1.0])
    np.testing.assert_array_equal(rows.codes, [0, 0, 1])
    np.testing.assert_array_equal(rows.weights, [3.0, 4.0, 8.0])


def test_votes_are_the_weights_of_all_rows_at_one_place():
    X = np.array([[1.0], [0.0], [2.0], [-0.0], [1.0]])
    rows = InMemoryRows(X, np.array([0, 1, 0, 2, 1]), np.array([1.0, 2.0, 4.0, 8.0, 16.0]), 3)
    expected = [[1, 16, 0], [0, 2, 8], [4, 0, 0], [0, 2, 8], [1, 16, 0]]
    np.testing.assert_array_equal(rows.votes(), expected)
    np.testing.assert_array_equal(rows.votes(np.array([3, 0])), [expected[3], expected[0]])
    np.testing.assert_array_equal(rows.places, [0, 1, 2, 1, 0])
