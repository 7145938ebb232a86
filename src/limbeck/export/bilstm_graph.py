"""The Bi-LSTM student and its variants as an ONNX graph."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper
from torch import Tensor, nn

from limbeck.export.comparison_graph import JOIN, PROJECT, compared, comparison_arrays, pooled
from limbeck.export.graph_parts import (
    EMBEDDINGS,
    FIRST,
    LOWEST,
    SECOND,
    Arrays,
    Text,
    node,
    numpy_of,
    word_graph,
)
from limbeck.export.int8 import int8_graph
from limbeck.models.bilstm import BACKWARDS, FORWARDS, BiLstmForSequenceClassification

OPERATORS = {"lstm": "LSTM", "gru": "GRU"}
ATTRIBUTES: dict[str, dict[str, Any]] = {"lstm": {}, "gru": {"linear_before_reset": 1}}  # as PyTorch's GRU resets
# Input, forget and output gate, and g for the cell's new content; update and reset gate, and n for the new state.
TORCH_GATES = {"lstm": "ifgo", "gru": "rzn"}
ONNX_GATES = {"lstm": "iofg", "gru": "zrn"}
BELOW_EVERY_STATE = -2.0  # states of both cells lie between -1 and 1
ATTENTION = "attention.weight"


def bilstm_graph(student: BiLstmForSequenceClassification) -> ModelProto:
    """The graph of `word_graph`. A level is one bidirectional ONNX operator, which reads the rows' lengths."""
    config, name = student.config, "bilstm"
    if student.comparison is not None:
        arrays = _arrays(student) | comparison_arrays(student.comparison)
        together = [*compared(), *(part for text in (FIRST, SECOND) for part in _composed(config, text))]
        return word_graph(student, name=name, read=partial(_word_states, config), arrays=arrays, together=together)

    def read(text: Text) -> list[NodeProto]:
        return [*_states(config, text), *_pooled(config, text)]

    return word_graph(student, name=name, read=read, arrays=_arrays(student))


def bilstm_int8(graph: ModelProto) -> ModelProto:
    """The graph quantised to int8."""
    return int8_graph(graph, matrices=(ATTENTION, PROJECT, JOIN))


def _word_states(config: Any, text: Text) -> list[NodeProto]:
    """Words → `.word_states` (rows, tokens, 2 · hidden) of the first level."""
    ids = text.ids
    return [
        node("Transpose", [f"{ids}.words"], f"{ids}.by_token", perm=[1, 0]),
        node("Gather", [EMBEDDINGS, f"{ids}.by_token"], f"{ids}.level_0"),
        _level(config, text, 0, [f"{ids}.states_0"]),
        *_by_row(f"{ids}.states_0", f"{ids}.word_states"),
    ]


def _composed(config: Any, text: Text) -> list[NodeProto]:
    """`.compared` → `.features`, after the levels above the first."""
    ids, top = text.ids, config.layers - 1
    if not top:
        return pooled(text, f"{ids}.compared")
    nodes = [node("Transpose", [f"{ids}.compared"], f"{ids}.level_1", perm=[1, 0, 2])]
    for level in range(1, config.layers):
        nodes.append(_level(config, text, level, [f"{ids}.states_{level}"]))
        nodes += [] if level == top else _side_by_side(f"{ids}.states_{level}", f"{ids}.level_{level + 1}")
    return [*nodes, *_by_row(f"{ids}.states_{top}", f"{ids}.composed"), *pooled(text, f"{ids}.composed")]


def _level(config: Any, text: Text, level: int, outputs: list[str]) -> NodeProto:
    """One bidirectional level over `.level_{level}`."""
    below = f"{text.ids}.level_{level}"
    return helper.make_node(
        OPERATORS[config.cell],
        [below, *(f"level_{level}.{name}" for name in "WRB"), f"{text.lengths}.positive"],
        outputs,
        name=f"{below}.{config.cell}",
        direction="bidirectional",
        hidden_size=config.hidden_size,
        **ATTRIBUTES[config.cell],
    )


