"""
How it works, in pictures
=========================

A label says which class was observed once. As a statement about class probabilities that is a
Dirichlet distribution, and in the logarithm nearly a Gaussian: each row gives every class a
*target* and a *noise*. Classification has become regression, one per class, and the regressions are
Gaussian processes.
"""

# %%
# One feature, three classes, with a gap in the data between 3 and 5.
import matplotlib.pyplot as plt
import numpy as np

from dirichletgp import DirichletGPClassifier

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-4, 3, 110), rng.uniform(5, 7, 40)])
y = np.digitize(np.sin(x) + 0.25 * rng.normal(size=len(x)), [-0.4, 0.4])
X = x[:, None]
classifier = DirichletGPClassifier(scaler="standard", random_state=0).fit(X, y)

# %%
# Targets and noises of the three regressions: high for rows of the class, low and uncertain for
# the others.
transform = classifier.label_transform_
grid = np.linspace(-7, 11, 400)[:, None]
mean, variance = classifier.latent_mean_and_variance(grid)
colours = ["#0072B2", "#D55E00", "#009E73"]
fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
for c, ax in enumerate(axes):
    own = y == c
    sd = np.sqrt(variance[:, c])
    ax.fill_between(
        grid[:, 0],
        mean[:, c] - 2 * sd,
        mean[:, c] + 2 * sd,
        color=colours[c],
        alpha=0.2,
        linewidth=0,
    )
    ax.plot(grid[:, 0], mean[:, c], color=colours[c])
    ax.plot(x[own], np.full(own.sum(), transform.target_in), "|", color=colours[c], markersize=9)
    ax.plot(x[~own], np.full((~own).sum(), transform.target_out), "|", color="0.6", markersize=9)
    ax.set(title=f"class {c}", xlabel="x")
axes[0].set_ylabel("latent function, ± 2 sd")
plt.show()

# %%
# The latent functions become probabilities by a softmax, averaged over their posterior by
# quadrature. Where there are no data (between 3 and 5, and beyond the ends) the latent functions
# are uncertain and the probabilities return towards the class frequencies. And the model says *why*
# it is unsure: labels that are noisy, or too little data.
total, aleatoric, epistemic = classifier.predict_uncertainty(grid)
fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 5.4), sharex=True, layout="constrained", height_ratios=[2, 1]
)
for c, probability in enumerate(classifier.predict_proba(grid).T):
    top.plot(grid[:, 0], probability, color=colours[c], label=f"class {c}")
    top.plot(x[y == c], np.full((y == c).sum(), -0.05 - 0.05 * c), "|", color=colours[c])
top.set(ylabel="probability")
top.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
bottom.stackplot(
    grid[:, 0], aleatoric, epistemic, colors=["0.75", "#CC79A7"], labels=["noise", "lack of data"]
)
bottom.set(xlabel="x", ylabel="uncertainty (nats)", ylim=(0, 1.5))
bottom.legend(frameon=False, ncols=2, loc="upper left")
plt.show()
# sphinx_gallery_thumbnail_number = 2
