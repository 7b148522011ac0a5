"""Against GPyTorch's DirichletClassificationLikelihood with inducing points, on letter.

    python benchmarks/bench_gpytorch.py [--points 200] [--evaluations 15] [--rows 15000] [--quick]

GPyTorch's model is its sparse regression (ExactGP with an InducingPointKernel: the collapsed bound
of Titsias with the likelihood's fixed noise of every row), a batch over the classes. To make it the
same model it gets one kernel shared by the classes, the same inducing points, held fixed, and the
same prior mean of every class. The script first compares the bounds, which differ by their jitter
only, then times bound and gradient by turns (GPyTorch in float32 too), then runs the same L-BFGS
(SciPy's) on both from the same start and compares test error and MNLL. Probabilities of GPyTorch
are the mean of 1,000 samples through a softmax. By default it adds what the inducing points do not
explain to the noise of the training rows when it predicts; without that "diagonal correction" its
posterior is the one of the bound.

Needs torch and gpytorch: pip install torch gpytorch
"""

import argparse
import sys
import time

import numpy as np
from _measure import PAUSE, by_turns, letter, objective_of, ratio, say_where
from scipy.optimize import minimize

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers
from dirichletgp.metrics import error_rate, mean_negative_log_likelihood

try:
    import gpytorch
    import torch
except ImportError:
    print("torch and gpytorch are not installed: pip install torch gpytorch")
    sys.exit(0)

ALPHA = 0.001
START = np.log([2.0, 2.0])  # lengthscale, variance


class SparseDirichletGP(gpytorch.models.ExactGP):
    """One kernel, C regressions in a batch."""

    def __init__(self, X, likelihood, points, offsets):
        super().__init__(X, likelihood.transformed_targets, likelihood)
        self.register_buffer("offsets", offsets)
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        self.covar_module = gpytorch.kernels.InducingPointKernel(kernel, points, likelihood)
        self.covar_module.inducing_points.requires_grad_(False)

    def forward(self, x):
        mean = self.offsets[:, None].expand(-1, len(x))
        return gpytorch.distributions.MultivariateNormal(mean, self.covar_module(x))


class Theirs:
    """GPyTorch's bound as a function of log lengthscale and log variance."""

    def __init__(self, X, codes, points, offsets, dtype=torch.float64):
        self.X, self.dtype = torch.as_tensor(X, dtype=dtype), dtype
        self.likelihood = gpytorch.likelihoods.DirichletClassificationLikelihood(
            torch.as_tensor(codes), alpha_epsilon=ALPHA, dtype=dtype
        )
        points, offsets = (
            torch.as_tensor(points, dtype=dtype),
            torch.as_tensor(offsets, dtype=dtype),
        )
        self.model = SparseDirichletGP(self.X, self.likelihood, points, offsets).to(dtype)
        self.mll = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)

    def value_and_gradient(self, logs):
        self.model.train()
        scale = self.model.covar_module.base_kernel
        scale.base_kernel.lengthscale, scale.outputscale = np.exp(logs)
        self.model.zero_grad()
        value = self.mll(self.model(self.X), self.likelihood.transformed_targets).sum() * len(
            self.X
        )
        value.backward()
        raw = (scale.base_kernel.raw_lengthscale, scale.raw_outputscale)
        # the raw parameters are softplus^-1 of the parameters: d parameter / d raw = sigmoid(raw)
        return value.item(), np.array(
            [(r.grad / torch.sigmoid(r)).item() * p for r, p in zip(raw, np.exp(logs), strict=True)]
        )

    def predict_proba(self, X, correction, n_samples=1_000, block=500):
        self.model.train()  # forgets what an earlier prediction kept
        self.model.eval()
        generator = torch.Generator().manual_seed(0)
        parts = []
        with torch.no_grad(), gpytorch.settings.sgpr_diagonal_correction(correction):
            for rows in torch.as_tensor(X, dtype=self.dtype).split(block):
                latent = self.model(rows)
                mean, deviation = latent.mean, latent.variance.clamp_min(0.0).sqrt()
                draws = torch.randn((n_samples, *mean.shape), generator=generator, dtype=self.dtype)
                parts.append((mean + deviation * draws).softmax(1).mean(0).T)
        return torch.cat(parts).numpy()


class Ours:
    """The package's bound as a function of log lengthscale and log variance."""

    def __init__(self, X, codes, points, workers):
        self.X, self.codes, self.points = X, codes, points
        self.objective = objective_of(X, codes, workers, ALPHA)

    @property
    def offsets(self):
        return self.objective.transform.offsets(self.objective.prior)

    def value_and_gradient(self, logs):
        lengthscale, variance = np.exp(logs)
        kernel = KERNELS["rbf"](np.full(self.X.shape[1], lengthscale), variance)
        value, gradient = self.objective.value_and_gradient(kernel, self.points)
        return value, np.array([gradient.parameters.sum(), gradient.log_variance])

    def predict_proba(self, X, logs):
        lengthscale, variance = np.exp(logs)
        model = DirichletGPClassifier(
            ard=False,
            lengthscale=lengthscale,
            variance=variance,
            inducing=self.points,
            label_transform="dirichlet",
            alpha_epsilon=ALPHA,
            scaler=None,
            max_iter=0,
        )
        return model.fit(self.X, self.codes).predict_proba(X)


