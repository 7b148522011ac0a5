"""The nine datasets of the paper by name, from a folder, a cache, an installed package or a download."""

from ._catalogue import dataset_names
from ._download import DatasetError
from ._load import load_dataset

__all__ = ["DatasetError", "dataset_names", "load_dataset"]
