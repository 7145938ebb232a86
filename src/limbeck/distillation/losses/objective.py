"""The objective: every loss of the recipe, weighted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from torch import Tensor

from limbeck.distillation.losses.hard_label_sets import hard_label_sets
from limbeck.distillation.losses.hard_labels import hard_labels
from limbeck.distillation.losses.logit_mse import logit_mse
from limbeck.distillation.losses.soft_target_sets import soft_target_sets
from limbeck.distillation.losses.soft_targets import soft_targets
from limbeck.recipe.distillation import HardLabels, LogitMse, Loss, SoftTargets


@dataclass(frozen=True)
class Objective:
    """The losses of a training, and what they must know of the task."""

    losses: Sequence[Loss]
    multi_label: bool = False
    class_weights: Tensor | None = None  # (classes), for losses on labels

    def terms(self, *, student_logits: Tensor, teacher_logits: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """The weighted terms by kind; the training minimises their sum."""
        terms: dict[str, Tensor] = {}
        for loss in self.losses:
            term = loss.weight * self._term(loss, student_logits, teacher_logits, labels)
            terms[loss.kind] = terms[loss.kind] + term if loss.kind in terms else term
        return terms

    def _term(self, loss: Loss, student_logits: Tensor, teacher_logits: Tensor, labels: Tensor) -> Tensor:
        match loss:
            case HardLabels():
                formula = hard_label_sets if self.multi_label else hard_labels
                return formula(student_logits, labels, class_weights=self.class_weights)
            case LogitMse():
                return logit_mse(student_logits, teacher_logits)
            case SoftTargets():
                soft = soft_target_sets if self.multi_label else soft_targets
                return soft(student_logits, teacher_logits, temperature=loss.temperature)
            case _:
                assert_never(loss)
