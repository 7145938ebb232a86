"""Terms on labels and logits."""

from torch import Tensor

from limbeck.distillation.losses.dist import dist
from limbeck.distillation.losses.dkd import dkd
from limbeck.distillation.losses.hard_label_sets import hard_label_sets
from limbeck.distillation.losses.hard_labels import hard_labels
from limbeck.distillation.losses.jensen_shannon import jensen_shannon
from limbeck.distillation.losses.logit_mse import logit_mse
from limbeck.distillation.losses.soft_target_sets import soft_target_sets
from limbeck.distillation.losses.soft_targets import soft_targets
from limbeck.distillation.losses.standardised_logits import standardised_logits
from limbeck.distillation.terms.batch import Batch
from limbeck.distillation.terms.shapes import Shapes
from limbeck.distillation.terms.term import Term
from limbeck.recipe.losses import (
    Dist,
    Dkd,
    HardLabels,
    JensenShannon,
    LogitLosses,
    LogitMse,
    SoftTargets,
    StandardisedLogits,
)
from limbeck.training.schedules import value_at


class LogitTerm(Term):
    """Any loss on labels and logits."""

    class_weights: Tensor | None

    def __init__(self, loss: LogitLosses, shapes: Shapes) -> None:
        super().__init__()
        self._loss, self._multi_label = loss, shapes.multi_label
        self.register_buffer("class_weights", shapes.class_weights, persistent=False)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher, loss = batch.student.logits, batch.teacher.logits, self._loss
        if isinstance(loss, LogitMse):
            return logit_mse(student, teacher)
        if isinstance(loss, HardLabels):
            formula = hard_label_sets if self._multi_label else hard_labels
            return formula(student, batch.labels, class_weights=self.class_weights, smoothing=loss.smoothing)
        return self._softened(loss, student, teacher, batch)

    def _softened(
        self,
        loss: SoftTargets | JensenShannon | Dkd | Dist | StandardisedLogits,
        student: Tensor,
        teacher: Tensor,
        batch: Batch,
    ) -> Tensor:
        temperature = value_at(loss.temperature, batch.done)
        match loss:
            case SoftTargets():
                formula = soft_target_sets if self._multi_label else soft_targets
                return formula(student, teacher, temperature=temperature)
            case JensenShannon():
                return jensen_shannon(student, teacher, temperature=temperature)
            case StandardisedLogits():
                return standardised_logits(student, teacher, temperature=temperature)
            case Dist():
                weights = {"between_classes": loss.between_classes, "within_classes": loss.within_classes}
                return dist(student, teacher, temperature=temperature, **weights)
            case Dkd():
                parts = {"target_weight": loss.target_weight, "other_weight": loss.other_weight}
                return dkd(student, teacher, batch.labels, temperature=temperature, **parts)
