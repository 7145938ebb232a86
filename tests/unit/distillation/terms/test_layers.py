"""Terms on layers: the formula of each, what is projected, and what is refused for two models."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from limbeck.distillation.losses.layers import (
    attention_kl,
    attention_mse,
    attention_scores,
    fsp,
    hidden_cosine,
    hidden_mse,
    minilm,
    minilm_v2,
    nst,
    pkd,
)
from limbeck.distillation.objective import term_of
from limbeck.distillation.terms.layers import (
    HeadsDiffer,
    LayerMapImpossible,
    LayerWeightsDiffer,
    RelationHeadsImpossible,
)
from limbeck.distillation.terms.term import Batch, LayerShape, Shapes
from limbeck.models.layer_states import LayerStates
from limbeck.recipe.losses import (
    AttentionKl,
    AttentionMse,
    EmbeddingMse,
    Fsp,
    HiddenCosine,
    HiddenMse,
    MiniLm,
    MiniLmV2,
    Nst,
    Pkd,
)

SMALL, LARGE = LayerShape(layers=2, heads=2, width=12), LayerShape(layers=4, heads=2, width=12)
ALIKE = Shapes(student_layers=SMALL, teacher_layers=LARGE)
NARROW = replace(ALIKE, student_layers=replace(SMALL, width=8))
KINDS_OF = {HiddenMse: "hidden_mse", AttentionMse: "attention_mse", Nst: "nst"}
MakeBatch = Callable[..., Batch]
Expected = Callable[[LayerStates, LayerStates, Tensor], Tensor]


def layers(batch: Batch) -> tuple[LayerStates, LayerStates, Tensor]:
    assert batch.student.layers is not None
    assert batch.teacher.layers is not None
    return batch.student.layers, batch.teacher.layers, batch.mask


def scores(states: LayerStates, layer: int) -> Tensor:
    """Of a layer, from 1."""
    return attention_scores(states.queries[layer - 1], states.keys[layer - 1])


def parts(states: LayerStates, layer: int) -> tuple[Tensor, Tensor, Tensor]:
    return states.queries[layer - 1], states.keys[layer - 1], states.values[layer - 1]


def mean(*terms: Tensor) -> Tensor:
    return torch.stack(terms).mean()


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (
            HiddenMse(kind="hidden_mse"),
            lambda s, t, mask: mean(
                hidden_mse(s.hidden[1], t.hidden[2], mask), hidden_mse(s.hidden[2], t.hidden[4], mask)
            ),
        ),
        (HiddenMse(kind="hidden_mse", layers=[[2, 1]]), lambda s, t, mask: hidden_mse(s.hidden[2], t.hidden[1], mask)),
        (HiddenCosine(kind="hidden_cosine"), lambda s, t, mask: hidden_cosine(s.hidden[2], t.hidden[4], mask)),
        (EmbeddingMse(kind="embedding_mse"), lambda s, t, mask: hidden_mse(s.hidden[0], t.hidden[0], mask)),
        (
            AttentionMse(kind="attention_mse", layers="top"),
            lambda s, t, mask: mean(
                attention_mse(scores(s, 1), scores(t, 3), mask), attention_mse(scores(s, 2), scores(t, 4), mask)
            ),
        ),
        (AttentionKl(kind="attention_kl"), lambda s, t, mask: attention_kl(scores(s, 2), scores(t, 4), mask)),
        (
            Pkd(kind="pkd", layers="every", every=1),
            lambda s, t, _mask: pkd(
                torch.stack([s.hidden[1][:, 0], s.hidden[2][:, 0]]), torch.stack([t.hidden[1][:, 0], t.hidden[2][:, 0]])
            ),
        ),
        (Pkd(kind="pkd"), lambda s, t, _mask: pkd(s.hidden[1][None, :, 0], t.hidden[2][None, :, 0])),
        (
            Nst(kind="nst"),
            lambda s, t, mask: mean(nst(s.hidden[1], t.hidden[2], mask), nst(s.hidden[2], t.hidden[4], mask)),
        ),
        (MiniLm(kind="minilm"), lambda s, t, mask: minilm(*parts(s, 2), *parts(t, 4), mask)),
        (
            MiniLmV2(kind="minilm_v2", relation_heads=3),
            lambda s, t, mask: minilm_v2(parts(s, 2), parts(t, 4), mask, relation_heads=3),
        ),
        (
            MiniLmV2(kind="minilm_v2", relation_heads=3, teacher_layer=3),
            lambda s, t, mask: minilm_v2(parts(s, 2), parts(t, 3), mask, relation_heads=3),
        ),
        (
            Fsp(kind="fsp"),
            lambda s, t, mask: fsp(s.hidden[1], s.hidden[2], t.hidden[1], t.hidden[4], mask),
        ),
        (
            Fsp(kind="fsp", student_layers=[0, 2], teacher_layers=[0, 3]),
            lambda s, t, mask: fsp(s.hidden[0], s.hidden[2], t.hidden[0], t.hidden[3], mask),
        ),
        (
            Fsp(kind="fsp", student_layers=[0, 1]),
            lambda s, t, mask: fsp(s.hidden[0], s.hidden[1], t.hidden[0], t.hidden[1], mask),
        ),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_with_widths_that_agree_it_is_its_formula_and_nothing_is_learned(
    loss: Any, expected: Expected, make_batch: MakeBatch
) -> None:
    term, batch = term_of(loss, ALIKE), make_batch(ALIKE)

    torch.testing.assert_close(term(batch), expected(*layers(batch)))
    assert not list(term.parameters())


@pytest.mark.parametrize("of_loss", [HiddenMse, AttentionMse, Nst], ids=lambda kind: kind.__name__)
def test_layers_are_added_as_their_mean_their_sum_or_with_weights(of_loss: Any, make_batch: MakeBatch) -> None:
    batch = make_batch(ALIKE)

    def value(**keys: Any) -> Tensor:
        found: Tensor = term_of(of_loss(kind=KINDS_OF[of_loss], **keys), ALIKE)(batch)
        return found

    lower, upper = value(layers=[[1, 2]]), value(layers=[[2, 4]])
    torch.testing.assert_close(value(), (lower + upper) / 2)
    torch.testing.assert_close(value(layer_weights="sum"), lower + upper)
    torch.testing.assert_close(value(layer_weights=[0.5, 3.0]), 0.5 * lower + 3.0 * upper)


def test_there_is_a_weight_for_each_pair_of_layers() -> None:
    with pytest.raises(LayerWeightsDiffer, match=r"(?s)2 pairs of layers.*weights are 3.*1 and 2, 2 and 4"):
        term_of(HiddenMse(kind="hidden_mse", layer_weights=[1.0, 1.0, 1.0]), ALIKE)
    with pytest.raises(ValidationError, match="layers has 1 pairs, and layer_weights 2"):
        HiddenMse(kind="hidden_mse", layers=[[1, 1]], layer_weights=[1.0, 1.0])


@pytest.mark.parametrize(
    "loss",
    [
        HiddenMse(kind="hidden_mse"),
        HiddenCosine(kind="hidden_cosine"),
        EmbeddingMse(kind="embedding_mse"),
        Pkd(kind="pkd"),
        Fsp(kind="fsp"),
    ],
    ids=lambda loss: loss.kind,
)
def test_a_narrower_student_gets_one_projection_for_all_layers(loss: Any, make_batch: MakeBatch) -> None:
    term = term_of(loss, NARROW)

    (projection,) = [module for module in term.modules() if isinstance(module, nn.Linear)]
    assert projection.weight.shape == (12, 8)
    assert term(make_batch(NARROW)).isfinite()


@pytest.mark.parametrize(
    "loss",
    [
        AttentionMse(kind="attention_mse"),
        AttentionKl(kind="attention_kl"),
        Nst(kind="nst"),
        MiniLm(kind="minilm"),
        MiniLmV2(kind="minilm_v2", relation_heads=2),
    ],
    ids=lambda loss: loss.kind,
)
def test_what_is_free_of_widths_projects_nothing(loss: Any, make_batch: MakeBatch) -> None:
    term = term_of(loss, NARROW)

    assert not list(term.parameters())
    assert term(make_batch(NARROW)).isfinite()


@pytest.mark.parametrize("kind", ["hidden_mse", "hidden_cosine"])
def test_each_layer_may_have_a_projection_of_its_own(kind: str, make_batch: MakeBatch) -> None:
    formula = {"hidden_mse": hidden_mse, "hidden_cosine": hidden_cosine}[kind]
    section: Any = {"hidden_mse": HiddenMse, "hidden_cosine": HiddenCosine}[kind]
    term: Any = term_of(section(kind=kind, layers="uniform", projection="each"), NARROW)
    student, teacher, mask = layers(batch := make_batch(NARROW))

    first, second = term.projections
    assert not torch.equal(first.weight, second.weight)
    expected = mean(
        formula(first(student.hidden[1]), teacher.hidden[2], mask),
        formula(second(student.hidden[2]), teacher.hidden[4], mask),
    )
    torch.testing.assert_close(term(batch), expected)


def test_a_shared_projection_serves_every_layer(make_batch: MakeBatch) -> None:
    term: Any = term_of(HiddenMse(kind="hidden_mse"), NARROW)
    student, teacher, mask = layers(batch := make_batch(NARROW))

    (shared,) = term.projections
    expected = mean(
        hidden_mse(shared(student.hidden[1]), teacher.hidden[2], mask),
        hidden_mse(shared(student.hidden[2]), teacher.hidden[4], mask),
    )
    torch.testing.assert_close(term(batch), expected)


@pytest.mark.parametrize(
    "loss",
    [AttentionMse(kind="attention_mse"), AttentionKl(kind="attention_kl"), MiniLm(kind="minilm")],
    ids=lambda loss: loss.kind,
)
def test_attention_is_compared_head_by_head_or_not_at_all(loss: Any) -> None:
    shapes = replace(ALIKE, teacher_layers=replace(LARGE, heads=3))

    with pytest.raises(HeadsDiffer) as raised:
        term_of(loss, shapes)

    assert raised.value.loss == loss.kind
    assert "the student has 2 heads, the teacher 3" in str(raised.value)
    assert "student.heads = 3" in str(raised.value)


def test_relations_in_heads_of_their_own_do_not_mind_other_heads(make_batch: MakeBatch) -> None:
    shapes = replace(ALIKE, teacher_layers=replace(LARGE, heads=3))

    assert term_of(MiniLmV2(kind="minilm_v2", relation_heads=4), shapes)(make_batch(shapes)).isfinite()


@pytest.mark.parametrize(("student", "teacher"), [(8, 12), (12, 8)])
def test_relation_heads_must_divide_both_widths(student: int, teacher: int) -> None:
    shapes = Shapes(student_layers=replace(SMALL, width=student), teacher_layers=replace(LARGE, width=teacher))

    with pytest.raises(RelationHeadsImpossible, match=f"student: {student}; of the teacher: {teacher}") as raised:
        term_of(MiniLmV2(kind="minilm_v2", relation_heads=6), shapes)

    assert str(raised.value).endswith("divides both: 1, 2, 4.")


@pytest.mark.parametrize(
    ("loss", "asked"),
    [
        (MiniLmV2(kind="minilm_v2", relation_heads=3, teacher_layer=5), "minilm_v2.teacher_layer = 5"),
        (Fsp(kind="fsp", student_layers=[1, 3]), "fsp between layers [1, 3]"),
        (Fsp(kind="fsp", teacher_layers=[1, 5]), "fsp between layers [1, 2] and [1, 5]"),
        (HiddenMse(kind="hidden_mse", layers=[[1, 5]]), "[[1, 5]]"),
        (AttentionMse(kind="attention_mse", layers=[[3, 4]]), "[[3, 4]]"),
        (Pkd(kind="pkd", layers="every", every=3), '"every" 3'),
        (Nst(kind="nst", layers="every"), '"every"'),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_layers_that_are_not_there_are_refused_with_the_numbers(loss: Any, asked: str) -> None:
    with pytest.raises(LayerMapImpossible) as raised:
        term_of(loss, ALIKE)

    assert raised.value.asked.startswith(asked)
    assert (raised.value.student_layers, raised.value.teacher_layers) == (2, 4)


def test_a_student_of_one_layer_cannot_skip_its_last() -> None:
    shapes = replace(ALIKE, student_layers=replace(SMALL, layers=1))

    with pytest.raises(LayerMapImpossible, match="has only one"):
        term_of(Pkd(kind="pkd"), shapes)


def test_padding_has_no_part_in_any_of_them(make_batch: MakeBatch) -> None:
    batch = make_batch(ALIKE)
    student, teacher, _ = layers(batch)
    spoilt = tuple(states.detach().clone() for states in teacher.hidden)
    for states in spoilt:
        states[-1, -2:] = 1e6
    other = replace(batch, teacher=replace(batch.teacher, layers=replace(teacher, hidden=spoilt)))

    for loss in (HiddenMse(kind="hidden_mse"), EmbeddingMse(kind="embedding_mse"), Nst(kind="nst"), Fsp(kind="fsp")):
        term = term_of(loss, ALIKE)
        torch.testing.assert_close(term(other), term(batch))
    assert student.hidden[0].requires_grad
