"""The int8 version of a graph: word vectors and weights in one byte each, multiplied as integers where it is faster."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from limbeck.export.graph_parts import EMBEDDINGS, Arrays, node

CONTRIB = "com.microsoft"  # onnxruntime's own operators
STORED_LIMIT = 127
# Weights of integer products have 7 bits. CPUs without VNNI add two products of a byte and a weight in 16 bits, which
# overflows with 8-bit weights: the file would give different logits on different machines.
WEIGHT_LIMIT = 63


def int8_graph(model: ModelProto, *, matrices: Collection[str] = ()) -> ModelProto:
    """The same graph with int8 word vectors (one scale per word) and weights (one scale per output).

    LSTMs and products with the constants `matrices`, of shape (inputs, outputs), multiply integers. Their activations
    are rounded to 8 bits too, with one scale per batch: unlike in the fp32 graph, a row's logits depend slightly on the
    other rows of its batch. For GRUs onnxruntime has no such operator: their weights become floats again when the file
    is loaded, and their activations are not rounded. The head stays fp32; it is small, and integers made it no faster.
    """
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    lstms, grus = (_weights_of(model, operator) for operator in ("LSTM", "GRU"))
    smaller: Arrays = {}
    for name, array in arrays.items():
        smaller |= _stored(name, array, lstms=lstms, grus=grus, matrices=matrices)
    nodes = [part for name in grus for part in dequantised(name)]
    nodes += [replacement for part in model.graph.node for replacement in _replacement(part, matrices)]
    graph = helper.make_graph(
        nodes,
        model.graph.name,
        inputs=model.graph.input,
        outputs=model.graph.output,
        initializer=[numpy_helper.from_array(array, name) for name, array in smaller.items()],
    )
    opsets = [*model.opset_import, helper.make_opsetid(CONTRIB, 1)]
    int8 = helper.make_model(graph, opset_imports=opsets, ir_version=model.ir_version)
    onnx.checker.check_model(int8)
    return int8


def quantised(array: npt.NDArray[np.float32], *, limit: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Integers within ±limit, and one scale per vector along the last axis; integers × scale ≈ array."""
    scale = np.abs(array).max(axis=-1, keepdims=True) / np.float32(limit)
    scale[scale == 0] = 1.0
    integers = np.rint(array / scale).clip(-limit, limit).astype(np.int8)
    return integers, scale.astype(np.float32)


def int8_lookup(*, ids: str, vectors: str) -> list[NodeProto]:
    """A lookup in int8 word vectors; only the rows that are looked up are converted to floats."""
    return [
        node("Gather", [f"{EMBEDDINGS}.int8", ids], f"{vectors}.int8"),
        node("Gather", [f"{EMBEDDINGS}.scale", ids], f"{vectors}.scale"),
        node("Cast", [f"{vectors}.int8"], f"{vectors}.whole", to=TensorProto.FLOAT),
        node("Mul", [f"{vectors}.whole", f"{vectors}.scale"], vectors),
    ]


def _weights_of(model: ModelProto, operator: str) -> list[str]:
    """The matrices of all nodes of a recurrent operator, each once: both texts of a pair use the same."""
    return list(
        dict.fromkeys(name for part in model.graph.node if part.op_type == operator for name in part.input[1:3])
    )


def _stored(
    name: str, array: npt.NDArray[np.generic], *, lstms: list[str], grus: list[str], matrices: Collection[str]
) -> Arrays:
    """The constants that replace this one in the int8 graph."""
    if name == EMBEDDINGS or name in grus:
        integers, scale = quantised(array.astype(np.float32), limit=STORED_LIMIT)
        return {f"{name}.int8": integers, f"{name}.scale": scale}  # scales of words: (words, 1)
    if name in matrices:
        integers, scale = quantised(array.astype(np.float32).T, limit=WEIGHT_LIMIT)
        return {name: np.ascontiguousarray(integers.T), f"{name}.scale": scale.squeeze(-1)}
    if name in lstms:
        integers, scale = quantised(array.astype(np.float32), limit=WEIGHT_LIMIT)
        scale = scale.squeeze(-1)  # (directions, 4 · hidden)
        # DynamicQuantizeLSTM needs its weights transposed: (directions, inputs, 4 · hidden).
        by_input = np.ascontiguousarray(integers.transpose(0, 2, 1))
        return {name: by_input, f"{name}.scale": scale, f"{name}.zero": np.zeros(scale.shape, dtype=np.int8)}
    return {name: array}


def dequantised(name: str) -> list[NodeProto]:
    """Nodes that convert a stored constant to floats. They have no other inputs, so onnxruntime runs them once, on
    loading; it would keep a DequantizeLinear and run it for every batch."""
    return [
        node("Cast", [f"{name}.int8"], f"{name}.whole", to=TensorProto.FLOAT),
        node("Mul", [f"{name}.whole", f"{name}.scale"], name),
    ]


def _replacement(part: NodeProto, matrices: Collection[str]) -> list[NodeProto]:
    if part.op_type == "Gather" and part.input[0] == EMBEDDINGS:
        return int8_lookup(ids=part.input[1], vectors=part.output[0])
    if part.op_type == "MatMul" and part.input[1] in matrices:
        factors = [*part.input, f"{part.input[1]}.scale"]
        return [node("DynamicQuantizeMatMul", factors, part.output[0], domain=CONTRIB)]
    if part.op_type == "LSTM":
        return [_int8_lstm(part)]
    return [part]


def _int8_lstm(part: NodeProto) -> NodeProto:
    vectors, input_weights, recurrent_weights, biases, lengths = part.input
    no_initial_states_nor_peepholes = ["", "", ""]
    scales = [f"{name}.{value}" for name in (input_weights, recurrent_weights) for value in ("scale", "zero")]
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in part.attribute}
    return helper.make_node(
        "DynamicQuantizeLSTM",
        [vectors, input_weights, recurrent_weights, biases, lengths, *no_initial_states_nor_peepholes, *scales],
        part.output,
        name=part.name,
        domain=CONTRIB,
        **attributes,
    )
