"""Saving and loading fitted classifiers: arrays and JSON in one file, no pickle.

`DirichletGPClassifier.save` and `.load` are the usual way in. The functions here also keep small
extras of other tools (such as the recipe of a table's columns) in the same file.
"""

from .archive import ModelFileError
from .model_file import load, load_with_extras, read_extras, save

__all__ = ["ModelFileError", "load", "load_with_extras", "read_extras", "save"]
