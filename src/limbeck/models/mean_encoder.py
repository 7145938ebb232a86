"""An encoder whose classifier reads the mean of its last states, as sentence encoders are trained to be read."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from limbeck.models.twin_encoder import EncoderWithHead
from limbeck.models.word_student import StudentOutput


class MeanEncoderConfig(PreTrainedConfig):  # type: ignore[misc]  # transformers is untyped
    """The encoder's own config inside, and its sizes under the usual names."""

    model_type = "mean_encoder"

    def __init__(self, *, encoder: Mapping[str, Any] | None = None, **rest: Any) -> None:
        self.encoder = dict(encoder or {})
        for name in ("hidden_size", "max_position_embeddings", "initializer_range", "pad_token_id", "type_vocab_size"):
            if name in self.encoder:
                rest.setdefault(name, self.encoder[name])
        rest.setdefault("hidden_size", self.encoder.get("dim") or self.encoder.get("n_embd"))  # DistilBERT's, GPT-2's
        rest.setdefault("max_position_embeddings", self.encoder.get("n_positions"))
        super().__init__(**rest)


class MeanEncoderForSequenceClassification(EncoderWithHead):
    """logits = W · mean over tokens of the last hidden states + b.

    Sentence encoders are trained to be read this way (Reimers and Gurevych 2019, arXiv:1908.10084), so a classifier of
    this mean is good before the encoder is changed at all, and fine-tuning starts from there.
    """

    config_class = MeanEncoderConfig

    def __init__(self, config: MeanEncoderConfig) -> None:
        super().__init__(config, features=config.hidden_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool = False,
        **others: Any,
    ) -> StudentOutput:
        """Logits (rows, classes) of ids (rows, tokens); the mask is 1 on tokens and 0 on padding."""
        inside = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        answer = self.encoder(
            input_ids=input_ids, attention_mask=inside, output_hidden_states=output_hidden_states, **others
        )
        states = answer.last_hidden_state
        share = inside[..., None].to(states.dtype)
        features = (states * share).sum(dim=1) / share.sum(dim=1).clamp(min=1)
        return StudentOutput(
            logits=self.classifier(self.dropout(features)),
            hidden_states=answer.hidden_states if output_hidden_states else None,
            features=features,
        )


def mean_encoder_of(encoder: PreTrainedModel, *, labels: int) -> Any:
    """The encoder with its own weights, and a classifier of the mean of its states that starts at random."""
    model = MeanEncoderForSequenceClassification(MeanEncoderConfig(encoder=encoder.config.to_dict(), num_labels=labels))
    own = model.encoder.state_dict().keys()
    model.encoder.load_state_dict({name: value for name, value in encoder.state_dict().items() if name in own})
    return model
