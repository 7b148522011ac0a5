"""Kernels as objects, one file each.

A kernel is a class with a name that `register` has seen. Every module of this folder is imported
here, so a new kernel is a new file, and an unknown name raises wherever it is asked for.
"""

from importlib import import_module
from pkgutil import iter_modules

from .kernel import KERNELS, Kernel, KernelBelief, KernelGradient, register
from .stationary import Stationary

# The default first: so they are listed.
for _module in sorted(iter_modules(__path__), key=lambda module: module.name != "rbf"):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["KERNELS", "Kernel", "KernelBelief", "KernelGradient", "Stationary", "register"]
