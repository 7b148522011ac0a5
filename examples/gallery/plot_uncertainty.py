"""
Noise, or too little data?
==========================

A prediction near one half has one of two reasons: labels are noisy there, or too little was seen
there. More rows help against the second only, so it is worth telling them apart.
"""

# %%
# Stripes of two classes on the left, and a coin for every row on the right. No rows come from the
# disc in the middle of the stripes.
import matplotlib.pyplot as plt
import numpy as np

from dirichletgp import DirichletGPClassifier


def chance(X):
    """True probability of class 1."""
    coin = 1 / (1 + np.exp(-6 * (X[:, 0] - 2)))
    return 1 / (1 + np.exp(-5 * (1 - coin) * np.sin(2.5 * X[:, 1] + X[:, 0])))


def drawn(n, rng):
    X = rng.uniform([-4, -2.2], [4, 2.2], (2 * n, 2))
    X = X[np.hypot(X[:, 0] + 1.2, X[:, 1]) > 1.6][:n]
    return X, (rng.random(n) < chance(X)).astype(int)


rng = np.random.default_rng(0)
X, y = drawn(900, rng)
settings = {"kernel": "rbf", "scaler": "standard", "n_inducing": 300, "random_state": 0}
classifier = DirichletGPClassifier(**settings).fit(X, y)

# %%
# The probability is near one half on the right and in the disc. On the right the noise is high: no
# amount of data will change that. In the disc the lack of data is high: rows would help.
across, up = np.linspace(-4, 4, 120), np.linspace(-2.2, 2.2, 66)
grid = np.column_stack([axis.ravel() for axis in np.meshgrid(across, up)])
total, noise, lack = classifier.predict_uncertainty(grid)
panels = {
    "probability of class 1": (classifier.predict_proba(grid)[:, 1], "RdBu_r", 1.0),
    "noise (aleatoric), nats": (noise, "viridis", np.log(2)),
    "lack of data (epistemic), nats": (lack, "viridis", None),
}
fig, axes = plt.subplots(1, 3, figsize=(12, 2.5), layout="constrained", sharey=True)
for ax, (title, (values, colours, most)) in zip(axes, panels.items(), strict=True):
    image = ax.pcolormesh(across, up, values.reshape(66, 120), cmap=colours, vmin=0, vmax=most)
    fig.colorbar(image, ax=ax, shrink=0.9)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
axes[0].scatter(*X.T, c=y, cmap="RdBu_r", s=5, edgecolors="white", linewidths=0.2)
axes[2].plot(*X.T, ".", color="white", markersize=1)
plt.show()

# %%
# Three places, and ever more rows. What is left of the uncertainty?
places = {"coin": [3.2, 0.5], "stripe": [1.0, 1.4], "empty disc": [-1.2, 0.0]}
counts = [200, 800, 3_200]
found = []
for n in counts:
    X, y = drawn(n, rng)
    model = DirichletGPClassifier(**settings).fit(X, y)
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
