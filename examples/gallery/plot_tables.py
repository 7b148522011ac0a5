"""
Tables with categories and holes
================================

A frame with texts and missing values goes in as it is. The kernel for tables gives every column a
share; a category is like itself, a missing number a little like all others.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import expected_calibration_error, mean_negative_log_likelihood
from dirichletgp.plotting import FeatureRelevanceDisplay

# Made up, so that the truth is known: the dose helps, each of 25 clinics has an effect of its own,
# age matters only in two of four groups, and the pressure was often not taken.
rng = np.random.default_rng(0)
n = 4_000
clinic, group = rng.integers(0, 25, n), rng.integers(0, 4, n)
dose, age, pressure = rng.gamma(2.0, 1.0, n), rng.normal(50, 12, n), rng.normal(120, 15, n)
effect = rng.normal(0, 1.0, 25)
log_odds = np.log(dose) + effect[clinic] + np.where(group < 2, 0.1 * (age - 50), 0.0)
log_odds += 0.03 * (pressure - 120)
table = pd.DataFrame(
    {
        "clinic": [f"clinic {code}" for code in clinic],
        "group": np.array(["A", "B", "C", "D"])[group],
        "dose": dose,
        "age": age,
        "pressure": np.where(rng.random(n) < 0.4, np.nan, pressure),
        "weekday": np.array(["Mon", "Tue", "Wed", "Thu", "Fri"])[rng.integers(0, 5, n)],
    }
)
better = rng.random(n) < 1 / (1 + np.exp(-log_odds))
train, test, y_train, y_test = train_test_split(table, better, random_state=0)
classifier = DirichletGPClassifier(n_inducing=300, random_state=0).fit(train, y_train)
probability = classifier.predict_proba(test)
print(f"kernel: {classifier.kernel_}")
print(f"MNLL {mean_negative_log_likelihood(y_test, probability):.3f}")
print(f"ECE  {expected_calibration_error(y_test, probability):.3f}")

# %%
# What matters: the weekday does not, and a clinic is one bar, not 25.
FeatureRelevanceDisplay.from_estimator(classifier)
plt.show()

# %%
# What the model makes of a column: the probability of one patient whose dose, clinic or pressure
# we change, all else as it is. A clinic that was never seen and a pressure that was not taken are
# no errors: the model falls back on what the other columns say.
patient = test.iloc[[0]]
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained", sharey=True)
doses = np.linspace(0.05, 7, 80)
varied = pd.concat([patient] * len(doses), ignore_index=True).assign(dose=doses)
for name, colour in ((patient["clinic"].iloc[0], "#0072B2"), ("a new clinic", "#D55E00")):
    rows = varied.assign(clinic=name)
    low, high = classifier.predict_interval(rows)
    axes[0].plot(doses, classifier.predict_proba(rows)[:, 1], color=colour, label=name)
    axes[0].fill_between(doses, low[:, 1], high[:, 1], color=colour, alpha=0.15, linewidth=0)
axes[0].set(xlabel="dose", ylabel="probability of getting better")
axes[0].legend(frameon=False)
pressures = np.linspace(85, 155, 80)
rows = pd.concat([patient] * len(pressures), ignore_index=True).assign(pressure=pressures)
axes[1].plot(pressures, classifier.predict_proba(rows)[:, 1], color="#0072B2", label="taken")
not_taken = classifier.predict_proba(patient.assign(pressure=np.nan))[0, 1]
axes[1].axhline(not_taken, color="0.3", linestyle="--", label="not taken")
axes[1].set(xlabel="pressure")
axes[1].legend(frameon=False)
plt.show()
# sphinx_gallery_thumbnail_number = 2