def maximise(bound, evaluations, n):
    """Best hyperparameters of an L-BFGS with so many evaluations, its seconds, and its bound."""
    best = [-np.inf, START]

    def negative(logs):
        value, gradient = bound.value_and_gradient(logs)
        if value > best[0]:
            best[:] = value, logs.copy()
        return -value / n, -gradient / n

    start = time.perf_counter()
    result = minimize(negative, START, jac=True, method="L-BFGS-B", options={"maxfun": evaluations})
    return best[1], best[0], time.perf_counter() - start, result.nfev


def compare_bounds(ours, theirs):
    (value, gradient), (other, other_gradient) = ours, theirs
    of_gradient = np.linalg.norm(gradient - other_gradient) / np.linalg.norm(gradient)
    print(
        f"relative difference: bound {abs(value - other) / abs(value):.1e}, "
        f"gradient {of_gradient:.1e}"
    )


def time_evaluations(X, codes, points, theirs, rounds):
    single = Theirs(X, codes, points, theirs.model.offsets, torch.float32)

    def our_evaluations():
        with Workers(None) as workers:
            return twice(Ours(X, codes, points, workers))

    def twice(bound):
        bound.value_and_gradient(START)
        return bound.value_and_gradient(START)

    compare_bounds(our_evaluations(), twice(theirs))
    times = (
        by_turns([our_evaluations, lambda: twice(theirs), lambda: twice(single)], rounds, PAUSE) / 2
    )
    print(f"{len(X)} rows, {codes.max() + 1} classes, {len(points)} points\n")
    print(f"{'':<18} {'s / evaluation':>14} {'best':>8} {'ratio':>8}")
    for i, name in enumerate(["dirichletgp", "GPyTorch", "GPyTorch, float32"]):
        print(
            f"{name:<18} {np.median(times[:, i]):>14.4f} {times[:, i].min():>8.4f} "
            f"{ratio(times, i, 0):>8.1f}"
        )
    print(flush=True)


def scores(name, y, optimum, predict):
    logs, bound, fit, n_evaluations = optimum
    start = time.perf_counter()
    probabilities = predict()
    predicted = time.perf_counter() - start
    print(
        f"{name:<24} {n_evaluations:>11} {fit:>8.2f} {bound:>12.1f} {np.exp(logs[0]):>11.3f}",
        end="",
    )
    print(
        f" {np.exp(logs[1]):>8.3f} {predicted:>9.2f} {error_rate(y, probabilities):>8.4f}", end=""
    )
    print(f" {mean_negative_log_likelihood(y, probabilities):>8.4f}", flush=True)


def compare_fits(X, codes, points, X_test, y_test, theirs, evaluations):
    print(
        f"{'':<24} {'evaluations':>11} {'fit s':>8} {'bound':>12} {'lengthscale':>11} "
        f"{'variance':>8}",
        end="",
    )
    print(f" {'predict s':>9} {'error':>8} {'MNLL':>8}")
    with Workers(None) as workers:
        ours = Ours(X, codes, points, workers)
        optimum = maximise(ours, evaluations, len(X))
    scores("dirichletgp", y_test, optimum, lambda: ours.predict_proba(X_test, optimum[0]))
    their_optimum = maximise(theirs, evaluations, len(X))
    theirs.value_and_gradient(their_optimum[0])
    scores("GPyTorch", y_test, their_optimum, lambda: theirs.predict_proba(X_test, True))
    scores(
        "GPyTorch, no correction",
        y_test,
        their_optimum,
        lambda: theirs.predict_proba(X_test, False),
    )
    print(f"ratio of fit times {their_optimum[2] / optimum[2]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--evaluations", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="1,000 rows, 50 points")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.points, arguments.evaluations, arguments.rounds = 1_000, 50, 5, 2
    say_where()
    print(
        f"torch {torch.__version__.split('+')[0]} with {torch.get_num_threads()} threads, ", end=""
    )
    print(f"gpytorch {gpytorch.__version__}")
    X, codes, points, X_test, y_test = letter(arguments.points, arguments.rows)
    with Workers(None) as workers:
        offsets = Ours(X, codes, points, workers).offsets
    theirs = Theirs(X, codes, points, offsets)
    time_evaluations(X, codes, points, theirs, arguments.rounds)
    compare_fits(X, codes, points, X_test, y_test, theirs, arguments.evaluations)


if __name__ == "__main__":
    main()
