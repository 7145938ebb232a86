"""Terms on labels and logits."""

from typing import assert_never

from torch import Tensor

from limbeck.distillation.losses.temperatures import cwsm_temperatures, flsw_temperatures
from limbeck.distillation.terms.term import Batch, Shapes, Term, formula_of, settings_of
from limbeck.recipe.losses import AnyLoss, HardLabels, SoftTargets
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


class SoftTargetTerm(Term):
    """Soft targets at a temperature that is the same for all rows, or that follows the logits of each."""

    def __init__(self, loss: SoftTargets, shapes: Shapes) -> None:
        super().__init__()
        self._formula = formula_of(loss, multi_label=shapes.multi_label, is_score=shapes.is_score)
        self._loss = loss

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = batch.student.logits, batch.teacher.logits
        return self._formula(student, teacher, temperature=self._temperature(student, teacher, done=batch.done))

    def _temperature(self, student: Tensor, teacher: Tensor, *, done: float) -> float | Tensor:
        base, loss = value_at(self._loss.temperature, done), self._loss
        match loss.row_temperatures:
            case None:
                return base
            case "flsw":
                return flsw_temperatures(student, teacher, temperature=base, spread=loss.spread, power=loss.power)
            case "cwsm":
                return cwsm_temperatures(student, temperature=base, spread=loss.spread)
            case _:
                assert_never(loss.row_temperatures)


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
