"""Regression on labels: Gaussian processes, Nystrom ridge regression, Platt scaling."""