def _states(config: Any, text: Text) -> list[NodeProto]:
    """Words → `.states` (tokens, directions, rows, hidden), in the order of tokens, and `.last` (directions, rows,
    hidden) of the top level.

    Given lengths, ONNX's backward direction starts at the last token of each row, as the student's does.
    """
    ids = text.ids
    nodes = [
        node("Transpose", [f"{ids}.words"], f"{ids}.by_token", perm=[1, 0]),  # cheaper than transposing vectors
        node("Gather", [EMBEDDINGS, f"{ids}.by_token"], f"{ids}.level_0"),  # (tokens, rows, width)
    ]
    for level in range(config.layers):
        top = level == config.layers - 1
        states = f"{ids}.states" if top else f"{ids}.states_{level}"
        nodes.append(_level(config, text, level, [states, f"{ids}.last" if top else ""]))
        nodes += [] if top else _side_by_side(states, f"{ids}.level_{level + 1}")
    return nodes


def _side_by_side(states: str, both: str) -> list[NodeProto]:
    """(tokens, directions, rows, hidden) → (tokens, rows, directions · hidden)."""
    return [
        node("Transpose", [states], f"{states}.by_row", perm=[0, 2, 1, 3]),
        node("Reshape", [f"{states}.by_row", "side_by_side"], both),
    ]


def _by_row(states: str, both: str) -> list[NodeProto]:
    """(tokens, directions, rows, hidden) → (rows, tokens, directions · hidden)."""
    return [
        node("Transpose", [states], f"{states}.by_row", perm=[2, 0, 1, 3]),
        node("Reshape", [f"{states}.by_row", "side_by_side"], both),
    ]


def _pooled(config: Any, text: Text) -> list[NodeProto]:
    """`.states` and `.last` → `.features`."""
    match config.pooling:
        case "last":
            return _flat(f"{text.ids}.last", f"{text.ids}.features")
        case "max":
            return _largest(text)
        case "mean":
            return _mean(text)
        case "attention":
            return _attended(text)
        case other:
            raise ValueError(f"there is no graph for the pooling {other!r}")


def _largest(text: Text) -> list[NodeProto]:
    """The largest value of each state over the tokens inside the row's length."""
    ids = text.ids
    return [
        *_masked(ids, outside="below_every_state"),
        node("ReduceMax", [f"{ids}.masked", "axis_0"], f"{ids}.largest", keepdims=0),
        *_flat(f"{ids}.largest", f"{ids}.features"),
    ]


def _mean(text: Text) -> list[NodeProto]:
    """The mean of each state over the tokens inside the row's length."""
    ids, lengths = text.ids, text.lengths
    return [
        *_masked(ids, outside="no_state"),
        node("ReduceSum", [f"{ids}.masked", "axis_0"], f"{ids}.sum", keepdims=0),
        *_flat(f"{ids}.sum", f"{ids}.flat_sum"),
        node("Cast", [f"{lengths}.column"], f"{lengths}.float", to=TensorProto.FLOAT),
        node("Div", [f"{ids}.flat_sum", f"{lengths}.float"], f"{ids}.features"),
    ]


