"""Parameters of a classifier in a file: judged as a fit judges them."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._gp.core.fields import expect
from .._gp.core.kernels import KERNELS
from .._gp.core.parallel import effective_threads
from .._gp.rows.categorical import categorical_columns
from .._gp.rows.columns import Columns
from .._gp.rows.in_memory import Encoder
from .._gp.rows.weights import class_factors
from .._gp.training.kernel_choice import AUTO
from .._gp.training.settings import Family, check_settings, class_prior, family_of

_MOST_THREADS = 2**16


def check_parameters(classifier: Any, columns: Columns, encoder: Encoder, n_scaled: int) -> None:
    """`ValueError` if a fit to rows with `n_scaled` scaled features would refuse a parameter.

    A classifier that was loaded can then be fitted again, and asked for predictions, without an
    error about something that whoever loaded it never said.
    """
    n_classes = len(encoder.classes)
    if classifier.kernel == AUTO:
        family = Family(KERNELS["rbf"], bool(classifier.ard))
    else:
        family = family_of(classifier, (AUTO,))
    settings = check_settings(classifier, n_scaled, n_classes, family)
    if not isinstance(settings.inducing, str):
        expect(settings.inducing.shape[1] == len(columns.levels), "inducing points")
    class_prior(classifier.class_prior, np.ones(n_classes))
    class_factors(classifier.class_weight, encoder.classes, np.ones(n_classes))
    categorical_columns(classifier.categorical_features, columns.names_in, columns.n_in)
    effective_threads(classifier.n_jobs)
    expect(classifier.n_jobs is None or abs(classifier.n_jobs) <= _MOST_THREADS, "n_jobs")
    expect(isinstance(classifier.verbose, int | float), "verbose")
    check_random_state(classifier.random_state)
