"""
Labels that look wrong
======================

Every training row is predicted without itself. Rows that are then taken for something else are
listed, the most suspicious first.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from dirichletgp import DirichletGPClassifier

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
wrong = rng.random(len(y)) < 0.05
given = np.where(wrong, (y + rng.integers(1, 10, len(y))) % 10, y)
classifier = DirichletGPClassifier("rbf", ard=False, n_inducing=300, random_state=0)
issues = classifier.fit(X, given).label_issues(X, given)
found = wrong[issues.rows]
print(
    f"{wrong.sum()} labels are wrong; of the first {wrong.sum()} listed, "
    f"{found[: wrong.sum()].sum()} are among them"
)

# %%
# The first eight, and how many of the labels checked so far were wrong.
fig = plt.figure(figsize=(9, 4.6), layout="constrained")
grid = fig.add_gridspec(2, 8)
for place, row in enumerate(issues.rows[:8]):
    ax = fig.add_subplot(grid[0, place])
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"said {issues.given[place]}\nlikelier {issues.suggested[place]}", fontsize=9)
ax = fig.add_subplot(grid[1, :])
ax.plot(np.arange(1, len(found) + 1), found.cumsum(), color="#0072B2", label="wrong labels found")
ax.plot(
    [0, len(found)], [0, len(found)], ls=(0, (5, 3)), color="0.3", label="if all listed were wrong"
)
ax.set(xlabel="Labels checked", ylabel="Wrong labels found")
ax.legend(frameon=False)
plt.show()
