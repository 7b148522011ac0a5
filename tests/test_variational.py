"""Variational classification: the dense bound, its best belief, and a gradient that is right."""

import linecache
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from referee import problem, rows_of, variational_bound
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning

from dirichletgp import VariationalGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.regressions import make_basis
from dirichletgp._gp.training.kernel_search import State
from dirichletgp.baselines.variational.belief import Belief
from dirichletgp.baselines.variational.inference import Inference, Share, WhitenedRows, best_length
from dirichletgp.baselines.variational.likelihoods import Bernoulli, RobustMax, Softmax
from dirichletgp.baselines.variational.objective import VariationalObjective

LIKELIHOODS = [Bernoulli("logit"), Bernoulli("probit"), Softmax(3), RobustMax(3)]
likelihoods = pytest.mark.parametrize(
    "likelihood", LIKELIHOODS, ids=["logit", "probit", "softmax", "robustmax"]
)


def small_problem(likelihood, **options):
    return problem(max(2, likelihood.n_latents), weighted=True, **options)


def inference(p, likelihood, workers, stride=1):
    basis = make_basis(p.kernel, p.Z, p.jitter)
    chunks = [
        WhitenedRows(basis.vectors(p.X[rows]), p.codes[rows], p.weights[rows])
        for rows in (slice(35), slice(35, None))
    ]
    return Inference(chunks, likelihood, p.kernel.variance, workers, Share(stride=stride))


def random_belief(p, likelihood):
    rng = np.random.default_rng(4)
    roots = rng.normal(size=(likelihood.n_latents, len(p.Z), len(p.Z)))
    return Belief(rng.normal(size=roots.shape[:2]), np.eye(len(p.Z)) + roots @ roots.swapaxes(1, 2))


@likelihoods
def test_bound_is_that_of_the_inducing_values(likelihood, workers):
    p = small_problem(likelihood)
    belief = random_belief(p, likelihood)
    dense = variational_bound(
        p,
        belief.mean,
        np.linalg.inv(belief.precision),
        lambda m, v: likelihood.expected_log(m, v, p.codes).value,
    )
    # 1e-8, but for the softmax, whose table is right to about 1e-6 and notices the last bits of its
    # argument
    tolerance = 1e-6 if isinstance(likelihood, Softmax) else 1e-8
    assert inference(p, likelihood, workers).measure(belief).bound == pytest.approx(
        dense, rel=tolerance
    )


@likelihoods
def test_no_other_belief_has_a_higher_bound(likelihood, workers):
    p = small_problem(likelihood, n=40, n_points=3)
    task = inference(p, likelihood, workers)
    fit, _ = task.settle(Belief.prior(likelihood.n_latents, 3), 1e-9)
    lower = np.tril_indices(3)
    shape = likelihood.n_latents, 3, 3

    def loss(vector):
        means, triangles = np.split(vector, [3 * likelihood.n_latents])
        roots = np.zeros(shape)
        roots[:, lower[0], lower[1]] = triangles.reshape(likelihood.n_latents, -1)
        precision = roots @ roots.swapaxes(1, 2)
        try:
            return -task.measure(Belief(means.reshape(-1, 3), precision)).bound
        except np.linalg.LinAlgError:
            return 1e6

    roots = np.linalg.cholesky(fit.belief.precision)
    rng = np.random.default_rng(0)
    best = np.concatenate([fit.belief.mean.ravel(), roots[:, lower[0], lower[1]].ravel()])
    found = minimize(
        loss, best + 0.1 * rng.normal(size=best.shape), method="L-BFGS-B", options={"maxiter": 25}
    )
    assert -found.fun <= fit.bound + 1e-4
    assert -found.fun == pytest.approx(fit.bound, abs=0.05)


