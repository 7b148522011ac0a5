"""A model of regions as operators: the tree, and a loop over the regions that hold any of the rows.

The weights of all rows in all regions are a few products and gathers. The body of the loop takes
the rows of one region, gathers its points and matrices from those of all, and adds what it predicts
to the averages. So a row costs its own regions, however many there are.

A region is written as K functions, one for each class, or of two classes their difference alone:
with kernel vectors k at M points,

    mean = k'a + offset        variance = largest - |T k|^2

Regions have the same number of points here, those with fewer being filled up with points of weight
zero. Regions that only count share one set of such points.
"""

from typing import Any

import numpy as np

from .._gp.core.arrays import Array
from .._gp.core.low_rank import SharedPosterior
from .._gp.core.parallel import multiply_rows_transposed, outer_product_of_root
from .._gp.core.predictor import RIDGE, TwoClassPredictor, factored
from .._gp.training.fitted import Model
from .._gp.training.regional import RegionalModel
from .graph_arrays import GraphArray, GraphOperations

# What all regions have, not only those with points.
_OF_REGIONS = ("offset", "largest")


def numbers_of_regions(model: RegionalModel) -> int:
    """How many numbers the matrices of all regions are."""
    n_points = max(1, max(len(part.points) for part in model.models))
    n_entries = 1 + sum(len(part.points) > 0 for part in model.models)
    n_functions = _n_functions(model)
    return n_entries * n_points * (model.points.shape[1] + n_functions * (n_points + 1))


def largest_variance(model: RegionalModel) -> float:
    """No latent variance is larger; those of counts may be larger than the kernel's."""
    counted = [part for part in model.models if len(part.points) == 0]
    found = [float(part.posterior.latent(np.empty((1, 0)))[1].max()) for part in counted]
    return max([model.kernel.variance, *found])


def _n_functions(model: RegionalModel) -> int:
    return 1 if len(model.prior) == 2 else len(model.prior)


def add_regional_latent(
    graph: Any, scaled: GraphArray, model: RegionalModel
) -> tuple[GraphArray, GraphArray]:
    """Latent means and variances, each (n, C), of scaled rows (n, D)."""
    on: Any = GraphOperations(graph)
    weights = model.regions.weights_on(scaled, on)
    mean, variance = _add_loop(graph, scaled, weights, model)
    if len(model.prior) == 2:
        # Half of the difference for each.
        return mean @ np.array([[-0.5, 0.5]]), variance @ np.array([[0.5, 0.5]])
    return mean, variance


def _add_loop(
    graph: Any, scaled: GraphArray, weights: GraphArray, model: RegionalModel
) -> tuple[GraphArray, GraphArray]:
    """Averages over the regions (n, K) of means and variances."""
    from onnx import TensorProto, helper

    from .graph import Graph

    first = graph.constant([0], np.int64)
    any_row = graph.add("ReduceMax", weights.name, axes=[0], keepdims=0)
    held = graph.add("NonZero", graph.add("Greater", any_row, 0.0))
    occupied = graph.add("Squeeze", held, first)
    count = graph.add("Squeeze", graph.add("Shape", occupied), first)
    own = _stacked(graph, model)

    body = Graph(graph)
    number, going, *totals = (body.name() for _ in range(4))
    region = body.add("Gather", occupied, number)
    share = body.add("Gather", weights.name, region, axis=1)
    positions = body.add("NonZero", body.add("Greater", share, 0.0))
    rows = body.add("Squeeze", positions, first)
    places = body.add("Transpose", positions, perm=[1, 0])
    entry = body.add("Gather", own.pop("entries"), region)
    gathered = {
        name: body.add("Gather", stack, region if name in _OF_REGIONS else entry)
        for name, stack in own.items()
    }
    own_rows = GraphArray(body, body.add("Gather", scaled.name, rows))
    own_share = body.unsqueeze(body.add("Gather", share, rows), 1)
    results = [body.add("Identity", going)]
    parts = _latent_of_region(body, own_rows, gathered, model)
    for total, part in zip(totals, parts, strict=True):
        more = body.add("Mul", part.name, own_share)
        sums = body.add("Add", body.add("Gather", total, rows), more)
        results.append(body.add("ScatterND", total, places, sums))

    information = helper.make_tensor_value_info
    inputs = [information(number, TensorProto.INT64, []), information(going, TensorProto.BOOL, [])]
    inputs += [information(name, TensorProto.DOUBLE, None) for name in totals]
    outputs = [information(results[0], TensorProto.BOOL, [])]
    outputs += [information(name, TensorProto.DOUBLE, None) for name in results[1:]]
    always = graph.constant(True, np.bool_)
    zeros = (weights @ np.zeros((model.regions.number, _n_functions(model)))).name
    loop = body.body("regions", inputs, outputs)
    names = graph.add("Loop", count, always, zeros, zeros, n_outputs=2, body=loop)
    return GraphArray(graph, names[0]), GraphArray(graph, names[1])


