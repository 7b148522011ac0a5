"""Expected softmax as operators, by the trapezoidal rule on fixed nodes.

The library chooses nodes row by row; a graph has to fix them. No latent variance exceeds that of
the kernel, so nodes for that variance serve all rows. With x_c = exp(f_c) and t = exp(-s), for many
classes

    E[x_i / sum x] = integral over s of psi_i(s) prod_{j != i} phi_j(s),
    phi_j(s) = E[exp(-exp(f_j - s))],  psi_i(s) = E[exp(f_i - s) exp(-exp(f_i - s))],

both integrals by trapezoids, which converge exponentially: the integrands are analytic in a strip
of half-width pi / 2 (of pi for the sigmoid of two classes), and a spacing h leaves an error of
exp(-2 pi strip / h).
"""

from typing import Any

import numpy as np

_DIGITS = 18.4  # -log of the error aimed at, 1e-8
_REACH = 5.8  # standard deviations integrated over; 7e-9 lie beyond
_LEVEL_STEP = 0.5
_SMALLEST = 1e-300


def add_probabilities(
    graph: Any, mean: str, variance: str, n_classes: int, largest_variance: float
) -> str:
    """Expected class probabilities (n, C)."""
    variance = graph.add("Max", variance, 0.0)
    if n_classes == 2:
        return _add_two_classes(graph, mean, variance, np.sqrt(2.0 * largest_variance))
    return _add_many_classes(graph, mean, variance, np.sqrt(largest_variance))


def _nodes(sigma: float, strip: float) -> tuple[Any, Any]:
    """Standardised nodes and their weights, which sum to one."""
    step = min(0.5, 2 * np.pi * strip / (_DIGITS * sigma))
    y = np.linspace(-_REACH, _REACH, 2 * int(np.ceil(_REACH / step)) + 1)
    weights = np.exp(-0.5 * y * y)
    return y, weights / weights.sum()


def _add_two_classes(graph: Any, mean: str, variance: str, sigma: float) -> str:
    y, weights = _nodes(sigma, np.pi)
    gap = graph.add("MatMul", mean, np.array([[-1.0], [1.0]]))
    spread = graph.add("Sqrt", graph.sum(variance, 1, keep=True))
    sigmoid = graph.add("Sigmoid", graph.add("Add", gap, graph.add("Mul", spread, y[None, :])))
    second = graph.add("MatMul", sigmoid, weights[:, None])
    return str(graph.add("Concat", graph.add("Sub", 1.0, second), second, axis=1))


def _add_many_classes(graph: Any, mean: str, variance: str, sigma: float) -> str:
    y, weights = _nodes(sigma, np.pi / 2)
    top = graph.add("ReduceMax", mean, axes=[1], keepdims=1)
    levels = np.arange(-_REACH * sigma - 3.5, _REACH * sigma + _DIGITS, _LEVEL_STEP)
    centred = graph.unsqueeze(graph.add("Sub", mean, top), 2)
    distance = graph.add("Sub", centred, levels[None, None, :])  # (n, C, levels)
    spread = graph.unsqueeze(graph.add("Sqrt", variance), 2)
    phi, psi = _add_transforms(graph, distance, spread, y, weights)
    log_phi = graph.add("Log", graph.add("Max", phi, _SMALLEST))
    others = graph.add("Sub", graph.sum(log_phi, 1, keep=True), log_phi)
    integral = graph.sum(graph.add("Mul", psi, graph.add("Exp", others)), 2)
    return str(graph.add("Div", integral, graph.sum(integral, 1, keep=True)))


def _add_transforms(
    graph: Any, distance: str, spread: str, y: Any, weights: Any
) -> tuple[str, str]:
    """The transforms phi and psi at all levels, a node at a time: no array has four dimensions."""
    from onnx import TensorProto, helper

    from .graph import Graph

    all_y, all_weights = graph.constant(y), graph.constant(weights)
    body = Graph(graph)
    number, going, phi, psi = (body.name() for _ in range(4))
    log_x = body.add("Add", distance, body.add("Mul", spread, body.add("Gather", all_y, number)))
    # exp(-exp(50)) is zero long before exp(50) is too large.
    x = body.add("Exp", body.add("Min", log_x, 50.0))
    weighted = body.add(
        "Mul", body.add("Exp", body.add("Neg", x)), body.add("Gather", all_weights, number)
    )
    results = [
        body.add("Identity", going),
        body.add("Add", phi, weighted),
        body.add("Add", psi, body.add("Mul", x, weighted)),
    ]
    information = helper.make_tensor_value_info
    inputs = [information(number, TensorProto.INT64, []), information(going, TensorProto.BOOL, [])]
    inputs += [information(name, TensorProto.DOUBLE, None) for name in (phi, psi)]
    outputs = [information(results[0], TensorProto.BOOL, [])]
    outputs += [information(name, TensorProto.DOUBLE, None) for name in results[1:]]
    zeros = graph.add("Mul", distance, 0.0)
    count, always = graph.constant(len(y), np.int64), graph.constant(True, np.bool_)
    names = graph.add(
        "Loop", count, always, zeros, zeros, n_outputs=2, body=body.body("nodes", inputs, outputs)
    )
    return names[0], names[1]
