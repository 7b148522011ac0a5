"""What labels say about log-odds, in a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._gp.core.fields import NOT_NEGATIVE, Numbers, check_arrays, expect, real_number
from .._gp.core.regressions import POWERS, SCALES, LogOddsBeliefs
from .values import Arrays

_BELIEFS = {"beliefs": Numbers("S P", (0.0, 1.0))}


def beliefs_described(model: Any) -> tuple[dict[str, Any], Arrays]:
    """The beliefs of a model as JSON and arrays; nothing if it has none."""
    if model.beliefs is None:
        return {}, {}
    return {"departure": model.beliefs.departure}, {"beliefs": model.beliefs.settings}


def beliefs_restored(content: Mapping[str, Any], arrays: Arrays) -> LogOddsBeliefs:
    """The beliefs that were described; `ValueError` if they cannot be any."""
    check_arrays(_BELIEFS, arrays, {"S": len(SCALES), "P": len(POWERS)})
    settings = arrays["beliefs"]
    expect(bool(np.isclose(settings.sum(), 1.0)), "beliefs about log-odds")
    departure = real_number(content["departure"], "beliefs about log-odds", NOT_NEGATIVE)
    return LogOddsBeliefs(settings, departure)
