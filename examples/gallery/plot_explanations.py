"""
Explanations
============

What each feature contributed to a prediction, exactly: Shapley values in closed form, because the
kernel is a product over features. And what a feature does by itself, with a credible band.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier
from dirichletgp.plotting import EffectDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[[name for name in X.columns if name.startswith("mean")]]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
classifier = DirichletGPClassifier("rbf", random_state=0).fit(X_train, y_train)

# %%
# One row: the contributions and the base value sum to its log-odds. Where the package `shap` is
# installed, ``shap.plots.waterfall(explanation[0])`` draws this, too.
explanation = classifier.explain(X_test)
for name, value in zip(explanation.feature_names, explanation.values[0], strict=True):
    print(f"{name:24} {value:+.2f}")
print(f"{'base':24} {explanation.base_values[0]:+.2f}")

# %%
# All rows: which features matter, and the effect of two of them.
importance = classifier.importance(X_test)
first, second = X.columns[importance.argsort()[::-1][:2]]
fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
order = importance.argsort()
left.barh(X.columns[order], importance[order], color="#0072B2")
left.set_xlabel("Mean contribution to the log-odds")
EffectDisplay.from_estimator(classifier, X_train, first, ax=middle)
EffectDisplay.from_estimator(classifier, X_train, first, second, ax=right)
plt.show()
