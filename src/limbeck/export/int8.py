"""The int8 version of a graph: word vectors and LSTM weights in one byte each, multiplied as integers."""

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from limbeck.export.bilstm_graph import EMBEDDINGS, INPUT_WEIGHTS, RECURRENT_WEIGHTS

CONTRIB = "com.microsoft"  # onnxruntime's own operators
TABLE_LIMIT = 127
# Weights keep to 7 bits. CPUs without VNNI add two products of a byte and a weight in 16 bits, which 8-bit weights
# overflow: the file would then say one thing on the machine that exported it and another where it runs.
WEIGHT_LIMIT = 63

Array = npt.NDArray[np.generic]


def int8_graph(model: ModelProto) -> ModelProto:
    """The same graph with int8 word vectors (one scale per word) and int8 LSTMs (one scale per gate row).

    onnxruntime's DynamicQuantizeLSTM rounds what flows through the LSTM to 8 bits as well, on one scale per batch:
    unlike those of the fp32 graph, a row's logits depend a little on the rows it is batched with. The two layers
    behind the LSTM stay fp32; they are small, and integers made them no faster.
    """
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    smaller: dict[str, Array] = {}
    for name, array in arrays.items():
        smaller |= _stored(name, array)
    nodes = [new for node in model.graph.node for new in _replacement(node)]
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
    """Integers within ±limit, and one scale for each line along the last axis; integers × scale ≈ array."""
    scale = np.abs(array).max(axis=-1, keepdims=True) / np.float32(limit)
    scale[scale == 0] = 1.0
    integers = np.rint(array / scale).clip(-limit, limit).astype(np.int8)
    return integers, scale.astype(np.float32)


def _stored(name: str, array: Array) -> dict[str, Array]:
    """What the int8 graph holds in place of this constant."""
    if name == EMBEDDINGS:
        integers, scale = quantised(array.astype(np.float32), limit=TABLE_LIMIT)
        return {name: integers, f"{name}.scale": scale}  # (words, width), (words, 1)
    if name in (INPUT_WEIGHTS, RECURRENT_WEIGHTS):
        integers, scale = quantised(array.astype(np.float32), limit=WEIGHT_LIMIT)
        scale = scale.squeeze(-1)  # (directions, 4 · hidden)
        # DynamicQuantizeLSTM wants its weights turned round: (directions, inputs, 4 · hidden).
        by_input = np.ascontiguousarray(integers.transpose(0, 2, 1))
        return {name: by_input, f"{name}.scale": scale, f"{name}.zero": np.zeros(scale.shape, dtype=np.int8)}
    return {name: array}


def _replacement(node: NodeProto) -> list[NodeProto]:
    if node.op_type == "Gather" and node.input[0] == EMBEDDINGS:
        return _int8_lookup(ids=node.input[1], vectors=node.output[0])
    if node.op_type == "LSTM":
        return [_int8_lstm(node)]
    return [node]


def _int8_lookup(*, ids: str, vectors: str) -> list[NodeProto]:
    """Only the rows that are looked up turn into floats."""
    return [
        helper.make_node("Gather", [EMBEDDINGS, ids], [f"{vectors}.int8"], name=f"{vectors}.int8"),
        helper.make_node("Gather", [f"{EMBEDDINGS}.scale", ids], [f"{vectors}.scale"], name=f"{vectors}.scale"),
        helper.make_node(
            "Cast", [f"{vectors}.int8"], [f"{vectors}.whole"], name=f"{vectors}.whole", to=TensorProto.FLOAT
        ),
        helper.make_node("Mul", [f"{vectors}.whole", f"{vectors}.scale"], [vectors], name=vectors),
    ]


def _int8_lstm(node: NodeProto) -> NodeProto:
    vectors, input_weights, recurrent_weights, biases, lengths = node.input
    no_initial_states_nor_peepholes = ["", "", ""]
    scales = [f"{name}.{part}" for name in (input_weights, recurrent_weights) for part in ("scale", "zero")]
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return helper.make_node(
        "DynamicQuantizeLSTM",
        [vectors, input_weights, recurrent_weights, biases, lengths, *no_initial_states_nor_peepholes, *scales],
        node.output,
        name=node.name,
        domain=CONTRIB,
        **attributes,
    )
