"""What labels say about log-odds, in a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._gp.core.fields import NOT_NEGATIVE, Numbers, check_arrays, expect, real_number
from .._gp.core.regressions import POWERS, SCALES, LogOddsBeliefs
from .values import Arrays

_BELIEFS = {"beliefs": Numbers("S P", (0.0, 1.0))}
_MOVES = {"moves": Numbers("C M")}


def beliefs_described(model: Any) -> tuple[dict[str, Any], Arrays]:
    """The beliefs of a model as JSON and arrays; nothing if it has none."""
    if model.beliefs is None:
        return {}, {}
    arrays: Arrays = {"beliefs": model.beliefs.settings}
    if model.beliefs.moves is not None:
        arrays["moves"] = model.beliefs.moves
    return {"departure": model.beliefs.departure}, arrays


def beliefs_restored(
    content: Mapping[str, Any], arrays: Arrays, sizes: Mapping[str, int]
) -> LogOddsBeliefs:
    """The beliefs that were described; `ValueError` if they cannot be any."""
    check_arrays(_BELIEFS, arrays, {"S": len(SCALES), "P": len(POWERS)})
    settings = arrays["beliefs"]
    expect(bool(np.isclose(settings.sum(), 1.0)), "beliefs about log-odds")
    departure = real_number(content["departure"], "beliefs about log-odds", NOT_NEGATIVE)
    if "moves" not in arrays:
        return LogOddsBeliefs(settings, departure)
    check_arrays(_MOVES, arrays, {"C": sizes["C"], "M": sizes["M"]})
    return LogOddsBeliefs(settings, departure, arrays["moves"])
