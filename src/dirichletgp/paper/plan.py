"""What a run is to do: which datasets, methods and splits, at what size."""

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..datasets import DatasetError, dataset_names, load_dataset
from ..datasets.checksum import canonical_order, rows_checksum
from .dataset import Dataset
from .methods import METHODS
from .store import Store

# Quick runs are for seeing that everything works: small data, few splits.
QUICK_DATASETS = ("eeg", "magic", "letter")
_QUICK_TRAIN = 1_000
_QUICK_TEST = 1_000
_QUICK_POINTS = 40
_QUICK_SPLITS = 2
# Results on part of a dataset are not the paper's, and do not need as many splits.
_PARTIAL_SPLITS = 5
# Splits that slow methods get: of datasets with very many training rows, and of parts of datasets.
_VERY_MANY_ROWS = 200_000
_SPLITS_OF_LARGE = {"gpc": 1, "ours": 2}
_SPLITS_OF_PARTIAL = {"gpc": 3, "ours": 3}


@dataclass
class Plan:
    """A run of the paper.

    Parameters
    ----------
    out : Path
        Folder for results, figures and the page.
    datasets, methods : tuple of str, default=()
        Which ones; none means all.
    splits : int or None, default=None
        At most so many splits; None: the paper's number.
    quick : bool, default=False
        Small data, few splits: minutes instead of an hour.
    data : Path or None, default=None
        Folder of datasets.
    allow_download : bool, default=True
    repetitions : int, default=200
        Training sets per size for the convergence of losses; the paper has 1,000.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dirichletgp.paper import Plan
    >>> plan = Plan(Path("results"), datasets=("magic",), splits=3)
    >>> plan.chosen("magic", "letter")
    ['magic']
    """

    out: Path
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    splits: int | None = None
    quick: bool = False
    data: Path | None = None
    allow_download: bool = True
    repetitions: int = 200
    skipped: list[str] = field(default_factory=list)
    _loaded: dict[str, Dataset | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.out = Path(self.out)
        for name, given, allowed in (
            ("dataset", self.datasets, dataset_names()),
            ("method", self.methods, list(METHODS)),
        ):
            unknown = [value for value in given if value not in allowed]
            if unknown:
                raise ValueError(
                    f"{name} {unknown[0]!r} is unknown; choose from {', '.join(allowed)}"
                )
        if self.data is not None and not Path(self.data).is_dir():
            raise ValueError(
                f"data={str(self.data)!r} is not a folder; pass the one that holds the datasets"
            )
        if self.splits is not None and self.splits < 1:
            raise ValueError(f"splits must be at least 1, got {self.splits}")
        if self.repetitions < 2:
            raise ValueError(f"repetitions must be at least 2, got {self.repetitions}")

    @cached_property
    def store(self) -> Store:
        """Where results are kept."""
        return Store(self.out / "results")

    def chosen(self, *names: str) -> list[str]:
        """Those of the named datasets that this run is about."""
        wanted = self.datasets or (QUICK_DATASETS if self.quick else tuple(dataset_names()))
        return [name for name in names if name in wanted]

    def available(self, *names: str) -> list[Dataset]:
        """Those of the named datasets that this run is about and that can be had."""
        return [data for name in self.chosen(*names) if (data := self._load(name)) is not None]

    def methods_for(self, *names: str) -> list[str]:
        """Those of the named methods that this run is about."""
        return [name for name in names if not self.methods or name in self.methods]

    def n_splits(self, data: Dataset, method: str) -> int:
        """How many splits of a dataset a method gets."""
        most = data.n_splits
        if data.n_train > _VERY_MANY_ROWS:
            most = min(most, _SPLITS_OF_LARGE.get(method, most))
        elif data.partial:
            most = min(most, _SPLITS_OF_PARTIAL.get(method, most))
        return most if self.splits is None else min(most, self.splits)

    def skip(self, message: str) -> None:
        """Something is left out; it is said once, and shown on the page."""
        if message not in self.skipped:
            self.skipped.append(message)
            print(message, file=sys.stderr, flush=True)

    def _load(self, name: str) -> Dataset | None:
        if name not in self._loaded:
            try:
                bunch = load_dataset(name, self.data, allow_download=self.allow_download)
                self._loaded[name] = self._sized(bunch)
            except DatasetError as error:
                self.skip(f"{name} was left out: {error}")
                self._loaded[name] = None
        return self._loaded[name]

    def _sized(self, bunch: Any) -> Dataset:
        """A dataset at the size of this run."""
        n_train = bunch.n_train
        n_test = bunch.n_test
        n_inducing = bunch.n_inducing
        n_splits = bunch.n_splits
        label = bunch.label
        if self.quick:
            n_train = min(n_train, _QUICK_TRAIN)
            n_test = min(n_test, _QUICK_TEST)
            n_inducing = min(n_inducing, _QUICK_POINTS)
            n_splits = _QUICK_SPLITS
            label += f" ({n_train:,} rows)"
        elif bunch.partial:
            n_splits = min(n_splits, _PARTIAL_SPLITS)
        settings = {
            "dataset": bunch.name,
            "partial": bunch.partial,
            "rows": rows_checksum(bunch.X, bunch.y)[:16],
            "n_train": n_train,
            "n_test": n_test,
        }
        return Dataset(
            name=bunch.name,
            label=label,
            n_train=n_train,
            n_test=n_test,
            n_inducing=n_inducing,
            n_splits=n_splits,
            n_classes=bunch.n_classes,
            inducing=bunch.inducing,
            alpha_epsilon=bunch.alpha_epsilon,
            settings=settings,
            bunch=bunch,
            order=canonical_order(bunch.X, bunch.y),
            quick=self.quick,
        )
