"""Builds a graph step by step: its nodes, its constants, and the parts that networks consist of."""

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, helper

from limbeck.export.encoder_weights import Linear, Norm
from limbeck.export.graph_parts import Arrays, node

# Activations by their names in transformers, as ONNX operators.
ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "gelu": ("Gelu", {"approximate": "none"}),
    "gelu_python": ("Gelu", {"approximate": "none"}),
    "gelu_new": ("Gelu", {"approximate": "tanh"}),
    "gelu_fast": ("Gelu", {"approximate": "tanh"}),
    "gelu_pytorch_tanh": ("Gelu", {"approximate": "tanh"}),
    "relu": ("Relu", {}),
    "tanh": ("Tanh", {}),
}


class GraphBuilder:
    """Every method adds something and returns its name, for later nodes to use."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.arrays: Arrays = {}

    def add(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        """A node with one output."""
        self.nodes.append(node(kind, inputs, output, **attributes))
        return output

    def split(self, states: str, sizes: list[int], name: str, *, axis: int) -> list[str]:
        """The parts of an axis, of these sizes, in order."""
        parts = [f"{name}.{number}" for number in range(len(sizes))]
        cuts = self.constant(f"{name}.sizes", sizes)
        self.nodes.append(helper.make_node("Split", [states, cuts], parts, name=name, axis=axis))
        return parts

    def constant(self, name: str, values: npt.NDArray[np.generic] | list[int] | int | float) -> str:
        """Integers are int64, other numbers float32. The same constant may be added several times."""
        array = np.asarray(values)
        self.arrays[name] = array.astype(np.float32) if array.dtype == np.float64 else array
        return name

    def linear(self, states: str, layer: Linear, output: str) -> str:
        """(any, inputs) → (any, outputs)."""
        weight, bias = self.constant(f"{output}.weight", layer.weight), self.constant(f"{output}.bias", layer.bias)
        return self.add("Gemm", [states, weight, bias], output)

    def norm(self, states: str, layer: Norm, output: str) -> str:
        """Layer normalisation over the last axis."""
        scale, shift = self.constant(f"{output}.scale", layer.scale), self.constant(f"{output}.shift", layer.shift)
        return self.add("LayerNormalization", [states, scale, shift], output, axis=-1, epsilon=layer.epsilon)

    def activation(self, states: str, name: str, output: str) -> str:
        """An activation, by its name in transformers. Raises ValueError for one that has no ONNX operator here."""
        if name not in ACTIVATIONS:
            raise ValueError(f"there is no graph for the activation '{name}', only for {', '.join(ACTIVATIONS)}")
        kind, attributes = ACTIVATIONS[name]
        return self.add(kind, [states], output, **attributes)
