"""Transformer students whose layers share weights, with narrow word vectors: ALBERT's architecture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from limbeck.export.transformer_graph import transformer_graph
from limbeck.export.transformer_int8 import transformer_int8
from limbeck.models.layer_parts import FAMILIES, layers_of, module_at
from limbeck.models.layer_states import LayerReader
from limbeck.models.size import parameter_count
from limbeck.models.transformer import transformer_student
from limbeck.models.transformer_start import TeacherLayersMissing
from limbeck.recipe.student import Transformer

Make = Callable[..., Any]
SMALL = {"width": 16, "heads": 2, "inner_size": 24, "embedding_size": 8}


def build(teacher: Any = None, **section: Any) -> Any:
    student = transformer_student(
        Transformer.model_validate({"kind": "transformer", "family": "albert", **SMALL, **section}),
        teacher=teacher,
        vocabulary=None,
        vocabulary_size=60,
        pad_token_id=0,
        labels=["negative", "positive"],
    )
    return student.eval()


def test_more_layers_have_no_more_weights_unless_they_have_groups() -> None:
    four, twelve, apart = (build(layers=layers, layer_groups=groups) for layers, groups in ((4, 1), (12, 1), (4, 4)))
    layer = sum(weight.numel() for weight in layers_of(four)[0].parameters())

    assert parameter_count(four) == parameter_count(twelve) == parameter_count(apart) - 3 * layer
    assert four.get_input_embeddings().weight.shape == (60, 8)


def test_groups_are_as_many_layers_in_a_row_each() -> None:
    student = build(layers=4, layer_groups=2)
    calls: list[int] = []
    for number, group in enumerate(layers_of(student)):
        group.register_forward_pre_hook(lambda *_, number=number: calls.append(number))

    student(torch.tensor([[5, 6, 7]]))

    assert calls == [0, 0, 1, 1]


def test_without_a_width_of_words_it_is_that_of_albert_or_of_the_states() -> None:
    section = {"kind": "transformer", "family": "albert", "heads": 2}
    found = [
        transformer_student(
            Transformer.model_validate({**section, "width": width}),
            teacher=None,
            vocabulary=None,
            vocabulary_size=9,
            pad_token_id=0,
            labels=["a", "b"],
        ).config.embedding_size
        for width in (64, 256)
    ]

    assert found == [64, 128]


def test_every_group_starts_from_one_layer_of_the_teacher(make_transformer: Make) -> None:
    teacher = make_transformer("bert", layers=3)

    one, two = build(teacher, layers=4), build(teacher, layers=4, layer_groups=2)

    assert sources(one, teacher) == [0]
    assert sources(two, teacher) == [0, 2]
    assert sources(build(teacher, layers=4, layer_groups=2, teacher_layers=[1, 2]), teacher) == [1, 2]
    assert torch.equal(one.albert.pooler.weight, teacher.bert.pooler.dense.weight)
    with pytest.raises(TeacherLayersMissing):
        build(teacher, layers=4, teacher_layers=[3])


def sources(student: Any, teacher: Any) -> list[int]:
    """For each group the layer of the teacher all of whose weights it has."""
    own, theirs = FAMILIES["albert"].parts.all, FAMILIES["bert"].parts.all
    return [
        next(
            number
            for number, layer in enumerate(layers_of(teacher))
            if all(
                torch.equal(module_at(group, name).weight, module_at(layer, their_name).weight)
                for name, their_name in zip(own, theirs, strict=True)
            )
        )
        for group in layers_of(student)
    ]


def test_another_width_starts_with_the_words_alone(make_transformer: Make) -> None:
    teacher = make_transformer("bert", layers=3)

    torch.manual_seed(0)
    student = build(teacher, layers=2, width=12)
    torch.manual_seed(0)
    fresh = build(teacher, layers=2, width=12, start="random")

    inner = FAMILIES["albert"].parts.inner
    assert torch.equal(module_at(layers_of(student)[0], inner).weight, module_at(layers_of(fresh)[0], inner).weight)
    assert not torch.equal(student.get_input_embeddings().weight, fresh.get_input_embeddings().weight)


def test_a_student_of_an_albert_is_an_albert_with_fewer_layers_and_the_same_answers_in_each(
    make_transformer: Make,
) -> None:
    teacher = make_transformer("albert", layers=3)

    student = build(teacher, layers=3, family="teacher", width=None, heads=None, inner_size=None, embedding_size=None)

    ids = torch.tensor([[5, 6, 7, 9]])
    torch.testing.assert_close(student(ids).logits, teacher(ids).logits)
    assert student.config.num_hidden_groups == 1


def test_layers_that_share_weights_are_read_one_by_one(make_transformer: Make) -> None:
    model = make_transformer("albert", layers=3)

    with torch.no_grad(), LayerReader(model) as reader:
        states = reader.states(model(torch.tensor([[5, 6, 7, 9]]), output_hidden_states=True))

    query = module_at(layers_of(model)[0], FAMILIES["albert"].parts.query)
    for number in range(3):
        expected = query(states.hidden[number]).view(1, 4, 2, 8).transpose(1, 2)
        torch.testing.assert_close(states.queries[number], expected)


def test_saved_and_loaded_by_transformers_it_says_the_same(tmp_path: Path) -> None:
    student = build(layers=3)
    student.save_pretrained(tmp_path)

    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()

    ids = torch.tensor([[5, 6, 7, 9]])
    torch.testing.assert_close(loaded(ids).logits, student(ids).logits)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_graph_holds_shared_weights_once(precision: str) -> None:
    def size(layers: int) -> int:
        graph = transformer_graph(build(layers=layers, width=64, inner_size=128))
        return len((transformer_int8(graph) if precision == "int8" else graph).SerializeToString())

    weights = 4 * 64 * 64 + 2 * 64 * 128  # of a layer, a byte each in int8
    assert size(4) - size(3) < 9_000 < weights  # nodes alone
