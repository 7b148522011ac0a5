"""The command `dirichletgp`."""

from .main import main

__all__ = ["main"]
