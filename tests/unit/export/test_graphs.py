from typing import Any

import pytest

from limbeck.export.graphs import graph_of, int8_of
from limbeck.models.word_student import WordStudentConfig, WordStudentModel
from limbeck.recipe.student import Bag, BiLstm, TextCnn, WordStudent

SECTIONS: list[WordStudent] = [
    BiLstm(hidden_size=8),
    TextCnn(kind="textcnn", filters=6),
    Bag(kind="bag"),
]
every_kind = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.kind)


@every_kind
def test_a_student_gets_the_graph_of_its_kind(section: WordStudent, strong_student: Any) -> None:
    network = strong_student(section)

    graph = graph_of(network)

    assert graph.graph.name == int8_of(network, graph).graph.name == section.kind


@pytest.mark.parametrize(
    ("pair", "inputs"), [(False, ["input_ids", "lengths"]), (True, ["input_ids", "type_ids", "lengths"])]
)
def test_the_inputs_of_a_transformer_depend_on_pairs(make_encoder: Any, pair: bool, inputs: list[str]) -> None:
    network = make_encoder("bert")

    graph = graph_of(network, pair=pair)

    assert [value.name for value in graph.graph.input] == inputs
    assert graph.graph.name == int8_of(network, graph).graph.name == "transformer"


def test_a_student_of_words_of_an_unknown_class_is_refused() -> None:
    class Newcomer(WordStudentModel):
        config_class = WordStudentConfig

    with pytest.raises(TypeError, match="there is no graph for models of the class Newcomer"):
        graph_of(Newcomer(WordStudentConfig()))
