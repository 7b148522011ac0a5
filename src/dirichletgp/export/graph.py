"""A thin layer over onnx's helpers: operators as methods that return the name of their result."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper

from .._gp.core.arrays import AnyArray
from .._gp.version import __version__

OPSET, IR_VERSION = 17, 8


class Graph:
    """Nodes and constants under construction."""

    def __init__(self, parent: "Graph | None" = None) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._parent = parent
        self._count = 0

    def name(self) -> str:
        """A name nobody else has."""
        if self._parent is not None:
            return self._parent.name()
        self._count += 1
        return f"v{self._count}"

    def constant(self, value: ArrayLike, dtype: Any = np.float64) -> str:
        """An array that is part of the model."""
        name = self.name()
        self.constants.append(
            numpy_helper.from_array(np.asarray(value, dtype=dtype, order="C"), name)
        )
        return name

    def add(
        self, operator: str, *inputs: str | float, n_outputs: int = 1, **attributes: Any
    ) -> Any:
        """Apply an operator; numbers among the inputs become constants."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        outputs = [self.name() for _ in range(n_outputs)]
        # A name of its own: onnxruntime 1.18 takes nodes without one for the same node.
        self.nodes.append(helper.make_node(operator, names, outputs, outputs[0], **attributes))
        return outputs[0] if n_outputs == 1 else outputs

    def sum(self, value: str, axis: int, keep: bool = False) -> str:
        """Sum over an axis."""
        return str(
            self.add("ReduceSum", value, self.constant([axis], np.int64), keepdims=int(keep))
        )

    def unsqueeze(self, value: str, axis: int) -> str:
        """A new axis of length one."""
        return str(self.add("Unsqueeze", value, self.constant([axis], np.int64)))

    def body(self, name: str, inputs: list[Any], outputs: list[Any]) -> Any:
        """The nodes so far as the body of a loop."""
        return helper.make_graph(self.nodes, name, inputs, outputs, self.constants)

    def model(self, n_features: int, classes: AnyArray, probabilities: str, labels: bool) -> Any:
        """The finished model, checked."""
        self.nodes.append(helper.make_node("Identity", [probabilities], ["probabilities"]))
        outputs = [
            helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, ["n", len(classes)])
        ]
        if labels:
            best = self.add("ArgMax", "probabilities", axis=1, keepdims=0)
            values, kind = _labels(classes)
            self.constants.append(numpy_helper.from_array(values, "classes"))
            self.nodes.append(helper.make_node("Gather", ["classes", best], ["label"], axis=0))
            outputs.insert(0, helper.make_tensor_value_info("label", kind, ["n"]))
        rows = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", n_features])
        graph = helper.make_graph(self.nodes, "dirichletgp", [rows], outputs, self.constants)
        model = helper.make_model(
            graph,
            producer_name="dirichletgp",
            producer_version=__version__,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        onnx.checker.check_model(model)
        return model


def _labels(classes: AnyArray) -> tuple[AnyArray, int]:
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64), TensorProto.INT64
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    if classes.dtype.kind == "b":
        return classes, TensorProto.BOOL
    return np.array([str(label) for label in classes], dtype=object), TensorProto.STRING
