"""
Votes of a crowd
================

Five people say what they think each row is, and each is right six times in ten. The votes can be
given as they are: three against two is less certain than five against none.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from dirichletgp import DirichletGPClassifier


def drawn(n, rng):
    X = rng.uniform(-2, 2, (n, 2))
    scores = np.column_stack([X[:, 1] - np.sin(2 * X[:, 0]), -X[:, 1], X[:, 0]])
    return X, scores.argmax(axis=1)


def voted(truth, rng):
    """Votes (n, 3) of five people, and the label that most of them gave; ties are drawn."""
    n = len(truth)
    right = rng.random((n, 5)) < 0.6
    said = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, (n, 5))) % 3)
    votes = np.stack([(said == c).sum(axis=1) for c in range(3)], axis=1)
    return votes, (votes + rng.uniform(0, 0.1, votes.shape)).argmax(axis=1)


# %%
# Beside the majority vote, and against the truth, which nobody was told. Mean of five draws:
errors = []
for seed in range(5):
    rng = np.random.default_rng(seed)
    X, truth = drawn(400, rng)
    X_test, y_test = drawn(4_000, rng)
    models = {}
    for name, target in zip(("votes", "majority"), voted(truth, rng), strict=True):
        model = DirichletGPClassifier(random_state=0).fit(X, target)
        models[name] = model
        errors.append(np.mean(model.predict(X_test) != y_test))
print(f"votes: error {np.mean(errors[::2]):.3f}, majority: {np.mean(errors[1::2]):.3f}")

# %%
# The mistakes of the last draw.
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    miss = model.predict(X_test) != y_test
    ax.scatter(*X_test[~miss].T, c=y_test[~miss], cmap="Pastel1", s=6)
    ax.scatter(*X_test[miss].T, color="k", s=8, label=f"wrong: {miss.mean():.1%}")
    ax.set_title(f"Fitted to the {name}")
    ax.legend(loc="upper right")
plt.show()
