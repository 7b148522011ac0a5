"""The method itself: its mathematics, the rows it learns from, its training, and the estimator."""
