"""
Rows unlike any seen before
===========================

Epistemic uncertainty is high where the model has seen too little. Here it has learned the digits 0
to 4, and is shown 0 to 9.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
known = y_train < 5
classifier = DirichletGPClassifier(scaler=None, ard=False, n_inducing=300, random_state=0)
classifier = classifier.fit(X_train[known], y_train[known])

# %%
total, aleatoric, epistemic = classifier.predict_uncertainty(X_test)
strange = y_test >= 5
print("how well uncertainty tells strange digits:")
print(f"AUC {roc_auc_score(strange, epistemic):.3f} (epistemic)")
print(f"AUC {roc_auc_score(strange, total):.3f} (total)")
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
bins = np.linspace(0, epistemic.max(), 40)
ax.hist(
    epistemic[~strange], bins, color="#0072B2", alpha=0.7, label="digits 0 to 4, as in training"
)
ax.hist(epistemic[strange], bins, color="#D55E00", alpha=0.7, label="digits 5 to 9, never seen")
ax.set(xlabel="epistemic uncertainty (nats)", ylabel="test rows")
ax.legend(frameon=False)
plt.show()

# %%
# The most certain and the least certain of the strange ones:
order = np.flatnonzero(strange)[np.argsort(epistemic[strange])]
fig, axes = plt.subplots(2, 6, figsize=(7, 2.9), layout="constrained")
for ax, row in zip(axes.ravel(), np.concatenate([order[:6], order[-6:]]), strict=True):
    ax.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{epistemic[row]:.2f}", fontsize=9)
    ax.axis("off")
plt.show()
