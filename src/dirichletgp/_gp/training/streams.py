"""Rows that come and go: functions from one fitted value to the next.

The class statistics are sums, so rows are added, taken away, faded and pooled exactly. Scaling,
inducing points, kernel, label transform and correction stay as they are; the posterior is solved
again when a prediction asks for it, not before.
"""

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Integers
from ..core.parallel import Workers, cholesky
from ..core.regional import RegionalStatistics
from ..core.statistics import ClassStatistics
from ..rows.in_memory import InMemoryRows
from ..rows.scaling import same_scaling
from ..rows.weights import class_factors
from .fitted import Fitted, Model
from .regional import AnyModel, RegionalModel
from .settings import class_prior

AnyStatistics = ClassStatistics | RegionalStatistics

# A kernel learned from fewer rows than this, or than ten for each inducing point, follows the noise
# of their labels.
_FEWEST_ROWS, _ROWS_PER_POINT = 4_000, 10
# Rounding of sums: less than this part of a class is nothing, and as much below zero is not yet
# negative.
_NOTHING = 1e-10


def rows_to_settle(n_subsample: int | None, n_points: int) -> int:
    """How many rows settle scaling, inducing points and kernel of a stream."""
    return max(_FEWEST_ROWS, _ROWS_PER_POINT * n_points) if n_subsample is None else n_subsample


def standing_on(fitted: Fitted, statistics: AnyStatistics, prior: Any) -> Fitted:
    """The same model on other rows; `prior` is the `class_prior` argument."""
    model: Any = fitted.model
    model = model.standing_on(statistics, partial(class_prior, prior))
    scores = fitted.scores
    return replace(fitted, model=model, scores=scores and scores.of_earlier_rows(), seen=None)


def with_rows(fitted: Fitted, rows: InMemoryRows, prior: Any, n_jobs: int | None) -> Fitted:
    """With rows added."""
    model = fitted.model
    if fitted.copies is not None:
        fitted = replace(fitted, copies=fitted.copies.plus(rows.X, rows.codes, rows.weights))
    with Workers(n_jobs) as workers:
        if isinstance(model, RegionalModel):
            added = _sums_of(model, rows, workers)
            return standing_on(fitted, _changed(model.statistics, added, operator.add), prior)
        total = model.statistics.copy()
        model.basis.add_rows(total, rows, workers)
    return standing_on(fitted, total, prior)


def without_rows(fitted: Fitted, rows: InMemoryRows, prior: Any, n_jobs: int | None) -> Fitted:
    """With rows taken away; `ValueError` if they cannot have been among those added."""
    model = fitted.model
    left: AnyStatistics
    variance, classes = model.kernel.variance, fitted.classes
    with Workers(n_jobs) as workers:
        if isinstance(model, RegionalModel):
            taken = _sums_of(model, rows, workers)
            difference = partial(_difference, variance=variance, classes=classes)
            left = _changed(model.statistics, taken, difference)
        else:
            pooled = model.statistics.is_pooled
            sums = rows.class_statistics(model.basis, workers, pooled=pooled)
            left = _difference(model.statistics, sums, variance, classes)
    copies = fitted.copies and fitted.copies.minus(rows.X, rows.codes, rows.weights)
    return replace(standing_on(fitted, left, prior), first_rows=None, copies=copies)


def faded(fitted: Fitted, factor: float, prior: Any) -> Fitted:
    """With the weight of every row multiplied."""
    first_rows = fitted.first_rows
    if first_rows is not None:
        first_rows = first_rows.times(factor) if factor > 0 else None
    after = standing_on(fitted, fitted.model.statistics.times(factor), prior)
    copies = fitted.copies and fitted.copies.times(factor)
    return replace(after, first_rows=first_rows, copies=copies)


