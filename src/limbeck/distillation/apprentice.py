"""The student and its objective as one module: what is trained together stands together."""

from typing import Any

from torch import Tensor, nn

from limbeck.distillation.lessons import Lessons, Places
from limbeck.distillation.live_teacher import LiveTeacher
from limbeck.distillation.objective import Objective
from limbeck.distillation.terms.batch import Batch, Said
from limbeck.training.recording import Slots


class Apprentice(nn.Module):
    """A student at work on its lessons. The teacher, if it reads along, is no part of it: it does not learn."""

    def __init__(self, student: Any, objective: Objective, *, teacher: LiveTeacher | None) -> None:
        super().__init__()
        self.student, self.objective = student, objective
        self._teacher = [teacher] if teacher else []  # in a list, so that nn.Module does not look into it

    def forward(self, lessons: Lessons, places: Places | Slots, done: float) -> dict[str, Tensor]:
        """The weighted terms of the objective for these rows."""
        slots = lessons.slots(places)
        chosen, inputs = slots.chosen, lessons.inputs(slots)
        features = lessons.teacher_features
        said = Said(
            logits=lessons.teacher_logits[chosen],
            features=None if features is None else features[chosen].float(),
            layers=self._teacher[0].layers(inputs) if self._teacher else None,
        )
        student = self._read(inputs)
        mask = inputs["attention_mask"]
        batch = Batch(student=student, teacher=said, labels=lessons.labels[chosen], mask=mask, done=done)
        terms: dict[str, Tensor] = self.objective(batch)
        return terms

    def _read(self, inputs: dict[str, Tensor]) -> Said:
        inputs = inputs_of(self.student, inputs)
        if self._teacher:
            with self._teacher[0].reader(self.student) as reader:
                output = self.student(**inputs, output_hidden_states=True)
                layers = reader.states(output)
            return Said(output.logits.float(), features=layers.hidden[-1][:, 0].float(), layers=layers)
        output = self.student(**inputs, **({"output_hidden_states": True} if is_transformer(self.student) else {}))
        features = output.hidden_states[-1][:, 0] if is_transformer(self.student) else output.features
        return Said(output.logits.float(), features=features.float())


def inputs_of(student: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Without token types where the student has no table for them."""
    if (getattr(student.config, "type_vocab_size", None) or 0) > 1:
        return inputs
    return {name: value for name, value in inputs.items() if name != "token_type_ids"}


def is_transformer(student: Any) -> bool:
    """Whether it is a model of transformers' own, whose features are the last state of its first token."""
    return not str(student.config.model_type).startswith("limbeck_")


def feature_width(student: Any) -> int:
    """Width of the features that losses see."""
    return int(student.config.hidden_size if is_transformer(student) else student.features)
