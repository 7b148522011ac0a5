"""
Do the intervals hold?
======================

A probability is an estimate, and an interval says how well it is known. Here the true probability
is known too, so that we can look.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from dirichletgp import DirichletGPClassifier


def truth(x):
    """The probability of class 1: it moves where there are rows, and where there are none."""
    return 0.5 + 0.42 * np.sin(1.3 * x)


rng = np.random.default_rng(3)
grid = np.linspace(-6, 6, 400)
fits = {}
for n in (60, 2_000):
    x = np.concatenate([rng.uniform(-4, 0.5, n // 2), rng.uniform(0.5, 3, n - n // 2)])
    y = (rng.random(n) < truth(x)).astype(int)
    fits[n] = x, y, DirichletGPClassifier(kernel="rbf", random_state=0).fit(x[:, None], y)

# %%
# The band is the 95 % interval of `predict_interval`. It is wide with few rows, narrow with many,
# and wide again where there are none. Dashed: the paper's interval, the spread of latent functions
# under the noises of the label transform. These noises are chosen to predict well, and say little
# about how well the probability is known.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (n, (x, y, classifier)) in zip(axes, fits.items(), strict=True):
    rows = grid[:, None]
    lower, upper = classifier.predict_interval(rows)
    ax.fill_between(
        grid, lower[:, 1], upper[:, 1], color="#0072B2", alpha=0.25, label="95 % interval"
    )
    latent = classifier.predict_interval(rows, kind="latent")
    for k, bound in enumerate(latent):
        label = "the paper's" if k == 0 else None
        ax.plot(grid, bound[:, 1], "--", color="#0072B2", linewidth=0.8, label=label)
    ax.plot(grid, classifier.predict_proba(rows)[:, 1], color="#0072B2", label="predicted")
    ax.plot(grid, truth(grid), color="#D55E00", label="true")
    shown = slice(None, None, max(1, n // 200))
    ax.plot(x[shown], 1.06 * y[shown] - 0.03, "|", color="0.4", markersize=6)
    inside = (grid > -4) & (grid < 3)
    held = (lower[:, 1] <= truth(grid)) & (truth(grid) <= upper[:, 1])
    ax.set(title=f"{n:,} rows: holds on {held[inside].mean():.0%} of their range", xlabel="x")
axes[0].set_ylabel("probability of class 1")
axes[1].legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(1, 0))
plt.show()

# %%
# What is known is a Dirichlet distribution at every row. The sum of its parameters is the number of
# labels that the prediction is worth:
for n, (_, _, classifier) in fits.items():
    worth = classifier.predict_dirichlet(np.array([[0.0], [2.0], [6.0]])).sum(axis=1)
    print(f"{n:5,} rows: worth", ", ".join(f"{value:.0f}" for value in worth), "labels at 0, 2, 6")