def merged(fitted: Fitted, other: Fitted, prior: Any, class_weight: Any) -> Fitted:
    """With all rows of another model, which must share scaling, points and kernel."""
    differing = _differences(fitted, other)
    if differing:
        raise ValueError(
            f"merge: the models differ in {' and '.join(differing)}, so their statistics cannot "
            "be added; merge copies of one fitted model, or fits with the same scaler, inducing "
            "points and kernel."
        )
    classes = np.union1d(fitted.classes, other.classes)
    both = with_classes(fitted, classes, prior, class_weight)
    one, two = both.model.statistics, other.model.statistics
    pooled = [isinstance(each, ClassStatistics) and each.is_pooled for each in (one, two)]
    if pooled[0] != pooled[1]:
        raise ValueError(
            "merge: one model has one Gram for all of its many classes, the other one for each; "
            "merge copies of one fitted model."
        )
    places = np.searchsorted(classes, other.classes)
    mine: Any = both.model.statistics
    total = mine + other.model.statistics.among(len(classes), places.tolist())
    copies = None
    if both.copies is not None and other.copies is not None:
        copies = both.copies.merged(other.copies, places)
    return replace(standing_on(both, total, prior), first_rows=None, copies=copies)


def with_classes(fitted: Fitted, classes: AnyArray, prior: Any, class_weight: Any) -> Fitted:
    """With more classes, among which are those known so far."""
    if np.array_equal(classes, fitted.classes):
        return fitted
    places = places_among(classes, fitted.classes)
    encoder = replace(fitted.encoder, classes=classes)
    if encoder.class_factors is not None:
        given = class_weight if not isinstance(class_weight, str) else {}
        factors = class_factors(given, classes, np.ones(len(classes)))
        assert factors is not None
        factors[places] = encoder.class_factors
        encoder = replace(encoder, class_factors=factors)
    first_rows = fitted.first_rows
    if first_rows is not None:
        first_rows = first_rows.recoded(places)
    scores = fitted.scores
    if scores is not None:
        scores = scores.recoded(places, len(classes))
    model = fitted.model
    wider = model.statistics.among(len(classes), places.tolist())
    if isinstance(model, Model) and model.beliefs is not None:
        model = replace(model, beliefs=model.beliefs.among(len(classes), places))
    if isinstance(model, Model) and model.correction is not None:
        model = replace(model, correction=model.correction.among(len(classes), places))
    copies = fitted.copies and fitted.copies.among(len(classes), places)
    after = replace(fitted, encoder=encoder, first_rows=first_rows, scores=scores, model=model)
    after = replace(after, copies=copies)
    return standing_on(after, wider, prior)


def with_word_of_regions(after: Fitted, before: AnyModel) -> Fitted:
    """With a stage in its history that says what became of the regions, if there are any."""
    if not any(isinstance(model, RegionalModel) for model in (before, after.model)):
        return after
    note = f"{_regions_in_words(before)} before, {_regions_in_words(after.model)} now"
    stage = {"stage": "refreshed regions", "seconds": 0.0, "note": note, "bound_per_row": []}
    return replace(after, history=[*after.history, stage])


def _regions_in_words(model: AnyModel) -> str:
    if not isinstance(model, RegionalModel):
        return "no regions"
    smallest, _, largest = model.summary()["rows of a region"]
    return f"{len(model.models)} regions of {smallest:,.0f} to {largest:,.0f} rows"


def places_among(classes: AnyArray, known: AnyArray) -> Integers:
    """Where known classes stand among all; `ValueError` if one is missing."""
    missing = np.setdiff1d(known, classes)
    if len(missing):
        raise ValueError(
            f"classes lacks {missing[:5].tolist()}, which the model knows; pass old and new labels."
        )
    return np.searchsorted(classes, known)


def _differences(one: Fitted, other: Fitted) -> list[str]:
    """What two models should share to be merged, and do not."""
    mine, theirs = one.model, other.model
    differing = [] if same_scaling(one.encoder.scaler, other.encoder.scaler) else ["scaling"]
    columns = [fitted.features.columns for fitted in (one, other)]
    if not all(each.is_plain for each in columns) and columns[0] != columns[1]:
        differing.append("columns")
    if (one.classes.dtype.kind in "biuf") != (other.classes.dtype.kind in "biuf"):
        differing.append("the type of the labels")
    if not _same_regions(mine, theirs):
        differing.append("regions")
    elif not np.array_equal(mine.points, theirs.points):
        differing.append("inducing points")
    if mine.jitter != theirs.jitter or not mine.kernel.same(theirs.kernel):
        differing.append("kernel")
    return differing


