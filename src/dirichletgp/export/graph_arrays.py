"""Arrays of an ONNX graph: what is done to them is written down instead of computed.

They speak the words of `core/operations.py`, so that kernels and scalers, whose formulas stand
once, can be exported as they are.
"""

from typing import Any

import numpy as np

from .._gp.core.arrays import Array, Integers
from .._gp.core.kernels.product_tables import borders


class GraphArray:
    """The name of a value in a graph, with the operators of arrays."""

    __array_ufunc__ = None  # NumPy leaves operators with its arrays to this class

    def __init__(self, graph: Any, name: str, length: int | None = None):
        self.graph = graph
        self.name = name
        self._length = length

    def __len__(self) -> int:
        """How many rows there are, if that is known beforehand."""
        if self._length is None:
            raise TypeError("how many rows there are is not known before the graph is run")
        return self._length

    @property
    def T(self) -> "GraphArray":  # noqa: N802 (as arrays call it)
        """A matrix turned."""
        return GraphArray(self.graph, str(self.graph.add("Transpose", self.name, perm=[1, 0])))

    def _apply(self, operator: str, *inputs: Any) -> "GraphArray":
        names = [value.name if isinstance(value, GraphArray) else value for value in inputs]
        return GraphArray(self.graph, str(self.graph.add(operator, *names)))

    def __add__(self, other: Any) -> "GraphArray":
        return self._apply("Add", self, other)

    def __radd__(self, other: Any) -> "GraphArray":
        return self._apply("Add", other, self)

    def __sub__(self, other: Any) -> "GraphArray":
        return self._apply("Sub", self, other)

    def __rsub__(self, other: Any) -> "GraphArray":
        return self._apply("Sub", other, self)

    def __mul__(self, other: Any) -> "GraphArray":
        return self._apply("Mul", self, other)

    def __rmul__(self, other: Any) -> "GraphArray":
        return self._apply("Mul", other, self)

    def __truediv__(self, other: Any) -> "GraphArray":
        return self._apply("Div", self, other)

    def __rtruediv__(self, other: Any) -> "GraphArray":
        return self._apply("Div", other, self)

    def __pow__(self, exponent: float) -> "GraphArray":
        return self._apply("Pow", self, exponent)

    def __matmul__(self, other: Any) -> "GraphArray":
        return self._apply("MatMul", self, other)

    def __lt__(self, other: Any) -> "GraphArray":
        return self._apply("Less", self, other)

    def __gt__(self, other: Any) -> "GraphArray":
        return self._apply("Greater", self, other)

    def __neg__(self) -> "GraphArray":
        return self._apply("Neg", self)


