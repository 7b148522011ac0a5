"""
Beside boosted trees and CalibratedClassifierCV
===============================================

Three ways to calibrated probabilities on the same split: a Dirichlet-based Gaussian process,
boosted trees, and boosted trees calibrated afterwards on held-out folds.
"""

# %%
import time

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood
from dirichletgp.plotting import ReliabilityDisplay

X, y = make_classification(
    6000, n_features=12, n_informative=6, flip_y=0.05, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
trees = HistGradientBoostingClassifier(random_state=0)
models = {
    "Gaussian process": DirichletGPClassifier(n_inducing=300, random_state=0),
    "boosted trees": trees,
    "trees + isotonic": CalibratedClassifierCV(trees, method="isotonic", cv=5),
}

# %%
# MNLL, the mean negative log-likelihood, rewards being right and being honest; ECE looks at
# honesty alone.
print(f"{'':20} {'error':>7} {'MNLL':>7} {'ECE':>7} {'fit, s':>7}")
fig, axes = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    start = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    prob = model.predict_proba(X_test)
    scores = [
        f(y_test, prob)
        for f in (error_rate, mean_negative_log_likelihood, expected_calibration_error)
    ]
    print(f"{name:20} " + " ".join(f"{score:7.4f}" for score in scores) + f" {seconds:7.1f}")
    ReliabilityDisplay.from_estimator(model, X_test, y_test, name=name, ax=ax)
plt.show()

# %%
# The trees train faster. The Gaussian process needs no second stage, and it alone has a band: it
# knows how sure it is of its own probabilities.
