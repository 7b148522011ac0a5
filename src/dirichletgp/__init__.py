"""Calibrated classification with Dirichlet-based Gaussian processes."""
