"""The C regressions: what labels ask of them, their solution, and the latent posterior at any row.

A row is "in" the class of one regression and "out" of all others, so a label transform is four
numbers: target and noise variance of either case. With u1, u0 the inverse noises, r1, r0 the
targets less their offsets, and whitened class statistics S^_c, G^_c (sums without an index),

    B_c = I + u0 G^ + (u1 - u0) G^_c
    b_c = u1 r1_c S^_c + u0 r0_c (S^ - S^_c)        beta_c = B_c^-1 b_c

At a row with whitened kernel vector u = L^-1 k(Z, x):

    mean_c = u' beta_c + mu_c        var_c = s2 - u'u + u' B_c^-1 u

A training row of weight w enters regression c as the rank-one term w u_. u u' with target r, so
Sherman-Morrison removes it. With q = u' B_c^-1 u and h = w u_. q,

    mean without the row = (u' beta_c - h r) / (1 - h) + mu_c    variance = s2 - u'u + q / (1 - h)
"""

from dataclasses import dataclass, field, replace

import numpy as np

from .arrays import Array, Integers
from .correction import Correction
from .handicaps import Handicaps, LeftOutRows
from .kernels import Kernel
from .parallel import (
    Workers,
    cholesky,
    inverse_triangle,
    multiply_rows,
    multiply_rows_transposed,
    product_in_tiles,
)
from .statistics import BlockedRows, ClassStatistics

# Of targets that are all but the same.
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True)
class LabelTransform:
    """Targets and noise variances of a row in, and out of, the class of a regression.

    The Dirichlet transform of the paper moves them along one curve with alpha_epsilon; the learned
    transform chooses them freely. Only the separation of the targets matters: a common shift of
    all targets is undone by the centring.

    Attributes
    ----------
    target_in, target_out : float
        y1 and y0 of the design: the latent value a row asks for.
    noise_in, noise_out : float
        s1 and s0: the variance of that request.
    handicap : float, default=0
        Of half of the mean latent of a class's own rows, the share that is taken off its latent;
        of many classes only (`handicaps.py`).
    believed : float, default=1
        The share of the log-odds that is believed of a model of few rows. Separation and deviations
        of the noises are so much smaller already.

    Examples
    --------
    >>> from dirichletgp import LabelTransform
    >>> transform = LabelTransform.dirichlet(0.01)
    >>> round(transform.separation, 3), round(transform.noise_in, 3), round(transform.noise_out, 3)
    (6.579, 0.688, 4.615)
    """

    target_in: float
    target_out: float
    noise_in: float
    noise_out: float
    handicap: float = 0.0
    believed: float = 1.0

    @classmethod
    def dirichlet(cls, alpha_epsilon: float) -> "LabelTransform":
        """The paper's: log-normals with the moments of Gamma(1 + alpha) and Gamma(alpha)."""
        noise_in = np.log1p(1.0 / (1.0 + alpha_epsilon))
        noise_out = np.log1p(1.0 / alpha_epsilon)
        return cls(
            target_in=float(np.log1p(alpha_epsilon) - noise_in / 2),
            target_out=float(np.log(alpha_epsilon) - noise_out / 2),
            noise_in=float(noise_in),
            noise_out=float(noise_out),
        )

    @classmethod
    def from_constants(
        cls, separation: float, noise_in: float, noise_out: float, handicap: float = 0.0
    ) -> "LabelTransform":
        """A free transform, with the targets placed symmetrically about zero."""
        return cls(separation / 2, -separation / 2, noise_in, noise_out, handicap)

    @classmethod
    def even(cls, alpha_epsilon: float, prior: Array) -> "LabelTransform":
        """One noise for all rows, so that all regressions share one matrix: for many classes.

        The noise is alpha_epsilon times the variance of the targets. These are as far apart as
        those of the Dirichlet transform, and by log(C - 1) farther: the odds of a class against all
        others together are then those that it would have against one.
        """
        separation = cls.dirichlet(alpha_epsilon).separation + np.log(len(prior) - 1)
        spread = cls.from_constants(separation, 1.0, 1.0).target_variance(prior)
        noise = alpha_epsilon * max(spread, _LEAST_SPREAD)
        return cls.from_constants(float(separation), noise, noise)

    @property
    def is_even(self) -> bool:
        """Whether all rows have the same noise."""
        return self.noise_in == self.noise_out

    @property
    def separation(self) -> float:
        """Distance y1 - y0 between the two targets."""
        return self.target_in - self.target_out

    @property
    def precision_in(self) -> float:
        """u1, the inverse noise of a row in the class."""
        return 1.0 / self.noise_in

    @property
    def precision_out(self) -> float:
        """u0, the inverse noise of a row out of the class."""
        return 1.0 / self.noise_out

    @property
    def ratio(self) -> float:
        """u0 / u1."""
        return self.noise_in / self.noise_out

    def offsets(self, prior: Array) -> Array:
        """Latent value mu_c far from all data: log prior, centred on the mean target.

        Parameters
        ----------
        prior : ndarray of shape (C,)
            Class probabilities, all positive.
        """
        log_prior = np.log(prior)
        n_classes = len(prior)
        level = (self.target_in + (n_classes - 1) * self.target_out) / n_classes
        return np.asarray(log_prior - log_prior.mean() + level)

    def target_variance(self, prior: Array) -> float:
        """Variance of the targets, averaged over the classes."""
        return float(self.separation**2 * np.mean(prior * (1.0 - prior)))

    def residuals(self, prior: Array) -> tuple[Array, Array]:
        """Targets without the offsets: r1 (C,) of rows in the class, r0 (C,) of rows out of it.

        The log prior counts by the share that is believed, as the targets do already.
        """
        offsets = self.offsets(prior)
        level = offsets.mean()
        counted = self.believed * (offsets - level) + level if self.believed < 1.0 else offsets
        return self.target_in - counted, self.target_out - counted

    def scaled(self, share: float) -> "LabelTransform":
        """The transform that moves latents by a share of what this one moves them by."""
        return LabelTransform(
            share * self.target_in,
            share * self.target_out,
            share**2 * self.noise_in,
            share**2 * self.noise_out,
            self.handicap,
            share * self.believed,
        )


