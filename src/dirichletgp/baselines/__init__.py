"""The rivals of the paper, on the same kernels, blocks and inducing points."""