def _same_regions(mine: AnyModel, theirs: AnyModel) -> bool:
    """Whether two models cut rows alike, or both not at all."""
    if isinstance(mine, RegionalModel) and isinstance(theirs, RegionalModel):
        return mine.regions.same(theirs.regions)
    return type(mine) is type(theirs)


def _sums_of(model: RegionalModel, rows: InMemoryRows, workers: Workers) -> RegionalStatistics:
    """The statistics of rows in the regions of a model."""
    basis = model.basis
    total = basis.no_statistics(len(model.counts))
    basis.add_rows(total, rows, workers)
    return total


def _changed(
    before: RegionalStatistics,
    change: RegionalStatistics,
    by: Callable[[ClassStatistics, ClassStatistics], ClassStatistics],
) -> RegionalStatistics:
    """Statistics changed region by region; those of regions without a change are the same."""
    parts = tuple(
        by(part, other) if other.counts.any() else part
        for part, other in zip(before.parts, change.parts, strict=True)
    )
    sign = 1.0 if by is operator.add else -1.0
    return RegionalStatistics(before.counts + sign * change.counts, parts)


def _difference(
    before: ClassStatistics, taken: ClassStatistics, variance: float, classes: AnyArray
) -> ClassStatistics:
    """Class statistics without some of their rows, if these can have been among them.

    A model does not know its rows. It does know that what is left over must be the statistics of
    some rows: weights are not negative, and the Gram matrix of the rows, each with a one before its
    vector, is positive semi-definite.
    """
    after = before - taken
    if before.is_pooled and not _is_possible_for_all(before, after, variance):
        raise ValueError(
            "forget: such rows were never added, or not with these weights. The model is as it was."
        )
    for k in np.flatnonzero(taken.counts).tolist():
        have, want = before.counts[k], taken.counts[k]
        possible = before.is_pooled or _is_possible(before, after, k, variance)
        if want > have * (1 + _NOTHING) or not possible:
            raise ValueError(
                f"forget: rows of class {classes.tolist()[k]!r} were never added, or not with "
                f"these weights: the model has a weight of {have:g} in that class, {want:g} "
                "should be taken away. The model is as it was."
            )
        if after.counts[k] <= _NOTHING * have:
            # The last row of a class leaves rounding behind, which a solver would take for rows.
            after.counts[k] = after.sums[k] = 0.0
            if not before.is_pooled:
                after.grams[k] = 0.0
    return after


def _is_possible_for_all(before: ClassStatistics, after: ClassStatistics, variance: float) -> bool:
    """Whether rows can have these sums and one Gram: G - sum_k S_k S_k' / n_k is not negative."""
    slack = _NOTHING * (variance * before.counts.sum() + np.trace(before.total))
    there = after.counts > _NOTHING * before.counts
    gone = np.abs(after.sums[~there]).max(initial=0.0)
    if np.any(after.counts < -_NOTHING * before.counts) or gone > np.sqrt(slack):
        return False
    means = after.sums[there] / np.sqrt(after.counts[there])[:, None]
    rest = after.total - means.T @ means
    rest.flat[:: len(rest) + 1] += slack
    try:
        cholesky(rest, overwrite=True)
    except np.linalg.LinAlgError:
        return False
    return True


def _is_possible(before: ClassStatistics, after: ClassStatistics, k: int, variance: float) -> bool:
    """Whether rows can have these sums: their Gram, each after a one, is not negative."""
    n_points = len(after.sums[k])
    gram = np.empty((n_points + 1, n_points + 1))
    gram[0, 0] = variance * after.counts[k]
    gram[1:, 0] = gram[0, 1:] = np.sqrt(variance) * after.sums[k]
    gram[1:, 1:] = after.grams[k]
    slack = _NOTHING * (variance * before.counts[k] + np.trace(before.grams[k]))
    gram.flat[:: n_points + 2] += slack
    try:
        cholesky(gram, overwrite=True)
    except np.linalg.LinAlgError:
        return False
    return True