def right_hand_sides(sums: Array, transform: LabelTransform, prior: Array) -> Array:
    """b_c of all regressions, of shape (C, M), from whitened sums (C, M)."""
    r1, r0 = transform.residuals(prior)
    u1, u0 = transform.precision_in, transform.precision_out
    others = sums.sum(axis=0) - sums
    return (u1 * r1)[:, None] * sums + (u0 * r0)[:, None] * others


def shared_matrix(total: Array, transform: LabelTransform) -> Array:
    """I + u0 G^, the part of B_c that all classes share, from the total whitened Gram (M, M)."""
    return plus_identity(transform.precision_out * total)


def class_factor(
    shared: Array, gram: Array, transform: LabelTransform, out: Array | None = None
) -> Array:
    """Cholesky factor of B_c = shared + (u1 - u0) G^_c, for a whitened Gram (M, M) of a class."""
    gap = transform.precision_in - transform.precision_out
    factor = np.multiply(gram, gap, out=out)
    factor += shared
    return cholesky(factor, overwrite=True)


def plus_identity(matrix: Array, times: float = 1.0) -> Array:
    """Add a multiple of the identity, in place."""
    matrix.flat[:: len(matrix) + 1] += times
    return matrix


@dataclass(frozen=True)
class Basis:
    """The whitened kernel vectors that all M-sized quantities are written in.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (M, D)
        Inducing points, scaled like the rows.
    inverse : ndarray of shape (M, M)
        L^-1, where L is the Cholesky factor of K_mm + jitter: passes over rows multiply by it.
    """

    kernel: Kernel
    points: Array
    inverse: Array

    def vectors(self, rows: Array) -> Array:
        """Whitened kernel vectors L^-1 k(Z, x) of scaled rows (n, D), of shape (n, M)."""
        if len(self.points) == 0:
            return np.empty((len(rows), 0))
        return self.whitened(self.kernel.values(rows, self.points))

    def whitened(self, values: Array) -> Array:
        """The same from kernel vectors k(Z, x) (n, M), which are overwritten."""
        return multiply_rows(self.inverse, values)

    def of_kernel_vectors(self, coefficients: Array) -> Array:
        """Coefficients (C, M) of kernel vectors from those of whitened ones: L^-T times each."""
        return multiply_rows_transposed(self.inverse, coefficients.copy())

    @property
    def factor(self) -> Array:
        """L, the Cholesky factor of K_mm + jitter, (M, M)."""
        return inverse_triangle(self.inverse)

    def no_statistics(self, n_classes: int, pooled: bool = False) -> ClassStatistics:
        """The statistics of no rows in this basis, with one Gram for all classes if pooled."""
        return ClassStatistics.empty(n_classes, len(self.points), 1 if pooled else None)

    def add_rows(self, statistics: ClassStatistics, rows: BlockedRows, workers: Workers) -> None:
        """Add the statistics of rows, in place and by one pass."""
        statistics.add_rows(rows, self.vectors, workers)


