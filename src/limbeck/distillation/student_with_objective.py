"""The student and its objective as one module, because they are trained together."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from limbeck.distillation.objective import Objective
from limbeck.distillation.paraphraser import train_paraphraser
from limbeck.distillation.pruning import Pruner
from limbeck.distillation.terms.features import Factors
from limbeck.distillation.terms.term import Batch, LayerShape, Outputs
from limbeck.distillation.training_rows import Places, TrainingRows
from limbeck.kinds import kind_of_config
from limbeck.models.layer_states import LayerReader, LayerStates
from limbeck.models.textgcn import TextGcnOnGraph
from limbeck.progress import Reporter
from limbeck.recipe.feature_losses import Crd
from limbeck.recipe.losses import AnyLoss, Custom, LayerLoss
from limbeck.recipe.schedule import Schedule
from limbeck.training.cuda_graphs import Slots
from limbeck.training.modes import evaluating
from limbeck.training.shares import ALONE, Share, share_of_group


class LiveTeacher:
    """An encoder in eval mode and without gradients, in the arithmetic in which it was evaluated.

    Layer states are too large for the disk, so they are computed during training; its logits are still the stored ones.
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
        """A reader of the layers of this model or of the student; it reads what the losses need."""
        return LayerReader(model, queries=self.reads_attention)

    def layers(self, inputs: Mapping[str, Tensor]) -> LayerStates:
        """The states of all layers for these rows."""
        device = inputs["input_ids"].device
        autocast = torch.autocast(device.type, dtype=torch.bfloat16, enabled=self._arithmetic == "bf16")
        accepted = {name: value for name, value in inputs.items() if name != "token_type_ids" or self._takes_types}
        with evaluating(self._model), autocast, self.reader(self._model) as reader:
            return reader.states(self._model(**accepted, output_hidden_states=True))


def shape_of(model: Any) -> LayerShape:
    """The layers, heads and width of a transformer."""
    reader = LayerReader(model)
    return LayerShape(layers=reader.layers, heads=reader.heads, width=reader.width)


class StudentWithObjective(nn.Module):
    """A student and the losses it is trained with. A teacher that runs along is not a submodule: it is not trained."""

    def __init__(
        self, student: Any, objective: Objective, *, teacher: LiveTeacher | None, pruner: Pruner | None = None
    ) -> None:
        super().__init__()
        self.student, self.objective, self.pruner = student, objective, pruner
        self._teacher = [teacher] if teacher else []  # in a list, so that nn.Module does not look into it

    def forward(self, training_rows: TrainingRows, places: Places | Slots, done: float) -> dict[str, Tensor]:
        """The weighted terms of the objective for these rows.

        In a group of processes, each runs the student on its share of them, and gets the outputs of the others.
        """
        if self.pruner is not None:
            self.pruner.before_step(self.student, done)
        share, weights = ALONE, dict[str, float]()
        slots = whole = training_rows.slots(places)
        if not isinstance(places, Slots) and not (share := share_of_group()).is_all:
            slots, weights = training_rows.slots(share.own(places)), share.weights(training_rows.lengths()[places])
        chosen, inputs = whole.chosen, training_rows.inputs(slots)
        features = training_rows.teacher_features
        teacher = Outputs(
            logits=training_rows.teacher_logits[chosen],
            features=None if features is None else features[chosen].float(),
            layers=self._teacher[0].layers(inputs) if self._teacher else None,
        )
        numbers = training_rows.row_numbers
        batch = Batch(
            student=_of_all(self._student_outputs(inputs), share, rows=len(chosen)),
            teacher=teacher,
            labels=training_rows.labels[chosen],
            mask=inputs["attention_mask"],
            done=done,
            weights=weights,
            row_numbers=None if numbers is None else numbers[chosen],
        )
        terms: dict[str, Tensor] = self.objective(batch)
        return terms

    def _student_outputs(self, inputs: dict[str, Tensor]) -> Outputs:
        inputs = inputs_of(self.student, inputs)
        if self._teacher:
            with self._teacher[0].reader(self.student) as reader:
                output = self.student(**inputs, output_hidden_states=True)
                layers = reader.states(output)
            return Outputs(output.logits.float(), features=layers.hidden[-1][:, 0].float(), layers=layers)
        output = self.student(**inputs, **({"output_hidden_states": True} if has_layers(self.student) else {}))
        features = output.hidden_states[-1][:, 0] if has_layers(self.student) else output.features
        return Outputs(output.logits.float(), features=features.float())


def _of_all(own: Outputs, share: Share, *, rows: int) -> Outputs:
    """Logits and features of all processes; layers, which are large, stay those of this one."""
    if share.is_all:
        return own
    features = None if own.features is None else share.whole(own.features, rows=rows)
    return Outputs(share.whole(own.logits, rows=rows), features, own.layers)


def inputs_of(student: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inputs, without token types if the student has no table for them."""
    if (getattr(student.config, "type_vocab_size", None) or 0) > 1:
        return inputs
    return {name: value for name, value in inputs.items() if name != "token_type_ids"}


def has_layers(student: Any) -> bool:
    """Whether losses on layers can read it; its features are then the last state of its first token."""
    return kind_of_config(student.config.model_type).has_layers


def can_be_captured(student: Any, losses: Sequence[AnyLoss]) -> bool:
    """Whether all steps do the same to their rows: no user code, no teacher that runs along, no scheduled number, no
    bank that moves."""
    numbers = [(loss.weight, getattr(loss, "temperature", None)) for loss in losses]
    scheduled = any(isinstance(number, Schedule) for both in numbers for number in both)
    other_code = any(isinstance(loss, Crd | Custom | LayerLoss) for loss in losses)
    return not (scheduled or other_code or has_layers(student) or isinstance(student, TextGcnOnGraph))


def feature_width(student: Any) -> int:
    """Width of the features that losses read."""
    return int(student.config.hidden_size if has_layers(student) else student.features)


def train_paraphrasers(objective: Objective, features: Tensor, *, seed: int, reporter: Reporter) -> None:
    """Train the paraphraser of every factor-transfer term on these (rows, width), then freeze it."""
    for term in objective.terms:
        if isinstance(term, Factors):
            paraphraser = term.paraphraser.to(features.device).requires_grad_(True)
            epochs = term.settings.paraphraser_epochs
            error = train_paraphraser(paraphraser, features, epochs=epochs, seed=seed)
            paraphraser.requires_grad_(False)
            reporter.note(
                f"  the paraphraser encodes {features.shape[1]} features as {paraphraser.factor_width} factors, "
                f"without {error:.1%} of their variance"
            )
