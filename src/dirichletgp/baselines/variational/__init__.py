"""Sparse variational classification with the likelihood of labels."""