def points_covariance(kernel: Kernel, points: Array, jitter: float) -> Array:
    """K_mm + jitter, with the jitter relative to the kernel's variance."""
    covariance = kernel.of_points(points).values(points, points)
    covariance = 0.5 * (covariance + covariance.T)
    covariance.flat[:: len(points) + 1] = kernel.variance * (1.0 + jitter)
    return covariance


def make_basis(kernel: Kernel, points: Array, jitter: float) -> Basis:
    """The whitened basis; `numpy.linalg.LinAlgError` if K_mm + jitter cannot be factored."""
    if len(points) == 0:
        return Basis(kernel, points, np.empty((0, 0)))
    factor = cholesky(points_covariance(kernel, points, jitter), overwrite=True)
    return Basis(kernel, points, inverse_triangle(factor, overwrite=True))


class Latents:
    """What posteriors share: means from coefficients, and the variance that no point explains."""

    variance: float
    offsets: Array
    coefficients: Array

    def mean(self, vectors: Array) -> Array:
        """Mean (n, C) of the latent functions at rows with whitened vectors (n, M)."""
        return product_in_tiles(vectors, self.coefficients.T) + self.offsets

    def unexplained(self, vectors: Array) -> Array:
        """Prior variance that the points say nothing about, s2 - u'u, of shape (n,)."""
        return np.maximum(self.variance - np.einsum("nm,nm->n", vectors, vectors), 0.0)


