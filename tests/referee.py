"""The obvious dense forms: a heteroskedastic regression per class, n x n, nothing shared.

Everything fast in the package is tested against these few lines.
"""

from types import SimpleNamespace

import numpy as np

from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.kernels.product import MISSING
from dirichletgp._gp.core.regressions import LabelTransform
from dirichletgp._gp.rows.in_memory import InMemoryRows


def problem(
    n_classes, n=60, n_features=3, n_points=9, weighted=False, family="rbf", alpha=0.01, seed=0
):
    """A small random problem with everything that a model is made of."""
    rng = np.random.default_rng(seed + 100 * n_classes)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    weights = rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    prior = np.bincount(codes, weights, n_classes)
    X = rng.normal(size=(n, n_features))
    Z = rng.normal(size=(n_points, n_features))
    new = rng.normal(size=(7, n_features))
    return SimpleNamespace(
        X=X,
        Z=Z,
        new=new,
        codes=codes,
        weights=weights,
        given_weights=weights if weighted else None,
        n_classes=n_classes,
        prior=prior / prior.sum(),
        kernel=kernel_of(family, np.concatenate([X, new]), rng.uniform(0.7, 2.0, n_features), 1.7),
        alpha=alpha,
        transform=LabelTransform.dirichlet(alpha),
        jitter=1e-6,
    )


def rows_of(p):
    return InMemoryRows(p.X, p.codes, p.given_weights, p.n_classes)


def kernel_of(family, rows, lengthscale, variance, ard=True, categories=None):
    """An example of a kernel; one that looks at rows has every value of theirs as a level."""
    if family != "product":
        return KERNELS[family](np.asarray(lengthscale), variance, ard)
    kernel = KERNELS[family].starting(rows, lengthscale, variance, ard, categories)
    rng = np.random.default_rng(0)
    n_shares, n_lengths, n_likenesses = map(len, kernel.in_use)
    parts = rng.uniform(-1, 2, n_shares), np.zeros(n_lengths), rng.uniform(-1, 1, n_likenesses)
    logits = np.concatenate(parts)
    logits[n_shares : n_shares + n_lengths] = kernel.parameters[n_shares:][:n_lengths]
    return kernel.with_parameters(logits, variance)


def profile(family, r):
    """The definition of each stationary kernel in terms of r; a new one has its line here."""
    return {
        "rbf": lambda: np.exp(-(r**2) / 2),
        "matern12": lambda: np.exp(-r),
        "matern32": lambda: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        "matern52": lambda: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
    }[family]()


def kernel_matrix(kernel, A, B):
    if kernel.name == "product":
        return product_matrix(kernel, A, B)
    difference = (A[:, None, :] - B[None, :, :]) / kernel.lengthscale
    return kernel.variance * profile(kernel.name, np.sqrt((difference**2).sum(axis=2)))


def product_matrix(kernel, A, B):
    """s2 prod_j [1 - w_j + w_j kappa_j] of rows as they are: nothing is rounded to a level."""
    product = np.full((len(A), len(B)), kernel.variance)
    parameters = zip(kernel.levels, kernel.shares, kernel.lengthscale, kernel.likeness, strict=True)
    for j, (levels, w, length, r) in enumerate(parameters):
        x, z = A[:, j, None], B[None, :, j]
        kappa = np.where(x == z, 1.0, 0.0)
        if len(levels):
            kappa = np.exp(-((x - z) ** 2) / (2 * length**2))
            kappa = np.where(x == MISSING, r * likeness_of_an_average(z, length), kappa)
            kappa = np.where(z == MISSING, r * likeness_of_an_average(x, length), kappa)
            kappa = np.where((x == MISSING) & (z == MISSING), 1.0, kappa)
        product *= 1 - w + w * kappa
    return product


def likeness_of_an_average(x, length):
    """E exp(-(x - t)^2 / 2 l^2) with t ~ N(0, 1): a convolution of Gaussians."""
    return length / np.hypot(1, length) * np.exp(-(x**2) / (2 * (1 + length**2)))


def mixed_rows(n, seed=0, holes=True):
    """Rows with two numbers of few values, one of them with holes, and two categories.

    Also how many categories each column has.
    """
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4))
    X[:, :2] = np.round(2 * rng.normal(size=(n, 2))) / 2
    X[:, 2] = rng.integers(0, 3, n)
    X[:, 3] = rng.integers(0, 12, n)
    if holes:
        X[rng.random(n) < 0.3, 1] = MISSING
        X[rng.random(n) < 0.2, 3] = MISSING
    return X, np.array([0, 0, 3, 12])


