"""Arrays of many regions as few: those of one name and type stand one after the other.

Of each group there are the regions that have such an array, the shapes of theirs, and all values.
"""

from collections.abc import Mapping

import numpy as np

from .._gp.core.fields import COUNTS, Numbers, expect, increasing
from .values import Arrays

_PREFIX = "regions/joined/"


def joined(parts: Mapping[int, Arrays]) -> Arrays:
    """The arrays of regions, by number of the region and name, as arrays of a file."""
    groups: dict[str, Arrays] = {}
    for region in sorted(parts):
        for name, array in parts[region].items():
            groups.setdefault(f"{_PREFIX}{name}/{array.dtype}", {})[str(region)] = array
    arrays: Arrays = {}
    for name, group in groups.items():
        arrays[f"{name}/regions"] = np.array([int(region) for region in group], dtype=np.int64)
        shapes = [array.shape for array in group.values()]
        arrays[f"{name}/shapes"] = np.array(shapes, dtype=np.int64)
        arrays[f"{name}/values"] = np.concatenate([array.ravel() for array in group.values()])
    return arrays


def separated(arrays: Arrays, n_regions: int) -> dict[int, Arrays]:
    """The arrays that were joined; `ValueError` if they cannot have been."""
    parts: dict[int, Arrays] = {}
    for key in arrays:
        group, _, end = key.rpartition("/")
        if not key.startswith(_PREFIX) or end != "values":
            continue
        for what in ("regions", "shapes"):
            expect(f"{group}/{what}" in arrays, f"absence of {group}/{what}")
        regions, shapes = arrays[f"{group}/regions"], arrays[f"{group}/shapes"]
        Numbers("N", (0, n_regions - 1), "int64").check(group, regions, {})
        Numbers("N E", COUNTS, "int64").check(group, shapes, {"N": len(regions)})
        increasing(regions, np.array([len(regions)]), group)
        values = arrays[key]
        # Sizes may be anything: their products must not overflow.
        lengths = [int(np.prod([int(n) for n in shape], dtype=object)) for shape in shapes]
        expect(values.ndim == 1 and sum(lengths) == len(values), f"shapes of {group}")
        name = group.removeprefix(_PREFIX).rpartition("/")[0]
        pieces = np.split(values, np.cumsum(lengths)[:-1])
        for region, shape, piece in zip(regions.tolist(), shapes, pieces, strict=True):
            own = parts.setdefault(region, {})
            expect(name not in own, f"two of {name}")
            own[name] = piece.reshape(shape)
    return parts
