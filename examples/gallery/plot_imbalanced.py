"""
Imbalanced classes
==================

One row in fifty is positive. Reweighting or resampling the classes would spoil the probabilities;
with calibrated ones the decision is a threshold, chosen by what the mistakes cost.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import expected_calibration_error

X, y = make_classification(
    12_000, n_features=6, n_informative=4, n_redundant=0, weights=[0.98], random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
plain = DirichletGPClassifier(n_inducing=200, random_state=0).fit(X_train, y_train)
balanced = DirichletGPClassifier(n_inducing=200, class_weight="balanced", random_state=0).fit(
    X_train, y_train
)
for name, model in (("as it is", plain), ("balanced", balanced)):
    prob = model.predict_proba(X_test)
    ece = expected_calibration_error(y_test, prob)
    share, true_share = prob[:, 1].mean(), y_test.mean()
    print(f"{name:9} ECE {ece:.4f}, share of positives {share:.3f} (true {true_share:.3f})")

# %%
# A missed positive costs 20 times as much as a false alarm. Then a row is worth an alarm from a
# probability of 1 / (1 + 20) on, if the probabilities are honest. Cost against threshold:
cost_of_miss, cost_of_alarm = 20, 1
thresholds = np.geomspace(0.003, 0.97, 120)
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, model, colour in (("as it is", plain, "#0072B2"), ("balanced", balanced, "#D55E00")):
    p = model.predict_proba(X_test)[:, 1]
    cost = [
        cost_of_miss * np.mean((p < t) & (y_test == 1))
        + cost_of_alarm * np.mean((p >= t) & (y_test == 0))
        for t in thresholds
    ]
    ax.plot(thresholds, cost, color=colour, label=name)
ax.axvline(
    cost_of_alarm / (cost_of_alarm + cost_of_miss),
    color="0.3",
    linestyle="--",
    label="threshold from the costs",
)
ax.set(xscale="log", xlabel="threshold", ylabel="cost per row")
ax.legend(frameon=False)
plt.show()
# sphinx_gallery_thumbnail_number = 1
