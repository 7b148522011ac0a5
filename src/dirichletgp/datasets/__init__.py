"""The nine datasets of the paper by name: from a folder, a cache, a package or a download."""

from .catalogue import dataset_names
from .download import DatasetError
from .loading import load_dataset

__all__ = ["DatasetError", "dataset_names", "load_dataset"]