def _latent_of_region(
    body: Any, rows: GraphArray, own: dict[str, str], model: RegionalModel
) -> tuple[GraphArray, GraphArray]:
    """Means and variances (m, K) of the rows of a region."""
    on: Any = GraphOperations(body)
    n_points = max(1, max(len(part.points) for part in model.models))
    points = GraphArray(body, own["points"], n_points)
    values = model.kernel.values(rows, points, on)
    mean = values @ GraphArray(body, own["coefficients"]) + GraphArray(body, own["offset"])
    # (1, m, M) times (K, M, M) is a matrix for each function.
    stacked = GraphArray(body, body.unsqueeze(values.name, 0))
    products = stacked @ GraphArray(body, own["triangles"])
    squares = GraphArray(body, body.sum((products * products).name, 2)).T
    return mean, on.maximum(GraphArray(body, own["largest"]) - squares, 0.0)


def _stacked(graph: Any, model: RegionalModel) -> dict[str, str]:
    """The names of constants: numbers of all regions, their entries, and matrices of entries."""
    has_points = np.array([len(part.points) > 0 for part in model.models])
    # Regions that count have the last entry.
    entries = np.where(has_points, np.cumsum(has_points) - 1, has_points.sum())
    arrays = _numbers(model) | _matrices(model)
    named = {name: graph.constant(array) for name, array in arrays.items()}
    return {"entries": graph.constant(entries, np.int64), **named}


def _numbers(model: RegionalModel) -> dict[str, Array]:
    """Offsets and largest variances (R, K) of all regions."""
    two = len(model.prior) == 2
    offsets, largest = [], []
    for part in model.models:
        if len(part.points):
            mean = part.posterior.offsets
            variance = np.full(len(mean), part.kernel.variance)
        else:
            latent = part.posterior.latent(np.empty((1, 0)))
            mean, variance = latent[0][0], latent[1][0]
        offsets.append(mean[1:] - mean[:1] if two else mean)
        largest.append(variance.sum(keepdims=True) if two else variance)
    return {"offset": np.array(offsets), "largest": np.array(largest)}


def _matrices(model: RegionalModel) -> dict[str, Array]:
    """Points (P, M, D), coefficients (P, M, K) and triangles (P, K, M, M) of regions with points.

    The last of them are filled with zeros, for regions without.
    """
    parts = [part for part in model.models if len(part.points)]
    n_entries, n_functions = len(parts) + 1, _n_functions(model)
    n_points = max([1, *(len(part.points) for part in parts)])
    points = np.zeros((n_entries, n_points, model.points.shape[1]))
    coefficients = np.zeros((n_entries, n_points, n_functions))
    triangles = np.zeros((n_entries, n_functions, n_points, n_points))
    for entry, part in enumerate(parts):
        m = len(part.points)
        points[entry, :m] = part.points
        points[entry, m:] = part.points[0]
        own, factors = _functions(part)
        coefficients[entry, :m] = own
        triangles[entry, :, :m, :m] = factors
    return {"points": points, "coefficients": coefficients, "triangles": triangles}


def _functions(part: Model) -> tuple[Array, Array]:
    """Coefficients (M, K), and T' (K, M, M) for each function."""
    predictor = part.predictor(1)
    if isinstance(predictor, TwoClassPredictor):
        return predictor.coefficients[:, None], predictor.triangle.T[None]
    posterior: Any = part.posterior
    basis = part.basis
    coefficients = basis.of_kernel_vectors(posterior.coefficients)
    explained = _explained(posterior, len(basis.points))
    triangles = []
    for matrix in explained:
        # A = I - E = F F' says how much less than s2 the variance is: s2 - |F' L^-1 k|^2.
        square_root = factored(np.eye(len(basis.points)) * (1.0 + RIDGE) - matrix)
        triangles.append(basis.of_kernel_vectors(square_root.T).T)
    return coefficients.T, np.array(triangles)


def _explained(posterior: Any, n_points: int) -> list[Array]:
    """E_c (M, M) of all classes, with which u' E_c u is the variance in the span of the points."""
    if not isinstance(posterior, SharedPosterior):
        inverses = [outer_product_of_root(root) for root in posterior.roots]
        return inverses * (len(posterior.offsets) // len(inverses))
    identity = np.eye(n_points)
    found = []
    for own in posterior.corrections:
        v = own.matrix
        kept = (v / own.eigenvalues) @ v.T
        inner = identity - posterior.sign * (v @ v.T + own.rest * (identity - kept))
        half = multiply_rows_transposed(posterior.root, np.ascontiguousarray(inner))
        found.append(multiply_rows_transposed(posterior.root, np.ascontiguousarray(half.T)))
    return found
