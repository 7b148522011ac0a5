"""
Pipelines, mixed columns and grid search
========================================

The classifier is a scikit-learn estimator: preprocessing goes before it, searches go around it, and
displays look through both.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from dirichletgp import DirichletGPClassifier
from dirichletgp.plotting import FeatureRelevanceDisplay, ReliabilityDisplay

rng = np.random.default_rng(0)
n = 2000
table = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n).astype(float),
        "dose": rng.gamma(2.0, 1.0, n),
        "site": rng.choice(["north", "south", "west"], n),
        "noise": rng.normal(size=n),
    }
)
score = 0.06 * (table["age"] - 50) + np.sin(2 * table["dose"]) + 1.2 * (table["site"] == "west")
y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-score)), "ill", "well")
table.loc[rng.choice(n, 100, replace=False), "dose"] = np.nan

# %%
prepare = make_column_transformer(
    (SimpleImputer(strategy="median"), ["age", "dose", "noise"]),
    (OneHotEncoder(), ["site"]),
    verbose_feature_names_out=False,
)
pipeline = make_pipeline(prepare, DirichletGPClassifier(n_inducing=100, random_state=0))
choices = {"dirichletgpclassifier__kernel": ["rbf", "matern32"]}
search = GridSearchCV(pipeline, choices, scoring="neg_log_loss", cv=3)
X_train, X_test, y_train, y_test = train_test_split(table, y, random_state=0)
search.fit(X_train, y_train)
print(search.best_params_, f"log loss {-search.score(X_test, y_test):.3f}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
ReliabilityDisplay.from_estimator(search, X_test, y_test, ax=axes[0])
names = search.best_estimator_[0].get_feature_names_out()
FeatureRelevanceDisplay.from_estimator(search, feature_names=names, ax=axes[1])
plt.show()
