"""Features become normal scores; ties, outliers and constant columns do no harm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

from dirichletgp._gp.rows.scaling import NormalScores, fit_scaler, make_scaler


def test_scores_are_normal_quantiles_of_mid_ranks():
    x = np.random.default_rng(0).integers(0, 30, size=200).astype(float)
    expected = norm.ppf((rankdata(x) - 0.5) / 200)
    np.testing.assert_allclose(NormalScores().fit_transform(x[:, None]).ravel(), expected)


def test_a_balanced_binary_column_stays_moderate():
    x = np.repeat([0.0, 1.0], 500)[:, None]
    np.testing.assert_allclose(np.unique(NormalScores().fit_transform(x)), norm.ppf([0.25, 0.75]))


def test_a_wild_outlier_is_just_the_largest_value():
    x = np.append(np.random.default_rng(0).normal(size=999), 1e12)[:, None]
    scores = NormalScores().fit_transform(x)
    assert 3.0 < scores.max() < 3.5


def test_a_value_of_next_to_no_weight_has_a_finite_score():
    x = np.array([-5.0, 0.0, 1.0, 5.0])[:, None]
    scores = (
        NormalScores().fit(x, sample_weight=np.array([1e-20, 1.0, 1.0, 1e-20])).transform(x).ravel()
    )
    assert np.all(np.isfinite(scores))
    assert np.all(np.diff(scores) > 0)


def test_beyond_the_training_range_scores_grow_slowly_and_without_end():
    scaler = NormalScores().fit(np.random.default_rng(0).normal(size=(500, 1)))
    beyond = scaler.transform([[10.0], [100.0], [1e6], [-1e6]]).ravel()
    assert np.all(np.diff(beyond[:3]) > 1.0)
    assert beyond[2] < 20.0
    assert beyond[3] < -10.0


def test_a_constant_column_is_zero_whatever_comes():
    scaler = NormalScores().fit(np.full((20, 1), 7.0))
    np.testing.assert_array_equal(scaler.transform([[7.0], [8.0], [-1e9]]), 0.0)


@settings(max_examples=50, deadline=None)
@given(
    arrays(float, st.tuples(st.integers(2, 60), st.integers(1, 3)), elements=st.floats(-1e6, 1e6))
)
def test_training_values_survive_the_round_trip(X):
    scaler = NormalScores().fit(X)
    np.testing.assert_allclose(
        scaler.inverse_transform(scaler.transform(X)), X, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", ["standard", "minmax"])
def test_fitting_in_blocks_equals_fitting_at_once(name):
    X = np.random.default_rng(0).normal(size=(25_000, 3)) * [1, 10, 100]
    blocks = fit_scaler(name, X, None, None, np.random.RandomState(0))
    np.testing.assert_allclose(blocks.transform(X), make_scaler(name).fit_transform(X), atol=1e-10)
