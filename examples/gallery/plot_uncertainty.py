"""
Noise, or too little data?
==========================

A prediction near one half has one of two reasons: labels are noisy there, or too little was seen
there. More rows help against the second only, so it is worth telling them apart.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from dirichletgp import DirichletGPClassifier


def chance(X):
    """True probability of class 1: left and right differ below, above it is a coin."""
    coin = 1 / (1 + np.exp(-6 * (X[:, 1] - 1)))
    return 1 / (1 + np.exp(-4 * (1 - coin) * X[:, 0]))


def drawn(n, rng):
    """Rows of a square, but none from its lower right corner."""
    X = rng.uniform(-3, 3, (3 * n, 2))
    X = X[~((X[:, 0] > 0.5) & (X[:, 1] < -0.5))][:n]
    return X, (rng.random(n) < chance(X)).astype(int)


rng = np.random.default_rng(0)
X, y = drawn(600, rng)
classifier = DirichletGPClassifier("rbf", random_state=0).fit(X, y)

# %%
# Above, labels are tossed: the noise is high, and no amount of data will change that. In the lower
# right corner nothing was seen: there the lack of data is high. On the left both are low.
side = np.linspace(-3, 3, 70)
grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
total, noise, lack = classifier.predict_uncertainty(grid)
panels = {
    "probability of class 1": (classifier.predict_proba(grid)[:, 1], "RdBu_r", 1.0),
    "noise (aleatoric), nats": (noise, "viridis", np.log(2)),
    "lack of data (epistemic), nats": (lack, "viridis", None),
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained", sharey=True)
for ax, (title, (values, colours, most)) in zip(axes, panels.items(), strict=True):
    image = ax.pcolormesh(
        side, side, values.reshape(70, 70), cmap=colours, vmin=0, vmax=most, shading="auto"
    )
    fig.colorbar(image, ax=ax, shrink=0.9)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
axes[0].scatter(*X.T, c=y, cmap="RdBu_r", s=6, edgecolors="white", linewidths=0.2)
axes[2].plot(*X.T, ".", color="white", markersize=1.5)
plt.show()

# %%
# Three places, and ever more rows. The noise settles at that of the place; the lack of data goes to
# zero where rows arrive, and stays where none do.
places = {"coin, above": [1.5, 2.2], "clear, left": [-2.0, -1.0], "empty corner": [2.0, -2.0]}
counts = [50, 200, 800, 3_200]
found = []
for n in counts:
    X, y = drawn(n, rng)
    model = DirichletGPClassifier("rbf", n_inducing=200, random_state=0).fit(X, y)
    found.append(model.predict_uncertainty(np.array(list(places.values())))[1:])
found = np.array(found)  # (counts, noise or lack, places)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
for ax, kind, title in zip(axes, (0, 1), ("noise", "lack of data"), strict=True):
    for place, (name, colour) in enumerate(zip(places, ("#D55E00", "#0072B2", "0.4"), strict=True)):
        ax.plot(counts, found[:, kind, place], "o-", color=colour, label=name)
    ax.set(xscale="log", xlabel="rows", title=title)
    ax.set_xticks(counts, [f"{n:,}" for n in counts])
    ax.minorticks_off()
axes[0].set_ylabel("nats")
axes[1].legend(frameon=False)
plt.show()
# sphinx_gallery_thumbnail_number = 1
