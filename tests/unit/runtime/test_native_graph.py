"""Reading our graphs for the extension. That its networks say the same is in the students' contract."""

from typing import Any

import pytest
from onnx import ModelProto, numpy_helper

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
    """Stands for a class of the extension: keeps what it was made of."""

    def __init__(self, **given: Any) -> None:
        self.given = given


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Recurrent", "Convolution", "Bag"):
        monkeypatch.setattr(native_graph._native, name, Recorded)


def exported(section: WordStudent, *, int8: bool = False, pair: bool = False) -> ModelProto:
    student = word_student(
        section, vocabulary_size=30, embedding_size=12, labels=["a", "b"], pair=pair, multi_label=False
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

    with pytest.raises(GraphNotUnderstood, match="its operators are not those"):
        native_graph.native_network(read_again(model))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.kind)
@pytest.mark.parametrize("part", ["weight", "bias"])
def test_a_graph_without_its_classes_is_not_one_of_ours(section: WordStudent, part: str) -> None:
    model = exported(section)
    kept = [tensor for tensor in model.graph.initializer if tensor.name != f"classifier.{part}"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)

    with pytest.raises(GraphNotUnderstood, match=rf"no constant 'classifier\.{part}'"):
        native_graph.native_network(read_again(model))


@pytest.mark.parametrize("matrix", ["W", "R"])
def test_weights_whose_zero_is_another_are_not_ours(matrix: str) -> None:
    model = exported(SECTIONS[0], int8=True)
    (zero,) = [tensor for tensor in model.graph.initializer if tensor.name == f"level_0.{matrix}.zero"]
    zero.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(zero) + 1, zero.name))

    with pytest.raises(GraphNotUnderstood, match=rf"'level_0\.{matrix}' has a zero point other than 0"):
        native_graph.native_network(read_again(model))
