"""No kind of loss is forgotten: each one that a recipe may name becomes a term, and teaches."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal, get_args

import pytest
import torch
from torch import Tensor

from limbeck.distillation.objective import Objective, term_of
from limbeck.distillation.terms.term import Batch, LayerShape, Shapes
from limbeck.kinds import LOSS_KINDS
from limbeck.recipe.kinds import Loss
from limbeck.recipe.losses import AnyLoss, Custom, needs_of
from limbeck.recipe.schedule import Schedule

NARROW = Shapes(
    student_features=6,
    teacher_features=10,
    student_layers=LayerShape(layers=2, heads=2, width=8),
    teacher_layers=LayerShape(layers=4, heads=2, width=12),
    row_groups=torch.tensor([0, 1, 2, 0, 1]),
)
NEEDED: dict[str, dict[str, Any]] = {
    "custom": {"call": "of_a_user:difference"},
    "minilm_v2": {"relation_heads": 4},  # of which the default, 48, are too many here
}


def kinds(annotation: Any) -> Iterator[type[AnyLoss]]:
    """Every section of the union."""
    if isinstance(annotation, type):
        if issubclass(annotation, AnyLoss):
            yield annotation
        return
    for part in get_args(annotation):
        yield from kinds(part)


KINDS = {get_args(section.model_fields["kind"].annotation)[0]: section for section in kinds(Loss)}


def loss_of(kind: str, **settings: Any) -> AnyLoss:
    return KINDS[kind].model_validate({"kind": kind, **NEEDED.get(kind, {}), **settings})


@pytest.fixture(autouse=True)
def own_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `custom` is to call."""

    def difference(student_logits: Tensor, teacher_logits: Tensor, labels: Tensor) -> Tensor:
        return (student_logits - teacher_logits).mean() + labels.sum() * 0

    monkeypatch.setitem(sys.modules, "of_a_user", SimpleNamespace(difference=difference))


def test_all_kinds_are_looked_at() -> None:
    assert len(KINDS) == 30


@pytest.mark.parametrize("kind", KINDS)
def test_it_becomes_a_term_that_is_one_finite_number_with_a_gradient(
    kind: str, make_batch: Callable[..., Batch]
) -> None:
    batch = make_batch(NARROW)

    term = term_of(loss_of(kind), NARROW)
    found = term(batch)
    found.backward()

    assert found.shape == ()
    assert found.isfinite()
    reached = [tensor for tensor in student_tensors(batch) if tensor.grad is not None and tensor.grad.any()]
    assert reached
    assert all(tensor.grad.isfinite().all() for tensor in reached if tensor.grad is not None)
    for name, weight in term.named_parameters():
        assert not weight.requires_grad or (weight.grad is not None and weight.grad.any()), name


@pytest.mark.parametrize("kind", KINDS)
def test_it_depends_on_nothing_that_it_does_not_declare(kind: str, make_batch: Callable[..., Batch]) -> None:
    loss = loss_of(kind)
    needs = needs_of(loss)
    without = Shapes(
        student_features=NARROW.student_features if "features" in needs else None,
        teacher_features=NARROW.teacher_features if "features" in needs else None,
        student_layers=NARROW.student_layers if "layers" in needs else None,
        teacher_layers=NARROW.teacher_layers if "layers" in needs else None,
        row_groups=NARROW.row_groups if "rows" in needs else None,
    )

    assert term_of(loss, without)(make_batch(without)).isfinite()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"crd"}))  # its bank moves, so that no two calls are alike
def test_its_weight_may_move(kind: str, make_batch: Callable[..., Batch]) -> None:
    loss = loss_of(kind, weight=Schedule(kind="linear", start=0.0, end=2.0))
    objective = Objective([loss], NARROW)

    start, middle, end = (objective(make_batch(NARROW, done=done))[loss.name] for done in (0.0, 0.5, 1.0))

    assert start.item() == 0.0
    torch.testing.assert_close(end, 2 * middle)
    assert middle.item() != 0.0


@pytest.mark.parametrize("kind", [kind for kind, section in KINDS.items() if not section.exclusive])
def test_it_works_with_several_labels_per_row_unless_it_declares_otherwise(
    kind: str, make_batch: Callable[..., Batch]
) -> None:
    shapes = replace(NARROW, multi_label=True)

    assert term_of(loss_of(kind), shapes)(make_batch(shapes)).isfinite()


@pytest.mark.parametrize(
    "kind", [kind for kind, section in KINDS.items() if "temperature" in section.model_fields and kind != "crd"]
)
def test_its_temperature_may_move(kind: str, make_batch: Callable[..., Batch]) -> None:
    moving = term_of(loss_of(kind, temperature=Schedule(kind="linear", start=1.0, end=9.0)), NARROW)

    for done, temperature in ((0.0, 1.0), (0.5, 5.0), (1.0, 9.0)):
        expected = term_of(loss_of(kind, temperature=temperature), NARROW)(make_batch(NARROW))
        torch.testing.assert_close(moving(make_batch(NARROW, done=done)), expected)


def test_a_custom_loss_declares_features_if_it_asks_for_them() -> None:
    assert needs_of(Custom(kind="custom", call="a:b")) == {"logits"}
    assert needs_of(Custom(kind="custom", call="a:b", features=True)) == {"logits", "features"}


def student_tensors(batch: Batch) -> list[Tensor]:
    """The leaves that the student's answers come from, layers by their shared ones."""
    outputs = batch.student
    layers = [outputs.layers.hidden[0], outputs.layers.queries[0]] if outputs.layers else []
    shared = [tensor._base for tensor in layers if tensor._base is not None]
    return [outputs.logits, *([outputs.features] if outputs.features is not None else []), *shared]


class Shrunk(AnyLoss):
    """A loss that the package does not know: the distance between logits, after division by a number."""

    kind: Literal["shrunk"] = "shrunk"
    divisor: float = 1.0


def shrunk(student_logits: Tensor, teacher_logits: Tensor, *, divisor: float) -> Tensor:
    return ((student_logits - teacher_logits) / divisor).abs().mean()


def test_a_new_kind_is_a_function_a_section_and_a_row(
    monkeypatch: pytest.MonkeyPatch, make_batch: Callable[..., Batch]
) -> None:
    monkeypatch.setitem(sys.modules, "of_a_newcomer", SimpleNamespace(shrunk=shrunk))
    row = replace(LOSS_KINDS["logit_mse"], kind="shrunk", function="of_a_newcomer:shrunk")
    monkeypatch.setitem(LOSS_KINDS, "shrunk", row)
    batch = make_batch(NARROW)

    terms = Objective([Shrunk(weight=3.0, divisor=2.0)], NARROW)(batch)

    expected = 1.5 * (batch.student.logits - batch.teacher.logits).abs().mean()
    torch.testing.assert_close(terms, {"shrunk": expected})