@dataclass(frozen=True)
class Posterior(Latents):
    """C Gaussian posteriors over M whitened coefficients.

    Attributes
    ----------
    transform : LabelTransform
    prior : ndarray of shape (C,)
    variance : float
        s2, the prior variance of every latent function.
    offsets : ndarray of shape (C,)
        mu_c, the latent means far from all data.
    coefficients : ndarray of shape (C, M)
        beta_c, and what they are corrected by.
    roots : ndarray of shape (C, M, M) or (1, M, M)
        R_c^-1, where B_c = R_c R_c' and R_c is a lower triangle; one for all classes if the noises
        are equal.
    handicaps : Handicaps or None
        What was taken off the offsets, if anything.
    correction : Correction or None
        What the coefficients are corrected by, if by anything.
    """

    transform: LabelTransform
    prior: Array
    variance: float
    offsets: Array
    coefficients: Array
    roots: Array
    handicaps: Handicaps | None = field(default=None, kw_only=True)
    correction: Correction | None = field(default=None, kw_only=True)

    def corrected(self, correction: Correction, weight: float) -> "Posterior":
        """With the means that the likelihood of labels asks for; the regressions as they are.

        Of rows of less weight than it was learned from, a correction counts in proportion.
        """
        share = min(1.0, weight / correction.weight)
        if share < 1.0:
            shift, of_folds = share * correction.shift, share * correction.of_folds
            correction = replace(correction, shift=shift, of_folds=of_folds)
        coefficients = self.coefficients + correction.shift
        return replace(self, coefficients=coefficients, correction=correction)

    def half(self, vectors: Array) -> Array:
        """What `explained_of` starts from: the whitened vectors (n, M) themselves."""
        return vectors

    @classmethod
    def from_statistics(
        cls,
        statistics: ClassStatistics,
        variance: float,
        transform: LabelTransform,
        prior: Array,
        workers: Workers,
    ) -> "Posterior":
        """Solve the C regressions whose rows are summed up in whitened statistics.

        Pooled statistics have a solution if the noises are equal.
        """
        b = right_hand_sides(statistics.sums, transform, prior)
        if len(statistics.grams) < len(prior):
            return cls._of_one_matrix(statistics, variance, transform, prior, b)
        shared = shared_matrix(statistics.grams.sum(axis=0), transform)
        roots = np.empty_like(statistics.grams)

        def solve(c: int) -> Array:
            class_factor(shared, statistics.grams[c], transform, out=roots[c])
            inverse_triangle(roots[c], overwrite=True)
            half = multiply_rows(roots[c], b[c : c + 1].copy())
            return multiply_rows_transposed(roots[c], half)[0]

        coefficients = np.stack(list(workers.map(solve, range(len(roots)))))
        return cls(transform, prior, variance, transform.offsets(prior), coefficients, roots)

    @classmethod
    def _of_one_matrix(
        cls,
        statistics: ClassStatistics,
        variance: float,
        transform: LabelTransform,
        prior: Array,
        b: Array,
    ) -> "Posterior":
        shared = shared_matrix(statistics.total, transform)
        root = inverse_triangle(cholesky(shared, overwrite=True))
        coefficients = multiply_rows_transposed(root, multiply_rows(root, b))
        offsets = transform.offsets(prior)
        handicaps = None
        if transform.handicap:
            sums = statistics.sums
            totals = np.einsum("cm,cm->c", sums, coefficients)
            everything = sums.sum(axis=0, keepdims=True)
            solved = multiply_rows_transposed(root, multiply_rows(root, everything))[0]
            handicaps = Handicaps(transform.handicap, totals, statistics.counts, solved)
            offsets = offsets - handicaps.values
        return cls(
            transform, prior, variance, offsets, coefficients, root[None], handicaps=handicaps
        )

    def latent(self, vectors: Array) -> tuple[Array, Array]:
        """Mean and variance (n, C) of the latent functions at rows with whitened vectors (n, M)."""
        variance = self.unexplained(vectors)[:, None] + self.explained(vectors)
        return self.mean(vectors), variance

    def latent_without_row(
        self,
        vectors: Array,
        codes: Integers,
        weights: Array | None,
        fold: Integers | None = None,
    ) -> tuple[Array, Array]:
        """Latent mean and variance (n, C) of training rows, each without its own contribution.

        Parameters
        ----------
        vectors : ndarray of shape (n, M)
            Whitened kernel vectors of rows that the posterior includes.
        codes : ndarray of shape (n,)
            Their classes.
        weights : ndarray of shape (n,) or None
            Their weights in it.
        fold : ndarray of shape (n,) or None
            The corrections that did not see them; None if there is no correction.
        """
        votes = (codes[:, None] == np.arange(len(self.prior))).astype(np.float64)
        if weights is not None:
            votes *= weights[:, None]
        return self.latent_without_votes(vectors, votes, fold=fold)

    def latent_without_votes(
        self,
        vectors: Array,
        votes: Array,
        explained: Array | None = None,
        fold: Integers | None = None,
    ) -> tuple[Array, Array]:
        """The same for rows that have votes (n, C) for several classes: all of them are removed.

        The votes of a row enter regression c as one term, with the sum of their precisions and the
        mean of their targets. `explained` (n, C) is computed unless it is given.
        """
        transform = self.transform
        r1, r0 = transform.residuals(self.prior)
        inside = transform.precision_in * votes
        outside = transform.precision_out * (votes.sum(axis=1, keepdims=True) - votes)
        precision = inside + outside
        target = (inside * r1 + outside * r0) / np.where(precision > 0, precision, 1.0)
        quadratic = self.explained(vectors) if explained is None else explained
        h = leverage(precision, quadratic, self.variance)
        coefficients = self.coefficients
        if self.correction is not None:
            coefficients = coefficients - self.correction.shift
        fitted = vectors @ coefficients.T
        mean = mean_without_row(fitted, target, h) + self.offsets
        variance = self.unexplained(vectors)[:, None] + quadratic / (1.0 - h)
        if self.handicaps is not None:
            # b_c = u (separation S^_c + r0_c S^), so B^-1 S^_c follows from beta_c.
            of_all = (vectors @ self.handicaps.solved_sum)[:, None]
            cross = (fitted * transform.noise_out - r0 * of_all) / transform.separation
            rows = LeftOutRows(votes, precision, quadratic, h, cross)
            mean -= self.handicaps.without_rows(rows, fitted, target) - self.handicaps.values
        if self.correction is not None:
            if fold is None:
                raise ValueError("A corrected row is left out with its fold.")
            mean += self.correction.without_fold(vectors, fold)
        return mean, variance

    def explained(self, vectors: Array) -> Array:
        """Posterior variance in the span of the points, u' B_c^-1 u, of shape (n, C)."""
        quadratic = np.empty((len(vectors), len(self.roots)))
        for c in range(len(self.roots)):
            quadratic[:, c] = self.explained_of(c, vectors.copy())
        return np.broadcast_to(quadratic, (len(vectors), len(self.offsets)))

    def explained_roughly(self, vectors: Array, codes: Integers, shared: Array) -> Array:
        """The same (n, C) with B_0 = I + u0 G^ = R R' for all but the rows' own classes.

        `shared` is R^-1. The others differ little from it, and a row costs two products instead of
        C.
        """
        half = multiply_rows(shared, vectors.copy())
        of_others = np.einsum("nm,nm->n", half, half)
        quadratic = np.repeat(of_others[:, None], len(self.offsets), axis=1)
        for c in np.unique(codes):
            rows = np.flatnonzero(codes == c)
            quadratic[rows, c] = self.explained_of(c, vectors[rows])
        return quadratic

    def explained_of(self, c: int, vectors: Array) -> Array:
        """U' B_c^-1 u of one class, of shape (n,); the vectors are overwritten."""
        half = multiply_rows(self.roots[c if len(self.roots) > 1 else 0], vectors)
        return np.einsum("nm,nm->n", half, half)


