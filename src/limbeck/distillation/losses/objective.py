"""The objective: every loss of the recipe, weighted."""

from collections.abc import Sequence
from typing import assert_never

from torch import Tensor

from limbeck.distillation.losses.hard_labels import hard_labels
from limbeck.distillation.losses.logit_mse import logit_mse
from limbeck.distillation.losses.soft_targets import soft_targets
from limbeck.recipe.distillation import HardLabels, LogitMse, Loss, SoftTargets


def objective(
    losses: Sequence[Loss], *, student_logits: Tensor, teacher_logits: Tensor, labels: Tensor
) -> dict[str, Tensor]:
    """The weighted terms by kind; the training minimises their sum."""
    terms: dict[str, Tensor] = {}
    for loss in losses:
        term = loss.weight * _term(loss, student_logits, teacher_logits, labels)
        terms[loss.kind] = terms[loss.kind] + term if loss.kind in terms else term
    return terms


def _term(loss: Loss, student_logits: Tensor, teacher_logits: Tensor, labels: Tensor) -> Tensor:
    match loss:
        case HardLabels():
            return hard_labels(student_logits, labels)
        case LogitMse():
            return logit_mse(student_logits, teacher_logits)
        case SoftTargets():
            return soft_targets(student_logits, teacher_logits, temperature=loss.temperature)
        case _:
            assert_never(loss)
