"""The Bi-LSTM student as an ONNX graph, written node by node: nothing is traced, so nothing can be traced wrong."""

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from torch import Tensor, nn

from limbeck.models.bilstm import BiLstmForSequenceClassification

EMBEDDINGS, INPUT_WEIGHTS, RECURRENT_WEIGHTS, BIASES = "embeddings", "lstm.W", "lstm.R", "lstm.B"
TORCH_GATES, ONNX_GATES = "ifgo", "iofg"  # input, forget, output, and g for the cell's new content
OPSET, IR_VERSION = (
    18,
    8,
)  # the oldest in which ReduceMax takes its axes as an input: every onnxruntime we allow reads it
BELOW_EVERY_STATE = -2.0  # an LSTM's states lie between -1 and 1


def bilstm_graph(student: BiLstmForSequenceClassification) -> ModelProto:
    """Inputs: input_ids (rows, tokens) int64 and lengths (rows) int32; for pairs also pair_ids and pair_lengths.

    Output: logits (rows, classes) float32. Rows and tokens are free; ids behind a row's length are never looked at.
    A length of 0 is read as 1, as the student reads it.
    """
    config = student.config
    texts = [("input_ids", "lengths")] + ([("pair_ids", "pair_lengths")] if config.pair else [])
    nodes: list[NodeProto] = []
    for ids, lengths in texts:
        nodes += _read(ids, lengths, hidden=config.hidden_size)
        nodes += _pool_last(ids) if config.pooling == "last" else _pool_max(ids, lengths)
    nodes += _join_pair() if config.pair else []
    nodes += _classify("joined" if config.pair else "input_ids.features")
    graph = helper.make_graph(
        nodes,
        "bilstm",
        inputs=[value for ids, lengths in texts for value in _inputs(ids, lengths)],
        outputs=[helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", config.num_labels])],
        initializer=[numpy_helper.from_array(array, name) for name, array in _arrays(student).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model


def _inputs(ids: str, lengths: str) -> list[onnx.ValueInfoProto]:
    tokens = "tokens" if ids == "input_ids" else "pair_tokens"
    return [
        helper.make_tensor_value_info(ids, TensorProto.INT64, ["rows", tokens]),
        helper.make_tensor_value_info(lengths, TensorProto.INT32, ["rows"]),
    ]


def _read(ids: str, lengths: str, *, hidden: int) -> list[NodeProto]:
    """Ids → `.states` (tokens, directions, rows, hidden) and `.last` (directions, rows, hidden).

    Given lengths, ONNX's backward direction starts at the last token of each row, as the student's does.
    """
    return [
        _node("Transpose", [ids], f"{ids}.by_token", perm=[1, 0]),  # ids are lighter to turn round than vectors
        _node("Gather", [EMBEDDINGS, f"{ids}.by_token"], f"{ids}.vectors"),  # (tokens, rows, width)
        _node("Max", [lengths, "one_int32"], f"{lengths}.positive"),
        helper.make_node(
            "LSTM",
            [f"{ids}.vectors", INPUT_WEIGHTS, RECURRENT_WEIGHTS, BIASES, f"{lengths}.positive"],
            [f"{ids}.states", f"{ids}.last"],
            name=f"{ids}.lstm",
            direction="bidirectional",
            hidden_size=hidden,
        ),
    ]


def _pool_last(ids: str) -> list[NodeProto]:
    return _flatten(f"{ids}.last", f"{ids}.features")


def _pool_max(ids: str, lengths: str) -> list[NodeProto]:
    """The largest value of each state over the tokens inside the row's length."""
    return [
        _node("Shape", [f"{ids}.by_token"], f"{ids}.token_count_1d", start=0, end=1),
        _node("Squeeze", [f"{ids}.token_count_1d", "axis_0"], f"{ids}.token_count"),
        _node("Range", ["zero", f"{ids}.token_count", "one"], f"{ids}.positions_1d"),
        _node("Unsqueeze", [f"{ids}.positions_1d", "axis_1"], f"{ids}.positions"),  # (tokens, 1)
        _node("Cast", [f"{lengths}.positive"], f"{lengths}.int64", to=TensorProto.INT64),
        _node("Less", [f"{ids}.positions", f"{lengths}.int64"], f"{ids}.inside_2d"),  # (tokens, rows)
        _node("Unsqueeze", [f"{ids}.inside_2d", "axes_1_3"], f"{ids}.inside"),  # (tokens, 1, rows, 1)
        _node("Where", [f"{ids}.inside", f"{ids}.states", "below_every_state"], f"{ids}.masked"),
        _node("ReduceMax", [f"{ids}.masked", "axis_0"], f"{ids}.largest", keepdims=0),
        *_flatten(f"{ids}.largest", f"{ids}.features"),
    ]


def _flatten(states: str, features: str) -> list[NodeProto]:
    """(directions, rows, hidden) → (rows, directions · hidden)."""
    return [
        _node("Transpose", [states], f"{states}.by_row", perm=[1, 0, 2]),
        _node("Flatten", [f"{states}.by_row"], features, axis=1),
    ]


def _join_pair() -> list[NodeProto]:
    """[h1; h2; h1⊙h2; |h1−h2|]"""
    one, other = "input_ids.features", "pair_ids.features"
    return [
        _node("Mul", [one, other], "product"),
        _node("Sub", [one, other], "difference"),
        _node("Abs", ["difference"], "distance"),
        _node("Concat", [one, other, "product", "distance"], "joined", axis=1),
    ]


def _classify(features: str) -> list[NodeProto]:
    return [
        _node("Gemm", [features, "dense.weight", "dense.bias"], "dense", transB=1),
        _node("Relu", ["dense"], "active"),
        _node("Gemm", ["active", "classifier.weight", "classifier.bias"], "logits", transB=1),
    ]


def _node(kind: str, inputs: list[str], output: str, **attributes: object) -> NodeProto:
    return helper.make_node(kind, inputs, [output], name=output, **attributes)


def _arrays(student: BiLstmForSequenceClassification) -> dict[str, npt.NDArray[np.generic]]:
    """Every constant of the graph, by name."""
    arrays: dict[str, npt.NDArray[np.generic]] = {
        EMBEDDINGS: _numpy(student.embeddings.weight),
        **_lstm_arrays(student.forward_lstm, student.backward_lstm),
        "one_int32": np.array([1], dtype=np.int32),
    }
    for name, layer in (("dense", student.dense), ("classifier", student.classifier)):
        arrays |= {f"{name}.weight": _numpy(layer.weight), f"{name}.bias": _numpy(layer.bias)}
    if student.config.pooling == "max":
        arrays |= {"zero": np.array(0), "one": np.array(1), "axis_0": np.array([0]), "axis_1": np.array([1])}
        arrays |= {"axes_1_3": np.array([1, 3]), "below_every_state": np.array(BELOW_EVERY_STATE, dtype=np.float32)}
    return arrays


def _lstm_arrays(*directions: nn.LSTM) -> dict[str, npt.NDArray[np.generic]]:
    """W (directions, 4 · hidden, width), R (directions, 4 · hidden, hidden), B (directions, 8 · hidden)."""
    input_biases, recurrent_biases = _stacked(directions, "bias_ih_l0"), _stacked(directions, "bias_hh_l0")
    return {
        INPUT_WEIGHTS: _stacked(directions, "weight_ih_l0"),
        RECURRENT_WEIGHTS: _stacked(directions, "weight_hh_l0"),
        BIASES: np.concatenate([input_biases, recurrent_biases], axis=1),
    }


def _stacked(directions: tuple[nn.LSTM, ...], parameter: str) -> npt.NDArray[np.float32]:
    return np.stack([_gates_reordered(lstm.get_parameter(parameter)) for lstm in directions])


def _gates_reordered(weights: Tensor) -> npt.NDArray[np.float32]:
    """The four blocks of rows, one per gate, from PyTorch's order into ONNX's."""
    blocks = dict(zip(TORCH_GATES, np.split(_numpy(weights), len(TORCH_GATES)), strict=True))
    return np.concatenate([blocks[gate] for gate in ONNX_GATES])


def _numpy(tensor: Tensor) -> npt.NDArray[np.float32]:
    array: npt.NDArray[np.float32] = tensor.detach().float().cpu().contiguous().numpy()
    return array
