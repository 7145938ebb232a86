"""The weighted sum."""

import torch

from limbeck.distillation.losses.logit_mse import logit_mse
from limbeck.distillation.losses.objective import objective
from limbeck.distillation.losses.soft_targets import soft_targets
from limbeck.recipe.distillation import HardLabels, LogitMse, Loss, SoftTargets

STUDENT = torch.tensor([[0.5, -0.5], [1.0, 0.0]])
TEACHER = torch.tensor([[2.0, -2.0], [-1.0, 1.0]])
LABELS = torch.tensor([0, -1])


def test_each_term_is_weighted_and_kept_apart() -> None:
    losses: list[Loss] = [
        SoftTargets(kind="soft_targets", weight=0.5, temperature=4.0),
        LogitMse(kind="logit_mse", weight=3.0),
    ]

    terms = objective(losses, student_logits=STUDENT, teacher_logits=TEACHER, labels=LABELS)

    torch.testing.assert_close(terms["soft_targets"], 0.5 * soft_targets(STUDENT, TEACHER, temperature=4.0))
    torch.testing.assert_close(terms["logit_mse"], 3.0 * logit_mse(STUDENT, TEACHER))


def test_the_temperature_of_the_recipe_is_the_one_used() -> None:
    """KD_Lib's loss takes a temperature and ignores it."""
    warm = objective([SoftTargets(kind="soft_targets", temperature=1.0)], **_rows())
    hot = objective([SoftTargets(kind="soft_targets", temperature=8.0)], **_rows())

    assert warm["soft_targets"].item() != hot["soft_targets"].item()


def test_two_losses_of_one_kind_add_up() -> None:
    once = objective([HardLabels(kind="hard_labels")], **_rows())
    twice = objective([HardLabels(kind="hard_labels")] * 2, **_rows())

    torch.testing.assert_close(twice["hard_labels"], 2 * once["hard_labels"])


def _rows() -> dict[str, torch.Tensor]:
    return {"student_logits": STUDENT, "teacher_logits": TEACHER, "labels": LABELS}
