"""Values in a model file: as JSON where that can say them, as named arrays elsewhere; checked."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, cast

import numpy as np

from .._gp.core.arrays import AnyArray
from .._gp.core.fields import POSITIVE, expect, real_number, texts, whole_number
from .._gp.core.regressions import LabelTransform

Arrays = dict[str, AnyArray]

_TARGETS = (-1e6, 1e6)
_HANDICAPS = (0.0, 10.0)
_SHARES = (0.0, 1.0)
_KEYS = 624  # of the Mersenne twister


# Parameters: what JSON can say, arrays, dictionaries of class weights and random states.


def encoded(name: str, value: Any, arrays: Arrays) -> Any:
    """A parameter as JSON, arrays and random states in `arrays`; `TypeError` if it cannot be."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return {"pairs": [[encoded(name, part, arrays) for part in pair] for pair in value.items()]}
    if isinstance(value, np.random.RandomState):
        arrays[f"parameters/{name}"], rest = random_state_encoded(value)
        return {"random_state": f"parameters/{name}", "rest": rest}
    items = _plain_items(value)
    if items is not None:
        return {"list": items}
    try:
        arrays[f"parameters/{name}"] = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}={value!r} cannot be saved; pickle the classifier, or write it with skops."
        ) from None
    return {"array": f"parameters/{name}"}


def _plain_items(value: Any) -> list[Any] | None:
    """Names, positions or truths of columns as a list; None for anything else."""
    given = np.asarray(value, dtype=object) if isinstance(value, list | tuple) else value
    if not isinstance(given, np.ndarray) or given.ndim != 1 or given.dtype.kind not in "OUbiu":
        return None
    items = given.tolist()
    return items if all(isinstance(item, str | bool | int) for item in items) else None


def decoded(value: Any, arrays: Arrays) -> Any:
    """The parameter that `encoded` was given."""
    if not isinstance(value, dict):
        expect(not isinstance(value, list), "parameter")
        return value
    if "list" in value:
        return list(value["list"])
    if "pairs" in value:
        return dict(value["pairs"])
    if "random_state" in value:
        return random_state_decoded(arrays[value["random_state"]], value["rest"])
    return arrays[value["array"]]


def random_state_encoded(rng: np.random.RandomState) -> tuple[AnyArray, list[Any]]:
    """The keys of a random state, and the rest of it as JSON."""
    _, keys, *rest = cast(tuple[Any, ...], rng.get_state(legacy=True))
    return np.asarray(keys), rest


def random_state_decoded(keys: AnyArray, rest: list[Any]) -> np.random.RandomState:
    """The random state that was encoded.

    NumPy believes what it is told of a state: a position beyond the keys would have it read memory
    that is not theirs.
    """
    expect(keys.dtype == np.uint32 and keys.shape == (_KEYS,), "keys of a random state")
    expect(isinstance(rest, list) and len(rest) == 3, "random state")
    position = whole_number(rest[0], "position of a random state", highest=_KEYS)
    has_gauss = whole_number(rest[1], "random state", highest=1)
    rng = np.random.RandomState()
    rng.set_state(("MT19937", keys, position, has_gauss, real_number(rest[2], "random state")))
    return rng


def transform_restored(content: Mapping[str, Any]) -> LabelTransform:
    """The label transform whose numbers are in a JSON object."""
    return LabelTransform(
        target_in=real_number(content["target_in"], "target", _TARGETS),
        target_out=real_number(content["target_out"], "target", _TARGETS),
        noise_in=real_number(content["noise_in"], "noise", POSITIVE),
        noise_out=real_number(content["noise_out"], "noise", POSITIVE),
        handicap=real_number(content.get("handicap", 0.0), "handicap", _HANDICAPS),
        believed=real_number(content.get("believed", 1.0), "share that is believed", _SHARES),
    )


# Class labels: numbers as an array, strings as JSON.


def labels_encoded(labels: AnyArray, arrays: Arrays) -> Any:
    """Class labels: numbers as an array, strings as JSON."""
    if labels.dtype.kind in "biuf":
        arrays["classes"] = labels
        return {"array": "classes"}
    if all(isinstance(label, str) for label in labels.tolist()):
        return {"strings": labels.tolist(), "dtype": "U" if labels.dtype.kind == "U" else "O"}
    raise TypeError(
        f"classes of the type {labels.dtype}, such as {labels[0]!r}, cannot be saved; "
        "use numbers or strings as labels, or pickle the classifier."
    )


def labels_decoded(encoded: Mapping[str, Any], arrays: Arrays) -> AnyArray:
    """Class labels, which must be in order."""
    if "array" in encoded:
        labels = arrays[encoded["array"]]
    else:
        labels = strings(encoded["strings"], encoded["dtype"])
    expect(labels.ndim == 1 and bool(np.all(labels[:-1] < labels[1:])), "class labels in order")
    expect(labels.dtype.kind != "f" or bool(np.all(np.isfinite(labels))), "class labels")
    return labels


def strings(values: Any, dtype: Any) -> AnyArray:
    """An array of strings: of objects if `dtype` is "O"."""
    expect(dtype in ("O", "U"), "type of strings")
    return np.array(texts(values, "strings"), dtype=object if dtype == "O" else np.str_)