class GraphOperations:
    """The words of `core/operations.py` that values need, for a graph; constants stay NumPy's."""

    def __init__(self, graph: Any):
        self.graph = graph

    def _apply(self, operator: str, x: GraphArray, *inputs: Any) -> GraphArray:
        return GraphArray(self.graph, str(self.graph.add(operator, x.name, *inputs)))

    def array(self, host: Array) -> Array:
        """A constant."""
        return host

    def exp(self, x: Any) -> Any:
        """Element by element; of a constant, now."""
        return self._apply("Exp", x) if isinstance(x, GraphArray) else np.exp(x)

    def sqrt(self, x: GraphArray) -> GraphArray:
        """Element by element."""
        return self._apply("Sqrt", x)

    def log1p(self, x: GraphArray) -> GraphArray:
        """Element by element."""
        return self._apply("Log", x + 1.0)

    def maximum(self, x: GraphArray, floor: float) -> GraphArray:
        """Element by element."""
        return self._apply("Max", x, floor)

    def minimum(self, x: GraphArray, ceiling: float) -> GraphArray:
        """Element by element."""
        return self._apply("Min", x, ceiling)

    def where(self, condition: GraphArray, x: GraphArray, otherwise: float) -> GraphArray:
        """Element by element."""
        return GraphArray(self.graph, self.graph.add("Where", condition.name, x.name, otherwise))

    def choose(self, condition: GraphArray, x: GraphArray, otherwise: GraphArray) -> GraphArray:
        """Element by element, of two arrays of one shape."""
        return GraphArray(
            self.graph, self.graph.add("Where", condition.name, x.name, otherwise.name)
        )

    def is_nan(self, x: GraphArray) -> GraphArray:
        """Element by element."""
        return self._apply("IsNaN", x)

    def filled(self, x: GraphArray, value: float) -> GraphArray:
        """`x` with a number in the place of NaN."""
        return GraphArray(self.graph, self.graph.add("Where", self.is_nan(x).name, value, x.name))

    def take(self, x: GraphArray, columns: Integers) -> GraphArray:
        """Some columns of a matrix."""
        chosen = self.graph.constant(columns, np.int64)
        return GraphArray(self.graph, str(self.graph.add("Gather", x.name, chosen, axis=1)))

    def row(self, points: Any, column: int) -> Any:
        """A column of points (M, D) as a row (1, M)."""
        if isinstance(points, GraphArray):
            return self.take(points, np.array([column])).T
        return points[None, :, column]

    def nearest(self, x: GraphArray, levels: list[Array], least: float) -> GraphArray:
        """The nearest of increasing levels to each number of a column, by a step function."""
        columns = []
        for j, own in enumerate(levels):
            column = self.take(x, np.array([j]))
            if len(own):
                above = column > borders(own)
                steps = GraphArray(self.graph, self.graph.add("Where", above.name, 1.0, 0.0))
                found = steps @ np.diff(own)[:, None] + own[0]
                column = self.choose(column > least, found, column)
            columns.append(column)
        return self.columns(tuple(columns))

    def sum(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        """Sum over an axis; of a constant, now."""
        if not isinstance(x, GraphArray):
            return np.sum(x, axis=axis, keepdims=keepdims)
        return GraphArray(self.graph, self.graph.sum(x.name, axis, keepdims))

    def columns(self, parts: tuple[GraphArray, ...]) -> GraphArray:
        """Matrices side by side."""
        names = [part.name for part in parts]
        return GraphArray(self.graph, str(self.graph.add("Concat", *names, axis=1)))

    def interpolate(self, x: GraphArray, knots: list[Array], values: list[Array]) -> GraphArray:
        """Piecewise linear functions of the columns of x, by a binary search among the knots."""
        graph = self.graph
        lengths = np.array([len(own) for own in knots])
        size = 1 << int(np.ceil(np.log2(lengths.max() + 1)))
        all_knots = graph.constant(_padded(knots, size, np.inf).ravel())
        all_values = graph.constant(_padded(values, size, 0.0).ravel())
        first = graph.constant(np.arange(len(lengths)) * size, np.int64)
        last = graph.constant(np.arange(len(lengths)) * size + lengths - 1, np.int64)
        # The last knot not above x, or the first: the bits of its place, from the highest down.
        low = graph.add("Expand", first, graph.add("Shape", x.name))
        step = size // 2
        while step:
            tried = graph.add("Add", low, graph.constant(step, np.int64))
            reached = graph.add("GreaterOrEqual", x.name, graph.add("Gather", all_knots, tried))
            low = graph.add("Where", reached, tried, low)
            step //= 2
        high = graph.add("Min", graph.add("Add", low, graph.constant(1, np.int64)), last)

        def at(table: str, place: str) -> GraphArray:
            return GraphArray(graph, graph.add("Gather", table, place))

        low_knot = at(all_knots, low)
        low_value = at(all_values, low)
        gap = at(all_knots, high) - low_knot
        is_open = graph.add("Greater", gap.name, 0.0)
        width = GraphArray(graph, graph.add("Where", is_open, gap.name, 1.0))
        share = self.minimum(self.maximum((x - low_knot) / width, 0.0), 1.0)
        share = GraphArray(graph, graph.add("Where", is_open, share.name, 0.0))
        return low_value + share * (at(all_values, high) - low_value)


def _padded(columns: list[Array], size: int, filler: float) -> Array:
    """Columns of different lengths as the rows of one matrix."""
    padded = np.full((len(columns), size), filler)
    for row, column in zip(padded, columns, strict=True):
        row[: len(column)] = column
    return padded
