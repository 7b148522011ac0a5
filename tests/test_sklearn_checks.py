"""The estimator keeps every promise that scikit-learn asks of a classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
from dirichletgp._gp.rows.scaling import NormalScores

# The promises do not depend on how well a model is trained.
FEW = {"n_inducing": 20, "max_iter": 5}


@parametrize_with_checks(
    [
        DirichletGPClassifier(alpha_epsilon=0.05, **FEW),
        DirichletGPClassifier(
            label_transform="dirichlet", scaler="standard", kernel="matern32", ard=False, **FEW
        ),
        DirichletGPClassifier(
            "product", label_transform="dirichlet", alpha_epsilon=0.05, inducing="rpcholesky", **FEW
        ),
        DirichletGPClassifier("rbf", n_regions=2, n_inducing=10, max_iter=2),
        GPRegressionClassifier(**FEW),
        GPRegressionClassifier(calibration="platt", **FEW),
        NystromRidgeClassifier(n_inducing=20),
        VariationalGPClassifier(n_inducing=10, tol=1e-2),
        NormalScores(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
