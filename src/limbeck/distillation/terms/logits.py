"""Terms on labels and logits."""

from torch import Tensor

from limbeck.distillation.losses.logits import (
    dist,
    dkd,
    hard_label_sets,
    hard_labels,
    jensen_shannon,
    logit_mse,
    soft_target_sets,
    soft_targets,
    standardised_logits,
)
from limbeck.distillation.terms.term import Batch, Shapes, Term
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
