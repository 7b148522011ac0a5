"""The paper's central claim: how much longer GPC (variational) takes than GPD (Dirichlet).

    python benchmarks/bench_gpc.py [--datasets eeg htru2 magic letter] [--points 200] [--gradients]

Same rows, same inducing points, same kernel family, both run until their bound no longer rises:
L-BFGS stops at gains of 1e-7 per row (GPD), 1e-6 (GPC, two classes) or 1e-5 (GPC, letter; in its
favour). GPC has a probit likelihood, or a softmax for letter (RobustMax takes several times as
long), natural gradients for its belief, and its kernel is learned on the bound with the belief at
its best. `--gradients` measures what natural gradients buy: passes to the best belief for a fixed
kernel (MAGIC), against L-BFGS over means and Cholesky factors.
"""

import argparse
import time

import numpy as np
from _data import split
from _measure import say_where
from scipy.optimize import minimize
from sklearn.preprocessing import MinMaxScaler

from dirichletgp import DirichletGPClassifier, VariationalGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import Workers
from dirichletgp._gp.core.regressions import make_basis
from dirichletgp.baselines.variational.belief import Belief
from dirichletgp.baselines.variational.inference import Inference, WhitenedRows
from dirichletgp.baselines.variational.likelihoods import Bernoulli
from dirichletgp.metrics import error_rate, mean_negative_log_likelihood

ALPHA = {"eeg": 0.01, "htru2": 0.01, "magic": 0.01, "letter": 0.001}
TOLERANCE = {"probit": 1e-6, "softmax": 1e-5}


def scaled(name):
    s = split(name, 0)
    scaler = MinMaxScaler((-1, 1)).fit(s.X)
    s.X, s.X_test = scaler.transform(s.X), scaler.transform(s.X_test)
    return s


def compare(name, n_points):
    """One line of the table."""
    s = scaled(name)
    common = {"ard": False, "scaler": None, "n_subsample": len(s.y), "random_state": 0}
    start = time.perf_counter()
    gpd = DirichletGPClassifier(
        "rbf",
        n_inducing=n_points,
        label_transform="dirichlet",
        alpha_epsilon=ALPHA[name],
        max_iter=500,
        **common,
    ).fit(s.X, s.y)
    gpd_seconds = time.perf_counter() - start
    points = gpd.inducing_points_
    likelihood = "probit" if len(gpd.classes_) == 2 else "softmax"
    start = time.perf_counter()
    gpc = VariationalGPClassifier(
        inducing=points, likelihood=likelihood, max_iter=500, tol=TOLERANCE[likelihood], **common
    )
    gpc.fit(s.X, s.y)
    gpc_seconds = time.perf_counter() - start
    metrics = [
        (mean_negative_log_likelihood(s.y_test, p), error_rate(s.y_test, p))
        for p in (gpd.predict_proba(s.X_test), gpc.predict_proba(s.X_test))
    ]
    print(
        f"| {name} | {len(s.y)} | {len(points)} | {len(gpd.classes_)} | "
        f"{gpd_seconds:.1f} ({gpd.n_iter_}) | {gpc_seconds:.1f} ({gpc.n_iter_}) | "
        f"{gpc_seconds / gpd_seconds:.1f} | "
        f"{metrics[0][0]:.3f} / {metrics[1][0]:.3f} | {metrics[0][1]:.4f} / {metrics[1][1]:.4f} |",
        flush=True,
    )


def gradients(n_points):
    """Passes and seconds to the best belief for a kernel, by natural and by plain gradients."""
    s = scaled("magic")
    rng = np.random.default_rng(0)
    kernel = KERNELS["rbf"](np.full(s.X.shape[1], 1.4), 30.0)
    with Workers() as workers:
        basis = make_basis(kernel, s.X[rng.permutation(len(s.y))[:n_points]], 1e-6)
        chunk = WhitenedRows(basis.vectors(s.X), s.y, None)
        inference = Inference([chunk], Bernoulli("probit"), kernel.variance, workers)
        start = time.perf_counter()
        best, passes = inference.settle(Belief.prior(1, n_points), 1e-3)
        natural = time.perf_counter() - start
        lower = np.tril_indices(n_points)
        history = []

        def loss(vector):
            mean, root = vector[:n_points], np.zeros((n_points, n_points))
            root[lower] = vector[n_points:]
            precision = np.linalg.inv(root @ root.T)
            fit = inference.measure(Belief(mean[None], precision[None]))
            history.append(fit.bound)
            by_root = (precision - fit.precision[0]) @ root
            return -fit.bound, -np.concatenate([fit.by_mean[0], by_root[lower]])

        first = np.concatenate([np.zeros(n_points), np.eye(n_points)[lower]])
        start = time.perf_counter()
        minimize(
            loss,
            first,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 600, "maxfun": 600, "ftol": 0, "gtol": 0},
        )
        plain = time.perf_counter() - start
    print(f"\nbest belief for a fixed kernel, MAGIC, {n_points} points: bound {best.bound:.2f}")
    print(f"natural gradients: {passes} passes, {natural:.1f} s")
    for gap in (10.0, 1.0, 0.1):
        enough = [i for i, bound in enumerate(history, start=1) if bound > best.bound - gap]
        when = f"{enough[0]} passes" if enough else "never"
        print(
            f"plain gradients (L-BFGS): within {gap:g} of it after {when} "
            f"(of {len(history)} in {plain:.1f} s)"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", nargs="*", default=["eeg", "htru2", "magic", "letter"])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument(
        "--gradients", action="store_true", help="measure what natural gradients buy, too"
    )
    options = parser.parse_args()
    say_where()
    print(
        "| dataset | rows | points | classes | GPD, s (evaluations) | GPC, s (evaluations) "
        "| GPC / GPD | MNLL | error |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in options.datasets:
        compare(name, options.points)
    if options.gradients:
        gradients(options.points)


if __name__ == "__main__":
    main()
