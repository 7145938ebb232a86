"""The student and its objective as one module: what is trained together stands together."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from limbeck.distillation.objective import Objective
from limbeck.distillation.paraphraser import train_paraphraser
from limbeck.distillation.terms.features import Factors
from limbeck.distillation.terms.term import Batch, LayerShape, Said
from limbeck.distillation.training_rows import Places, TrainingRows
from limbeck.kinds import kind_of_config
from limbeck.models.layer_states import LayerReader, LayerStates
from limbeck.progress import Reporter
from limbeck.training.cuda_graphs import Slots
from limbeck.training.modes import evaluating


class LiveTeacher:
    """An encoder in eval mode and without gradients, in the arithmetic it was judged in.

    What layers say is too much to be kept on disk; its logits are the kept ones all the same.
    """

    def __init__(self, encoder: Any, *, reads_attention: bool) -> None:
        self.reads_attention = reads_attention
        self._model, self._arithmetic = encoder.model, encoder.arithmetic
        self._takes_types = "token_type_ids" in encoder.tokenizer.model_input_names

    @property
    def shape(self) -> LayerShape:
        """Its layers, heads and width."""
        return shape_of(self._model)

    def reader(self, model: Any) -> LayerReader:
        """Of this model's layers, the student's too: as much of them as the losses go by."""
        return LayerReader(model, queries=self.reads_attention)

    def layers(self, inputs: Mapping[str, Tensor]) -> LayerStates:
        """The states of all layers for these rows."""
        device = inputs["input_ids"].device
        autocast = torch.autocast(device.type, dtype=torch.bfloat16, enabled=self._arithmetic == "bf16")
        taken = {name: value for name, value in inputs.items() if name != "token_type_ids" or self._takes_types}
        with evaluating(self._model), autocast, self.reader(self._model) as reader:
            return reader.states(self._model(**taken, output_hidden_states=True))


def shape_of(model: Any) -> LayerShape:
    """The layers, heads and width of a transformer."""
    reader = LayerReader(model)
    return LayerShape(layers=reader.layers, heads=reader.heads, width=reader.width)


class StudentWithObjective(nn.Module):
    """A student at work on its training_rows. The teacher, if it reads along, is no part of it: it does not learn."""

    def __init__(self, student: Any, objective: Objective, *, teacher: LiveTeacher | None) -> None:
        super().__init__()
        self.student, self.objective = student, objective
        self._teacher = [teacher] if teacher else []  # in a list, so that nn.Module does not look into it

    def forward(self, training_rows: TrainingRows, places: Places | Slots, done: float) -> dict[str, Tensor]:
        """The weighted terms of the objective for these rows."""
        slots = training_rows.slots(places)
        chosen, inputs = slots.chosen, training_rows.inputs(slots)
        features = training_rows.teacher_features
        said = Said(
            logits=training_rows.teacher_logits[chosen],
            features=None if features is None else features[chosen].float(),
            layers=self._teacher[0].layers(inputs) if self._teacher else None,
        )
        student = self._read(inputs)
        mask = inputs["attention_mask"]
        batch = Batch(student=student, teacher=said, labels=training_rows.labels[chosen], mask=mask, done=done)
        terms: dict[str, Tensor] = self.objective(batch)
        return terms

    def _read(self, inputs: dict[str, Tensor]) -> Said:
        inputs = inputs_of(self.student, inputs)
        if self._teacher:
            with self._teacher[0].reader(self.student) as reader:
                output = self.student(**inputs, output_hidden_states=True)
                layers = reader.states(output)
            return Said(output.logits.float(), features=layers.hidden[-1][:, 0].float(), layers=layers)
        output = self.student(**inputs, **({"output_hidden_states": True} if has_layers(self.student) else {}))
        features = output.hidden_states[-1][:, 0] if has_layers(self.student) else output.features
        return Said(output.logits.float(), features=features.float())


def inputs_of(student: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Without token types where the student has no table for them."""
    if (getattr(student.config, "type_vocab_size", None) or 0) > 1:
        return inputs
    return {name: value for name, value in inputs.items() if name != "token_type_ids"}


def has_layers(student: Any) -> bool:
    """Whether losses on layers can read it; its features are then the last state of its first token."""
    return kind_of_config(student.config.model_type).has_layers


def feature_width(student: Any) -> int:
    """Width of the features that losses see."""
    return int(student.config.hidden_size if has_layers(student) else student.features)


def teach_paraphrasers(objective: Objective, features: Tensor, *, seed: int, reporter: Reporter) -> None:
    """Train the paraphraser of every factor-transfer term on these (rows, width), then let it stand still."""
    for term in objective.terms:
        if isinstance(term, Factors):
            paraphraser = term.paraphraser.to(features.device).requires_grad_(True)
            epochs = term.settings.paraphraser_epochs
            error = train_paraphraser(paraphraser, features, epochs=epochs, seed=seed)
            paraphraser.requires_grad_(False)
            reporter.note(
                f"  the paraphraser says {features.shape[1]} features with {paraphraser.factor_width}, "
                f"leaving {error:.1%} of their variance unsaid"
            )
