"""The int8 version of a transformer's graph: vectors and weights in one byte each, multiplied as integers."""

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from limbeck.export.graph_parts import EMBEDDINGS, Arrays, node
from limbeck.export.int8 import CONTRIB, STORED_LIMIT, WEIGHT_LIMIT, dequantised, int8_lookup, quantised
from limbeck.export.relative_scores import BY_HEAD
from limbeck.export.transformer_graph import HEAD

STATE_LIMIT, ZERO = 127, 128  # states are bytes from 1 to 255
CONSTANTS: Arrays = {
    "int8.axis": np.array([1]),
    "int8.nothing": np.array(1e-30, dtype=np.float32),  # the largest value of a row of zeros, to divide by
    "int8.step": np.array(1 / STATE_LIMIT, dtype=np.float32),
    "int8.zero": np.array(ZERO, dtype=np.uint8),
}


def transformer_int8(model: ModelProto) -> ModelProto:
    """The same graph with int8 word vectors (one scale per word) and weights (one scale per output).

    States that are multiplied with weights are rounded to 8 bits with one scale per token. onnxruntime's
    DynamicQuantizeMatMul has one scale for all tokens of a batch: it takes a seventh less time, but a few tokens have
    values many times larger than the others, and on a fine-tuned network the mean error of a logit was twice as large.
    So a row's logits do not depend on the other rows of its batch, except for the rounding of the last digit. Norms,
    the products of states with states and the head stay fp32; so do DeBERTa's and XLNet's with distances, whose vectors
    are stored in a byte a number and become floats when the file is loaded.
    """
    weights = {part.input[1] for part in model.graph.node if _is_product(part)}
    arrays: Arrays = dict(CONSTANTS)
    for tensor in model.graph.initializer:
        arrays |= _stored(tensor.name, numpy_helper.to_array(tensor), weights=weights)
    of_distances = [part.name for part in model.graph.initializer if part.name.endswith(BY_HEAD)]
    graph = helper.make_graph(
        [
            *(part for name in of_distances for part in dequantised(name)),
            *(replacement for part in model.graph.node for replacement in _replacement(part)),
        ],
        model.graph.name,
        inputs=model.graph.input,
        outputs=model.graph.output,
        initializer=[numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    opsets = [*model.opset_import, helper.make_opsetid(CONTRIB, 1)]
    int8 = helper.make_model(graph, opset_imports=opsets, ir_version=model.ir_version)
    onnx.checker.check_model(int8)
    return int8


def _is_product(part: NodeProto) -> bool:
    return part.op_type == "Gemm" and part.name not in HEAD


def _stored(name: str, array: npt.NDArray[np.float32], *, weights: set[str]) -> Arrays:
    """The constants that replace this one in the int8 graph."""
    if name == EMBEDDINGS or name.endswith(BY_HEAD):
        integers, scale = quantised(array, limit=STORED_LIMIT)
        return {f"{name}.int8": integers, f"{name}.scale": scale}  # (words, width), (words, 1)
    if name in weights:
        integers, scale = quantised(array.T, limit=WEIGHT_LIMIT)
        return {name: np.ascontiguousarray(integers.T), f"{name}.scale": scale.squeeze(-1)}
    return {name: array}


def _replacement(part: NodeProto) -> list[NodeProto]:
    if part.op_type == "Gather" and part.input[0] == EMBEDDINGS:
        return int8_lookup(ids=part.input[1], vectors=part.output[0])
    return _int8_product(part) if _is_product(part) else [part]


def _int8_product(part: NodeProto) -> list[NodeProto]:
    """(tokens, inputs) as bytes, times the weights, times each token's largest value, plus the bias."""
    (states, weight, bias), product = part.input, part.output[0]
    return [
        node("Abs", [states], f"{product}.sizes"),
        node("ReduceMax", [f"{product}.sizes", "int8.axis"], f"{product}.size", keepdims=1),
        node("Max", [f"{product}.size", "int8.nothing"], f"{product}.largest"),  # (tokens, 1)
        node("Div", [states, f"{product}.largest"], f"{product}.shares"),  # from -1 to 1
        node("QuantizeLinear", [f"{product}.shares", "int8.step", "int8.zero"], f"{product}.bytes"),
        node(
            "MatMulIntegerToFloat",
            [f"{product}.bytes", weight, "int8.step", f"{weight}.scale", "int8.zero"],
            f"{product}.of_shares",
            domain=CONTRIB,
        ),
        node("Mul", [f"{product}.of_shares", f"{product}.largest"], f"{product}.without_bias"),
        node("Add", [f"{product}.without_bias", bias], product),
    ]
