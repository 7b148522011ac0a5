"""Kernels as objects, one file each.

A kernel is a class with a name that `register` has seen. Every module of this folder is imported
here, so a new kernel is a new file, and an unknown name raises wherever it is asked for.
"""

from importlib import import_module
from pkgutil import iter_modules

from .kernel import KERNELS, Kernel, KernelBelief, KernelGradient, register
from .stationary import Stationary

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["KERNELS", "Kernel", "KernelBelief", "KernelGradient", "Stationary", "register"]
