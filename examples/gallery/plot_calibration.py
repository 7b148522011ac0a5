"""
Calibration, bin by bin
=======================

Probabilities are calibrated if, of all rows given 80 %, 80 % come true. Three classifiers learn
from the same thousand rows and are asked about 6,000 others.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import expected_calibration_error, mean_negative_log_likelihood
from dirichletgp.plotting import ReliabilityDisplay

X, y = make_classification(
    7_000, n_features=8, n_informative=4, n_redundant=4, flip_y=0.2, class_sep=0.9, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=1_000, random_state=0)
models = {
    "Gaussian process": DirichletGPClassifier("rbf", n_inducing=200, random_state=0),
    "boosted trees": HistGradientBoostingClassifier(random_state=0),
    "naive Bayes": GaussianNB(),
}
probability = {
    name: model.fit(X_train, y_train).predict_proba(X_test)[:, 1] for name, model in models.items()
}

# %%
# Take the rows that were given 60 to 70 %, 70 to 80 % and so on. Each square is one of them, the
# first forty; it is filled if the row was of class 1. In a row of squares that is marked 75 %,
# three in four should be filled.
bins = [(0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0)]
fig, axes = plt.subplots(1, 3, figsize=(11, 2.6), layout="constrained", sharey=True)
for ax, (name, p) in zip(axes, probability.items(), strict=True):
    for height, (low, high) in enumerate(bins):
        rows = (p >= low) & (p < high)
        true = np.sort(y_test[rows][:40])[::-1]
        ax.scatter(
            np.arange(len(true)),
            np.full(len(true), height),
            c=np.where(true, "#0072B2", "white"),
            edgecolors=np.where(true, "white", "#0072B2"),
            marker="s",
            s=30,
            linewidths=0.6,
        )
        said = p[rows].mean()
        ax.plot(len(true) * said - 0.5, height, "|", color="#D55E00", markersize=17, mew=2)
        ax.text(41, height, f"{y_test[rows].mean():.0%}", va="center")
    ax.set(title=name, xlim=(-1, 47), ylim=(-0.6, 3.6), xticks=[])
    ax.set_yticks(range(4), [f"{low:.0%} to {high:.0%}" for low, high in bins])
    ax.spines[:].set_visible(False)
fig.supxlabel("orange: what was said     filled, and at the right: what came true", fontsize=10)
plt.show()

# %%
# All bins at once, predicted against observed: the reliability diagram. Below the diagonal on the
# right and above it on the left means too sure of itself. The histogram says how many rows stand
# behind each point.
fig, axes = plt.subplots(
    2, 3, figsize=(11, 5), height_ratios=[3, 1], sharex="col", layout="constrained"
)
for column, (name, p) in enumerate(probability.items()):
    ReliabilityDisplay.from_predictions(y_test, p, name=name, ax=tuple(axes[:, column]))
plt.show()

# %%
# The mean gap is the expected calibration error (ECE). It is no loss: whoever gives all rows the
# class frequencies is calibrated, and of no use. The mean negative log-likelihood (MNLL) wants
# both, to be right and to be honest.
probability["class frequencies"] = np.full(len(y_test), y_train.mean())
print(f"{'':18} {'ECE':>6} {'MNLL':>6}")
for name, p in probability.items():
    ece, mnll = expected_calibration_error(y_test, p), mean_negative_log_likelihood(y_test, p)
    print(f"{name:18} {ece:6.3f} {mnll:6.3f}")
# sphinx_gallery_thumbnail_number = 2
