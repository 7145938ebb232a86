"""Terms on labels and logits."""

from torch import Tensor

from limbeck.distillation.terms.term import Batch, Shapes, Term, formula_of, settings_of
from limbeck.recipe.losses import AnyLoss, HardLabels
from limbeck.recipe.schedule import Schedule
from limbeck.training.schedules import value_at


class LogitTerm(Term):
    """A formula on the logits of student and teacher, and on the labels if the loss needs them. All settings of its
    section are its keyword arguments, and may be schedules."""

    def __init__(self, loss: AnyLoss, shapes: Shapes) -> None:
        super().__init__()
        self._formula = formula_of(loss, multi_label=shapes.multi_label, is_score=shapes.is_score)
        self._settings, self._reads_labels = settings_of(loss), "labels" in loss.needs

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        settings = {
            name: value_at(value, batch.done) if isinstance(value, Schedule) else value
            for name, value in self._settings.items()
        }
        labels = [batch.labels] if self._reads_labels else []
        return self._formula(batch.student.logits, batch.teacher.logits, *labels, **settings)


class LabelTerm(Term):
    """A formula on the student's logits and the labels, with optional class weights."""

    class_weights: Tensor | None

    def __init__(self, loss: HardLabels, shapes: Shapes) -> None:
        super().__init__()
        self._formula = formula_of(loss, multi_label=shapes.multi_label, is_score=shapes.is_score)
        self._settings = None if shapes.is_score else settings_of(loss)  # a score has no classes to weigh or smooth
        self.register_buffer("class_weights", shapes.class_weights, persistent=False)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        if self._settings is None:
            return self._formula(batch.student.logits, batch.labels)
        return self._formula(batch.student.logits, batch.labels, class_weights=self.class_weights, **self._settings)
