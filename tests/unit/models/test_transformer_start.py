"""What a transformer student takes over of its teacher."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from limbeck.models.layer_states import LayerReader, LayerStates
from limbeck.models.transformer import transformer_student
from limbeck.models.transformer_start import TeacherLayersMissing, layer_sources
from limbeck.recipe.student import Transformer

FAMILIES = ["bert", "roberta", "xlm-roberta", "electra", "electra-projected", "distilbert", "mpnet"]
Make = Callable[..., Any]

# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")


def build(
    teacher: Any,
    *,
    vocabulary: list[int] | None = None,
    pad_token_id: int | None = None,
    labels: tuple[str, ...] = ("negative", "positive"),
    **section: Any,
) -> Any:
    student = transformer_student(
        Transformer.model_validate({"kind": "transformer", "layers": 2, **section}),
        teacher=teacher,
        vocabulary=vocabulary,
        vocabulary_size=60 if vocabulary is None else len(vocabulary),
        pad_token_id=teacher.config.pad_token_id if pad_token_id is None else pad_token_id,
        labels=list(labels),
    )
    return student.eval()


def read(model: Any, ids: list[list[int]] | None = None) -> tuple[LayerStates, torch.Tensor]:
    """What the layers say of a row, and the logits."""
    with torch.no_grad(), LayerReader(model) as reader:
        output = model(input_ids=torch.tensor(ids or [[7, 8, 9, 30, 12, 59]]), output_hidden_states=True)
        return reader.states(output), output.logits


def assert_alike(one: LayerStates, other: LayerStates) -> None:
    for part in ("hidden", "queries", "keys", "values"):
        torch.testing.assert_close(getattr(one, part), getattr(other, part), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("how", "student", "teacher", "sources"),
    [
        ("uniform", 6, 12, [0, 2, 4, 7, 9, 11]),  # DistilBERT
        ("uniform", 4, 12, [0, 4, 7, 11]),
        ("uniform", 3, 6, [0, 3, 5]),
        ("uniform", 12, 24, [0, 2, 4, 6, 8, 10, 13, 15, 17, 19, 21, 23]),
        ("uniform", 5, 5, [0, 1, 2, 3, 4]),
        ("uniform", 1, 12, [0]),
        ("uniform", 4, 2, [0, 0, 1, 1]),
        ("first", 3, 12, [0, 1, 2]),
        ("last", 3, 12, [9, 10, 11]),
        ([5, 0, 5], 3, 6, [5, 0, 5]),
    ],
)
def test_layers_are_chosen(how: Any, student: int, teacher: int, sources: list[int]) -> None:
    assert layer_sources(how, student_layers=student, teacher_layers=teacher) == sources


@pytest.mark.parametrize("teacher", range(2, 30))
def test_evenly_spread_layers_begin_with_the_first_and_end_with_the_last(teacher: int) -> None:
    for student in range(2, teacher + 1):
        sources = layer_sources("uniform", student_layers=student, teacher_layers=teacher)

        steps = {upper - lower for lower, upper in pairwise(sources)}
        assert (sources[0], sources[-1]) == (0, teacher - 1)
        assert max(steps) - min(steps) <= 1


@pytest.mark.parametrize(("how", "missing"), [("first", (2, 3)), ("last", (-2, -1)), ([0, 1, 2, 9], (2, 9))])
def test_layers_that_the_teacher_does_not_have_are_an_error_with_their_numbers(
    make_transformer: Make, how: Any, missing: tuple[int, ...]
) -> None:
    with pytest.raises(TeacherLayersMissing, match="from 0 to 1") as raised:
        build(make_transformer("bert", layers=2), layers=4, teacher_layers=how)

    assert raised.value.missing == missing


@pytest.mark.parametrize("family", FAMILIES)
def test_a_student_of_the_teachers_own_shape_starts_as_the_teacher(make_transformer: Make, family: str) -> None:
    """Whatever a loss compares, of inner layers or of answers, there is nothing to be learnt."""
    teacher = make_transformer(family, layers=3)

    student = build(teacher, layers=3)

    (ours, logits), (theirs, their_logits) = read(student), read(teacher)
    assert_alike(ours, theirs)
    torch.testing.assert_close(logits, their_logits)
    assert ours.hidden[1].std() > 0.1  # not alike for being empty


@pytest.mark.parametrize("family", FAMILIES)
def test_chosen_layers_are_the_teachers_in_the_order_asked_for(make_transformer: Make, family: str) -> None:
    teacher = make_transformer(family, layers=4)

    student = build(teacher, layers=2, teacher_layers=[3, 1])

    layers, theirs = (
        model.base_model.get_submodule("transformer.layer" if family == "distilbert" else "encoder.layer")
        for model in (student, teacher)
    )
    for layer, source in zip(layers, (3, 1), strict=True):
        expected = theirs[source].state_dict()
        assert all(torch.equal(weight, expected[name]) for name, weight in layer.state_dict().items())


@pytest.mark.parametrize("family", ["bert", "distilbert"])
@pytest.mark.parametrize("source", ["bert", "roberta", "xlm-roberta", "electra", "distilbert", "mpnet"])
def test_layers_and_embeddings_go_over_to_another_family(make_transformer: Make, source: str, family: str) -> None:
    """Positions begin elsewhere, types are missing or too many; what the layers say of a text is the same."""
    teacher = make_transformer(source, layers=3, layer_norm_eps=1e-12)
    if source == "mpnet":  # what it knows of relative positions cannot go over
        nn.init.zeros_(teacher.mpnet.encoder.relative_attention_bias.weight)

    student = build(teacher, family=family, layers=3)

    assert_alike(read(student)[0], read(teacher)[0])


@pytest.mark.parametrize("source", ["roberta", "xlm-roberta", "mpnet"])
def test_a_classifier_goes_over_where_it_is_bent_alike(make_transformer: Make, source: str) -> None:
    teacher = make_transformer(source)
    if source == "mpnet":
        nn.init.zeros_(teacher.mpnet.encoder.relative_attention_bias.weight)

    student = build(teacher, family="bert")

    torch.testing.assert_close(read(student)[1], read(teacher)[1], atol=1e-5, rtol=1e-4)


def test_a_classifier_of_another_bend_starts_at_random(make_transformer: Make) -> None:
    teacher = make_transformer("bert")

    student = build(teacher, family="distilbert")

    assert not torch.equal(student.classifier.weight, teacher.classifier.weight)
    assert not torch.equal(student.pre_classifier.weight, teacher.bert.pooler.dense.weight)


@pytest.mark.parametrize("labels", [("positive", "negative"), ("a", "b", "c")])
def test_a_classifier_for_other_classes_is_not_copied(make_transformer: Make, labels: tuple[str, ...]) -> None:
    teacher = make_transformer("roberta")

    student = build(teacher, labels=labels)

    assert not torch.equal(student.classifier.out_proj.weight, teacher.classifier.out_proj.weight)
    assert student.classifier.out_proj.out_features == len(labels)
    torch.testing.assert_close(student.classifier.dense.weight, teacher.classifier.dense.weight)


def test_another_inner_size_leaves_the_feed_forward_layers_at_random(make_transformer: Make) -> None:
    teacher = make_transformer("bert")

    layer, theirs = (model.bert.encoder.layer[0] for model in (build(teacher, inner_size=20), teacher))

    assert torch.equal(layer.attention.self.query.weight, theirs.attention.self.query.weight)
    assert torch.equal(layer.output.LayerNorm.weight, theirs.output.LayerNorm.weight)
    assert not torch.equal(layer.output.dense.bias, theirs.output.dense.bias)  # of the two, not one alone


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_of_its_own_start_from_the_teachers(make_transformer: Make, family: str) -> None:
    teacher = make_transformer(family)
    pad = teacher.config.pad_token_id
    vocabulary = [pad, -1, 30, 7, 8, 9] if pad == 0 else [-1, pad, 30, 7, 8, 9]

    student = build(teacher, vocabulary=vocabulary)

    assert_alike(read(student, [[3, 4, 5, 2]])[0], read(teacher, [[7, 8, 9, 30]])[0])
    assert student.get_input_embeddings().weight.shape[0] == 6


def test_positions_move_with_the_id_of_padding(make_transformer: Make) -> None:
    """RoBERTa's begin after it, and the student's own vocabulary may have another."""
    teacher = make_transformer("roberta")

    student = build(teacher, vocabulary=[1, 3, 7, 8, 9], pad_token_id=0)

    assert student.config.max_position_embeddings == 41
    assert_alike(read(student, [[2, 3, 4]])[0], read(teacher, [[7, 8, 9]])[0])


def test_a_type_that_the_teacher_does_not_have_starts_as_the_first(make_transformer: Make) -> None:
    teacher = make_transformer("roberta")

    types = build(teacher, family="bert").bert.embeddings.token_type_embeddings.weight

    theirs = teacher.roberta.embeddings.token_type_embeddings.weight
    assert torch.equal(types, theirs.expand(2, -1))


@pytest.mark.parametrize("family", ["teacher", "bert", "distilbert"])
@pytest.mark.parametrize("source", ["bert", "roberta", "electra", "distilbert", "mpnet"])
def test_narrower_embeddings_are_the_principal_axes(make_transformer: Make, source: str, family: str) -> None:
    teacher = make_transformer(source)
    nn.init.normal_(teacher.get_input_embeddings().weight[:, :12], std=0.01)  # four directions that matter

    student = build(teacher, family=family, width=4, heads=2)

    theirs, ours = (model.get_input_embeddings().weight.detach() for model in (teacher, student))
    left, values, right = torch.linalg.svd(theirs, full_matrices=False)
    best = left[:, :4] * values[:4]
    scale = theirs.square().mean().sqrt() / best.square().mean().sqrt()
    torch.testing.assert_close(ours @ ours.T, best @ best.T * scale**2, atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(ours.square().mean().sqrt(), theirs.square().mean().sqrt())
    directions = theirs.T @ ours  # the axes, each as long as it matters
    assert (directions.gather(0, directions.abs().argmax(dim=0)[None, :]) > 0).all()  # the same way round each time
    positions, their_positions = (
        model.base_model.embeddings.position_embeddings.weight.detach()[-40:] for model in (student, teacher)
    )
    if not hasattr(teacher.base_model.embeddings, "token_type_embeddings") or family != "distilbert":
        expected = their_positions @ right[:4].T * scale
        torch.testing.assert_close(positions @ ours.T, expected @ (best * scale).T, atol=1e-3, rtol=1e-3)


def test_narrower_layers_start_at_random(make_transformer: Make) -> None:
    teacher = make_transformer("bert")

    torch.manual_seed(0)
    student = build(teacher, width=8)
    torch.manual_seed(0)
    fresh = build(teacher, width=8, start="random")

    assert torch.equal(
        student.bert.encoder.layer[0].output.dense.weight, fresh.bert.encoder.layer[0].output.dense.weight
    )
    assert torch.equal(student.classifier.bias, fresh.classifier.bias)


def test_wider_embeddings_hold_all_of_the_teachers(make_transformer: Make) -> None:
    teacher = make_transformer("bert")

    student = build(teacher, width=24)

    theirs, ours = (model.get_input_embeddings().weight.detach() for model in (teacher, student))
    torch.testing.assert_close(ours[:, :16] @ ours[:, :16].T, theirs @ theirs.T, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("source", ["electra-projected", "albert"])
def test_projected_embeddings_start_as_the_layers_see_them(make_transformer: Make, source: str) -> None:
    teacher = make_transformer(source)

    student = build(teacher, family="bert")

    base = teacher.base_model
    projection = base.embeddings_project if source != "albert" else base.encoder.embedding_hidden_mapping_in
    expected = projection(teacher.get_input_embeddings().weight).detach()
    torch.testing.assert_close(student.get_input_embeddings().weight.detach(), expected)


def test_a_teacher_with_other_layers_gives_its_words_alone(make_transformer: Make) -> None:
    teacher = make_transformer("xlnet")

    student = build(teacher, family="bert")

    assert torch.equal(student.get_input_embeddings().weight, teacher.get_input_embeddings().weight)


@pytest.mark.parametrize("family", ["teacher", "bert", "distilbert"])
def test_the_teacher_stays_as_it_was(make_transformer: Make, family: str) -> None:
    teacher = make_transformer("bert")
    before = {name: weight.clone() for name, weight in teacher.state_dict().items()}

    student = build(teacher, family=family)
    with torch.no_grad():
        for weight in student.parameters():
            weight.add_(1.0)

    assert all(torch.equal(weight, before[name]) for name, weight in teacher.state_dict().items())
