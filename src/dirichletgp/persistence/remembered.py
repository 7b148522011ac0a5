"""What a fit remembers of its rows, in files: scores of left-out rows, and columns as they spread.

Files of earlier versions have neither.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._gp.core.arrays import Array
from .._gp.training.fitted import Fitted
from .._gp.training.set_scores import SetScores
from .values import Arrays, expect, floats

_HOLD = "scores_hold"
_SCORES = ("probability", "code", "mass", "effective")
_BACKGROUND = "background"


def remembered_described(fitted: Fitted) -> tuple[dict[str, Any], Arrays]:
    """As JSON and arrays."""
    content: dict[str, Any] = {}
    arrays: Arrays = {}
    scores = fitted.scores
    if scores is not None:
        content[_HOLD] = scores.holds
        arrays |= {f"scores/{name}": getattr(scores, name) for name in _SCORES}
    if fitted.background is not None:
        arrays[_BACKGROUND] = fitted.background
    return content, arrays


def scores_restored(content: Mapping[str, Any], arrays: Arrays, n_classes: int) -> SetScores | None:
    """The scores of a file, if it has some."""
    if _HOLD not in content:
        return None
    names = [name for name in _SCORES if name != "code"]
    probability, mass, effective = (floats(arrays, f"scores/{name}") for name in names)
    code = arrays["scores/code"]
    expect(type(content[_HOLD]) is bool, "scores")
    expect(code.shape == probability.shape == mass.shape == (len(code),), "scores")
    expect(code.dtype == np.int64 and effective.shape == (n_classes + 1,), "scores")
    expect(bool(np.all((code >= 0) & (code < n_classes))), "scores")
    return SetScores(probability, code.astype(np.intp), mass, effective, content[_HOLD])


def background_restored(arrays: Arrays, n_scaled: int) -> Array | None:
    """The background (B, D) of a file, if it has one."""
    if _BACKGROUND not in arrays:
        return None
    background = floats(arrays, _BACKGROUND)
    expect(background.ndim == 2 and len(background) > 0, _BACKGROUND)
    expect(background.shape[1] == n_scaled, _BACKGROUND)
    return background
