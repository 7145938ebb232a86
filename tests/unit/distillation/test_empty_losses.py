"""Losses that say nothing on two classes are named, and really say nothing."""

from typing import Any

import pytest
import torch

from limbeck.distillation.losses.logits import dist, dkd, standardised_logits
from limbeck.distillation.objective import empty_losses
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.kinds import Loss
from limbeck.recipe.losses import Dist, Dkd, LogitMse, SoftTargets, StandardisedLogits

EMPTY: list[Loss] = [StandardisedLogits(kind="standardised_logits"), Dkd(kind="dkd"), Dist(kind="dist")]


def test_each_is_reported_with_the_reason_and_a_better_loss() -> None:
    notes = empty_losses([LogitMse(kind="logit_mse"), *EMPTY, SoftTargets(kind="soft_targets")], classes=2)

    assert [note.partition(":")[0] for note in notes] == ["standardised_logits", "dkd", "dist"]
    assert all("two classes" in note for note in notes)
    assert all("logit_mse" in note or "soft_targets" in note for note in notes)


@pytest.mark.parametrize("classes", [3, 10])
def test_with_more_classes_nothing_is_told(classes: int) -> None:
    assert empty_losses(EMPTY, classes=classes) == []


def test_a_part_that_weighs_nothing_is_not_told() -> None:
    losses: list[Loss] = [Dkd(kind="dkd", other_weight=0.0), Dist(kind="dist", between_classes=0.0)]

    assert empty_losses(losses, classes=2) == []


def test_the_losses_of_all_stages_are_looked_at() -> None:
    stages: Any = [{"losses": [{"kind": "dkd"}]}, {"losses": [{"kind": "logit_mse"}, {"kind": "dist"}]}]
    section = Distillation.model_validate({"stages": stages})

    assert len(empty_losses(section.every_loss, classes=2)) == 2


def test_the_reasons_are_true() -> None:
    torch.manual_seed(0)
    student, teacher = torch.randn(6, 2, requires_grad=True), torch.randn(6, 2)
    labels = torch.tensor([0, 1, 0, 1, 0, 1])

    empty = {
        "standardised": standardised_logits(student, teacher, temperature=2.0),
        "others": dkd(student, teacher, labels, target_weight=0.0, other_weight=8.0),
        "between": dist(student, teacher, between_classes=1.0, within_classes=0.0),
    }

    for name, loss in empty.items():
        (gradient,) = torch.autograd.grad(loss, student)
        assert gradient.abs().max() < 1e-5, name
    (gradient,) = torch.autograd.grad(dist(student, teacher, between_classes=0.0), student)
    assert gradient.abs().max() > 1e-3
