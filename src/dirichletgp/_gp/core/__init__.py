"""The mathematics, M-sized: kernels, class statistics, the bound, the posterior, probabilities."""
