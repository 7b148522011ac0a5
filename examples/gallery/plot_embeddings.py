"""
Embeddings from a neural network
================================

Images and texts are not for kernels on raw inputs. A network turns them into features; a Gaussian
process on its last hidden layer replaces the softmax and knows what it does not know. The network
here is scikit-learn's, so that the example runs anywhere; with another library only the function
`embed` changes.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from dirichletgp import DirichletGPClassifier
from dirichletgp.metrics import error_rate, expected_calibration_error, mean_negative_log_likelihood
from dirichletgp.plotting import RejectionDisplay

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = X + rng.normal(0, 5, X.shape)  # hard enough for mistakes
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
network = MLPClassifier(
    (64, 24), alpha=1e-2, max_iter=500, early_stopping=True, random_state=0
).fit(X_train, y_train)


def embed(rows):
    """The last hidden layer of the network."""
    for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        rows = np.maximum(rows @ weights + bias, 0)
    return rows


# %%
process = DirichletGPClassifier(scaler="standard", ard=False, n_inducing=200, random_state=0)
process.fit(embed(X_train), y_train)
answers = {
    "network": network.predict_proba(X_test),
    "process on embeddings": process.predict_proba(embed(X_test)),
}
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, prob), colour in zip(answers.items(), ("#D55E00", "#0072B2"), strict=True):
    scores = [
        f(y_test, prob)
        for f in (error_rate, mean_negative_log_likelihood, expected_calibration_error)
    ]
    print(f"{name:22} error {scores[0]:.3f}  MNLL {scores[1]:.3f}  ECE {scores[2]:.3f}")
    RejectionDisplay.from_predictions(y_test, prob, name=name, ax=ax, color=colour)
plt.show()
