"""Regions that a fit proposed, in its checkpoint: the tree, the kernel, and who judged them.

Points and the rows of regions follow from these and from the sample, so they are not written down.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from .._gp.core.fields import Numbers, check_arrays, expect, real_number, whole_number
from .._gp.core.kernels import KERNELS
from .._gp.core.parallel import Workers
from .._gp.rows.in_memory import InMemoryRows
from .._gp.training.record import Expected
from .._gp.training.region_search import Cutting, Proposal
from .regions import tree_described, tree_restored
from .values import Arrays, transform_restored

_PREFIX = "proposal/"
_FIELDS = {
    f"{_PREFIX}judged": Numbers("J", (0, 2**53), "int64"),
    f"{_PREFIX}log_probabilities": Numbers("J", (-1e100, 0.0)),
}


def proposal_described(proposal: Proposal) -> tuple[dict[str, Any], Arrays]:
    """A proposal as JSON and arrays."""
    kernel, arrays = proposal.kernel.described()
    cutting = proposal.cutting
    content = {
        "kernel": kernel,
        "transform": asdict(proposal.transform),
        "loss": proposal.loss,
        "stretch": proposal.stretch,
        "most_points": cutting.most_points,
        "seed": int(cutting.seed),
    }
    own = arrays | {
        "judged": proposal.judged.astype(np.int64),
        "log_probabilities": proposal.log_probabilities,
    }
    named = {f"{_PREFIX}{name}": array for name, array in own.items()}
    return content, named | tree_described(cutting.regions)


def proposal_restored(
    content: Mapping[str, Any],
    arrays: Arrays,
    rows: InMemoryRows,
    expected: Expected,
    workers: Workers,
) -> Proposal:
    """The proposal that was described, for the same rows; `ValueError` if there is none."""
    check_arrays(_FIELDS, arrays)
    judged = arrays[f"{_PREFIX}judged"].astype(np.intp)
    expect(len(judged) > 0 and bool(np.all(np.diff(judged) > 0)), "rows that judge")
    own = {name.removeprefix(_PREFIX): array for name, array in arrays.items()}
    kernel = KERNELS[content["kernel"]["family"]].restored(content["kernel"], own, True)
    expect(type(kernel) is expected.kernel, "kernel")
    expect(kernel.fits(expected.n_features, expected.categories), "features of the kernel")
    regions = tree_restored(arrays, expected.n_features)
    most_points = whole_number(content["most_points"], "number of points", 2**31)
    seed = whole_number(content["seed"], "seed", 2**31)
    cutting = Cutting(rows, regions, max(1, most_points), seed, workers)
    expect(int(judged[-1]) < len(cutting.rows), "rows that judge")
    return Proposal(
        cutting=cutting,
        kernel=kernel,
        transform=transform_restored(content["transform"]),
        loss=real_number(content["loss"], "loss"),
        stretch=real_number(content["stretch"], "stretch"),
        judged=judged,
        log_probabilities=arrays[f"{_PREFIX}log_probabilities"],
    )
