"""The label transform is the moment matching of the paper, centred on the class frequencies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dirichletgp import LabelTransform


@given(alpha=st.floats(1e-5, 1.0))
def test_dirichlet_transform_matches_mean_and_variance_of_the_gamma(alpha):
    transform = LabelTransform.dirichlet(alpha)
    for shape, target, noise in [
        (1 + alpha, transform.target_in, transform.noise_in),
        (alpha, transform.target_out, transform.noise_out),
    ]:
        log_normal_mean = np.exp(target + noise / 2)
        assert log_normal_mean == pytest.approx(shape)
        assert np.expm1(noise) * log_normal_mean**2 == pytest.approx(shape)


@given(st.lists(st.floats(0.01, 10.0), min_size=2, max_size=30))
def test_offsets_are_log_frequencies_around_the_mean_target(weights):
    prior = np.array(weights) / np.sum(weights)
    transform = LabelTransform.dirichlet(0.01)
    offsets = transform.offsets(prior)
    np.testing.assert_allclose(offsets - offsets[0], np.log(prior) - np.log(prior[0]), atol=1e-9)
    n_classes = len(prior)
    level = (transform.target_in + (n_classes - 1) * transform.target_out) / n_classes
    assert offsets.mean() == pytest.approx(level)


def test_only_the_separation_of_the_targets_reaches_the_regressions():
    prior = np.array([0.2, 0.3, 0.5])
    a, b = LabelTransform(1.0, -4.0, 0.5, 2.0), LabelTransform.from_constants(5.0, 0.5, 2.0)
    np.testing.assert_allclose(np.stack(a.residuals(prior)), np.stack(b.residuals(prior)))
