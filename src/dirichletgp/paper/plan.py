"""What a run is to do: which datasets, methods and splits, at what size."""

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import DatasetError, dataset_names, load_dataset
from ..datasets.checksum import canonical_order, rows_checksum
from .methods import METHODS
from .store import Store

# Quick runs are for seeing that everything works: small data, few splits.
QUICK_DATASETS = ("eeg", "magic", "letter")
_QUICK_TRAIN, _QUICK_TEST, _QUICK_POINTS, _QUICK_SPLITS = 1_000, 1_000, 40, 2
# Results on part of a dataset are not the paper's, and do not need as many splits.
_PARTIAL_SPLITS = 5
# Splits that slow methods get: of datasets with more than 200,000 training rows, and of parts of
# datasets.
_DEAR, _DEAR_PARTIAL = {"gpc": 1, "ours": 2}, {"gpc": 3, "ours": 3}


@dataclass(frozen=True)
class Split:
    """Rows to train with and to test on."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """A dataset with the sizes of this run.

    Attributes
    ----------
    name, label : str
        The label says "(partial)" if it is.
    n_train, n_test, n_inducing, n_splits, n_classes : int
    inducing : str
    alpha_epsilon : float
    settings : dict
        What results on it depend on, as JSON.
    bunch : Bunch
    order : ndarray of shape (n,)
        The rows in an order that does not depend on the source.
    quick : bool
        Whether this is a quick run.
    """

    name: str
    label: str
    n_train: int
    n_test: int
    n_inducing: int
    n_splits: int
    n_classes: int
    inducing: str
    alpha_epsilon: float
    settings: dict[str, Any]
    bunch: Any
    order: NDArray[np.intp]
    quick: bool = False

    def split(self, seed: int) -> Split:
        """A seeded random split."""
        rows = self.order[np.random.default_rng(seed).permutation(len(self.order))]
        test, train = rows[: self.n_test], rows[self.n_test : self.n_test + self.n_train]
        X, y = self.bunch.X, self.bunch.y
        return Split(X[train], y[train], X[test], y[test])

    @property
    def partial(self) -> bool:
        """Whether rows of the paper's dataset are missing."""
        return bool(self.bunch.partial)

    @property
    def binary(self) -> bool:
        """Whether it has two classes."""
        return self.n_classes == 2


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
    _loaded: dict[str, Data | None] = field(default_factory=dict)

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

    def available(self, *names: str) -> list[Data]:
        """Those of the named datasets that this run is about and that can be had."""
        return [data for name in self.chosen(*names) if (data := self._load(name)) is not None]

    def methods_for(self, *names: str) -> list[str]:
        """Those of the named methods that this run is about."""
        return [name for name in names if not self.methods or name in self.methods]

    def n_splits(self, data: Data, method: str) -> int:
        """How many splits of a dataset a method gets."""
        most = data.n_splits
        if data.n_train > 200_000:
            most = min(most, _DEAR.get(method, most))
        elif data.partial:
            most = min(most, _DEAR_PARTIAL.get(method, most))
        return most if self.splits is None else min(most, self.splits)

    def skip(self, message: str) -> None:
        """Something is left out; it is said once, and shown on the page."""
        if message not in self.skipped:
            self.skipped.append(message)
            print(message, file=sys.stderr, flush=True)

    def _load(self, name: str) -> Data | None:
        if name not in self._loaded:
            try:
                bunch = load_dataset(name, self.data, allow_download=self.allow_download)
                self._loaded[name] = self._sized(bunch)
            except DatasetError as error:
                self.skip(f"{name} was left out: {error}")
                self._loaded[name] = None
        return self._loaded[name]

    def _sized(self, bunch: Any) -> Data:
        """A dataset at the size of this run."""
        n_train, n_test, n_inducing, n_splits = (
            bunch.n_train,
            bunch.n_test,
            bunch.n_inducing,
            bunch.n_splits,
        )
        label = bunch.label
        if self.quick:
            n_train, n_test = min(n_train, _QUICK_TRAIN), min(n_test, _QUICK_TEST)
            n_inducing, n_splits = min(n_inducing, _QUICK_POINTS), _QUICK_SPLITS
            label += f" ({n_train:,} rows)"
        elif bunch.partial:
            n_splits = min(n_splits, _PARTIAL_SPLITS)
        return Data(
            name=bunch.name,
            label=label,
            n_train=n_train,
            n_test=n_test,
            n_inducing=n_inducing,
            n_splits=n_splits,
            n_classes=bunch.n_classes,
            inducing=bunch.inducing,
            alpha_epsilon=bunch.alpha_epsilon,
            settings={
                "dataset": bunch.name,
                "partial": bunch.partial,
                "rows": rows_checksum(bunch.X, bunch.y)[:16],
                "n_train": n_train,
                "n_test": n_test,
            },
            bunch=bunch,
            order=canonical_order(bunch.X, bunch.y),
            quick=self.quick,
        )