def leverage(precision: Array, quadratic: Array, prior_variance: float) -> Array:
    """H = w u q of each row in each regression, for precisions w u and forms q of shape (n, C).

    Exactly, h <= w u s2 / (1 + w u s2) < 1; rounding must not push it past.
    """
    limit = precision * prior_variance
    return np.minimum(precision * quadratic, limit / (1.0 + limit))


def mean_without_row(mean: Array, target: Array, h: Array) -> Array:
    """U' beta_c without the row itself; means, targets and leverages of shape (n, C)."""
    return (mean - h * target) / (1.0 - h)


# How far log-odds may vary (prior variances), and how rough they may be (powers of the spectrum of
# the kernel: 1 is the kernel itself, less is rougher).
SCALES = (0.02, 0.06, 0.2, 0.6, 2.0, 6.0, 20.0, 60.0)
POWERS = (1.0, 0.75, 0.5, 0.25)
# Smaller eigenvalues, relative to the largest, are rounding, and not made rougher.
SMALLEST_SHARE = 1e-6


@dataclass(frozen=True)
class LogOddsBeliefs:
    """What labels say about log-odds, beyond their fitted values: see `concentration.py`.

    Attributes
    ----------
    settings : ndarray of shape (len(SCALES), len(POWERS))
        How much each scale and roughness is believed; they sum to one.
    departure : float
        Mean square of what labels would change about the fitted log-odds; 0 where rows are many.
    moves : ndarray of shape (C, M) or None
        That change itself, where rows are many: coefficients of whitened kernel vectors, of a
        kernel of variance 1.
    """

    settings: Array
    departure: float = 0.0
    moves: Array | None = None

    @classmethod
    def by_evidence(cls, evidence: Array) -> "LogOddsBeliefs":
        """From the log evidence (settings,) of all scales, each with all powers.

        Before any label all standard deviations of log-odds are as likely, and all powers.
        """
        table = evidence.reshape(len(SCALES), len(POWERS))
        belief = np.exp(table - table.max()) * np.sqrt(SCALES)[:, None]
        return cls(belief / belief.sum())

    def among(self, n_classes: int, places: Integers) -> "LogOddsBeliefs":
        """With class k called places[k] among more classes; of new ones nothing is to be moved."""
        if self.moves is None:
            return self
        moves = np.zeros((n_classes, self.moves.shape[1]))
        moves[places] = self.moves
        return replace(self, moves=moves)


def prior_variances(eigenvalues: Array, scale: float, power: float) -> Array:
    """Variances d_j (M,) of the coefficients of log-odds in the eigenvectors of a whitened Gram.

    d_j = scale (lambda_j / lambda_1)^(power - 1), times what keeps the mean variance of the rows.
    """
    largest = eigenvalues.max(initial=0.0)
    if largest <= 0:
        return np.full(len(eigenvalues), scale)
    rougher = np.maximum(eigenvalues / largest, SMALLEST_SHARE) ** (power - 1.0)
    return np.asarray(scale * rougher * (eigenvalues.sum() / (rougher @ eigenvalues)))