@likelihoods
def test_gradient_is_that_of_the_best_bound(likelihood, workers):
    p = small_problem(likelihood)
    state = State(p.kernel, p.Z, jitter=p.jitter)
    objective = VariationalObjective(rows_of(p), likelihood, p.jitter, 1e-10, workers)
    _, gradient, _ = objective.evaluate(state)
    rng = np.random.default_rng(3)
    h = 1e-3 if isinstance(likelihood, Softmax) else 1e-4
    for by_scale, by_variance, by_points in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]:
        log_scale, log_variance = by_scale * rng.normal(size=3), by_variance * 1.0
        points = by_points * rng.normal(size=p.Z.shape)

        def moved(t, log_scale=log_scale, log_variance=log_variance, points=points):
            kernel = p.kernel.with_parameters(
                p.kernel.parameters + t * log_scale,
                p.kernel.variance * np.exp(t * log_variance),
            )
            return objective.evaluate(replace(state, kernel=kernel, points=p.Z + t * points))[0]

        expected = (moved(h) - moved(-h)) / (2 * h)
        found = log_scale @ gradient.parameters + log_variance * gradient.log_variance
        found += np.vdot(points, gradient.points)
        assert found == pytest.approx(expected, abs=2e-3 * (1 + abs(expected)))


@likelihoods
def test_a_part_of_the_rows_is_enough_to_steer_the_means(likelihood, workers):
    p = small_problem(likelihood, n=200)
    start = Belief.prior(likelihood.n_latents, len(p.Z))
    exact, _ = inference(p, likelihood, workers).settle(start, 1e-7)
    steered, _ = inference(p, likelihood, workers, stride=3).settle(start, 1e-7)
    assert steered.bound == pytest.approx(exact.bound, abs=1e-4)


def test_coupled_steps_converge_where_separate_ones_creep(workers):
    p = problem(12, n=400, n_points=20)
    start = Belief.prior(12, 20)
    task = inference(p, Softmax(12), workers)
    _, passes = task.settle(start, 1e-4)
    assert passes < 25
    separate = Softmax(12)
    separate.curvature = lambda codes, precision: lambda f: precision * f
    _, more = inference(p, separate, workers).settle(start, 1e-4)
    assert more > 2 * passes


