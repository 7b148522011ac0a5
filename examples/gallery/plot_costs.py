"""
Decisions, costs and declining
==============================

With honest probabilities the cheapest decision is arithmetic: the label with the least expected
cost, or none where asking somebody is cheaper.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier

X, y = make_classification(
    3_000, n_features=6, n_informative=4, weights=[0.85], flip_y=0.08, random_state=2
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
classifier = DirichletGPClassifier("rbf", n_inducing=150, random_state=0).fit(X_train, y_train)

# %%
# A missed positive costs 10, a false alarm 1.
costs = np.array([[0, 1], [10, 0]])
for decline in (None, 0.5, 0.2):
    decision = classifier.decide(X_test, costs, decline)
    paid = np.where(decision.declined, decline or 0, costs[y_test, decision.labels])
    print(
        f"declining costs {decline}: {decision.declined.mean():.1%} declined, "
        f"{paid.mean():.3f} a row"
    )
print(f"the likeliest label: {costs[y_test, classifier.predict(X_test)].mean():.3f} a row")

# %%
# Thresholds for a wanted recall, from the training rows alone, and what new rows say.
wanted = np.linspace(0.6, 0.95, 15)
found = [classifier.threshold(X_train, y_train, recall=recall) for recall in wanted]
p = classifier.predict_proba(X_test)[:, 1]
reached = [(p[y_test == 1] >= each.value).mean() for each in found]
fig, ax = plt.subplots(figsize=(5.4, 4), layout="constrained")
low, high = np.array([each.recall_interval for each in found]).T
ax.fill_between(wanted, low, high, color="#C4C4C4", alpha=0.6, lw=0, label="95 % interval")
ax.plot(wanted, wanted, ls=(0, (5, 3)), color="0.3", label="as wanted")
ax.plot(wanted, reached, "o-", color="#0072B2", label="new rows")
ax.set(xlabel="Recall wanted", ylabel="Recall")
ax.legend(frameon=False)
plt.show()
