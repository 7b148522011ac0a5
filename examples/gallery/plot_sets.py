"""
Prediction sets
===============

Instead of one label, the labels that are worth considering: a set that holds the right one nine
times in ten. Where the model is sure, the set has one label; where classes meet, several.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = X + rng.normal(scale=6.0, size=X.shape)  # a bad scanner
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
classifier = DirichletGPClassifier("rbf", ard=False, n_inducing=300, random_state=0)
classifier.fit(X_train, y_train)

# %%
# No rows were held back: the promise stands on left-out predictions of the training rows.
for coverage in (0.8, 0.9, 0.95, 0.99):
    sets = classifier.predict_set(X_test, coverage)
    covered = sets[np.arange(len(y_test)), y_test].mean()
    print(
        f"promised {coverage:.2f}, covered {covered:.3f}, mean size {sets.sum(axis=1).mean():.2f}"
    )

# %%
# Four digits and their sets.
sets = classifier.predict_set(X_test, 0.95)
size = sets.sum(axis=1)
chosen = [np.flatnonzero(size == wanted)[0] for wanted in np.unique(size)[:4]]
fig, axes = plt.subplots(1, len(chosen), figsize=(1.9 * len(chosen), 2.4), layout="constrained")
for ax, i in zip(axes, chosen, strict=True):
    ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title("{" + ", ".join(map(str, classifier.classes_[sets[i]])) + "}")
plt.show()
