"""Fitting to rows that need not fit into memory: learn from a sample of one pass, sum up all rows in another."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..persistence.checkpoint import Checkpoint
from .core.arguments import class_factors
from .core.posterior import Basis
from .core.statistics import ClassStatistics
from .core.threads import Workers
from .estimator import InducingPointClassifier
from .rows.chunks import ArraySource, Chunk, RowSource, chunks
from .rows.device import checked_device, is_tensor
from .rows.full_pass import FullPass, Labelling
from .rows.in_memory import ArrayRows
from .rows.on_dask import AllRows, DaskObjective, DaskRows
from .rows.on_device import TensorObjective, TensorRows
from .rows.sampling import Survey, sample_rows
from .rows.scaling import fit_scaler, scaling_function
from .training.objective import DirichletObjective
from .training.progress import Progress, Stage
from .training.schedule import POOL_ROWS

Array = NDArray[np.float64]


class SourceFit(InducingPointClassifier):
    """The part of `DirichletGPClassifier.fit` that reads rows piece by piece."""

    def _fit_source(self, source: RowSource, path: str | os.PathLike[str] | None) -> None:
        """Learn from a sample of a source, and sum up the statistics of all of it."""
        rng, progress = check_random_state(self.random_state), Progress(self.verbose)
        checkpoint = None if path is None else Checkpoint(path, self.get_params(deep=False))
        if checkpoint is not None:
            rng = checkpoint.random_state(rng)
        with progress.stage(Stage.FIRST_PASS, "first pass: classes and a sample"):
            survey = self._survey(source, rng)
            progress.note(f"{survey.n_rows:,} rows, {len(survey.classes)} classes")
        if checkpoint is not None:
            checkpoint.compare(survey)
        rows, labelling = self._surveyed_rows(survey, source.feature_names, rng)
        whole = FullPass(source, labelling, survey.n_rows, progress, checkpoint)
        self._train(
            rows, rng, progress, totals=survey.class_totals, whole=whole, checkpoint=checkpoint
        )
        if checkpoint is not None:
            checkpoint.remove()

    def _fit_dask(self, X: Any, y: Any, sample_weight: Any, checkpoint: Any) -> None:
        """Learn from a sample of rows on a cluster, and let the workers sum up the statistics of all."""
        if checkpoint is not None:
            raise ValueError(
                "checkpoint is for rows read here; on a cluster Dask repeats what was lost. Leave it out."
            )
        rng, progress = check_random_state(self.random_state), Progress(self.verbose)
        collection = DaskRows(X, y, sample_weight)
        with progress.stage(Stage.FIRST_PASS, "first pass: classes and a sample"):
            size = self._sample_size(collection.n_features, at_most=True)
            survey = collection.survey(size, survey_seed(rng))
            progress.note(f"{survey.n_rows:,} rows, {len(survey.classes)} classes")
        rows, labelling = self._surveyed_rows(survey, collection.feature_names, rng)

        def whole(basis: Basis, _: Workers) -> ClassStatistics:
            return collection.statistics(basis, labelling)

        objective: Callable[..., DirichletObjective] = DirichletObjective
        if survey.n_rows > len(rows) and (self.n_subsample or 0) > len(rows):
            # More rows than were sampled should decide about the kernel: all of them, where they
            # are.
            everything = AllRows(
                survey.class_totals * (1.0 if self._class_factors is None else self._class_factors)
            )

            def objective(_: ArrayRows, *settings: Any) -> DirichletObjective:
                transform, prior, jitter, workers = settings
                of_rows = (everything, transform, prior, jitter, workers)
                return DaskObjective(*of_rows, collection, labelling)  # type: ignore[arg-type]

        self._train(
            rows, rng, progress, totals=survey.class_totals, whole=whole, objective=objective
        )

    def _fit_tensor(self, X: Any, y: Any, sample_weight: Any, checkpoint: Any) -> None:
        """Learn from a sample of a tensor, with all passes over rows where the tensor lives."""
        if checkpoint is not None:
            raise ValueError(
                "checkpoint is for rows read from files or host arrays; leave it out with tensors."
            )
        rng, progress, device = (
            check_random_state(self.random_state),
            Progress(self.verbose),
            checked_device(X),
        )
        labels = device.back(y) if is_tensor(y) else y
        weights = device.back(sample_weight) if is_tensor(sample_weight) else sample_weight
        # The survey sees positions in place of rows: only the sample comes to the host.
        positions = ArraySource(np.arange(X.shape[0], dtype=np.float64)[:, None], labels, weights)
        found = Survey.of(chunks(positions), self._sample_size(X.shape[1]), survey_seed(rng))
        sampled = device.indices(found.sample.X[:, 0].astype(np.intp))
        sample = found.sample._replace(
            X=device.back(device.floats(device.xp.take(X, sampled, axis=0)))
        )
        survey = replace(found, sample=sample)
        rows, labelling = self._surveyed_rows(survey, None, rng)
        everything = labelling.rows(
            Chunk(np.empty((X.shape[0], 0)), positions.labels, positions.weights)
        )

        def whole(basis: Basis, _: Workers) -> ClassStatistics:
            parts = everything.codes, everything.weights, everything.n_classes
            return TensorRows(device, X, *parts, self.scaler_).statistics(basis)

        objective = partial(TensorObjective, device=device)
        self._train(
            rows, rng, progress, totals=survey.class_totals, whole=whole, objective=objective
        )

    def _array_source(self, X: Any, y: Any, sample_weight: Any) -> ArraySource:
        """Arrays in memory as a source."""
        rows, labels = validate_data(self, X, y, dtype=[np.float64, np.float32])
        names = getattr(self, "feature_names_in_", None)
        return ArraySource(rows, labels, sample_weight, None if names is None else names.tolist())

    def _survey(self, source: RowSource, rng: np.random.RandomState) -> Survey:
        parts = chunks(source)
        try:
            first = next(parts, None)
            if first is None:
                raise ValueError(
                    "X has no rows with a positive weight; pass rows of at least two classes."
                )
            return Survey.of(
                _with_first(first, parts), self._sample_size(first.X.shape[1]), survey_seed(rng)
            )
        finally:
            parts.close()

    def _sample_size(self, n_features: int, at_most: bool = False) -> int:
        """Rows of a sample; `n_subsample` may ask for more, unless they should stay where they are."""
        n_points = (
            len(self.inducing) if not isinstance(self.inducing, str) else self.n_inducing or 0
        )
        wanted = 0 if at_most else self.n_subsample or 0
        return sample_rows(n_features, max(POOL_ROWS, 4 * n_points, wanted))

    def _surveyed_rows(
        self, survey: Survey, feature_names: list[str] | None, rng: np.random.RandomState
    ) -> tuple[ArrayRows, Labelling]:
        """The sample as training rows, and how all others are labelled; sets what `_training_rows` sets."""
        sample, self.classes_ = survey.sample, survey.classes
        self.n_features_in_ = sample.X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        self._class_factors = class_factors(self.class_weight, self.classes_, survey.class_totals)
        codes = np.searchsorted(self.classes_, sample.labels)
        weights = self._times_class_weight(codes, sample.weights)
        self.scaler_ = fit_scaler(self.scaler, sample.X, sample.labels, weights, rng)
        labelling = Labelling(self.classes_, self._class_factors, scaling_function(self.scaler_))
        return labelling.rows(sample), labelling


def survey_seed(rng: np.random.RandomState) -> int:
    """A seed for the survey, without a draw from `rng`: a source that is all sample is then trained like an array."""
    copy = np.random.RandomState()
    copy.set_state(rng.get_state())
    return int(copy.randint(2**31))


def _with_first(first: Any, rest: Any) -> Any:
    yield first
    yield from rest
