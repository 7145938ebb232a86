"""A teacher that reads every batch along with the student, for losses on its inner layers."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from limbeck.distillation.terms.shapes import LayerShape
from limbeck.models.layer_states import LayerReader, LayerStates
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
