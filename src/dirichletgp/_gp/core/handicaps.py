"""What regressions on labels lack: the constant of every class, by which many classes are compared.

If the whitened vectors u of class c are Gaussian with mean m_c and a covariance Sigma that all
classes share, the logarithm of its probability is, but for what all classes have in common,

    u' Sigma^-1 m_c  -  m_c' Sigma^-1 m_c / 2.

A regression of the labels finds the first term, up to a factor (Fisher), and nothing of the second:
a class far from the centre of all rows has large fitted values everywhere, and wins rows of classes
that are nearer to it. The second term is half of the mean of the first over the rows of the class.
So a share of half of the mean latent of its own rows,

    handicap_c = share / 2  S^_c' beta_c / n_c,

is taken off the latent mean of class c; leave-one-out chooses the share. The sums are additive, so
handicaps follow streams as everything else does.

Without row i, which has the votes v_c for class c, the precision p and the target r_c, and with
q = u_i' B^-1 u_i, h = p q, f_c = u_i' beta_c and a_c = u_i' B^-1 S^_c, the sum S^_c' beta_c is

    S^_c' beta_c - v_c f_c - p (r_c - f_c) / (1 - h) (a_c - v_c q).
"""

from dataclasses import dataclass

import numpy as np

from .arrays import Array


def mean_levels(totals: Array, counts: Array) -> Array:
    """Mean latents of the classes' own rows, from their sums; 0 for a class without rows."""
    there = counts > 1e-9
    return np.where(there, totals, 0.0) / np.where(there, counts, 1.0)


@dataclass(frozen=True)
class LeftOutRows:
    """How rows enter regressions that all have one matrix B.

    Attributes
    ----------
    votes : ndarray of shape (n, C)
        Their weights by class.
    precision, quadratic, leverage : ndarray of shape (n, 1)
        p, q = u' B^-1 u, and h.
    cross : ndarray of shape (n, C)
        u' B^-1 S^_c.
    """

    votes: Array
    precision: Array
    quadratic: Array
    leverage: Array
    cross: Array

    def levels(self, totals: Array, counts: Array, fitted: Array, target: Array) -> Array:
        """Mean latents of the classes' rows without each row, (n, C).

        Parameters
        ----------
        totals, counts : ndarray of shape (C,)
            S^_c' beta_c and n_c.
        fitted, target : ndarray of shape (n, C)
            u' beta_c, and what the row asks for.
        """
        pull = self.precision * (target - fitted) / (1.0 - self.leverage)
        left = totals - self.votes * fitted
        left = left - pull * (self.cross - self.votes * self.quadratic)
        return mean_levels(left, counts - self.votes)


@dataclass(frozen=True)
class Handicaps:
    """The handicaps of solved regressions that share one matrix B.

    Attributes
    ----------
    share : float
        Of half of the mean latent of a class's own rows.
    totals, counts : ndarray of shape (C,)
        S^_c' beta_c and n_c.
    solved_sum : ndarray of shape (M,)
        B^-1 S^, of all rows.
    """

    share: float
    totals: Array
    counts: Array
    solved_sum: Array

    @property
    def values(self) -> Array:
        """What is taken off the latent mean of each class, (C,)."""
        return 0.5 * self.share * mean_levels(self.totals, self.counts)

    def without_rows(self, rows: LeftOutRows, fitted: Array, target: Array) -> Array:
        """The same without each of some rows, (n, C)."""
        return 0.5 * self.share * rows.levels(self.totals, self.counts, fitted, target)