@pytest.mark.parametrize(
    ("likelihood", "classes"), [("logit", 2), ("probit", 2), ("softmax", 3), ("robustmax", 3)]
)
def test_classifies_flowers(likelihood, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = VariationalGPClassifier(likelihood=likelihood, n_inducing=12, random_state=0)
    classifier.fit(X, names)
    assert classifier.score(X, names) > 0.93
    mean, variance = classifier.latent_mean_and_variance(X[:5])
    assert mean.shape == variance.shape == (5, 1 if classes == 2 else 3)
    assert np.all(variance > 0)
    lower, upper = classifier.predict_interval(X[:5])
    assert lower.shape == (5, classes)
    assert np.all(lower <= upper)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize(
    ("bend", "length"), [(1.0, 1.0), (1.0, 0.3), (2.0, 1.0), (5.0, 0.5), (0.5, 1.0)]
)
def test_the_length_of_a_step_is_the_top_of_the_parabola(bend, length):
    gain = 0.7
    change = 2 * gain * length - bend * gain * length**2
    assert best_length(gain, length, change) == pytest.approx(min(1.0, 1.0 / bend))


def test_what_is_known_of_precisions_is_what_threads_computed_and_goes_along(workers):
    p = small_problem(Softmax(3))
    belief, alone = random_belief(p, Softmax(3)), random_belief(p, Softmax(3))
    belief.prepare(workers)
    np.testing.assert_array_equal(belief.factors, alone.factors)
    np.testing.assert_array_equal(belief.covariance, alone.covariance)
    other = belief.with_mean(np.zeros_like(belief.mean))
    assert other.covariance is belief.covariance
    assert not other.mean.any()


def test_rows_without_overlap_do_not_make_the_steps_swing(workers, monkeypatch):
    X = np.random.default_rng(0).normal(size=(150, 2))
    basis = make_basis(KERNELS["rbf"](np.array([0.5, 0.5]), 2_000.0), X[:40], 1e-8)
    chunk = WhitenedRows(basis.vectors(X), np.digitize(X[:, 0], [-0.5, 0.5]), None)
    task = Inference([chunk], Softmax(3), 2_000.0, workers)
    _, passes = task.settle(Belief.prior(3, 40), 1e-3)
    monkeypatch.setattr("dirichletgp.baselines.variational.inference.best_length", lambda *_: 1.0)
    _, swinging = task.settle(Belief.prior(3, 40), 1e-3)
    assert swinging > 1.2 * passes


@pytest.mark.parametrize("likelihood", ["softmax", "robustmax"])
@pytest.mark.parametrize(
    "parameters", [{"variance": 1e4}, {"class_weight": {0: 1e6, 1: 1e6, 2: 1e6}}]
)
def test_classes_without_overlap_are_told_apart(likelihood, parameters):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.digitize(X[:, 0], [0.0, 1.0])
    classifier = VariationalGPClassifier(
        likelihood=likelihood, max_iter=1, random_state=0, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(X, y)
    assert classifier.score(X, y) > 0.95


@pytest.mark.parametrize("likelihood", ["softmax", "robustmax"])
def test_inducing_points_that_see_no_rows_leave_the_prior(likelihood):
    X, y = load_iris(return_X_y=True)
    far = np.full((2, 4), 1e6) + np.arange(2)[:, None]
    classifier = VariationalGPClassifier(
        likelihood=likelihood, inducing=far, lengthscale=1.0, scaler=None, max_iter=0
    )
    np.testing.assert_allclose(classifier.fit(X, y).predict_proba(X), 1 / 3, atol=1e-6)


def test_history_tells_how_the_bound_rose():
    X, y = make_moons(300, noise=0.2, random_state=0)
    classifier = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X, y)
    kernel = next(stage for stage in classifier.history_ if stage["stage"].startswith("kernel"))
    assert kernel["bound_per_row"][-1] > kernel["bound_per_row"][0]
    # The search climbs the bound and, a few nats, what is believed of the kernel.
    assert max(kernel["bound_per_row"]) * 300 == pytest.approx(classifier.bound_, abs=6)
    assert classifier.n_iter_ == len(kernel["bound_per_row"])


def test_starting_values_are_kept_when_nothing_is_to_be_learned():
    X, y = make_moons(200, noise=0.2, random_state=0)
    fixed = VariationalGPClassifier(
        lengthscale=0.8, variance=3.0, max_iter=0, n_inducing=20, random_state=0
    ).fit(X, y)
    assert fixed.variance_ == 3.0
    np.testing.assert_array_equal(fixed.lengthscale_, [0.8, 0.8])
    learned = VariationalGPClassifier(
        lengthscale=0.8, variance=3.0, n_inducing=20, random_state=0
    ).fit(X, y)
    assert learned.bound_ > fixed.bound_


def test_minibatches_reach_the_bound_of_full_batches():
    X, y = make_moons(2_000, noise=0.25, random_state=0)
    full = VariationalGPClassifier(n_inducing=25, random_state=0).fit(X, y)
    batches = VariationalGPClassifier(n_inducing=25, batch_size=200, random_state=0).fit(X, y)
    assert batches.bound_ == pytest.approx(full.bound_, abs=0.005 * 2_000)
    assert np.abs(batches.predict_proba(X) - full.predict_proba(X)).mean() < 0.01


def test_a_sample_is_followed_by_minibatches_of_all_rows():
    X, y = make_moons(1_500, noise=0.25, random_state=0)
    classifier = VariationalGPClassifier(n_inducing=15, n_subsample=300, random_state=0).fit(X, y)
    assert any(stage["stage"].startswith("minibatches") for stage in classifier.history_)
    sample_only = VariationalGPClassifier(
        n_inducing=15, n_subsample=300, batch_size=None, random_state=0
    ).fit(X, y)
    assert not any(stage["stage"].startswith("minibatches") for stage in sample_only.history_)


@pytest.mark.parametrize("parameters", [{"max_iter": 1}, {"max_iter": 6, "n_subsample": 100}])
def test_says_at_the_line_of_the_caller_when_it_ran_out_of_iterations(parameters):
    X, y = make_moons(200, noise=0.2, random_state=0)
    classifier = VariationalGPClassifier(n_inducing=10, random_state=0, **parameters)
    with pytest.warns(ConvergenceWarning, match=f"max_iter={parameters['max_iter']}") as caught:
        classifier.fit(X, y)
    (warning,) = caught
    assert warning.filename == __file__
    assert "classifier.fit(X, y)" in linecache.getline(warning.filename, warning.lineno)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"likelihood": "softmax"}, "likelihood='softmax' is not for 2 classes"),
        ({"likelihood": "poisson"}, "likelihood='poisson' is not known"),
        ({"tol": 0.0}, "tol=0.0 is not valid"),
        ({"batch_size": 0}, "batch_size=0 is not valid"),
        ({"max_iter": -1}, "max_iter=-1 is not valid"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = make_moons(50, random_state=0)
    with pytest.raises(ValueError, match=message):
        VariationalGPClassifier(**parameters).fit(X, y)
