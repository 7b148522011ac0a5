"""The plain implementation: one sparse regression per class, each over the whole N x M matrix.

What a careful programmer would write without class statistics, and the baseline of
`bench_per_class.py`. Nothing of the package is used. The kernel matrix is computed, whitened and
pulled back once per evaluation and shared by all classes; each class then costs one symmetric
product and one product over all N rows, on as many threads as BLAS takes. Arrays of the size of the
kernel matrix are allocated once and written in place. All linear algebra is NumPy's: with SciPy's
Cholesky between NumPy's products the threads of two BLAS libraries get in each other's way, and an
evaluation took more than twice as long.

With V = K_nm L^-T, L L' = K_mm + jitter, and u_c the precisions (N,) and r_c the residuals (N,) of
class c,

    B_c = I + V' diag(u_c) V        b_c = V' (u_c r_c)        beta_c = B_c^-1 b_c

    bound = sum_c -1/2 [ N log 2pi - sum log u_c + sum u_c r_c^2 + log|B_c| - b_c' beta_c + s2 sum
    u_c - tr(B_c - I) ]

and its derivative with respect to V is sum_c diag(u_c) V (I - B_c^-1 - beta_c beta_c') + (u_c r_c)
beta_c'.
"""

import numpy as np


class PerClassBound:
    """The collapsed bound of C regressions with one RBF kernel and one set of inducing points."""

    def __init__(self, X, codes, points, alpha_epsilon=0.01, jitter=1e-6):
        self.X, self.points, self.jitter = X, points, jitter
        self.precisions, self.residuals = regressions(codes, alpha_epsilon)
        self.weighted = np.sqrt(self.precisions)
        n, m = len(X), len(points)
        self.values, self.whitened, self.scaled, self.derivative = (
            np.empty((n, m)) for _ in range(4)
        )

    def value_and_gradient(self, lengthscale, variance):
        """The bound, and its gradient by the log lengthscales (D,) and the log variance."""
        values = rbf(self.X, self.points, lengthscale, variance, self.values)
        covariance = rbf(self.points, self.points, lengthscale, variance)
        covariance.flat[:: len(covariance) + 1] = variance * (1 + self.jitter)
        inverse = np.linalg.inv(np.linalg.cholesky(covariance))  # L^-1
        np.matmul(values, inverse.T, out=self.whitened)

        bound, betas, through_whitening = 0.0, [], np.zeros_like(covariance)
        self.derivative[:] = 0.0
        for c in range(self.precisions.shape[1]):
            of_class, beta, of_points = self._regression(c, variance)
            bound += of_class
            betas.append(beta)
            through_whitening += of_points
        self.derivative += (self.precisions * self.residuals) @ np.array(betas)

        np.matmul(self.derivative, inverse, out=self.scaled)
        of_rows, of_variance = pull_back(self.X, self.points, lengthscale, values, self.scaled)
        d_covariance = -0.5 * inverse.T @ through_whitening @ inverse
        of_variance += np.vdot(d_covariance, covariance) - 0.5 * variance * self.precisions.sum()
        of_points, _ = pull_back(self.points, self.points, lengthscale, covariance, d_covariance)
        return bound, np.append(of_rows + of_points, of_variance)

    def _regression(self, c, variance):
        """One class: its bound, beta_c, and V' dV; dV (d bound / d V) joins `self.derivative`."""
        u, r, weighted = self.precisions[:, c], self.residuals[:, c], self.weighted[:, c]
        np.multiply(self.whitened, weighted[:, None], out=self.scaled)
        gram = self.scaled.T @ self.scaled
        b = self.scaled.T @ (weighted * r)
        B = gram + np.eye(len(gram))
        log_determinant = 2 * np.log(np.diagonal(np.linalg.cholesky(B))).sum()
        inverse = np.linalg.inv(B)
        beta = inverse @ b
        outer = np.outer(beta, beta)
        bound = -0.5 * (
            len(u) * np.log(2 * np.pi)
            - np.log(u).sum()
            + (u * r) @ r
            + log_determinant
            - b @ beta
            + variance * u.sum()
            - np.trace(gram)
        )
        slope = np.eye(len(gram)) - inverse - outer
        np.matmul(self.whitened, slope, out=self.scaled)
        self.scaled *= u[:, None]
        self.derivative += self.scaled
        return bound, beta, gram - np.eye(len(gram)) + inverse + outer


def regressions(codes, alpha_epsilon):
    """Precisions and centred residuals, both (N, C), of the Dirichlet label transform."""
    counts = np.bincount(codes)
    alpha = np.full((len(codes), len(counts)), alpha_epsilon)
    alpha[np.arange(len(codes)), codes] += 1.0
    noises = np.log1p(1.0 / alpha)
    targets = np.log(alpha) - noises / 2
    log_prior = np.log(counts / counts.sum())
    offsets = log_prior - log_prior.mean() + targets[0].mean()
    return np.asfortranarray(1.0 / noises), np.asfortranarray(targets - offsets)


def rbf(rows, points, lengthscale, variance, out=None):
    """variance * exp(-r2 / 2), of shape (n, M)."""
    x, z = rows / lengthscale, points / lengthscale
    exponent = np.matmul(x, z.T, out=out)
    exponent -= 0.5 * np.square(x).sum(axis=1)[:, None]
    exponent += np.log(variance) - 0.5 * np.square(z).sum(axis=1)
    np.minimum(exponent, np.log(variance), out=exponent)
    return np.exp(exponent, out=exponent)


def pull_back(rows, points, lengthscale, values, derivative):
    """Derivatives by log lengthscales (D,) and log variance; `derivative` is overwritten."""
    x, z = rows / lengthscale, points / lengthscale
    derivative *= values
    of_rows, of_points = derivative.sum(axis=1), derivative.sum(axis=0)
    crossed = np.einsum("md,md->d", z, derivative.T @ x)
    return of_rows @ np.square(x) + of_points @ np.square(z) - 2 * crossed, of_rows.sum()