def regressions(p):
    """Offset, targets less that offset, and noise variances of each class's regression."""
    offsets = p.transform.offsets(p.prior)
    for c in range(p.n_classes):
        inside = p.codes == c
        target = np.where(inside, p.transform.target_in, p.transform.target_out) - offsets[c]
        noise = np.where(inside, p.transform.noise_in, p.transform.noise_out)
        yield offsets[c], target, noise


def bound(p):
    """Titsias' bound, with a row of weight w standing for w rows."""
    Kzz = kernel_matrix(p.kernel, p.Z, p.Z) + p.jitter * p.kernel.variance * np.eye(len(p.Z))
    Kxz = kernel_matrix(p.kernel, p.X, p.Z)
    Q = Kxz @ np.linalg.solve(Kzz, Kxz.T)
    total = 0.0
    for _, target, noise in regressions(p):
        covariance = Q + np.diag(noise / p.weights)
        total -= 0.5 * np.linalg.slogdet(covariance)[1]
        total -= 0.5 * target @ np.linalg.solve(covariance, target)
        total -= 0.5 * np.sum(p.weights * (p.kernel.variance - np.diag(Q)) / noise)
        total -= 0.5 * np.sum(p.weights * np.log(2 * np.pi * noise) - np.log(noise / p.weights))
    return total


def latent(p, new):
    """Mean and variance of the sparse posterior at new rows."""
    Kzz = kernel_matrix(p.kernel, p.Z, p.Z) + p.jitter * p.kernel.variance * np.eye(len(p.Z))
    Kxz, Knz = kernel_matrix(p.kernel, p.X, p.Z), kernel_matrix(p.kernel, new, p.Z)
    means, variances = [], []
    for offset, target, noise in regressions(p):
        precision = p.weights / noise
        A = Kzz + Kxz.T @ (precision[:, None] * Kxz)
        means.append(offset + Knz @ np.linalg.solve(A, Kxz.T @ (precision * target)))
        explained = np.linalg.solve(Kzz, Knz.T) - np.linalg.solve(A, Knz.T)
        variances.append(p.kernel.variance - np.einsum("nm,mn->n", Knz, explained))
    return np.stack(means, axis=1), np.stack(variances, axis=1)


def exact_latent(p, new):
    """Mean and variance of the exact Gaussian process at new rows: no inducing points at all."""
    K, Kn = kernel_matrix(p.kernel, p.X, p.X), kernel_matrix(p.kernel, new, p.X)
    means, variances = [], []
    for offset, target, noise in regressions(p):
        A = K + np.diag(noise / p.weights)
        means.append(offset + Kn @ np.linalg.solve(A, target))
        variances.append(p.kernel.variance - np.einsum("nm,mn->n", Kn, np.linalg.solve(A, Kn.T)))
    return np.stack(means, axis=1), np.stack(variances, axis=1)


def variational_bound(p, mean, covariance, expected_log):
    """The bound of sparse variational classification, in terms of the inducing values themselves.

    `mean` (L, M) and `covariance` (L, M, M) are of whitened values; `expected_log(mean, variance)`
    is E[log p] of rows.
    """
    Kzz = kernel_matrix(p.kernel, p.Z, p.Z) + p.jitter * p.kernel.variance * np.eye(len(p.Z))
    root = np.linalg.cholesky(Kzz)
    projection = np.linalg.solve(Kzz, kernel_matrix(p.kernel, p.Z, p.X)).T
    latent_mean, latent_variance, divergence = [], [], 0.0
    for m, S in zip(mean, covariance, strict=True):
        mu, sigma = root @ m, root @ S @ root.T
        divergence += 0.5 * (
            np.trace(np.linalg.solve(Kzz, sigma)) + mu @ np.linalg.solve(Kzz, mu) - len(m)
        )
        divergence += 0.5 * (np.linalg.slogdet(Kzz)[1] - np.linalg.slogdet(sigma)[1])
        latent_mean.append(projection @ mu)
        latent_variance.append(
            p.kernel.variance - np.sum((projection @ (Kzz - sigma)) * projection, axis=1)
        )
    values = expected_log(np.column_stack(latent_mean), np.column_stack(latent_variance))
    return p.weights @ values - divergence