def _attended(text: Text) -> list[NodeProto]:
    """Σ αₜ·hₜ with α = softmax over the row's tokens of q·tanh(W·hₜ + b)."""
    ids = text.ids
    return [
        *_side_by_side(f"{ids}.states", f"{ids}.both"),  # (tokens, rows, 2 · hidden)
        node("MatMul", [f"{ids}.both", ATTENTION], f"{ids}.turned"),
        node("Add", [f"{ids}.turned", "attention.bias"], f"{ids}.shifted"),
        node("Tanh", [f"{ids}.shifted"], f"{ids}.asked"),
        node("MatMul", [f"{ids}.asked", "question.weight"], f"{ids}.relevance"),  # (tokens, rows, 1)
        node("Transpose", [f"{ids}.inside"], f"{ids}.inside_by_token", perm=[1, 0]),
        node("Unsqueeze", [f"{ids}.inside_by_token", "axis_2"], f"{ids}.inside_3d"),
        node("Where", [f"{ids}.inside_3d", f"{ids}.relevance", "no_relevance"], f"{ids}.relevance_inside"),
        node("Softmax", [f"{ids}.relevance_inside"], f"{ids}.weights", axis=0),
        node("Mul", [f"{ids}.weights", f"{ids}.both"], f"{ids}.weighed"),
        node("ReduceSum", [f"{ids}.weighed", "axis_0"], f"{ids}.features", keepdims=0),
    ]


def _masked(ids: str, *, outside: str) -> list[NodeProto]:
    """`.states` → `.masked`, which is a constant after each row's length."""
    return [
        node("Transpose", [f"{ids}.inside"], f"{ids}.inside_by_token", perm=[1, 0]),
        node("Unsqueeze", [f"{ids}.inside_by_token", "axes_1_3"], f"{ids}.inside_4d"),  # (tokens, 1, rows, 1)
        node("Where", [f"{ids}.inside_4d", f"{ids}.states", outside], f"{ids}.masked"),
    ]


def _flat(states: str, features: str) -> list[NodeProto]:
    """(directions, rows, hidden) → (rows, directions · hidden)."""
    return [
        node("Transpose", [states], f"{states}.by_row", perm=[1, 0, 2]),
        node("Flatten", [f"{states}.by_row"], features, axis=1),
    ]


def _arrays(student: BiLstmForSequenceClassification) -> Arrays:
    """The constants of the nodes above, by name: those of every pooling."""
    arrays: Arrays = {
        "side_by_side": np.array([0, 0, 2 * student.config.hidden_size]),  # 0: the size of the input
        "axis_0": np.array([0]),
        "axis_2": np.array([2]),
        "axes_1_3": np.array([1, 3]),
        "below_every_state": np.array(BELOW_EVERY_STATE, dtype=np.float32),
        "no_state": np.array(0.0, dtype=np.float32),
        "no_relevance": np.array(LOWEST, dtype=np.float32),
    }
    for number, level in enumerate(student.levels):
        directions = [level.get_submodule(name) for name in (FORWARDS, BACKWARDS)]
        arrays |= _level_arrays(f"level_{number}", student.config.cell, directions)
    if student.config.pooling == "attention" and student.comparison is None:
        arrays |= {
            ATTENTION: numpy_of(student.attention.weight.T),
            "attention.bias": numpy_of(student.attention.bias),
            "question.weight": numpy_of(student.question.weight.T),
        }
    return arrays


def _level_arrays(name: str, cell: str, directions: list[nn.Module]) -> Arrays:
    """W (directions, gates · hidden, width), R (directions, gates · hidden, hidden), B (directions, 2 · gates ·
    hidden)."""

    def stacked(parameter: str) -> npt.NDArray[np.float32]:
        return np.stack([_gates_reordered(direction.get_parameter(parameter), cell) for direction in directions])

    return {
        f"{name}.W": stacked("weight_ih_l0"),
        f"{name}.R": stacked("weight_hh_l0"),
        f"{name}.B": np.concatenate([stacked("bias_ih_l0"), stacked("bias_hh_l0")], axis=1),
    }


def _gates_reordered(weights: Tensor, cell: str) -> npt.NDArray[np.float32]:
    """The blocks of rows, one per gate, reordered from PyTorch's order to ONNX's."""
    gates = TORCH_GATES[cell]
    blocks = dict(zip(gates, np.split(numpy_of(weights), len(gates)), strict=True))
    return np.concatenate([blocks[gate] for gate in ONNX_GATES[cell]])
