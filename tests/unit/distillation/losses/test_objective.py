"""The weighted sum."""

import torch

from limbeck.distillation.losses.hard_label_sets import hard_label_sets
from limbeck.distillation.losses.hard_labels import hard_labels
from limbeck.distillation.losses.logit_mse import logit_mse
from limbeck.distillation.losses.objective import Objective
from limbeck.distillation.losses.soft_target_sets import soft_target_sets
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

    terms = Objective(losses).terms(student_logits=STUDENT, teacher_logits=TEACHER, labels=LABELS)

    torch.testing.assert_close(terms["soft_targets"], 0.5 * soft_targets(STUDENT, TEACHER, temperature=4.0))
    torch.testing.assert_close(terms["logit_mse"], 3.0 * logit_mse(STUDENT, TEACHER))


def test_the_temperature_of_the_recipe_is_the_one_used() -> None:
    """KD_Lib's loss takes a temperature and ignores it."""
    warm = Objective([SoftTargets(kind="soft_targets", temperature=1.0)]).terms(**_rows())
    hot = Objective([SoftTargets(kind="soft_targets", temperature=8.0)]).terms(**_rows())

    assert warm["soft_targets"].item() != hot["soft_targets"].item()


def test_two_losses_of_one_kind_add_up() -> None:
    once = Objective([HardLabels(kind="hard_labels")]).terms(**_rows())
    twice = Objective([HardLabels(kind="hard_labels")] * 2).terms(**_rows())

    torch.testing.assert_close(twice["hard_labels"], 2 * once["hard_labels"])


def test_several_labels_a_row_take_the_losses_of_classes_by_themselves() -> None:
    losses: list[Loss] = [HardLabels(kind="hard_labels"), SoftTargets(kind="soft_targets", temperature=2.0)]
    sets, weights = torch.tensor([[1, 1], [0, 1]]), torch.tensor([1.0, 2.0])

    terms = Objective(losses, multi_label=True, class_weights=weights).terms(**{**_rows(), "labels": sets})

    torch.testing.assert_close(terms["hard_labels"], hard_label_sets(STUDENT, sets, class_weights=weights))
    torch.testing.assert_close(terms["soft_targets"], soft_target_sets(STUDENT, TEACHER, temperature=2.0))


def test_class_weights_reach_the_loss_on_labels() -> None:
    weights = torch.tensor([1.0, 9.0])

    terms = Objective([HardLabels(kind="hard_labels")], class_weights=weights).terms(
        **{**_rows(), "labels": torch.tensor([0, 1])}
    )

    expected = hard_labels(STUDENT, torch.tensor([0, 1]), class_weights=weights)
    torch.testing.assert_close(terms["hard_labels"], expected)


def _rows() -> dict[str, torch.Tensor]:
    return {"student_logits": STUDENT, "teacher_logits": TEACHER, "labels": LABELS}
