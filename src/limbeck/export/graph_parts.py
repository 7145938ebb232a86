"""What the graphs of students that read word vectors share: the word vectors, the pair, the head.

Graphs are built node by node and not traced, so there are no tracing errors.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from torch import Tensor

from limbeck.models.word_student import WordStudentModel

EMBEDDINGS = "embeddings"
OPSET, IR_VERSION = 18, 8  # the oldest whose ReduceMax reads its axes from an input; all supported onnxruntimes have it
LOWEST = float(np.finfo(np.float32).min)

Arrays = dict[str, npt.NDArray[np.generic]]


class Text(NamedTuple):
    """One text of a row: the names of its two inputs, and of the dimension of its tokens."""

    ids: str
    lengths: str
    tokens: str


FIRST, SECOND = Text("input_ids", "lengths", "tokens"), Text("pair_ids", "pair_lengths", "pair_tokens")
Read = Callable[[Text], list[NodeProto]]


def word_graph(
    student: WordStudentModel, *, name: str, read: Read, arrays: Arrays, together: Sequence[NodeProto] = ()
) -> ModelProto:
    """The graph of a student, given the nodes that read a text and the constants that they may use.

    Inputs: input_ids (rows, tokens) int64 and lengths (rows) int32; for pairs also pair_ids and pair_lengths. Output:
    logits (rows, classes) float32. The numbers of rows and tokens may vary. Ids after a row's length are never used; a
    length of 0 is read as 1, as in the students.

    `read` computes `{ids}.features` (rows, features) of one text. It can use `{ids}.inside` and `{ids}.words` (rows,
    tokens), and `{lengths}.positive` (rows) int32 and `{lengths}.column` (rows, 1) int64. Or `together`, the nodes
    after those of both texts, compute the features.
    """
    texts = (FIRST, SECOND) if student.config.pair else (FIRST,)
    nodes = [part for text in texts for part in (*_words(text), *read(text))]
    nodes += together
    nodes += _joined() if student.config.pair else []
    nodes += _classified(student, "joined" if student.config.pair else f"{FIRST.ids}.features")
    used = {name for part in nodes for name in part.input}
    constants = {name: array for name, array in (_shared_arrays(student) | arrays).items() if name in used}
    graph = helper.make_graph(
        nodes,
        name,
        inputs=[value for text in texts for value in _inputs(text)],
        outputs=[helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", student.config.num_labels])],
        initializer=[numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model


def node(kind: str, inputs: list[str], output: str, **attributes: object) -> NodeProto:
    """A node with one output, named after it."""
    return helper.make_node(kind, inputs, [output], name=output, **attributes)


def numpy_of(tensor: Tensor) -> npt.NDArray[np.float32]:
    """The values of a parameter."""
    array: npt.NDArray[np.float32] = tensor.detach().float().cpu().contiguous().numpy()
    return array


def one_more_row(table: npt.NDArray[np.float32], value: float) -> npt.NDArray[np.float32]:
    """A table of words with one more row, for positions outside a row: its number is that of the last word plus one."""
    return np.concatenate([table, np.full_like(table[:1], value)])


def _inputs(text: Text) -> list[ValueInfoProto]:
    return [
        helper.make_tensor_value_info(text.ids, TensorProto.INT64, ["rows", text.tokens]),
        helper.make_tensor_value_info(text.lengths, TensorProto.INT32, ["rows"]),
    ]


def _words(text: Text) -> list[NodeProto]:
    """Ids → `.words`: the same, but the number of "outside" after a row's length, for any ids there."""
    ids, lengths = text.ids, text.lengths
    return [
        node("Max", [lengths, "one_int32"], f"{lengths}.positive"),
        node("Cast", [f"{lengths}.positive"], f"{lengths}.int64", to=TensorProto.INT64),
        node("Unsqueeze", [f"{lengths}.int64", "axis_1"], f"{lengths}.column"),  # (rows, 1)
        node("Shape", [ids], f"{ids}.token_count_1d", start=1, end=2),
        node("Squeeze", [f"{ids}.token_count_1d"], f"{ids}.token_count"),
        node("Range", ["zero", f"{ids}.token_count", "one"], f"{ids}.positions"),  # (tokens)
        node("Less", [f"{ids}.positions", f"{lengths}.column"], f"{ids}.inside"),  # (rows, tokens)
        node("Where", [f"{ids}.inside", ids, "outside"], f"{ids}.words"),
    ]


def _joined() -> list[NodeProto]:
    """[h1; h2; h1⊙h2; |h1−h2|]"""
    one, other = f"{FIRST.ids}.features", f"{SECOND.ids}.features"
    return [
        node("Mul", [one, other], "product"),
        node("Sub", [one, other], "difference"),
        node("Abs", ["difference"], "distance"),
        node("Concat", [one, other, "product", "distance"], "joined", axis=1),
    ]


def _classified(student: WordStudentModel, features: str) -> list[NodeProto]:
    """Features → `logits`."""
    if student.dense is None:
        return [node("Gemm", [features, "classifier.weight", "classifier.bias"], "logits", transB=1)]
    return [
        node("Gemm", [features, "dense.weight", "dense.bias"], "dense", transB=1),
        node("Relu", ["dense"], "active"),
        node("Gemm", ["active", "classifier.weight", "classifier.bias"], "logits", transB=1),
    ]


def _shared_arrays(student: WordStudentModel) -> Arrays:
    """The constants of the nodes above, and the word vectors: all channels side by side in one table."""
    channels = [table for table in (student.embeddings, student.static_embeddings) if table is not None]
    vectors = np.concatenate([numpy_of(table.weight) for table in channels], axis=1)
    arrays: Arrays = {
        EMBEDDINGS: one_more_row(vectors, 0.0),
        "outside": np.array(len(vectors)),
        "one_int32": np.array([1], dtype=np.int32),
        "zero": np.array(0),
        "one": np.array(1),
        "axis_1": np.array([1]),
    }
    for name, layer in (("dense", student.dense), ("classifier", student.classifier)):
        if layer is not None:
            arrays |= {f"{name}.weight": numpy_of(layer.weight), f"{name}.bias": numpy_of(layer.bias)}
    return arrays
