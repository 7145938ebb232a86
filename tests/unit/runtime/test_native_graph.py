"""Reading our graphs for the extension. That its networks say the same is in the students' contract."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from limbeck.export.graphs import graph_of, int8_of
from limbeck.models.students import word_student
from limbeck.recipe.student import Bag, BiLstm, TextCnn, WordStudent
from limbeck.runtime.onnx_file import GraphNotUnderstood, OnnxFile
from limbeck.runtime.onnx_file import graph_of as read

pytest.importorskip("limbeck.runtime._native")
native_graph = pytest.importorskip("limbeck.runtime.native_graph")

SECTIONS: list[WordStudent] = [
    BiLstm.model_validate({"hidden_size": 8, "dense_size": 0}),
    TextCnn.model_validate({"kind": "textcnn", "filters": 7}),
    Bag.model_validate({"kind": "bag", "dense_size": 16}),
]


class Recorded:
    """Replaces a class of the extension: keeps what it was made of."""

    def __init__(self, **given: Any) -> None:
        self.given = given


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Recurrent", "Convolution", "Bag"):
        monkeypatch.setattr(native_graph._native, name, Recorded)


def exported(section: WordStudent, *, int8: bool = False, pair: bool = False) -> ModelProto:
    student = word_student(
        section, vocabulary_size=30, embedding_size=12, labels=["a", "b"], pair=pair, problem_type=None
    )
    graph = graph_of(student.eval())
    return int8_of(student, graph) if int8 else graph


def made_of(model: ModelProto) -> dict[str, Any]:
    given: dict[str, Any] = native_graph.native_network(read_again(model)).given
    return given


def read_again(model: ModelProto) -> OnnxFile:
    return read(memoryview(model.SerializeToString()))


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("windows", [[1], [3, 4, 5], [2, 2, 1]])
@pytest.mark.parametrize("pair", [False, True])
def test_the_windows_of_a_convolution_are_read_off_its_sums(windows: list[int], pair: bool) -> None:
    section = TextCnn.model_validate({"kind": "textcnn", "filters": 7, "windows": windows})

    assert made_of(exported(section, pair=pair))["windows"] == windows


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("pooling", ["max", "mean", "last", "attention"])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("int8", [False, True])
def test_cell_pooling_and_layers_are_those_of_the_recipe(cell: str, pooling: str, layers: int, int8: bool) -> None:
    section = BiLstm.model_validate({"hidden_size": 8, "cell": cell, "pooling": pooling, "layers": layers})

    given = made_of(exported(section, int8=int8))

    assert (given["cell"], given["pooling"], len(given["layers"])) == (cell, pooling, layers)
    assert ("attention" in given) == (pooling == "attention")
    assert all((scale is not None) == int8 for layer in given["layers"] for scale in (layer[1], layer[3]))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.kind)
@pytest.mark.parametrize("place", [0, 8, -1])
def test_a_graph_with_an_operator_less_is_not_one_of_ours(section: WordStudent, place: int) -> None:
    model = exported(section)
    del model.graph.node[place]

    with pytest.raises(GraphNotUnderstood, match=r"is not that of an export|nodes, and an export has"):
        native_graph.native_network(read_again(model))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.kind)
@pytest.mark.parametrize("part", ["weight", "bias"])
def test_a_graph_without_its_classes_is_not_one_of_ours(section: WordStudent, part: str) -> None:
    model = exported(section)
    kept = [tensor for tensor in model.graph.initializer if tensor.name != f"classifier.{part}"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)

    with pytest.raises(GraphNotUnderstood, match=rf"constant 'classifier\.{part}'"):
        native_graph.native_network(read_again(model))


@pytest.mark.parametrize("matrix", ["W", "R"])
def test_weights_whose_zero_is_another_are_not_ours(matrix: str) -> None:
    model = exported(SECTIONS[0], int8=True)
    (zero,) = [tensor for tensor in model.graph.initializer if tensor.name == f"level_0.{matrix}.zero"]
    zero.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(zero) + 1, zero.name))

    with pytest.raises(GraphNotUnderstood, match=rf"'level_0\.{matrix}\.zero' has another value"):
        native_graph.native_network(read_again(model))


def with_constant(model: ModelProto, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> ModelProto:
    (tensor,) = [tensor for tensor in model.graph.initializer if tensor.name == name]
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(change(numpy_helper.to_array(tensor).copy())), name))
    return model


def at(place: Any, value: float) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
    def change(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        array[place] = value
        return array

    return change


BILSTM, TEXTCNN, BAG = SECTIONS


@pytest.mark.parametrize(
    ("section", "int8", "name", "change", "reason"),
    [
        (BILSTM, False, "embeddings", at(-1, 0.5), "the last row of 'embeddings'"),
        (TEXTCNN, True, "embeddings.int8", at(-1, 1), "the last row of 'embeddings.int8'"),
        (BAG, False, "word_weights", at(-1, 0.0), "the last row of 'word_weights'"),
        (BILSTM, False, "level_0.R", at((0, 0, 0), np.nan), "'level_0.R' has numbers beyond"),
        (BILSTM, False, "level_0.R", at((0, 0, 0), np.inf), "'level_0.R' has numbers beyond"),
        (BAG, False, "dense.bias", at(3, -2e4), "'dense.bias' has numbers beyond -10000 to 10000"),
        (BILSTM, True, "level_0.W", at((0, 0, 0), 64), "'level_0.W' has numbers beyond -63 to 63"),
        (BILSTM, True, "embeddings.int8", at((3, 0), -128), "'embeddings.int8' has numbers beyond -127 to 127"),
        (BILSTM, True, "level_0.W.scale", at((0, 0), -0.1), "'level_0.W.scale' has numbers beyond"),
        (TEXTCNN, True, "filters.scale", at(0, 40.0), "'filters.scale' has numbers beyond"),  # beyond half floats
        (BILSTM, False, "outside", lambda array: array - 1, "'outside' has another value"),
        (BILSTM, False, "below_every_state", lambda array: array + 1, "'below_every_state' has another value"),
        (BILSTM, False, "zero", lambda array: array.astype(np.int32), "'zero' has another value"),
        (TEXTCNN, False, "widths", lambda array: array[::-1][:-1], "'widths' has another value"),
        (BILSTM, True, "embeddings.scale", lambda array: array[:, 0], r"'embeddings.scale' is float32 \(31,\)"),
        (BILSTM, False, "classifier.weight", lambda array: array.T, r"'classifier.weight' is float32 \(16, 2\)"),
        (BAG, False, "dense.weight", lambda array: array.astype(np.float64), "'dense.weight' is float64"),
        (BILSTM, False, "level_0.B", lambda array: array[:, :0], "'level_0.B' has the shape"),
    ],
)  # fmt: skip
def test_constants_that_no_export_has_are_not_ours(
    section: WordStudent, int8: bool, name: str, change: Any, reason: str
) -> None:
    model = with_constant(exported(section, int8=int8), name, change)

    with pytest.raises(GraphNotUnderstood, match=reason):
        native_graph.native_network(read_again(model))


def older(model: ModelProto) -> None:
    model.opset_import[0].version = 17


def of_a_later_format(model: ModelProto) -> None:
    model.ir_version = 9


def of_fixed_rows(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1


def with_an_output_more(model: ModelProto) -> None:
    model.graph.output.append(helper.make_tensor_value_info("input_ids.features", TensorProto.FLOAT, ["rows", 12]))


def of_another_domain(model: ModelProto) -> None:
    model.graph.node[-1].domain = "com.microsoft"


def with_an_attribute_less(model: ModelProto) -> None:
    del model.graph.node[-1].attribute[:]


def with_another_edge(model: ModelProto) -> None:
    model.graph.node[-1].input[0] = "input_ids.features"


def with_a_node_more(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("Neg", ["logits"], ["unread"]))


def with_a_constant_more(model: ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(1, dtype=np.float32), "unread"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (older, "its versions are 8 and {'': 17}"),
        (of_a_later_format, "its versions are 9"),
        (of_fixed_rows, "its inputs or outputs"),
        (with_an_output_more, "its inputs or outputs"),
        (of_another_domain, r"its node \d+ \(Gemm\)"),
        (with_an_attribute_less, r"its node \d+ \(Gemm\)"),
        (with_another_edge, r"its node \d+ \(Gemm\)"),
        (with_a_node_more, r"it has \d+ nodes, and an export has \d+"),
        (with_a_constant_more, "'unread' is missing, or one more"),
    ],
)
def test_what_no_export_has_is_not_ours(change: Callable[[ModelProto], None], reason: str) -> None:
    model = exported(BAG)
    change(model)

    with pytest.raises(GraphNotUnderstood, match=reason):
        native_graph.native_network(read_again(model))


def named_otherwise(model: ModelProto) -> None:
    for number, node in enumerate(model.graph.node):
        node.name = f"n{number}"


def with_documentation(model: ModelProto) -> None:
    model.doc_string = model.graph.doc_string = model.graph.initializer[0].doc_string = "learned by heart"
    model.producer_name = "us"


def reordered(model: ModelProto) -> None:
    model.graph.initializer.append(model.graph.initializer.pop(0))


@pytest.mark.parametrize("change", [named_otherwise, with_documentation, reordered])
def test_what_has_no_effect_is_not_compared(change: Callable[[ModelProto], None]) -> None:
    model = exported(BAG)
    change(model)

    assert native_graph.native_network(read_again(model))
