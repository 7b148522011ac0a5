"""The estimator keeps every promise that scikit-learn asks of a classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
from dirichletgp._gp.rows.scaling import NormalScores


@parametrize_with_checks(
    [
        DirichletGPClassifier(),
        DirichletGPClassifier(
            label_transform="dirichlet", scaler="standard", kernel="matern32", ard=False
        ),
        DirichletGPClassifier(n_inducing=10, inducing="rpcholesky", alpha_epsilon=0.05),
        GPRegressionClassifier(),
        GPRegressionClassifier(calibration="platt"),
        NystromRidgeClassifier(),
        VariationalGPClassifier(),
        NormalScores(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
