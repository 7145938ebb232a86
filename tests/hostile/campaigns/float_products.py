"""An int8 graph whose products are those of floats: the same integers and scales, and nothing rounded on the way."""

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, numpy_helper

Arrays = dict[str, npt.NDArray[Any]]


def with_float_products(data: bytes) -> bytes:
    """The graph with LSTM and MatMul in place of onnxruntime's operators that round what they read."""
    model = ModelProto.FromString(data)
    arrays: Arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "DynamicQuantizeLSTM":
            _lstm(node, arrays)
        elif node.op_type == "DynamicQuantizeMatMul":
            _product(node, arrays)
    del model.graph.initializer[:]
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return bytes(model.SerializeToString())


def _lstm(node: NodeProto, arrays: Arrays) -> None:
    for name in node.input[1:3]:
        if arrays[name].dtype == np.int8:  # the second text of a pair reads the same
            by_output = arrays[name].astype(np.float32).transpose(0, 2, 1)
            arrays[name] = np.ascontiguousarray(by_output * arrays[f"{name}.scale"][..., None])
    node.op_type, node.domain = "LSTM", ""
    del node.input[5:]


def _product(node: NodeProto, arrays: Arrays) -> None:
    name = node.input[1]
    if arrays[name].dtype == np.int8:
        arrays[name] = arrays[name].astype(np.float32) * arrays[f"{name}.scale"]
    node.op_type, node.domain = "MatMul", ""
    del node.input[2:]
