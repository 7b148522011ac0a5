"""
Active learning: which row to label next
========================================

Labels cost money. Asks for those of the rows with the highest epistemic uncertainty, where data are
lacking rather than noisy, and compares with asking at random. Within a batch, `partial_fit` takes
each chosen row in before the next is chosen, so that a batch is not five copies of one question.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import mean_negative_log_likelihood

X, y = make_moons(1500, noise=0.2, random_state=0)
pool, test = np.arange(500), np.arange(500, 1500)


def learn(choose, n_questions=40, batch=5):
    """Losses on the test rows while labels are asked for, a batch at a time."""
    rng = np.random.default_rng(1)
    labelled = np.concatenate([np.flatnonzero(y[pool] == c)[:4] for c in (0, 1)])
    losses = []
    for _ in range(n_questions // batch):
        model = DirichletGPClassifier(scaler="standard", random_state=0).fit(
            X[labelled], y[labelled]
        )
        losses.append(mean_negative_log_likelihood(y[test], model.predict_proba(X[test])))
        open_rows = np.setdiff1d(pool, labelled)
        labelled = np.concatenate([labelled, open_rows[choose(model, X[open_rows], batch, rng)]])
    return losses, labelled


def most_to_learn(model, rows, batch, rng):
    """Rows about which the model knows least, each added before the next is chosen."""
    chosen = []
    for _ in range(batch):
        epistemic = model.predict_uncertainty(rows)[2]
        epistemic[chosen] = -1
        chosen.append(int(epistemic.argmax()))
        row = rows[chosen[-1:]]
        model = model.partial_fit(
            row, model.predict(row)
        )  # what its label will be does not matter for where data lie
    return np.array(chosen)


def at_random(model, rows, batch, rng):
    """Rows chosen blindly."""
    return rng.choice(len(rows), batch, replace=False)


# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, choose, colour in (
    ("most to learn", most_to_learn, "#0072B2"),
    ("at random", at_random, "#D55E00"),
):
    losses, labelled = learn(choose)
    left.plot(8 + 5 * np.arange(len(losses)), losses, marker="o", color=colour, label=name)
    print(f"{name:14} MNLL after {8 + 5 * (len(losses) - 1)} labels: {losses[-1]:.3f}")
    if choose is most_to_learn:
        asked = labelled
left.set(xlabel="labels", ylabel="MNLL on test rows")
left.legend(frameon=False)
right.scatter(*X[pool].T, s=8, color="0.8")
right.scatter(*X[asked].T, s=36, c=y[asked], cmap="coolwarm", edgecolors="k", linewidths=0.6)
right.set(title="labels asked for", xticks=[], yticks=[])
plt.show()
